"""What changed between two reports."""

import copy

import pytest

import attnspec
from attnspec.reports.formats import report_to_json
from attnspec.reports.written_reports import compare

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
    changes = compare(sound, copy.deepcopy(sound))
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
    changes = compare(changed({runs[0]: before}), changed({runs[0]: after}))
    assert kinds(changes) == {kind: (runs[0],)}
    assert changes.is_worse == worse


def test_another_way_of_going_wrong_is_no_change(changed, runs):
    error = {"status": "error", "check": None, "message": "raised"}
    assert kinds(compare(changed({runs[0]: FAILED}), changed({runs[0]: error}))) == {}


def test_new_and_vanished_runs_are_told_apart(changed, runs):
    changes = compare(changed(drop=runs[:1]), changed(drop=runs[1:2]))
    assert kinds(changes) == {"new": (runs[0],), "vanished": (runs[1],)}
    assert changes.is_worse, "a run that vanished may have gone wrong"
    assert not compare(changed(drop=runs[:1]), changed()).is_worse
    changes = compare(changed(drop=runs[:1]), changed({runs[0]: FAILED}))
    assert kinds(changes) == {"new": (runs[0],), "new_failing": (runs[0],)}
    assert changes.is_worse


def test_another_suite_is_said(sound):
    other = copy.deepcopy(sound)
    other["suite"]["digest"] = "0" * 64
    assert not compare(other, sound).same_suite
