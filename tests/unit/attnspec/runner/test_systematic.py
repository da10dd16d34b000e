"""Systematic errors: found where a factor is off within the tolerance of every element, and nowhere else."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from kernels.pulling import implementation

from attnspec.cases import load_suite
from attnspec.grading.pull import computed_slopes, pulls_of
from attnspec.runner import Resolved, planned_runs, run_suite
from attnspec.runner.systematic import FEWEST, fitted_factors, systematic_errors, systematic_failures, with_pulls
from attnspec.targets import Declaration

PROFILES = ("core", "masking")
SCALE, OUTPUT = "the scale is", "the output is"


@cache
def suite():
    return load_suite(profiles=PROFILES)


def measured(**of_implementation):
    """Return the results and the systematic errors of an implementation, over the cases of two profiles."""
    target = implementation(**of_implementation)
    results = run_suite(suite(), target)
    return results, systematic_errors(results, Resolved(target.declaration.conventions))


def found(errors):
    return [(error.direction, error.dtype) for error in errors if error.is_wrong]


@pytest.mark.parametrize("chained", [False, True], ids=["fused", "unfused"])
@pytest.mark.parametrize("direction", ["scale", "output"])
@pytest.mark.parametrize(("dtype", "deviation"), [("bfloat16", 3e-3), ("float16", 5e-4), ("float32", 5e-7)])
def test_a_factor_that_is_off_is_found_though_every_result_passes(chained, direction, dtype, deviation) -> None:
    results, errors = measured(chained=chained, dtypes=(dtype,), **{direction: 1 + deviation})
    assert not any(result.is_wrong for result in results)
    assert found(errors) == [(direction, dtype)]
    (error,) = (error for error in errors if error.is_wrong)
    assert abs(error.deviation - deviation) < 0.2 * deviation
    (failure,) = systematic_failures(errors)
    assert failure.is_wrong
    assert failure.clauses == ("sdpa.precision.systematic",)
    assert failure.case.id == f"systematic/scaled_dot_product_attention/{direction}"
    assert failure.verdict.message == error.sentence


@pytest.mark.parametrize("chained", [False, True], ids=["fused", "unfused"])
def test_what_is_right_is_not_accused(chained) -> None:
    _, errors = measured(chained=chained, dtypes=("float64", "float32", "float16", "bfloat16"))
    assert len(errors) == 8
    assert found(errors) == []
    assert max(abs(error.deviation) / error.limit for error in errors) < 0.5


@pytest.mark.parametrize("rounded", ["scale", "root"])
def test_a_scale_that_a_chain_of_calls_rounds_is_no_error(rounded) -> None:
    _, errors = measured(chained=True, rounded=rounded)
    assert found(errors) == []
    scale = next(error for error in errors if error.direction == "scale")
    assert scale.deviation > 0.9 * scale.limit
    said = scale.sentence.endswith(", as where it is rounded to bfloat16")
    assert said == scale.explained == (scale.deviation > scale.limit)


def test_a_fused_kernel_has_no_such_excuse() -> None:
    _, errors = measured(chained=False, rounded="root", half_precision_grade="fused")
    assert found(errors) == [("scale", "bfloat16")]


def test_the_sentence_has_the_factor_its_uncertainty_and_the_cases() -> None:
    _, errors = measured(chained=False, scale=1.003)
    (sentence,) = (error.sentence for error in errors if error.is_wrong)
    assert sentence.startswith("the scale is 1.0029")
    assert " ± 0.0000" in sentence
    assert sentence.endswith(f" of what is expected (bfloat16, {errors[0].cases} cases)")


def test_with_too_few_cases_nothing_is_said() -> None:
    target = implementation(chained=False, scale=1.003)
    results = [result for result in run_suite(suite(), target) if result.verdict.pull is not None]
    resolved = Resolved(target.declaration.conventions)
    assert systematic_errors(results[: FEWEST - 1], resolved) == ()
    assert systematic_errors(results[:FEWEST], resolved) != ()


def test_results_that_failed_do_not_speak() -> None:
    target = implementation(chained=False, scale=1.003)
    results = run_suite(suite(), target)
    failing = [result._replace(verdict=result.verdict._replace(status="fail")) for result in results]
    assert systematic_errors(failing, Resolved(target.declaration.conventions)) == ()


def test_factors_are_fitted_together_and_few_cases_do_not_rule() -> None:
    random = np.random.default_rng(7)
    pulls = []
    for number in range(200):
        rows = random.normal(size=(2, 30))
        errors = np.array([0.02, -0.01]) @ rows + random.normal(scale=0.05, size=30)
        if number % 20 == 0:
            errors += 3
        products = rows @ rows.T
        pulls.append([(products[0, 0], products[0, 1], products[1, 1], *(rows @ errors))])
    fit = fitted_factors(pulls, np.zeros((200, 2)))
    assert fit is not None
    assert np.abs(np.array(fit.deviations) - [0.02, -0.01]).max() < 4 * max(fit.uncertainties)
    assert max(fit.uncertainties) < 0.002
    taken_away = fitted_factors(pulls, np.tile([0.02, 0.0], (200, 1)))
    assert taken_away is not None
    assert abs(taken_away.deviations[0]) < 4 * taken_away.uncertainties[0]


def test_factors_that_the_cases_do_not_distinguish_are_not_fitted() -> None:
    assert fitted_factors([[(1.0, 1.0, 1.0, 0.1, 0.1)]] * 50, np.zeros((50, 2))) is None


def test_slopes_are_stored_as_they_are_computed() -> None:
    for case in list(suite().cases.values())[::7]:
        declaration = Declaration("", None, "", (case.operation,), ("float64",), {})
        (run,) = planned_runs(case, ("float64",), declaration, Resolved({}))
        for direction, slopes in computed_slopes(run).items():
            for output, slope in slopes.items():
                stored = case.stored_tolerances.slope(direction, output)
                largest = np.nanmax(np.abs(slope), initial=0.0)
                assert np.array_equal(np.isnan(stored), np.isnan(slope))
                assert np.nanmax(np.abs(stored - slope), initial=0.0) <= 0.51 / 127 * largest


def test_pulls_are_the_same_where_slopes_are_computed() -> None:
    results = with_pulls(run_suite(suite(), implementation(chained=False)))
    answers = [(result.run, result.got) for result in results if result.verdict.pull is not None][::9]
    unstored = [(run._replace(case=run.case._replace(stored_tolerances=None)), got) for run, got in answers]
    for stored, computed in zip(pulls_of(answers), pulls_of(unstored), strict=True):
        assert stored == pytest.approx(computed, rel=0.05, abs=1e-6 + 0.05 * max(map(abs, computed)))
