"""Copies of arrays that keep their strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def strided_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a writable copy with the strides of an array, whose elements lie as far apart as there.

    Gaps between the elements hold NaN, or 1 in arrays of integers and truth values, so that reading them shows. An
    array that runs backwards is copied forwards, in the order of its axes in memory.
    """
    backwards = any(stride < 0 for stride in array.strides)
    if backwards or array.size == 0 or array.flags.c_contiguous or array.flags.f_contiguous:
        return np.array(array, order="K")
    extent = sum((length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True))
    gap = 1 if array.dtype.kind in "bi" else np.nan
    memory = np.full(extent // array.itemsize + 1, gap, dtype=array.dtype)
    copy = np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)
    copy[...] = array
    return copy
