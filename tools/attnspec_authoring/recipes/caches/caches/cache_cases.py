"""What cases of caches have in common: their source, numbers, poison, memory layouts, and refusals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, Rejects, Source
from attnspec_authoring.recipes.generator import fine_grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MADE = Source(section="made for the profile caches")

LAYOUTS = {
    "fortran": "with the first axis first in memory",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "prefix": "at the beginning of longer arrays",
}


OF_TEN_BITS = ("float64", "float32", "float16")
"""The dtypes that hold numbers with many digits as they are."""

_CACHES = ("past_key", "past_value", "cache", "key_pool", "value_pool", "key_cache", "value_cache")


def whole(*numbers: int) -> NDArray[np.int64]:
    """Return whole numbers as a tensor."""
    return np.array(numbers, dtype=np.int64)


def counted(name: str, shape: Sequence[int]) -> NDArray[np.float64]:
    """Return numbers that differ from each other, and from those of every other input of a case.

    What is in a cache is counted upwards, and what is new downwards; values lie in the middle between keys.
    """
    numbers = np.arange(1, math.prod(shape) + 1, dtype=np.float64).reshape(tuple(shape))
    numbers -= 0.5 * ("value" in name)
    return numbers if name in _CACHES else -numbers


def cache_case(
    operation: str,
    name: str,
    title: str,
    shapes: Mapping[str, Sequence[int]],
    clauses: tuple[str, ...],
    outputs: tuple[str, ...],
    *,
    poison: Mapping[str, Sequence[tuple[Any, ...]]] | None = None,
    digits: bool = False,
    given: Mapping[str, NDArray[Any] | None] | None = None,
    refused: tuple[str, str] | None = None,
    is_for_all: bool = False,
    **more: Any,
) -> AuthoredCase:
    """Make a case of numbers with few digits, or with many.

    `poison` has indices of an input that hold NaN and infinity in turn; `given` further inputs, None for one that is
    not there; `refused` a reason and the name of the valid counterpart, `is_for_all` whatever their input checks.
    """
    inputs: dict[str, Any] = {
        each: fine_grid(f"caches/{name}/{each}", tuple(shape)) if digits else counted(each, shape)
        for each, shape in shapes.items()
    }
    for each, indices in (poison or {}).items():
        for number, index in zip((np.nan, np.inf, -np.inf) * len(indices), indices, strict=False):
            inputs[each][index] = number
    inputs |= given or {}
    rejects = None
    if refused is not None:
        rejects = Rejects(refused[0], f"caches/{refused[1]}", None if is_for_all else ("input_checks", "strict"))
    return AuthoredCase(
        id=f"caches/{name}",
        title=title,
        operation=operation,
        clauses=clauses,
        source=more.pop("source", MADE),
        inputs={each: array for each, array in inputs.items() if array is not None},
        outputs=outputs,
        dtypes=more.pop("dtypes", OF_TEN_BITS if digits else SINGLE_AND_DOUBLE if refused else EVERY_DTYPE),
        rejects=rejects,
        **more,
    )
