"""The float dtypes in which implementations are graded."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOAT_DTYPES = ("float64", "float32", "float16", "bfloat16")
"""Every dtype that a case may offer, widest first."""

HALF_PRECISION = ("float16", "bfloat16")
"""The dtypes that accumulate in float32, and may round to themselves between steps or only at the end."""

LARGEST = {
    "float64": (2 - 2.0**-52) * 2.0**1023,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
}
"""The largest finite number of each dtype."""

ANY = "any"
"""Stands in the place of a dtype for a case that has no float input and therefore runs once."""


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype called `name`; bfloat16 is that of ml_dtypes, and `ANY` is float64."""
    if name == ANY:
        return np.dtype(np.float64)
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether `dtype` is a real floating-point dtype, bfloat16 included."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def to_run_dtype(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a fresh copy of `array`, floats cast to the run's dtype, anything else as it is."""
    return array.astype(numpy_dtype(name)) if array.dtype.kind == "f" else array.copy()


def rounded_to(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return `array` in its own dtype with the values that a run in dtype `name` would see."""
    if array.dtype.kind != "f" or name == "float64":
        return array
    return array.astype(numpy_dtype(name)).astype(np.float64)
