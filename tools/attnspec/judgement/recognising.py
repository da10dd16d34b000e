"""What a wrong answer is, where it is something that was there before: zeros, an input, an earlier answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import rounded_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from attnspec.runner import Result


def recognised(results: Sequence[Result]) -> str | None:
    """Say what the wrong answers among some results are; None where nothing is recognised.

    Parameters
    ----------
    results
        The results of draws that are alike in all but their numbers.
    """
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
        for name, array in result.case.inputs.items():
            if array.dtype.kind == "f" and _same(answer, rounded_to(array, result.dtype)):
                return f"It returned {name} as it came."
    return None


def _first_output(result: Result) -> NDArray[Any] | None:
    return None if result.got is None else result.got.get(result.run.operation.outputs[0])


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one.astype(np.float64), other.astype(np.float64)))
