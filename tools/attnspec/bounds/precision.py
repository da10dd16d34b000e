"""Unit roundoffs: how finely a dtype resolves, and how finely the sums inside are allowed to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import ANY, HALF_PRECISION, LARGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Unit roundoffs: half the distance from 1 to the next larger number, so 2 to minus the number of significant bits."""

_SMALLEST = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-24, "bfloat16": 2.0**-126}
"""What may be lost at the lower end of the range, in absolute terms.

Processors may flush subnormal numbers to zero, so it is the smallest normal number; bfloat16 has that of float32, in
which it is computed. float16 is computed in float32 too, where its subnormal numbers are normal ones and are not
flushed: only the rounding to its last step, 2**-24, remains.
"""


@dataclass(frozen=True)
class Precision:
    """What the error bound of a run is made of: numbers, or arrays that hold a number for each of several runs.

    Attributes
    ----------
    output
        Unit roundoff of the dtype of the results.
    accumulator
        Unit roundoff of sums of products: float32 for half precision, else the dtype itself.
    stored
        Unit roundoff of intermediate tensors: the accumulator's when phases are fused, else the output's.
    smallest
        The smallest number that results are held to: below it an implementation may flush to zero.
    largest
        The largest finite number of intermediate tensors.
    """

    output: float | NDArray[Any]
    accumulator: float | NDArray[Any]
    stored: float | NDArray[Any]
    smallest: float | NDArray[Any]
    largest: float | NDArray[Any]
    _at_ranks: dict[int, Precision] = field(
        init=False, default_factory=dict[int, "Precision"], repr=False, compare=False
    )

    @property
    def rounds_between_phases(self) -> Any:
        """Whether intermediate tensors are coarser than the sums inside a phase."""
        return self.stored > self.accumulator

    def at_rank(self, rank: int) -> Precision:
        """Return the precision in a shape that broadcasts, with the runs in front, against tensors of a rank."""
        if isinstance(self.output, float):
            return self
        known = self._at_ranks.get(rank)
        if known is None:
            shape = (-1,) + (1,) * rank
            known = Precision(*(np.reshape(getattr(self, name), shape) for name in _FIELDS))
            self._at_ranks[rank] = known
        return known


_FIELDS = ("output", "accumulator", "stored", "smallest", "largest")


def stacked(precisions: Sequence[Precision]) -> Precision:
    """Return several precisions as one, so that one pass of the error bound serves several runs.

    Errors that come out of it have an axis for the runs in front of the tensor's own axes.
    """
    return Precision(*(np.array([getattr(precision, name) for precision in precisions]) for name in _FIELDS))


@cache
def precision_of(dtype: str, *, fused: bool = False, inside: str | None = None) -> Precision:
    """Return the unit roundoffs for a run.

    Parameters
    ----------
    dtype
        Dtype of the run.
    fused
        Half precision only: intermediate tensors are held in float32 rather than in the dtype.
    inside
        The dtype in which an implementation declares that it computes float64 inside; None for float64.
    """
    if dtype == ANY:
        dtype = "float64"
    if dtype == "float64" and inside is not None:
        return Precision(_UNIT[dtype], _UNIT[inside], _UNIT[inside], _SMALLEST[inside], LARGEST[inside])
    carried = "float32" if dtype in HALF_PRECISION else dtype
    stored = carried if fused else dtype
    return Precision(_UNIT[dtype], _UNIT[carried], _UNIT[stored], _SMALLEST[dtype], LARGEST[stored])
