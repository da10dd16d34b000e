"""Known defects beside outcomes: what they excuse, what is left, and the printout."""

import pytest

from attnspec_authoring.third_party.known_defects import judge
from attnspec_authoring.third_party.table import lines


def test_a_known_defect_is_no_failure(outcome, result, defect, cases):
    findings = judge([outcome(result(), result(status="pass", dtype="float64"))], [defect()], cases)
    assert findings.is_good
    assert list(findings.seen.values()) == ["sums_in_the_wrong_order"]
    assert not findings.gone


@pytest.mark.parametrize("status", ["fail", "error", "crash", "timeout", "malformed"])
def test_everything_else_that_is_wrong_is_a_failure(outcome, result, defect, cases, status):
    wrong = result(status=status, dtype="float64")
    findings = judge([outcome(wrong, result(status="pass"))], [defect()], cases)
    assert not findings.is_good
    assert [(failure.implementation, failure.result) for failure in findings.failures] == [("torch", wrong)]


def test_a_defect_that_no_longer_shows_is_reported_for_each_implementation(outcome, result, defect, cases):
    passes = result(status="pass")
    outcomes = [outcome(passes), outcome(passes, name="jax"), outcome(passes, name="onnx")]
    findings = judge(outcomes, [defect()], cases)
    assert [(known.id, name) for known, name in findings.gone] == [
        ("sums_in_the_wrong_order", "torch"),
        ("sums_in_the_wrong_order", "jax"),
    ]
    assert findings.is_good


def test_what_could_not_be_run_drops_no_other_and_is_not_good(outcome, result, defect, cases):
    broken = outcome(version=None, problem="no module")
    findings = judge([broken, outcome(result(status="pass"), name="onnx")], [defect()], cases)
    assert findings.missing == (broken,)
    assert not findings.gone
    assert not findings.is_good


def test_an_implementation_that_passes_nothing_is_not_good(outcome, result, cases):
    assert not judge([outcome(result(status="unsupported"))], [], cases).is_good


def test_the_printout(outcome, result, defect, cases):
    worst = {"output": "output", "index": [0], "got": 1.0, "expected": 2.0, "ratio": 0.25}
    outcomes = [
        outcome(result(), result(status="pass", dtype="float64", worst=worst), seconds=2.4),
        outcome(result(status="error", message="it raised"), name="onnx", version="1.23.2"),
        outcome(name="jax", version=None, problem="it has no wheels"),
    ]
    defects = [defect(implementations=("torch",))]
    printed = [*lines(outcomes, judge(outcomes, defects, cases), defects, cases)]
    text = "\n".join(printed)
    float64, float32 = (
        printed.index(next(line for line in printed if line.startswith(name))) for name in ("float64", "float32")
    )
    assert printed[float64].split() == ["float64", "cases", "torch", "onnx"]
    assert printed[float64 + 1].split()[-2:] == ["1", "."]
    assert printed[float64 + 2].split()[-2:] == ["0.25", "."]
    assert printed[float32 + 1].split()[-4:] == ["0", "~1", "0", "!1"]
    assert "Known defect sums_in_the_wrong_order: 1 of torch" in text
    assert "onnx on documents/001/softmax_of_rows in float32: error" in text
    assert "  it raised" in text
    assert "jax could not be run: it has no wheels" in text
    assert "torch 2.13.0+cpu: 2 results, 2 s" in text
    assert printed[-1] == "3 implementations: 1 passed, 1 with a known defect, 1 failed, 2 could not be run."


def test_failures_are_not_printed_without_end(outcome, result, cases):
    outcomes = [outcome(*[result(status="error")] * 30)]
    printed = [*lines(outcomes, judge(outcomes, [], cases), [], cases)]
    assert sum(line.startswith("torch on ") for line in printed) == 25
    assert "... and 5 more" in printed
