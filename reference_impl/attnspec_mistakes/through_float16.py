"""The mistake to read bfloat16 by way of float16, which every operation can make at the same step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.mistake import Mistake
from attnspec_reference.precision import widen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array


def through_float16(array: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Read bfloat16 by way of float16, which holds neither its large numbers nor its small ones."""
    numbers = np.asarray(array)
    # Known by name, so that the package that defines bfloat16 need not be imported.
    return widen(numbers.astype(np.float16) if numbers.dtype.name == "bfloat16" else numbers, dtype)


def widened_through_float16(short_name: str, operation: str, clause: str, function: Callable[..., Any]) -> Mistake:
    """Return the mistake of one operation, of which `function` widens its inputs by :func:`through_float16`."""
    return Mistake(
        id=f"{short_name}.through_float16",
        operation=operation,
        clause=clause,
        sentence="Numbers of bfloat16 were read by way of float16, where large ones are infinite and small ones zero.",
        engineer="bf16 inputs are cast with .half() before they are widened.",
        remedy="Widen bfloat16 to float32 at once.",
        function=function,
        shows_in=("bfloat16",),
    )
