"""Trivial answers against a drawn case: which it distinguishes from right ones, and which a candidate gave."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import UsageError
from attnspec.cases import run_attributes
from attnspec.contract.dtypes import ANY, REFERENCE_DTYPE, rounded_to
from attnspec.grading import Run, Values, compare
from attnspec.grading.expectation import reference_outputs
from attnspec.runner import Result
from attnspec_draws.generators.random_cases import random_cases_of, trivial_answers_of
from attnspec_draws.generators.trivial_answers import Answered, Part, TrivialAnswer

Telling = Literal["distinguished", "undecided", "the same", "aside", "no answer"]

DISTINGUISHED: Telling = "distinguished"
UNDECIDED: Telling = "undecided"
THE_SAME: Telling = "the same"
ASIDE: Telling = "aside"
NO_ANSWER: Telling = "no answer"
"""A case's verdicts on a trivial answer: wrong, perhaps within rounding, or right; right but for elements that
expect NaN, infinity or an exact 0, which says nothing of its arithmetic; no answer, as a repeated call has none at
first."""

APART = 4.0
"""Tolerances from which on a trivial answer is distinguished: it shows even against the worst rounding allowed."""

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
    if not isinstance(expected, Values) or bound is None or bound.run_of_values is None:
        raise UsageError(f"{case.id} expects no values of the reference, which trivial answers could be compared with.")
    names = [name for name in outputs or run.operation.required(case.inputs) if name in expected.outputs]
    answering = answering or answering_of(run)
    call = answering.call._replace(before=before or {})
    reported: dict[str, Reported] = {}
    if trivial_answers is None:
        trivial_answers = trivial_answers_of(case.operation)
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
            filled[self.part.positions[output]] = answer[output].reshape(-1)[self.part.elements[output]]
        return filled


def answering_of(run: Run) -> Answering:
    """Return the call of a run for trivial answers; `ValueError` where it is too large for any part to be answered."""
    case, right = run.case, run.case.golden(run.dtype)
    if not case.generated:
        return Answering(Answered(case.inputs, run_attributes(REFERENCE_DTYPE, case.attributes), right), None, right)
    part = random_cases_of(case.operation).part_of(case)
    if part is None:
        raise ValueError(f"{case.id} is too large for trivial answers: take a smaller one")
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
    assert run.bound.run_of_values is not None
    # The tolerance of the run in which the values were computed is twice their error: its own, and that of the values.
    return run.bound.of(name, run.bound.run_of_values).error / 2


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


def recognised(results: Sequence[Result]) -> str | None:
    """Recognise wrong answers, in draws that are alike in all but their numbers; None where nothing is recognised."""
    answers = [(result, (result.got or {}).get(result.run.operation.outputs[0])) for result in results]
    for result, answer in answers:
        if not result.is_wrong or answer is None or answer.size < 2:
            continue
        if not np.any(answer):
            return "It returned zeros."
        for other, earlier in answers:
            if other is not result and earlier is not None and _same(answer, earlier):
                return (
                    "It gave one answer to different numbers in the same shapes: results are kept, or it reads "
                    "memory that it did not write."
                )
        if result.case.generated or result.verdict.check != "values":
            continue
        for name, array in result.case.inputs.items():
            if array.dtype.kind == "f" and _same(answer, rounded_to(array, result.dtype)):
                return f"It returned {name} as it came."
        trivial_answer = _trivial_answer(result, answer)
        if trivial_answer is not None:
            return f"It returned {trivial_answer.sentence}."
    return None


def _trivial_answer(result: Result, answer: NDArray[Any]) -> TrivialAnswer | None:
    """Return the trivial answer that equals the result, up to rounding."""
    case, run = result.case, result.run
    expected, bound = run.expected, run.bound
    if not isinstance(expected, Values) or bound is None:
        return None
    output = run.operation.outputs[0]
    call = Answered(case.inputs, run_attributes(run.dtype, case.attributes), case.golden(run.dtype))
    tolerance = bound.error(output, run.bound_index)
    right = case.golden(run.dtype)[output]
    for trivial_answer in trivial_answers_of(case.operation):
        with np.errstate(all="ignore"):
            given = trivial_answer.answer(call).get(output)
            # What is right here, as one without a mask where there is none, explains no wrong answer.
            if given is None or given.shape != answer.shape or np.all(np.abs(given - right) <= tolerance):
                continue
            if np.all(np.abs(given - answer) <= 2 * tolerance):
                return trivial_answer
    return None


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one.astype(np.float64), other.astype(np.float64)))
