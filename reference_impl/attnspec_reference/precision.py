"""Precision: which dtype an operation computes in, and which it returns.

An operation returns the dtype of its inputs and computes in that dtype or a wider one. float64 and float32
compute in themselves; float16 and bfloat16 compute in float32, because a sum kept in half precision soon
stops growing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
"""An array of any float dtype, bfloat16 included."""

Booleans: TypeAlias = NDArray[np.bool_]
"""An array of truth values."""

Integers: TypeAlias = NDArray[np.int64]
"""An array of lengths or positions."""

quietly = np.errstate(all="ignore")
"""Decorates an operation: NaN and infinity are values like any other here, and no warning is given of them."""

_FLOAT64 = np.dtype(np.float64)
_FLOAT32 = np.dtype(np.float32)


def result_dtype(array: ArrayLike) -> np.dtype[Any]:
    """Name the dtype of the results for an input: its own if it is a float dtype of the specification, else float64."""
    dtype = np.asarray(array).dtype
    # Known by name, so that the package that defines bfloat16 need not be imported.
    return dtype if dtype.kind == "f" or dtype.name == "bfloat16" else _FLOAT64


def widen(array: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Give an input in the dtype to compute in, float64 or float32; it may share memory: never write to it."""
    return np.asarray(array).astype(_FLOAT64 if dtype == _FLOAT64 else _FLOAT32, copy=False)


def widen_if_given(array: ArrayLike | None, dtype: np.dtype[Any]) -> Array | None:
    """Give an optional input in the dtype to compute in; None stays None."""
    return None if array is None else widen(array, dtype)


def round_to(dtype: np.dtype[Any], array: Array) -> Array:
    """Round a result to the nearest numbers of the dtype in which it is returned; infinity beyond its largest."""
    return array.astype(dtype, copy=False)
