"""`--update-baseline`: what is written, what is kept, what is refused."""

import json

from attnspec.base import __version__
from attnspec.cases import canonical_json, schema_validator

from .conftest import COLUMNS, CONTEXT, ROWS, WHOLE


def test_a_baseline_says_what_is_known(checkout):
    checkout.adapter(columns="wrong", whole="declines", conventions={"accumulation": "float32"})
    document = checkout.update()
    assert [(entry["case"], entry["dtype"], entry["status"]) for entry in document["failures"]] == [
        (COLUMNS, "float32", "fail"),
        (COLUMNS, "float64", "fail"),
    ]
    assert {entry["reason"] for entry in document["failures"]} == {"not yet explained"}
    assert document["groups"] == [{"said": "not this one", "count": 2, "reason": "not yet explained"}]
    assert document["graded"] == 4
    assert document["implementation"] == {
        "name": "mine",
        "operations": ["softmax"],
        "dtypes": ["float32", "float64"],
        "conventions": {"accumulation": "float32"},
    }
    assert document["suite"]["version"] == __version__
    assert document["suite"]["cases"] == dict.fromkeys((COLUMNS, ROWS, WHOLE, CONTEXT), 1)
    # Of the four cases, in the order of their ids, the first two were not unsupported.
    assert document["suite"]["answered"] == {"float64": "3", "float32": "3"}
    assert not list(schema_validator("baseline").iter_errors(document))
    assert checkout.baseline.read_text("utf-8") == canonical_json(document)


def test_what_is_wrong_with_a_baseline_and_what_to_do_are_two_sentences(checkout):
    checkout.adapter(columns="wrong")
    checkout.update()
    checkout.edit_baseline(failures=[{"case": COLUMNS, "dtype": "float64", "status": "fail"}])
    status, _, err = checkout.gate()
    assert status == 2
    assert "at /failures/0: 'reason' is a required property. Restore it, or " in err


def test_the_same_run_writes_the_same_bytes(checkout):
    checkout.adapter(columns="wrong")
    checkout.update()
    first = checkout.baseline.read_bytes()
    checkout.update()
    assert checkout.baseline.read_bytes() == first


def test_reasons_are_kept_and_what_changed_is_said(checkout):
    checkout.adapter(columns="wrong", whole="declines")
    document = checkout.update()
    for entry in document["failures"]:
        entry["reason"] = f"because {entry['dtype']}"
    checkout.edit_baseline(failures=document["failures"])
    checkout.adapter(rows="wrong", columns="raises")
    status, out, _ = checkout.gate("--update-baseline")
    assert status == 0
    assert "is written: 4 known failures (2 added, 2 changed), 0 groups of what is unsupported (1 removed), 6 " in out
    assert (
        "Say why beside the 2 without a reason; --reason TEXT says it of all failures at once, --reason 'GLOB=TEXT' of "
        "some."
    ) in out
    assert f"New among the known failures: {ROWS} (float32), {ROWS} (float64)." in out
    entries = json.loads(checkout.baseline.read_text("utf-8"))["failures"]
    assert [(entry["case"], entry["status"], entry["reason"]) for entry in entries] == [
        (COLUMNS, "error", "because float32"),
        (COLUMNS, "error", "because float64"),
        (ROWS, "fail", "not yet explained"),
        (ROWS, "fail", "not yet explained"),
    ]
    assert checkout.gate()[0] == 0


def test_what_was_unsupported_and_fails_now_is_not_accepted_without_a_word(checkout):
    checkout.adapter(columns="declines")
    checkout.update()
    checkout.adapter(columns="wrong")
    _, out, _ = checkout.gate("--update-baseline")
    assert f"New among the known failures: {COLUMNS} (float32), {COLUMNS} (float64)." in out


def test_what_was_graded_and_is_unsupported_now_is_not_accepted_without_a_word(checkout):
    checkout.update()
    checkout.adapter(columns="declines")
    _, out, _ = checkout.gate("--update-baseline")
    assert "1 group of what is unsupported (1 added), 4 graded results." in out
    assert "New groups: said not this one (2)." in out
    assert f"Not unsupported before, and unsupported now: {COLUMNS} (float32), {COLUMNS} (float64)." in out


def test_groups_that_somebody_wrote_are_kept_with_their_reasons_as_long_as_they_hold(checkout):
    checkout.adapter(columns="declines", whole="declines")
    checkout.update()
    groups = [
        {"cases": "*_of_columns", "count": 1, "reason": "no columns"},
        {"said": "not this one", "dtype": "float32", "count": 1, "reason": "a text"},
        {"profile": "documents", "count": 1, "reason": "not true"},
        {"argument": "mask", "count": 1, "reason": "not there"},
    ]
    checkout.edit_baseline(groups=groups)
    assert checkout.update()["groups"] == [
        {"cases": "*_of_columns", "count": 2, "reason": "no columns"},
        {"said": "not this one", "dtype": "float32", "count": 2, "reason": "a text"},
        {"said": "not this one", "count": 4, "reason": "not yet explained"},
    ]
    assert checkout.gate()[0] == 0


def test_texts_that_differ_in_numbers_alone_are_one_group(checkout):
    checkout.adapter(columns="declines", declined="no axis 0")
    text = (checkout.folder / "mine.py").read_text("utf-8")
    text = text.replace("'no axis 0'", "f'no axis {-1 if axis is None else axis} of {x.shape}'").replace(
        "None: 'right'", "None: 'declines'"
    )
    (checkout.folder / "mine.py").write_text(text, "utf-8")
    assert [(group.get("said"), group["count"]) for group in checkout.update()["groups"]] == [
        ("no axis * of (*, *)", 4)
    ]


def test_an_empty_reason_is_a_reason_to_ask(checkout):
    checkout.adapter(columns="wrong", whole="declines")
    document = checkout.update()
    for part in ("failures", "groups"):
        checkout.edit_baseline(**{part: [entry | {"reason": ""} for entry in document[part]]})
    assert checkout.gate()[0] == 0
    assert "Say why beside the 3 without a reason; --reason TEXT" in checkout.gate("--update-baseline")[1]


def test_one_reason_for_many_failures(checkout):
    checkout.adapter(rows="wrong", columns="wrong", whole="wrong")
    document = checkout.update()
    document["failures"][0]["reason"] = "written by hand"
    checkout.edit_baseline(failures=document["failures"])
    words = (
        "--reason",
        "*/softmax_of_rows=the last row = a copy",
        "--reason",
        "will be fixed in 2.1",
        "--reason",
        "a/*=x",
    )
    status, out, _ = checkout.gate("--update-baseline", *words)
    assert status == 0
    assert "without a reason;" not in out
    assert "--reason: no failure without a reason matches a/*." in out
    reasons = {(entry["case"], entry["dtype"]): entry["reason"] for entry in checkout.update()["failures"]}
    assert reasons == {
        (COLUMNS, "float32"): "written by hand",
        (COLUMNS, "float64"): "will be fixed in 2.1",
        (ROWS, "float32"): "the last row = a copy",
        (ROWS, "float64"): "the last row = a copy",
        (WHOLE, "float32"): "will be fixed in 2.1",
        (WHOLE, "float64"): "will be fixed in 2.1",
    }


def test_a_reason_goes_into_an_update_alone(checkout):
    status, _, err = checkout.gate("--reason", "planned", baseline=False)
    assert (status, err) == (2, "attnspec: --reason: it is written beside failures by --update-baseline; give both.")


def test_a_baseline_of_format_1_becomes_one_of_format_2(checkout):
    checkout.adapter(columns="wrong", whole="declines")
    new = checkout.update()
    checkout.to_format_1()
    old = json.loads(checkout.baseline.read_text("utf-8"))
    assert not list(schema_validator("baseline").iter_errors(old))
    reasons = {"float64": "too slow", "float32": "not needed"}
    entries = [entry | {"reason": reasons[entry["dtype"]]} for entry in old["entries"]]
    checkout.edit_baseline(entries=entries)
    status, out, _ = checkout.gate()
    assert status == 0
    assert "has format 1, which lists what is unsupported one by one (2 entries); --update-baseline writes" in out
    status, out, _ = checkout.gate("--update-baseline")
    assert status == 0
    assert "2 known failures, 1 group of what is unsupported (1 added), 4 graded results. It had format 1 and" in out
    for entry in new["failures"]:
        entry["reason"] = reasons[entry["dtype"]]
    new["groups"][0]["reason"] = "too slow; not needed"
    assert json.loads(checkout.baseline.read_text("utf-8")) == new


def test_whatever_is_demanded_beyond_the_baseline_still_fails(checkout):
    checkout.adapter(columns="wrong")
    status, out, _ = checkout.gate("--update-baseline", "--require", "documents")
    assert status == 1
    assert "Required to conform (1) documents: does not conform" in out
    assert checkout.baseline.exists()


def test_nothing_graded_writes_nothing(checkout):
    checkout.adapter(rows="declines", columns="declines", whole="declines")
    status, out, _ = checkout.gate("--update-baseline")
    assert status == 1
    assert "None of 8 results says anything about conformance." in out
    assert not checkout.baseline.exists()


def refused(checkout, *options):
    """Try to update, see that it is refused and that the baseline stays as it was; return the sentence."""
    before = checkout.baseline.read_bytes()
    status, out, err = checkout.gate("--update-baseline", *options)
    assert (status, out) == (2, "")
    assert checkout.baseline.read_bytes() == before
    return err


def test_a_narrower_run_does_not_forget_the_rest(checkout):
    checkout.adapter(columns="wrong")
    checkout.update()
    sentence = refused(checkout, "--select", ROWS)
    assert f"This run leaves out 3 that the baseline knows ({COLUMNS}, {WHOLE}, {CONTEXT})" in sentence
    sentence = refused(checkout, "--dtype", "float64")
    assert f"leaves out 3 that the baseline knows ({COLUMNS} (float32), {ROWS} (float32), " in sentence


def test_a_smaller_suite_or_a_lost_dtype_may_be_taken_in(checkout):
    checkout.adapter(columns="wrong")
    checkout.update()
    checkout.remove_case(ROWS)
    checkout.adapter(columns="wrong", dtypes=("float64",))
    document = checkout.update()
    assert [(entry["case"], entry["dtype"]) for entry in document["failures"]] == [(COLUMNS, "float64")]
    assert document["graded"] == 2
    assert ROWS not in document["suite"]["cases"]


def test_a_baseline_that_cannot_be_used_is_not_overwritten(checkout):
    checkout.update()
    checkout.adapter(name="theirs")
    assert "The baseline is of 'mine', but this is 'theirs'." in refused(checkout)
    checkout.adapter()
    checkout.edit_baseline(format=3)
    assert "This attnspec reads baselines of the formats 1 and 2" in refused(checkout)
    checkout.baseline.write_text("{")
    assert "is not valid JSON" in refused(checkout)


def test_where_it_is_written_must_be_said_and_exist(checkout):
    status, _, err = checkout.gate("--update-baseline", baseline=False)
    assert (status, err) == (2, "attnspec: --update-baseline: say where it is to be written, with --baseline FILE.")
    checkout.baseline = checkout.folder / "nowhere" / "baseline.json"
    status, _, err = checkout.gate("--update-baseline")
    assert status == 2
    assert "name a file in a folder that exists" in err


def test_the_options_of_validate_hold(checkout):
    status, out, _ = checkout.gate("--report", "report.json", "--select", ROWS, baseline=False)
    assert (status, out) == (0, "mine passes the gate: 2 of 2 passed.")
    report = json.loads((checkout.folder / "report.json").read_text("utf-8"))
    assert [result["case"] for result in report["results"]] == [ROWS, ROWS]
    status, _, err = checkout.gate("--report", "report.doc", baseline=False)
    assert status == 2
    assert "--report report.doc" in err
