"""Telling trivial answers from right ones: each one of an operation, against a drawn case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from attnspec.base.errors import UsageError
from attnspec.cases import attributes_in
from attnspec.contract.dtypes import ANY, REFERENCE_DTYPE
from attnspec.grading import Values, compare
from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.grading import Run
    from attnspec_draws.generators.trivial_answers import TrivialAnswer

Telling = Literal["told apart", "undecided", "the same", "aside", "no answer"]

DISTINGUISHED: Telling = "told apart"
UNDECIDED: Telling = "undecided"
THE_SAME: Telling = "the same"
ASIDE: Telling = "aside"
NO_ANSWER: Telling = "no answer"
"""A case's verdicts on a trivial answer: wrong, perhaps within rounding, or right; right but for elements that
expect NaN, infinity or an exact 0, which says nothing of its arithmetic; no answer, as a repeated call has none at
first."""

APART = 4.0
"""Tolerances from which on a trivial answer is told apart: it shows even against the worst rounding allowed."""

LARGEST_UNGRADED_SHARE = 0.01
"""A case of which a larger share is not graded does not count: it could hide whatever is wrong with the rest."""


@dataclass(frozen=True)
class Reported:
    """Verdict of one case on one trivial answer, and the largest error / tolerance; 0 where none speaks of it."""

    telling: Telling
    ratio: float


@dataclass(frozen=True)
class DrawReported:
    """Verdicts of one case on every trivial answer of its operation, by name.

    `expected` counts the expected elements, without padding, for which none is; `graded` those that are graded.
    """

    case: str
    graded: int
    expected: int
    trivial_answers: Mapping[str, Reported]

    @property
    def counts(self) -> bool:
        """Whether so much of the case is graded that it says something."""
        return self.expected > 0 and self.expected - self.graded <= LARGEST_UNGRADED_SHARE * self.expected


def distinguish(
    run: Run,
    before: Mapping[str, NDArray[Any]] | None = None,
    *,
    outputs: Collection[str] | None = None,
    answering: Answering | None = None,
    trivial_answers: Sequence[TrivialAnswer] | None = None,
) -> DrawReported:
    """Return a run's verdicts on trivial answers of its operation; on all if `trivial_answers` is None.

    The run's expected values must be the reference's, as trivial answers are: certified ones say nothing of how far
    these may lie, and raise `UsageError`. `ValueError` where the run is so large that no part of it is answered.
    `before` was right for the call before; `outputs` None means those that are always expected; `answering` is computed
    if None.
    """
    case, expected, bound = run.case, run.expected, run.bound
    if not isinstance(expected, Values) or bound is None or bound.place_of_values is None:
        raise UsageError(f"{case.id} does not owe values of the reference: no impostor can be held against it.")
    names = [name for name in outputs or run.operation.required(case.inputs) if name in expected.outputs]
    answering = answering or answering_of(run)
    call = answering.call._replace(before=before or {})
    reported: dict[str, Reported] = {}
    if trivial_answers is None:
        trivial_answers = random_cases_of(case.operation).trivial_answers.get(case.operation, ())
    for trivial_answer in trivial_answers:
        if run.dtype not in (*trivial_answer.dtypes, ANY):
            continue
        with np.errstate(all="ignore"):
            answer = trivial_answer.answer(call)
            given = {name: answering.whole(name, answer) for name in names} if answer else {}
            reported[trivial_answer.name] = _reported(
                run, expected, run.family.computed_under(given, run.conventions, bound)
            )
    graded, counted = _counted(run, expected, names)
    return DrawReported(case.id, graded, counted, reported)


class Answering(NamedTuple):
    """Call that trivial answers are given to: the whole case, or a part of a large one (`part` None for the whole).

    `expected` has the expected results of the whole run by output, sampled where it is large.
    """

    call: Answered
    part: Part | None
    expected: Mapping[str, NDArray[Any]]

    def whole(self, output: str, answer: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return an answer to the whole run: what lies outside of the part, and what was left out, is right."""
        if self.part is None:
            return answer.get(output, self.expected[output])
        filled = self.expected[output].copy()
        if output in answer:
            filled[self.part.places[output]] = answer[output].reshape(-1)[self.part.elements[output]]
        return filled


def answering_of(run: Run) -> Answering:
    """Return the call of a run for trivial answers; `ValueError` where it is too large for any part to be answered."""
    case, right = run.case, run.case.golden(run.dtype)
    if not case.generated:
        return Answering(Answered(case.inputs, attributes_in(REFERENCE_DTYPE, case.attributes), right), None, right)
    part = random_cases_of(case.operation).part_of(case)
    if part is None:
        raise ValueError(f"{case.id} is too large for impostors to answer: take a smaller one")
    of_part = reference_outputs(case.operation, part.inputs, part.attributes)
    return Answering(Answered(part.inputs, part.attributes, of_part), part, right)


def _reported(run: Run, expected: Values, given: Mapping[str, NDArray[Any]]) -> Reported:
    """Return a case's verdict on an answer, by the elements that say how far it lies from the expected one."""
    if not given:
        return Reported(NO_ANSWER, 0.0)
    largest, same, beyond = 0.0, True, False
    for name, answer in given.items():
        with np.errstate(all="ignore"):
            compared = compare(run, expected, name, answer, run.bound_index)
        if not compared.tolerance.any() and compared.expected.any():
            # Numbers are moved, and none is changed: any other number is as far off as can be.
            if (compared.ratios > 1).any():
                return Reported(DISTINGUISHED, np.inf)
            continue
        # Nothing lies near a 0 to which nothing is added, and NaN is far from all: they would speak for any numbers.
        speaking = np.isfinite(compared.given) & np.isfinite(compared.expected) & (compared.expected != 0)
        speaking &= np.isfinite(compared.ratios) & (compared.ratios >= 0) & (compared.tolerance > 0)
        largest = max(largest, float(compared.ratios.max(where=speaking, initial=0.0)))
        same = same and bool((compared.error <= _own_error(run, name)).all(where=speaking))
        beyond = beyond or bool((compared.ratios > 1).any(where=~speaking))
    if same:
        return Reported(ASIDE if beyond else THE_SAME, largest)
    return Reported(DISTINGUISHED if largest > APART else UNDECIDED, largest)


def _own_error(run: Run, name: str) -> NDArray[Any]:
    """Return how far the expected values may themselves lie from the exact ones."""
    assert run.bound is not None
    assert run.bound.place_of_values is not None
    # The tolerance of the run in which the values were computed is twice their error: its own, and that of the values.
    return run.bound.of(name, run.bound.place_of_values).error / 2


def _counted(run: Run, expected: Values, names: Collection[str]) -> tuple[int, int]:
    """Return how many elements are graded, and how many are expected."""
    assert run.bound is not None
    graded = wanted = 0
    for name in names:
        with np.errstate(all="ignore"):
            compared = compare(run, expected, name, expected.outputs[name], run.bound_index)
        unspecified = run.bound.unspecified.get(name)
        padding = 0 if unspecified is None else int(np.count_nonzero(unspecified))
        graded += compared.graded
        wanted += compared.ratios.size - padding
    return graded, wanted
