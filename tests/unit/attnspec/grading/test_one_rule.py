"""The rule for tests in any language: it never fails what a grade passes, and says what it is wider for."""

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.contract.dtypes import FLOAT_DTYPES, LARGEST
from attnspec.grading import Values, compare
from attnspec.grading.one_rule import bounded_outputs
from attnspec.runner import Resolved, planned_runs
from attnspec.targets import Declaration

CASES = {
    "core": ("core/plain", "core/plain_steps"),
    "open": ("varlen/*quer*", "pairs/attention_1[56]*", "documents/002/*"),
    "special": ("nonfinite/*", "stress/*beyond*", "stress/gap_*"),
    "rotary": ("rotary/*yarn*", "rotary/tables_*"),
}
LENIENT = {"masked_nonfinite": "propagates", "half_precision_overflow": "open", "fully_masked_row": "filled"}


def runs_of(*select, conventions=()):
    suite = load_suite(select=select)
    for case in suite.cases.values():
        declaration = Declaration("", None, "", (case.operation,), FLOAT_DTYPES, dict(conventions))
        resolved = Resolved(declaration.conventions)
        for run in planned_runs(case, FLOAT_DTYPES, declaration, resolved):
            if isinstance(run.expected, Values):
                yield run


def passes(got, output):
    """The one rule, as the page for users has it."""
    with np.errstate(all="ignore"):
        near = np.abs(got - output.expected) <= output.tolerance
    same = (got == output.expected) | (np.isnan(got) & np.isnan(output.expected))
    return near | same | np.isinf(output.tolerance)


def graded_right(run, name, got):
    """Whether the grade takes each element; those of which nothing is expected it takes."""
    with np.errstate(all="ignore"):
        compared = compare(run, run.expected, name, got, run.bound_index)
    if compared.sample is None:
        return compared.ratios <= 1
    right = np.ones(got.size, np.bool_)
    right[compared.sample] = compared.ratios <= 1
    return right.reshape(got.shape)


def answers(run, name):
    """Answers round the edges of what is right, and far off."""
    expected = run.expected.outputs[name].astype(np.float64)
    error = run.bound.of(name, run.bound_index).error * np.ones(expected.shape)
    interval = run.bound.interval(name, run.bound_index) or ()
    with np.errstate(all="ignore"):
        yield expected
        for factor in (-1, 1, 1 + 1e-3, -2, 1e30):
            yield expected + factor * error
    for special in (np.nan, np.inf, -np.inf, 0.0, 1.0, LARGEST["float64"]):
        yield np.full(expected.shape, special)
    for end in interval:
        yield np.broadcast_to(end, expected.shape).astype(np.float64)


@pytest.mark.parametrize("conventions", [{}, LENIENT], ids=["normative", "declared"])
@pytest.mark.parametrize("cases", CASES)
def test_what_a_grade_passes_the_rule_passes(cases, conventions):
    seen = 0
    for run in runs_of(*CASES[cases], conventions=conventions):
        for name, output in bounded_outputs(run).items():
            for got in answers(run, name):
                taken = graded_right(run, name, got)
                assert (passes(got, output) >= taken).all(), (run.case.id, run.dtype, name)
                seen += 1
    assert seen > 50


def test_where_everything_is_expected_the_rule_is_the_grade():
    for run in runs_of(*CASES["core"]):
        for name, output in bounded_outputs(run).items():
            assert np.isfinite(output.tolerance).all()
            edge = 3 * np.finfo(np.float64).eps
            for got in answers(run, name):
                with np.errstate(all="ignore"):
                    at_the_edge = np.abs(np.abs(got - output.expected) / output.tolerance - 1) <= edge
                alike = passes(got, output) == graded_right(run, name, got)
                assert (alike | at_the_edge).all(), (run.case.id, run.dtype, name)


def only(case, dtype, conventions=()):
    (run,) = (run for run in runs_of(case, conventions=conventions) if run.dtype == dtype)
    return bounded_outputs(run)


def test_truth_values_are_numbers_that_are_equal_or_wrong():
    output = only("documents/002/causal_mask_boolean", "any")["output"]
    assert output.expected.dtype == np.float64
    assert set(output.expected.ravel()) == {0.0, 1.0}
    assert not output.tolerance.any()


def test_what_a_sample_leaves_out_may_hold_anything():
    run = next(run for run in runs_of("pairs/attention_168") if run.expected.sample)
    (name, kept), *_ = run.expected.sample.items()
    output = bounded_outputs(run)[name]
    left_out = np.delete(np.arange(output.expected.size), kept)
    assert left_out.size
    assert np.isinf(output.tolerance.ravel()[left_out]).all()
    assert not output.expected.ravel()[left_out].any()
    assert np.isfinite(output.tolerance.ravel()[kept]).all()


def test_what_a_dtype_cannot_hold_may_be_infinite_there():
    (plain,) = (run for run in runs_of("core/plain") if run.dtype == "float16")
    numbers = np.full(plain.expected.outputs["output"].shape, 7e4)
    run = plain._replace(expected=Values({"output": numbers}))
    output = bounded_outputs(run)["output"]
    assert graded_right(run, "output", numbers + np.inf).all()
    assert passes(numbers + np.inf, output).all()
    wide = plain._replace(dtype="bfloat16", expected=run.expected)
    assert not passes(numbers + np.inf, bounded_outputs(wide)["output"]).any()


def test_what_need_only_be_finite_is_finite():
    (run,) = (run for run in runs_of("core/plain") if run.dtype == "float64")

    class Lost:
        """Tolerances that say nothing, of numbers without an interval."""

        unspecified: dict = {}  # noqa: RUF012

        def error(self, name, index=0):
            return run.bound.error(name, index)

        def vacuous(self, name, index=0):
            return np.ones(run.expected.outputs[name].shape, np.bool_)

        def interval(self, name, index=0):
            return None

    lost = run._replace(bound=Lost())
    output, numbers = bounded_outputs(lost)["output"], run.expected.outputs["output"]
    for got in (numbers, numbers + 1e300, numbers + np.inf, numbers + np.nan):
        assert (passes(got, output) == graded_right(lost, "output", got)).all()
    assert passes(numbers + 1e300, output).all()


def test_what_a_convention_leaves_open_may_hold_anything():
    open_elements = {
        conventions: sum(
            np.isinf(output.tolerance).sum()
            for run in runs_of("nonfinite/hidden_by_*", conventions=conventions)
            for output in bounded_outputs(run).values()
        )
        for conventions in ((), (("masked_nonfinite", "propagates"),))
    }
    normative, declared = open_elements.values()
    assert declared > normative


def test_what_is_refused_owes_no_values():
    (run, *_) = runs_of("core/plain")
    refused = load_suite(select=("rejects/batch_of_one",)).cases["rejects/batch_of_one"]
    declaration = Declaration("", None, "", (refused.operation,), ("float64",))
    (called,) = planned_runs(refused, ("float64",), declaration, Resolved(declaration.conventions))
    assert bounded_outputs(run)
    assert bounded_outputs(called) == {}
