"""Reports that were written before: what is refused, how they are compared, and ranked by accuracy."""

import copy
import json

import pytest

import attnspec
from attnspec.base.errors import ReportError
from attnspec.cases import canonical_json
from attnspec.reports.formats import report_to_json
from attnspec.reports.written_reports import compare_reports, rank_reports, read_ratio, read_report

FAILED = {"status": "fail", "check": "values", "message": "wrong"}
DECLINED = {"status": "unsupported", "message": "not offered"}


@pytest.fixture(scope="module")
def sound():
    return report_to_json(attnspec.validate("reference", select="documents/001/*", dtypes=["float64", "float32"]))


@pytest.fixture
def changed(sound):
    """Make a copy of the report in which some results differ: (case, dtype) to fields."""

    def change(changes=None, drop=()):
        document = copy.deepcopy(sound)
        document["results"] = [
            {**result, **(changes or {}).get((result["case"], result["dtype"]), {})}
            for result in document["results"]
            if (result["case"], result["dtype"]) not in drop
        ]
        return document

    return change


@pytest.fixture
def runs(sound):
    return [(result["case"], result["dtype"]) for result in sound["results"]]


def kinds(changes):
    """The kinds of change that were found."""
    names = ("failing", "fixed", "lost", "gained", "new", "new_failing", "vanished")
    return {name: getattr(changes, name) for name in names if getattr(changes, name)}


def test_the_same_report_changes_nothing(sound):
    changes = compare_reports(sound, copy.deepcopy(sound))
    assert kinds(changes) == {}
    assert not changes.is_worse
    assert changes.same_suite
    before, after = changes.accuracy
    assert (before.median, before.worst, before.runs) == (after.median, after.worst, after.runs)


@pytest.mark.parametrize(
    ("before", "after", "kind", "worse"),
    [
        ({}, FAILED, "failing", True),
        (DECLINED, FAILED, "failing", True),
        (FAILED, {}, "fixed", False),
        ({}, DECLINED, "lost", True),
        (FAILED, DECLINED, "lost", True),
        (DECLINED, {}, "gained", False),
    ],
)
def test_a_changed_status_is_of_one_kind(changed, runs, before, after, kind, worse):
    changes = compare_reports(changed({runs[0]: before}), changed({runs[0]: after}))
    assert kinds(changes) == {kind: (runs[0],)}
    assert changes.is_worse == worse


def test_another_way_of_going_wrong_is_no_change(changed, runs):
    error = {"status": "error", "check": None, "message": "raised"}
    assert kinds(compare_reports(changed({runs[0]: FAILED}), changed({runs[0]: error}))) == {}


def test_new_and_vanished_runs_are_distinguished(changed, runs):
    changes = compare_reports(changed(drop=runs[:1]), changed(drop=runs[1:2]))
    assert kinds(changes) == {"new": (runs[0],), "vanished": (runs[1],)}
    assert changes.is_worse, "a run that vanished may have gone wrong"
    assert not compare_reports(changed(drop=runs[:1]), changed()).is_worse
    changes = compare_reports(changed(drop=runs[:1]), changed({runs[0]: FAILED}))
    assert kinds(changes) == {"new": (runs[0],), "new_failing": (runs[0],)}
    assert changes.is_worse


def test_another_suite_is_said(sound):
    other = copy.deepcopy(sound)
    other["suite"]["digest"] = "0" * 64
    assert not compare_reports(other, sound).same_suite


def document(**runs):
    """A document of runs `case` to (median, worst), or None for one that was not compared."""
    return {
        "results": [
            {
                "case": case,
                "dtype": "float64",
                "median": None if numbers is None else numbers[0],
                "worst": None if numbers is None else {"ratio": numbers[1]},
                "graded": 0 if numbers is None else 4,
            }
            for case, numbers in runs.items()
        ]
    }


def test_only_runs_that_all_had_compared_count():
    one = document(a=(0.1, 0.2), b=(0.3, 0.9), c=(0.9, 0.95))
    other = document(a=(0.2, 0.4), b=(0.1, 0.5), c=None)
    first, second = rank_reports([one, other], ["one", "other"])
    assert (first.name, first.position, first.median, first.worst, first.runs) == ("other", 1, 0.2, 0.5, 2)
    assert (second.name, second.position, second.median, second.worst, second.runs) == ("one", 0, 0.3, 0.9, 2)


def test_an_error_beyond_tolerance_comes_last_however_small_the_median():
    ranked = rank_reports([document(a=(0.0, "inf")), document(a=(0.5, 0.8)), document(a=(0.0, 3.0))], ["x", "y", "z"])
    assert [entry.name for entry in ranked] == ["y", "z", "x"]


def test_equals_keep_their_order():
    assert [entry.position for entry in rank_reports([document(a=(0.1, 0.1))] * 3, ["x", "y", "z"])] == [0, 1, 2]


def test_nothing_in_common_is_no_ranking():
    assert rank_reports([document(a=(0.1, 0.1)), document(b=(0.1, 0.1))], ["x", "y"]) == ()


@pytest.mark.parametrize(("written", "read"), [(None, None), ("inf", float("inf")), ("nan", float("inf")), (0.5, 0.5)])
def test_a_ratio_that_is_no_number_is_infinite(written, read):
    assert read_ratio(written) == read


@pytest.fixture(scope="module")
def intact():
    return report_to_json(attnspec.validate("reference", select="documents/001/*", dtypes=["float64"]))


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "a.json"
        path.write_bytes(content if isinstance(content, bytes) else canonical_json(content).encode())
        return path

    return write


def test_an_intact_report_is_read_as_it_was_written(written, intact):
    assert read_report(written(intact)) == json.loads(canonical_json(intact))


def refusal(path):
    with pytest.raises(ReportError) as caught:
        read_report(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_report_that_was_cut_off_says_so(written, intact, share):
    text = canonical_json(intact).encode()
    assert "it seems to be cut off" in refusal(written(text[: int(share * len(text))]))


def test_a_report_that_lost_results_says_how_many(written, intact):
    reported = refusal(written({**intact, "results": intact["results"][1:]}))
    count = intact["count"]
    assert f"says {count} results at /count but holds {count - 1}: it was cut or edited" in reported
    assert "attnspec validate … --report a.json" in reported


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not valid JSON"),
        (b"[1, 2]", "does not hold a JSON object"),
        (b"\xff\xfe{}", "is not UTF-8 text (byte 0)"),
        (b"{}", "does not follow the report schema at /"),
        (b'{"a": NaN}', "holds the bare word NaN"),
        (b"[" * 100_000, "is not a report"),
        (b"9" * 10_000, "is not a report"),
    ],
)
def test_what_is_no_report_is_refused(written, content, sentence):
    assert sentence in refusal(written(content))


def test_a_damaged_field_is_named(written, intact):
    first, *others = intact["results"]
    document = {**intact, "results": [{**first, "status": "passed"}, *others]}
    assert "does not follow the report schema at /results/0/status" in refusal(written(document))


def test_a_missing_file_or_a_folder_is_said(tmp_path):
    assert "cannot be read (No such file or directory)" in refusal(tmp_path / "gone.json")
    assert "cannot be read (Is a directory)" in refusal(tmp_path)
