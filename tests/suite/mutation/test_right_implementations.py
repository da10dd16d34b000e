"""Right implementations that compute in other ways: no case fails any of them, in double or half precision."""

from dataclasses import replace

import pytest
from right import LOOPS, RIGHT, THROUGH_LOGSUMEXP

from attnspec.runner import Resolved, planned_runs, run_once
from attnspec.targets import load
from attnspec_authoring.rotation import selection

QUICK = ("Contexts", "Dense", "Modules", "Shapes", "SingleHead", "Softmax")
"""One of each kind; that no case fails the others is a proof, which takes its time."""

TRIED = 6
"""The others that a proof tries, another six with every change: each meets every case of its operations."""


def first_failure(implementation, examiner, dtypes):
    return examiner.first_failure(load(implementation()), dtypes)


def implementations(right):
    chosen = [*right]
    tried = selection((each.__name__ for each in chosen if each.__name__ not in QUICK), TRIED)
    return [
        pytest.param(
            implementation,
            id=implementation.__name__,
            marks=() if implementation.__name__ in QUICK else pytest.mark.proof,
        )
        for implementation in chosen
        if implementation.__name__ in tried or implementation.__name__ in QUICK
    ]


@pytest.mark.parametrize("implementation", implementations(RIGHT))
def test_no_case_fails_it_in_float64(implementation, examiner):
    failure = first_failure(implementation, examiner, ["float64"])
    assert failure is None, f"{failure.case.id}: {failure.verdict.message}"


@pytest.fixture(scope="module")
def runs_of(examiner):
    """The runs of an implementation in a dtype, planned once for all that declare the same."""
    planned = {}

    def runs(declaration, dtype):
        declared = replace(declaration, name="", adapter="")
        if (repr(declared), dtype) not in planned:
            resolved = Resolved(declared.conventions)
            cases = [case for case in examiner.suite.cases.values() if case.operation in declared.operations]
            planned[repr(declared), dtype] = [
                run for case in cases for run in planned_runs(case, [dtype], declared, resolved)
            ]
        return planned[repr(declared), dtype]

    return runs


# That they are called again, and with an argument changed, is seen in float64. The orders of tiles and parts differ in
# float32 sums alone there, which bfloat16 hardly shows.
@pytest.mark.parametrize(
    "implementation", implementations(implementation for implementation in RIGHT if implementation not in LOOPS)
)
def test_no_case_fails_it_in_bfloat16(implementation, examiner, runs_of):
    implementation = load(implementation())
    results = run_once(runs_of(implementation.declaration, "bfloat16"), examiner.suite, implementation)
    assert any(result.status == "pass" for result in results)
    assert [f"{result.case.id}: {result.verdict.message}" for result in results if result.is_wrong] == []


# Large scores show most in float32: there the logarithm of a denominator is rounded most coarsely.
@pytest.mark.parametrize("implementation", implementations(THROUGH_LOGSUMEXP))
def test_no_case_fails_weights_through_a_rounded_logsumexp(implementation, examiner):
    failure = first_failure(implementation, examiner, ["float32", "float16"])
    assert failure is None, f"{failure.case.id}: {failure.verdict.message}"
