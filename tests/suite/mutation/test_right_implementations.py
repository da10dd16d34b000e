"""Right implementations that compute in other ways: no case fails any of them, in double or half precision."""

import pytest
from right import LOOPS, RIGHT, THROUGH_LOGSUMEXP

from attnspec.targets import load

QUICK = ("Contexts", "Dense", "Modules", "Shapes", "SingleHead", "Softmax")
"""One of each kind; that no case fails the others is a proof, which takes its time."""


def first_failure(implementation, examiner, dtypes):
    return examiner.first_failure(load(implementation()), dtypes)


def implementations(chosen):
    return [
        pytest.param(
            implementation,
            id=implementation.__name__,
            marks=() if implementation.__name__ in QUICK else pytest.mark.proof,
        )
        for implementation in chosen
    ]


@pytest.mark.parametrize("implementation", implementations(RIGHT))
def test_no_case_fails_it_in_float64(implementation, examiner):
    failure = first_failure(implementation, examiner, ["float64"])
    assert failure is None, f"{failure.case.id}: {failure.verdict.message}"


# The orders of tiles and parts differ in float32 sums alone there, which bfloat16 hardly shows.
@pytest.mark.parametrize(
    "implementation", implementations(implementation for implementation in RIGHT if implementation not in LOOPS)
)
def test_no_case_fails_it_in_bfloat16(implementation, examiner):
    failure = first_failure(implementation, examiner, ["bfloat16"])
    assert failure is None, f"{failure.case.id}: {failure.verdict.message}"


# Large scores show most in float32: there the logarithm of a denominator is rounded most coarsely.
@pytest.mark.parametrize("implementation", implementations(THROUGH_LOGSUMEXP))
def test_no_case_fails_weights_through_a_rounded_logsumexp(implementation, examiner):
    failure = first_failure(implementation, examiner, ["float32", "float16"])
    assert failure is None, f"{failure.case.id}: {failure.verdict.message}"
