"""Recognising a cheap wrong answer: zeros, an input, an earlier answer, or one of the trivial answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import attributes_in
from attnspec.contract.dtypes import rounded_to
from attnspec.grading import Values
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from attnspec.runner import Result
    from attnspec_draws.generators.trivial_answers import TrivialAnswer


def recognised(results: Sequence[Result]) -> str | None:
    """Recognise wrong answers, in draws that are alike in all but their numbers; None where nothing is recognised."""
    answers = [(result, _first_output(result)) for result in results]
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
    call = Answered(case.inputs, attributes_in(run.dtype, case.attributes), case.golden(run.dtype))
    tolerance = bound.of(output, run.bound_index).error
    for trivial_answer in random_cases_of(case.operation).trivial_answers.get(case.operation, ()):
        with np.errstate(all="ignore"):
            given = trivial_answer.answer(call).get(output)
            if given is not None and given.shape == answer.shape and np.all(np.abs(given - answer) <= 2 * tolerance):
                return trivial_answer
    return None


def _first_output(result: Result) -> NDArray[Any] | None:
    return None if result.got is None else result.got.get(result.run.operation.outputs[0])


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one.astype(np.float64), other.astype(np.float64)))
