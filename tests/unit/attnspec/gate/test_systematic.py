"""Systematic errors stand in a baseline as a failing case does, and leave it as one does."""

from __future__ import annotations

from functools import cache

import pytest
from kernels.pulling import implementation

from attnspec.cases import load_suite, read_index
from attnspec.gate.decision import Demands, judge
from attnspec.gate.single_results import BesideBaseline
from attnspec.gate.storing import read_baseline, write_baseline
from attnspec.gate.updating import updated_baseline
from attnspec.reports.report import Report
from attnspec.runner import run_suite
from attnspec.validation import make_report

ID = "systematic/scaled_dot_product_attention/scale"


@cache
def report(scale: float, profiles: tuple[str, ...] = ("core", "masking")) -> Report:
    suite, target = load_suite(profiles=profiles), implementation(chained=False, scale=scale)
    return make_report(suite, target.declaration, run_suite(suite, target), conventions={})


def findings(of_run: Report, baseline, **demands):
    ids = read_index(load_suite().folder)
    outcome = judge(of_run, baseline, Demands(**demands), suite_ids=ids, retired={})
    return outcome, [(finding.kind, finding.subject, finding.dtype, finding.weight) for finding in outcome.findings]


@pytest.fixture
def baseline(tmp_path):
    """Return the baseline of a run whose scale is off, as it is read from its file."""
    new = updated_baseline(None, report(1.003), suite_ids=read_index(load_suite().folder))
    assert new is not None
    write_baseline(new, tmp_path / "baseline.json")
    return read_baseline(tmp_path / "baseline.json")


def test_without_a_baseline_it_closes_the_gate() -> None:
    outcome, found = findings(report(1.003), None)
    assert not outcome.is_open
    assert found == [("new failure", ID, "bfloat16", "fails")]
    assert findings(report(1.0), None)[0].is_open


def test_in_a_baseline_it_is_a_known_failure_and_no_case(baseline) -> None:
    assert [(entry.case, entry.dtype, entry.status) for entry in baseline.entries] == [(ID, "bfloat16", "fail")]
    assert ID not in baseline.cases
    outcome, found = findings(report(1.003), baseline)
    assert outcome.is_open
    assert found == []
    assert (outcome.expected, outcome.graded - outcome.passed) == (1, 1)


def test_what_is_right_now_is_to_be_removed(baseline) -> None:
    outcome, found = findings(report(1.0), baseline)
    assert not outcome.is_open
    assert found == [("passes now", ID, "bfloat16", "fails")]
    assert findings(report(1.0), baseline, lenient=True)[0].is_open
    again = updated_baseline(baseline, report(1.0), suite_ids=read_index(load_suite().folder))
    assert again is not None
    assert again.entries == ()


def test_what_was_right_and_is_wrong_now_closes_the_gate(baseline) -> None:
    right = updated_baseline(None, report(1.0), suite_ids=read_index(load_suite().folder))
    assert findings(report(1.003), right)[1] == [("new failure", ID, "bfloat16", "fails")]


def test_a_tool_that_makes_a_test_of_each_result_hears_of_the_run(baseline) -> None:
    declaration = implementation(chained=False).declaration
    beside = BesideBaseline(baseline, declaration, {})
    assert beside.contradicts_run(report(1.003).systematic) == ()
    assert [finding.kind for finding in beside.contradicts_run(report(1.0).systematic)] == ["passes now"]
    assert beside.contradicts_run(()) == ()
