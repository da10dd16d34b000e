"""The table of situations: what changed since the baseline was written, the exit status, the sentence."""

import json
import re
from dataclasses import dataclass, field

import pytest

from .conftest import COLUMNS, CONTEXT, ROWS, WHOLE


@dataclass(frozen=True)
class Situation:
    """The adapter when the baseline was written, what happened then, and what the gate says to it.

    A baseline of format 1 comes to the same exit status; what is said may be other words.
    """

    status: int
    says: str
    before: dict = field(default_factory=dict)
    now: dict = field(default_factory=dict)
    happens: object = lambda checkout: None
    options: tuple = ()
    says_not: str = "no such sentence"
    of_format_1: str | None = None


def revise_columns(checkout):
    checkout.edit_case(COLUMNS, revision=2)


def entry(**changes):
    return {"case": ROWS, "dtype": "float64", "status": "fail", "reason": ""} | changes


def group(**changes):
    return {"said": "not this one", "count": 2, "reason": ""} | changes


def retire_columns(checkout):
    checkout.remove_case(COLUMNS)
    retire(checkout, COLUMNS)


def retire(checkout, case_id):
    tombstone = {"revision": 1, "release": "0.2.0", "reason": "It was there twice."}
    document = {"format": 1, "cases": {case_id: tombstone}}
    (checkout.golden / "retired.json").write_text(json.dumps(document), "utf-8")


def edit_groups(**changes):
    """Change the one group of the baseline."""

    def edit(checkout):
        (group,) = json.loads(checkout.baseline.read_text("utf-8"))["groups"]
        group = {name: value for name, value in (group | changes).items() if value is not None}
        checkout.edit_baseline(groups=[group])

    return edit


CLAIM = edit_groups(said=None, cases="*columns")


def retire_whole(checkout):
    checkout.remove_case(WHOLE)
    retire(checkout, WHOLE)


SITUATIONS = {
    "nothing changed": Situation(0, "mine passes the gate: 6 of 6 passed."),
    "nothing changed, known failures": Situation(
        0,
        "mine passes the gate: 4 of 6 passed, 2 not, as expected.",
        before={"columns": "wrong"},
        now={"columns": "wrong"},
    ),
    "known to be unsupported": Situation(
        0, "4 of 4 passed.", before={"columns": "declines"}, now={"columns": "declines"}
    ),
    "new failure": Situation(
        1,
        f"New failures (2) {COLUMNS} (float64, float32): fail: output[1, 1] is 0.5; expected",
        now={"columns": "wrong"},
    ),
    "new failure beside a known one": Situation(
        1,
        f"New failures (2) {COLUMNS} (float64, float32): fail",
        before={"rows": "wrong"},
        now={"rows": "wrong", "columns": "wrong"},
        says_not=ROWS,
    ),
    "new failure, lenient": Situation(1, "New failures (2)", now={"columns": "wrong"}, options=("--lenient",)),
    "unsupported before, fails now": Situation(
        1,
        f"{COLUMNS} (float64, float32): was unsupported, and ends in fail now: output[1, 1] is 0.5",
        before={"columns": "declines"},
        now={"columns": "wrong"},
        of_format_1=f"{COLUMNS} (float64, float32): is listed as unsupported, but ends in fail: output[1, 1] is 0.5",
    ),
    "failed before, raises now": Situation(
        1,
        f"{COLUMNS} (float64, float32): is listed as fail, but ends in error: raised ValueError: no luck",
        before={"columns": "wrong"},
        now={"columns": "raises"},
    ),
    "fixed": Situation(
        1,
        "These pass now; --update-baseline removes their entries (2) "
        f"{COLUMNS} (float64, float32): is listed as fail and passes now",
        before={"columns": "wrong"},
    ),
    "fixed, lenient": Situation(
        0,
        "passes now mine passes the gate: 6 of 6 passed. 2 warnings.",
        before={"columns": "wrong"},
        options=("--lenient",),
    ),
    "offered now": Situation(
        1,
        f"{COLUMNS} (float64, float32): was unsupported and passes now",
        before={"columns": "declines"},
        of_format_1=f"{COLUMNS} (float64, float32): is listed as unsupported and passes now",
    ),
    "vanished case": Situation(
        1,
        f"{COLUMNS} (float32, float64): is listed, but there is no such case",
        before={"columns": "wrong"},
        happens=lambda checkout: checkout.remove_case(COLUMNS),
        says_not="New cases (",
    ),
    "vanished case, lenient": Situation(
        1,
        "there is no such case",
        before={"columns": "wrong"},
        happens=lambda checkout: checkout.remove_case(COLUMNS),
        options=("--lenient",),
    ),
    "retired case": Situation(
        1,
        f"{COLUMNS} (float32, float64): is listed, but there is no such case (retired: It was there twice.)",
        before={"columns": "wrong"},
        happens=retire_columns,
    ),
    "retired case without an entry": Situation(
        1, f"Cases that are gone (1) {COLUMNS}: It was there twice.", happens=retire_columns
    ),
    "dtype of a case vanished": Situation(
        1,
        f"{COLUMNS} (float32): is listed, but the case is not offered in this dtype",
        before={"columns": "wrong"},
        now={"columns": "wrong"},
        happens=lambda checkout: checkout.edit_case(COLUMNS, dtypes=["float64"]),
    ),
    "lost dtype": Situation(
        1, "float32: the dtype was offered before and is not offered now", now={"dtypes": ("float64",)}
    ),
    "lost operation": Situation(
        1,
        "context_vector: the operation was offered before and is not offered now",
        before={"context": True},
        says_not=CONTEXT,
    ),
    "lost operation whose failures were known": Situation(
        1,
        "Lost: it was offered before (1) context_vector: the operation",
        before={"context": True, "rows": "wrong"},
        now={"rows": "wrong"},
        says_not=CONTEXT,
    ),
    "passed before, unsupported now": Situation(
        1,
        f"{COLUMNS} (float64, float32): is unsupported now, and was not before: not this one",
        now={"columns": "declines"},
    ),
    "failed before, unsupported now": Situation(
        1,
        f"{COLUMNS} (float64, float32): is listed as fail and is unsupported now: not this one",
        before={"columns": "wrong"},
        now={"columns": "declines"},
    ),
    "new operation": Situation(
        1,
        "context_vector: the operation is offered now: take it into the baseline with --update-baseline",
        now={"context": True},
    ),
    "new operation, lenient": Situation(0, "1 warning.", now={"context": True}, options=("--lenient",)),
    "new operation that fails": Situation(
        1,
        f"New failures (2) {CONTEXT} (float64, float32): fail",
        before={"rows": "wrong"},
        now={"rows": "wrong", "context": True},
        options=("--lenient",),
    ),
    "new dtype": Situation(
        1,
        "bfloat16: the dtype is offered now: take it into the baseline with --update-baseline",
        now={"dtypes": ("float64", "float32", "bfloat16")},
    ),
    "another convention": Situation(
        1,
        "accumulation: was dtype and is float32 for softmax; if that is meant, --update-baseline",
        now={"conventions": {"accumulation": "float32"}},
    ),
    "the same convention in other words": Situation(
        0,
        "passes the gate",
        before={"conventions": {"softmax.accumulation": "float32"}},
        now={"conventions": {"accumulation": "float32"}},
    ),
    "collapsed corpus": Situation(
        1,
        "4 results were graded, but 6 when the baseline was written.",
        happens=lambda checkout: checkout.remove_case(COLUMNS),
    ),
    "collapsed selection": Situation(1, "2 results were graded, but 6", options=("--select", ROWS)),
    "collapsed dtypes": Situation(1, "3 results were graded, but 6", options=("--dtype", "float64")),
    "new case passes": Situation(
        0,
        f"New cases (1) {COLUMNS}: pass",
        before={"without": COLUMNS},
        happens=lambda checkout: checkout.add_case(COLUMNS),
    ),
    "new case, another suite": Situation(
        0,
        "The suite is another one than the baseline's: ",
        before={"without": COLUMNS},
        happens=lambda checkout: checkout.add_case(COLUMNS),
    ),
    "new cases do not make up for lost ones": Situation(
        1,
        "4 results were graded, but 6",
        before={"without": COLUMNS, "context": True},
        now={"context": True},
        happens=lambda checkout: (checkout.add_case(COLUMNS), checkout.remove_case(ROWS)),
    ),
    "new case fails": Situation(
        1,
        f"New cases fail (2) {COLUMNS} (float64, float32): new in the suite, fail: output[1, 1] is 0.5",
        before={"without": COLUMNS},
        now={"columns": "wrong"},
        happens=lambda checkout: checkout.add_case(COLUMNS),
        says_not="New failures",
    ),
    "new case is unsupported": Situation(
        0,
        f"New cases (1) {COLUMNS}: unsupported",
        before={"without": COLUMNS},
        now={"columns": "declines"},
        happens=lambda checkout: checkout.add_case(COLUMNS),
    ),
    "revised case passes": Situation(0, f"New cases (1) {COLUMNS}: revision 2, pass", happens=revise_columns),
    "revised case fails": Situation(
        1, f"{COLUMNS} (float64, float32): revised to 2, fail", now={"columns": "wrong"}, happens=revise_columns
    ),
    "required profile conforms": Situation(
        0, "passes the gate", before={"context": True}, now={"context": True}, options=("--require", "documents")
    ),
    "required profile conforms in part": Situation(
        1, "Required to conform (1) documents: conforms in part: ", options=("--require", "documents")
    ),
    "required profile, known failures": Situation(
        1,
        "Required to conform (1) documents: does not conform: ",
        before={"columns": "wrong"},
        now={"columns": "wrong"},
        options=("--require", "documents"),
    ),
    "required profile that is not run": Situation(
        2, "--require core: the profiles of this run are documents, its", options=("--require", "core")
    ),
    "required profile in no dtype that was requested": Situation(
        1,
        "Required to conform (1) documents: none of its cases was run",
        happens=lambda checkout: checkout.edit_case(ROWS, dtypes=["float64"]),
        options=("--require", "documents", "--select", ROWS, "--dtype", "float32"),
    ),
    "required operation conforms": Situation(
        0, "passes the gate", before={"context": True}, now={"context": True}, options=("--require", "context_vector")
    ),
    "required operation, known failures": Situation(
        1,
        "Required to conform (1) softmax: does not conform: ",
        before={"columns": "wrong"},
        now={"columns": "wrong"},
        options=("--require", "softmax"),
    ),
    "required operation that is not offered": Situation(
        1, "Required to conform (1) context_vector: nothing graded: ", options=("--require", "context_vector")
    ),
    "required operation that is not run": Situation(
        2, "its operations context_vector, softmax.", options=("--require", "causal_mask")
    ),
    "accurate enough": Situation(0, "passes the gate", options=("--minimum-accuracy", "1")),
    "not accurate enough": Situation(
        1, "The median of error / tolerance is ", options=("--minimum-accuracy", "0.0000001")
    ),
    "accuracy of nothing": Situation(
        1,
        "No number was compared, so that there is no accuracy to speak of.",
        before={"rows": "raises", "columns": "raises", "whole": "raises"},
        now={"rows": "raises", "columns": "raises", "whole": "raises"},
        options=("--minimum-accuracy", "1"),
    ),
    "accuracy that is no number": Situation(
        2, "--minimum-accuracy nan: give a number", options=("--minimum-accuracy", "nan")
    ),
    "negative accuracy": Situation(2, "Invalid value for '--minimum-accuracy'", options=("--minimum-accuracy", "-1")),
    "baseline of another implementation": Situation(
        2, "The baseline is of 'mine', but this is 'theirs'. Give each", now={"name": "theirs"}
    ),
    "no baseline": Situation(
        2, "There is no baseline '", happens=lambda checkout: checkout.baseline.unlink(), says_not="Errno"
    ),
    "cut baseline": Situation(
        2,
        "Restore it, or remove it and write it anew with --update-baseline.",
        happens=lambda checkout: checkout.baseline.write_bytes(checkout.baseline.read_bytes()[:100]),
    ),
    "baseline that is no JSON": Situation(
        2, "is not valid JSON", happens=lambda checkout: checkout.baseline.write_text("entries: []")
    ),
    "baseline that is no text": Situation(
        2, "is not UTF-8 text", happens=lambda checkout: checkout.baseline.write_bytes(b"\xff\xfe\x00")
    ),
    "baseline that is a report": Situation(
        2,
        "It looks like a report; a baseline is written with --update-baseline.",
        happens=lambda checkout: checkout.edit_baseline(results=[]),
    ),
    "baseline of a later format": Situation(
        2,
        "This attnspec reads baselines of the formats 1 and 2; was it written by another version?",
        happens=lambda checkout: checkout.edit_baseline(format=3),
    ),
    "baseline without a count": Situation(
        2, "does not follow the baseline schema at /graded", happens=lambda checkout: checkout.edit_baseline(graded=0)
    ),
    "baseline that lists a pass": Situation(
        2,
        "does not follow the baseline schema at /failures/0/status: 'pass' is not one of",
        happens=lambda checkout: checkout.edit_baseline(failures=[entry(status="pass")]),
    ),
    "baseline with two entries for one result": Situation(
        2,
        f"has two entries for {ROWS} (float64). Keep one of them.",
        happens=lambda checkout: checkout.edit_baseline(failures=[entry(), entry(reason="again")]),
    ),
    "baseline that is a folder": Situation(
        2,
        "name a file in a folder that exists",
        happens=lambda checkout: (checkout.baseline.unlink(), checkout.baseline.mkdir()),
    ),
}


# What holds of groups, which a baseline of format 1 has none of.
GROUPS = {
    "a claim that still holds": Situation(
        0, "4 of 4 passed.", before={"columns": "declines"}, now={"columns": "declines"}, happens=CLAIM
    ),
    "a claim that holds whatever is said": Situation(
        0,
        "4 of 4 passed.",
        before={"columns": "declines"},
        now={"columns": "declines", "declined": "another one"},
        happens=CLAIM,
    ),
    "a claim of which something is graded now": Situation(
        1,
        "No longer unsupported; --update-baseline takes that in (1) "
        f"cases *columns: 2 of 2 are no longer unsupported, such as {COLUMNS} (float64)",
        before={"columns": "declines"},
        happens=CLAIM,
    ),
    "a claim of which something is graded now, lenient": Situation(
        0, "1 warning.", before={"columns": "declines"}, happens=CLAIM, options=("--lenient",)
    ),
    "a claim of which something fails now": Situation(
        1,
        f"{COLUMNS} (float64, float32): was unsupported, and ends in fail now",
        before={"columns": "declines"},
        now={"columns": "wrong"},
        happens=CLAIM,
        options=("--lenient",),
        says_not="covers",
    ),
    "a text of which a part is graded now": Situation(
        1,
        "said not this one: covers 2 results, not 4",
        before={"columns": "declines", "whole": "declines"},
        now={"columns": "declines"},
    ),
    "a text of which a part is graded now, by name": Situation(
        1,
        f"{WHOLE} (float64, float32): was unsupported and passes now",
        before={"columns": "declines", "whole": "declines"},
        now={"columns": "declines"},
    ),
    "a text of which a part is graded now, lenient": Situation(
        0,
        "3 warnings.",
        before={"columns": "declines", "whole": "declines"},
        now={"columns": "declines"},
        options=("--lenient",),
    ),
    "a text of which nothing is left": Situation(
        1, "said not this one: covers 0 results, not 2", before={"columns": "declines"}
    ),
    "one lost for another one, under the same text": Situation(
        1,
        f"Lost: it was offered before (2) {ROWS} (float64, float32): is unsupported now, and was not before",
        before={"columns": "declines"},
        now={"rows": "declines"},
        options=("--lenient",),
    ),
    "another text": Situation(
        1,
        f"another one: 2 results, such as {COLUMNS} (float64), {COLUMNS} (float32); --update-baseline proposes a group",
        before={"columns": "declines"},
        now={"columns": "declines", "declined": "another one"},
    ),
    "a new case joins a group": Situation(
        0,
        f"New cases (1) {WHOLE}: unsupported",
        before={"columns": "declines", "without": WHOLE},
        now={"columns": "declines", "whole": "declines"},
        happens=lambda checkout: checkout.add_case(WHOLE),
        says_not="covers",
    ),
    "a new case is graded that a claim names": Situation(
        0,
        f"New cases (1) {WHOLE}: pass",
        before={"columns": "declines", "without": WHOLE},
        now={"columns": "declines"},
        happens=lambda checkout: (
            checkout.add_case(WHOLE),
            edit_groups(said=None, cases="documents/*of_[cw]*")(checkout),
        ),
    ),
    "a case of a group is retired": Situation(
        1,
        "said not this one: covers 2 results, not 4 (1 case that the baseline knows left the suite)",
        before={"columns": "declines", "whole": "declines"},
        now={"columns": "declines", "whole": "declines"},
        happens=retire_whole,
        options=("--lenient",),
    ),
    "a case of a group is revised": Situation(
        0,
        f"New cases (1) {COLUMNS}: revision 2, unsupported",
        before={"columns": "declines"},
        now={"columns": "declines"},
        happens=revise_columns,
    ),
    "a count that is too high": Situation(
        1,
        "said not this one: covers 2 results, not 3",
        before={"columns": "declines"},
        now={"columns": "declines"},
        happens=edit_groups(count=3),
    ),
    "a count that is too low": Situation(
        1,
        "said not this one: covers 2 results, not 1",
        before={"columns": "declines"},
        now={"columns": "declines"},
        happens=edit_groups(count=1),
        options=("--lenient",),
    ),
    "groups by several criteria": Situation(
        0,
        "4 of 4 passed.",
        before={"columns": "declines"},
        now={"columns": "declines"},
        happens=lambda checkout: checkout.edit_baseline(
            groups=[
                group(dtype="float32", count=1),
                group(dtype="float64", count=1, argument="axis", profile="documents", operation="softmax", cases="*s"),
            ]
        ),
    ),
    "a criterion of several that does not hold": Situation(
        1,
        "dtype float64, operation context_vector, said not this one: covers 0 results, not 2",
        before={"columns": "declines"},
        now={"columns": "declines"},
        happens=edit_groups(dtype="float64", operation="context_vector"),
    ),
    "a narrow run leaves the counts alone": Situation(
        1,
        "2 results were graded, but 4",
        before={"columns": "declines"},
        now={"columns": "declines"},
        options=("--select", ROWS),
        says_not="covers",
    ),
    "a lost dtype leaves the counts alone": Situation(
        1,
        "float32: the dtype was offered before",
        before={"columns": "declines"},
        now={"columns": "declines", "dtypes": ("float64",)},
        says_not="covers",
    ),
    "a lost operation leaves the counts alone": Situation(
        1,
        "Lost: it was offered before (1) context_vector: the operation",
        before={"context": "declines"},
        says_not="covers",
    ),
    "a failure that a group would name": Situation(
        1,
        f"New failures (2) {ROWS} (float64, float32): fail",
        before={"columns": "declines"},
        now={"rows": "wrong", "columns": "declines"},
        happens=edit_groups(said=None, profile="documents"),
    ),
    "a baseline with a group twice": Situation(
        2,
        "has two groups for said not this one. Keep one of them.",
        before={"columns": "declines"},
        happens=lambda checkout: checkout.edit_baseline(groups=[group(), group(reason="again")]),
    ),
    "a baseline with a group of nothing": Situation(
        2,
        "does not follow the baseline schema at /groups/0",
        happens=lambda checkout: checkout.edit_baseline(groups=[{"count": 1, "reason": ""}]),
    ),
    "a baseline with an unknown criterion": Situation(
        2, "'colour' was unexpected", happens=lambda checkout: checkout.edit_baseline(groups=[group(colour="red")])
    ),
    "a baseline whose marks do not fit its count": Situation(
        2,
        "says 7 at /graded, but marks 6 results at /suite/answered. Restore it, or",
        happens=lambda checkout: checkout.edit_baseline(graded=7),
    ),
    "a baseline that marks more than it names": Situation(
        2,
        "marks more cases at /suite/answered/float64 than it names. Restore it, or",
        happens=lambda checkout: checkout.edit_suite(answered={"float64": "fff"}),
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_in_every_situation(name, checkout):
    hold(GROUPS[name], checkout)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_gate_in_every_situation(name, checkout):
    hold(SITUATIONS[name], checkout)


@pytest.mark.parametrize("name", [name for name in SITUATIONS if "baseline" not in name])
def test_a_baseline_of_format_1_is_met_as_it_is(name, checkout):
    hold(SITUATIONS[name], checkout, format_1=True)


def hold(situation, checkout, *, format_1=False):
    before = dict(situation.before)
    without = before.pop("without", None)
    if without is not None:
        checkout.remove_case(without)
    checkout.adapter(**before)
    checkout.update()
    says = situation.says
    if format_1:
        checkout.to_format_1()
        says = situation.of_format_1 or says
    checkout.adapter(**situation.now)
    situation.happens(checkout)
    status, out, err = checkout.gate(*situation.options)
    out = re.sub(r"The baseline \S+ has format 1, .*? which has groups\. ", "", out)
    assert (status, says in out + err) == (situation.status, True), out + err
    assert situation.says_not not in out + err
    assert (err == "") == (situation.status != 2)
    assert (out == "") == (situation.status == 2)


def test_without_a_baseline_everything_must_pass(checkout):
    assert checkout.gate(baseline=False) == (0, "mine passes the gate: 6 of 6 passed.", "")
    checkout.adapter(columns="declines")
    assert checkout.gate(baseline=False)[:2] == (0, "mine passes the gate: 4 of 4 passed.")
    checkout.adapter(columns="wrong")
    status, out, _ = checkout.gate(baseline=False)
    assert status == 1
    assert f"New failures (2) {COLUMNS} (float64, float32): fail" in out
    assert out.endswith("mine does not pass the gate (new failure: 2).")


def test_a_run_that_graded_nothing_is_no_pass(checkout):
    checkout.adapter(rows="declines", columns="declines", whole="declines")
    status, out, _ = checkout.gate(baseline=False)
    assert status == 1
    assert "None of 8 results says anything about conformance." in out


def test_the_unexpected_failures_are_diagnosed_by_themselves(checkout):
    checkout.adapter(whole="wrong")
    checkout.update()
    text = (checkout.folder / "mine.py").read_text("utf-8")
    mistake = "\nright = softmax\n\ndef softmax(x, axis=-1):\n    return right(x, 1 if axis == 0 else axis)\n"
    (checkout.folder / "mine.py").write_text(text + mistake, "utf-8")
    status, out, _ = checkout.gate()
    assert status == 1
    assert f"New failures (2) {COLUMNS}" in out
    assert WHOLE not in out
    assert re.search(r"2 unexpected failures: 2 .* What to do: .* It breaks softmax\.axis", out)


def test_quiet_is_one_line(checkout, capsys):
    checkout.adapter(columns="wrong")
    status = checkout.gate("--quiet", baseline=False)
    assert status == (1, "mine does not pass the gate (new failure: 2).", "")
