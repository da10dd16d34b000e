"""Unit roundoffs: how finely a dtype resolves, and how finely the sums inside are allowed to."""

from __future__ import annotations

from dataclasses import dataclass

from attnspec.dtypes import ANY

_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_SMALLEST = {"float64": 5e-324, "float32": 2.0**-126, "float16": 2.0**-24, "bfloat16": 2.0**-126}
_HALF = ("float16", "bfloat16")


@dataclass(frozen=True)
class Precision:
    """What the error bound of a run is made of.

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
    """

    output: float
    accumulator: float
    stored: float
    smallest: float

    @property
    def rounds_between_phases(self) -> bool:
        """Whether intermediate tensors are coarser than the sums inside a phase."""
        return self.stored > self.accumulator


def precision_of(dtype: str, *, fused: bool = False, accumulation: str = "dtype") -> Precision:
    """Return the unit roundoffs for a run.

    Parameters
    ----------
    dtype
        Dtype of the run.
    fused
        Half precision only: intermediate tensors are held in float32 rather than in the dtype.
    accumulation
        ``float32`` for an implementation that declares that it computes float64 inside in float32.
    """
    if dtype == ANY:
        dtype = "float64"
    if dtype == "float64" and accumulation == "float32":
        inside = _UNIT["float32"]
        return Precision(_UNIT["float64"], inside, inside, _SMALLEST["float32"])
    accumulator = _UNIT["float32"] if dtype in _HALF else _UNIT[dtype]
    stored = accumulator if fused else _UNIT[dtype]
    return Precision(_UNIT[dtype], accumulator, stored, _SMALLEST[dtype])
