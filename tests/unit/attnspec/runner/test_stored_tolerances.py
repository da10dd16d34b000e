"""Stored tolerances under every convention: they stand where the computed ones would be the same, and nowhere else."""

import random
from functools import cache

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.contract import CONVENTIONS, OPERATIONS, declarations
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import Choices
from attnspec.grading import Values, in_interval
from attnspec.grading.elements import left_open
from attnspec.grading.stored_tolerance import StoredTolerance
from attnspec.runner.planning import prepare
from attnspec_authoring.regeneration.tolerances import SLACK

SETTLING = (Settles.RESULTS, Settles.ROUNDINGS, Settles.INNER_PRECISION)


@cache
def cases():
    return [case for case in load_suite().cases.values() if case.stored_tolerances is not None]


def choices_of(operation: str, drawn: random.Random) -> Choices:
    """Draw a choice of one convention, or of all, for an operation."""
    normative = declarations.resolve_conventions({}, operation)
    names = [name for name in OPERATIONS[operation].conventions if CONVENTIONS[name].settles in SETTLING]
    changed = names if drawn.random() < 0.3 else names and [drawn.choice(names)]
    return Choices({**normative, **{name: drawn.choice(CONVENTIONS[name].choices) for name in changed}})


def differences(case, choices) -> list[str]:
    """Return how the runs of a case under some choices differ from those that nothing was stored for."""
    found: list[str] = []
    computed = prepare(case._replace(stored_tolerances=None), case.runs, choices)
    for dtype, run in prepare(case, case.runs, choices).items():
        other = computed[dtype]
        if not isinstance(run.expected, Values):
            assert type(run.expected) is type(other.expected)
            continue
        if run.expected.under != other.expected.under:
            found.append(f"{case.id} {dtype}: under {run.expected.under} and {other.expected.under}")
        for name, output in other.expected.outputs.items():
            same = np.array_equal(run.expected.outputs[name], output, equal_nan=output.dtype.kind == "f")
            opened = [left_open(each, each.expected, name) for each in (run, other)]
            same &= np.array_equal(*(np.broadcast_to(False if mask is None else mask, output.shape) for mask in opened))
            for one, two in ((run.bound_index, other.bound_index), (run.fused_index, other.fused_index)):
                assert (one is None) == (two is None)
                if one is not None:
                    same &= within(run.bound.error(name, one), other.bound.error(name, two))
                    same &= same_interval(
                        in_interval(run, run.expected, name, one), in_interval(other, other.expected, name, two)
                    )
            if not same:
                departing = {key: value for key, value in choices.items() if value != CONVENTIONS[key].choices[0]}
                found.append(f"{case.id} {dtype} {name} under {departing}")
    return found


def within(stored, computed) -> bool:
    with np.errstate(all="ignore"):
        rounded_up = (stored >= computed * (1 - SLACK)) & (stored <= computed * (1 + 2.0**-8) * (1 + SLACK))
    return bool((rounded_up | (stored == computed) | (np.isnan(stored) & np.isnan(computed))).all())


def same_interval(one, other) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one.elements, other.elements) and all(
        np.allclose(end[one.elements], same[one.elements], rtol=SLACK, atol=0)
        for end, same in ((one.lowest, other.lowest), (one.highest, other.highest))
    )


@pytest.mark.parametrize(
    "share", [pytest.param(0.04, id="a few"), pytest.param(1.0, id="all", marks=pytest.mark.proof)]
)
def test_they_are_the_computed_ones_rounded_up_or_are_not_taken(share):
    drawn = random.Random(f"stored tolerances {share}")
    chosen = [case for case in cases() if drawn.random() < share]
    assert len(chosen) > 100
    assert [line for case in chosen for line in differences(case, choices_of(case.operation, drawn))] == []


def test_they_are_taken_under_conventions_that_do_not_concern_a_case():
    choices = Choices(
        {**declarations.resolve_conventions({}, "scaled_dot_product_attention"), "fully_masked_row": "nan"}
    )
    of_attention = [case for case in cases() if case.operation == "scaled_dot_product_attention"]
    taken = [
        case
        for case in of_attention
        if isinstance(prepare(case, case.runs[:1], choices)[case.runs[0]].bound, StoredTolerance)
    ]
    assert len(of_attention) * 0.8 < len(taken) < len(of_attention)
