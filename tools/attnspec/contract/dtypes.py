"""The float dtypes in which implementations are graded, and those that an input may have whatever the run."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT_DTYPES = ("float64", "float32", "float16", "bfloat16")
"""Every dtype that a case may offer, widest first."""

HALF_PRECISION = ("float16", "bfloat16")
"""The dtypes that accumulate in float32, and may round to themselves between steps or only at the end."""

REFERENCE_DTYPE = "float64"
"""The dtype in which the reference computes what no golden file holds."""

LARGEST = {
    "float64": (2 - 2.0**-52) * 2.0**1023,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
}
"""The largest finite number of each dtype."""

QUANTIZED_DTYPES = ("float8_e4m3fn", "float8_e5m2", "int8")
"""The dtypes of tensors that hold few bits a number, each of which counts times a scale that is given beside them."""

INPUT_DTYPES = ("float64", "bool", "int64", "float32", *QUANTIZED_DTYPES)
"""Every dtype that an input of a case may have. float64 stands for the dtype of the run; the others are fixed."""

RUN_DTYPE = "run"
"""Stands in a case for the dtype of the run, as the value of an attribute that names a dtype."""

ANY = "any"
"""Stands for the dtype of a case that has no float input and therefore runs once."""


_FLOAT64 = np.dtype(np.float64)
_OF_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype called `name`; bfloat16 and float8 are those of ml_dtypes, and `ANY` is float64."""
    if name == ANY:
        return _FLOAT64
    if name in _OF_ML_DTYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Return whether `dtype` is a real floating-point dtype, bfloat16 included."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def follows_run(array: NDArray[Any]) -> bool:
    """Return whether an input has the dtype of the run: a case holds it in float64. Any other dtype is its own."""
    return array.dtype == _FLOAT64


def own_dtype(array: NDArray[Any]) -> str | None:
    """Return the dtype that an input of a case has in every run, where a reader must see it; None for any other."""
    return array.dtype.name if array.dtype.name in (*QUANTIZED_DTYPES, "float32") else None


def to_run_dtype(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a fresh copy of an input, cast to the run's dtype where the case leaves its dtype to the run."""
    return array.astype(numpy_dtype(name)) if array.dtype == _FLOAT64 else array.copy()


def rounded_to(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return an input in its own dtype with the values that a run in dtype `name` would see."""
    if name == "float64" or array.dtype != _FLOAT64:
        return array
    return array.astype(numpy_dtype(name)).astype(np.float64)
