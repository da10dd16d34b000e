"""Whether a user's own inputs, compared by a fixed rule, could tell cheap wrong answers from right ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import REFERENCE_DTYPE, is_float
from attnspec.families.lookup import family_of
from attnspec.family import Answered
from attnspec.reference_answers import reference_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Passing:
    """An impostor that a rule takes for a right answer.

    Attributes
    ----------
    name, sentence
        Its name, and what it answers with.
    largest_error
        How far it lies from the right answer at most.
    """

    name: str
    sentence: str
    largest_error: float


def passing_impostors(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    *,
    atol: float,
    rtol: float,
    output: str | None = None,
) -> tuple[Passing, ...]:
    """Return the impostors that pass ``|answer - right| <= atol + rtol * |right|`` on given inputs.

    Those that are right there, because what they leave out is not in the call, are none of them; nor are those whose
    error is rounding in the dtype of the inputs.

    Parameters
    ----------
    operation
        Name of the operation.
    inputs, attributes
        What it is called with; floats of any width are taken as they are, in float64.
    atol, rtol
        The rule, as `numpy.allclose` has it.
    output
        The output that is compared; the operation's first where none is named.

    Raises
    ------
    ValueError
        If inputs and attributes do not fit each other.
    """
    dtype = next((array.dtype.name for array in inputs.values() if is_float(array.dtype)), REFERENCE_DTYPE)
    wide = {name: _widened(array) for name, array in inputs.items()}
    right = reference_outputs(operation, wide, attributes)
    name = output or next(iter(right))
    call = Answered(wide, attributes, right)
    found: list[Passing] = []
    for impostor in family_of(operation).impostors.get(operation, ()):
        if dtype not in impostor.dtypes:
            continue
        with np.errstate(all="ignore"):
            answer = impostor.answer(call).get(name)
        if answer is None or np.array_equal(answer, right[name], equal_nan=True):
            continue
        if np.allclose(answer, right[name], rtol=rtol, atol=atol, equal_nan=True):
            error = float(np.nanmax(np.abs(answer - right[name]), initial=0.0))
            found.append(Passing(impostor.name, impostor.sentence, error))
    return tuple(found)


def _widened(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float64) if is_float(array.dtype) else array
