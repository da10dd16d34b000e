"""Coverage, read from the cases themselves: each factor's levels, and which levels of two factors meet.

The factors of an operation follow from its contract: every optional input, in which memory layout each input lies,
every attribute, every axis, and the class of its numbers. The recipes that made a case are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import rounded_to

if TYPE_CHECKING:
    from attnspec.cases import Case

    Level = tuple[str, str]

_TILES = (16, 32, 64, 128, 256)
_WIDTHS = (80, 96)
"""Beside powers of two, the widths that kernels treat specially."""
LARGE = 16
"""An extent from which on it is a large one; no two of them meet on purpose, for the size of the files."""


@dataclass(frozen=True)
class Coverage:
    """Number of cases of one operation at each level of each factor, and at each two levels of two factors."""

    levels: Mapping[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    pairs: Counter[tuple[Level, Level]] = field(default_factory=Counter["tuple[Level, Level]"])

    def __add__(self, other: Coverage) -> Coverage:
        """Count the cases of both."""
        return Coverage(
            {
                factor: self.levels.get(factor, Counter()) + other.levels.get(factor, Counter())
                for factor in {**self.levels, **other.levels}
            },
            self.pairs + other.pairs,
        )

    def unmet_levels(self, one: str, other: str) -> list[tuple[str, str]]:
        """Return the levels of two factors that never meet, but for two large extents."""
        return [
            (level, another)
            for level in self.levels[one]
            for another in self.levels[other]
            if not self.pairs[(one, level), (other, another)] and not (_is_large(level) and _is_large(another))
        ]


def coverage(cases: Iterable[Case]) -> Coverage:
    """Count the levels of every factor, and those that meet, over the cases of one operation."""
    levels: dict[str, Counter[str]] = {}
    pairs: Counter[tuple[Level, Level]] = Counter()
    for case in cases:
        found = sorted(factors_of(case).items())
        for name, level in found:
            levels.setdefault(name, Counter())[level] += 1
        pairs.update(combinations(found, 2))
    return Coverage(levels, pairs)


def factors_of(case: Case) -> dict[str, str]:
    """Return the level of every factor that a case has."""
    operation = OPERATIONS[case.operation]
    made: dict[str, str] = {"numbers": number_class(case.inputs)}
    for tensor in operation.takes:
        array = case.inputs.get(tensor.name)
        if array is None:
            made[tensor.name] = "none"
            continue
        made[tensor.name] = case.memory_order.get(tensor.name, "plain")
        if tensor.broadcasts:
            made[f"kind of {tensor.name}"] = f"{array.dtype.kind} of rank {array.ndim}"
        elif not tensor.axes:
            made |= {f"rank of {tensor.name}": str(array.ndim), "longest axis": size_class(max(array.shape, default=1))}
        elif len(tensor.axes) == array.ndim:
            for axis, length in zip(tensor.axes, array.shape, strict=True):
                # The same axis of another tensor is as long, but for features.
                name = axis if axis not in made else f"{axis} of {tensor.name}"
                if name == axis or made[axis] != size_class(length):
                    made[name] = size_class(length)
        if array.dtype.kind == "i" and array.size:
            made[f"numbers of {tensor.name}"] = size_class(int(array.max()))
    for name, default in operation.attributes.items():
        made[name] = attribute_level(case.attributes.get(name, default), stated=name in case.attributes)
    return made


def size_class(length: int) -> str:
    """Return the class of a length: those that kernels may treat alike."""
    if length in _WIDTHS or length in _TILES or length < 2:
        return str(length)
    if length < LARGE:
        return f"2 to {LARGE - 1}"
    tile = max(tile for tile in _TILES if tile < length)
    return f"{tile} + 1" if length == tile + 1 else f"over {tile} + 1"


def _is_large(level: str) -> bool:
    return level.startswith("over ") or level.endswith(" + 1") or (level.isdigit() and int(level) >= LARGE)


def attribute_level(value: Any, *, stated: bool) -> str:
    """Return the class of an attribute's value."""
    if not stated:
        return "not stated"
    if value is None or isinstance(value, bool | str):
        return str(value).lower()
    if isinstance(value, list):
        sides = cast("list[int | float | None]", value)
        return " and ".join("open" if side is None else "0" if side == 0 else "bounded" for side in sides)
    if isinstance(value, int):
        return size_class(value) if value >= 0 else "negative"
    return "0" if value == 0 else "negative" if value < 0 else "above 1" if value > 1 else "up to 1"


def number_class(inputs: Mapping[str, NDArray[Any]]) -> str:
    """Return the narrowest dtype that holds the floats of a case, or that some are not finite."""
    floats = [array.ravel() for array in inputs.values() if array.dtype.kind == "f"]
    numbers = np.concatenate(floats) if floats else np.zeros(0)
    if np.isnan(numbers).any() or np.isposinf(numbers).any():
        return "not finite"
    with np.errstate(over="ignore"):
        exact = [
            dtype for dtype in ("bfloat16", "float16", "float32") if np.array_equal(rounded_to(numbers, dtype), numbers)
        ]
    return f"exact in {exact[0]}" if exact else "full width"


def factor_rows(found: Coverage) -> list[Sequence[object]]:
    """Return a row for each factor: its levels and how many cases have each."""
    return [
        (name, ", ".join(f"{level}: {count}" for level, count in sorted(levels.items())))
        for name, levels in sorted(found.levels.items())
    ]


def unmet_pair_rows(found: Coverage) -> list[Sequence[object]]:
    """Return a row for each two factors of which not all levels meet: how many do, and which do not."""
    rows: list[Sequence[object]] = []
    for one, other in combinations(sorted(found.levels), 2):
        holes = found.unmet_levels(one, other)
        if holes:
            met = sum(bool(found.pairs[(one, a), (other, b)]) for a in found.levels[one] for b in found.levels[other])
            by_level: dict[str, list[str]] = {}
            for level, another in holes:
                by_level.setdefault(level, []).append(another)
            reported = "; ".join(
                f"{level} with {', '.join(sorted(others))}" for level, others in sorted(by_level.items())
            )
            rows.append((f"{one}, {other}", met, len(holes), reported))
    return rows
