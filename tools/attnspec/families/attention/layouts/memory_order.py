"""Strides of the arguments of a layout: those of the inputs from which they were made.

A case may hand keys over backwards, with gaps or with their axes in another order, and lengths likewise. A layout makes
new memory of them, which is laid out in the same way again: pools, tables and lists are read by strides, too.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def can_be_kept(array: NDArray[Any]) -> bool:
    """Return whether other memory can have these strides: not where one part of it stands for many."""
    return all(stride or length < 2 for stride, length in zip(array.strides, array.shape, strict=True))


def strided_like(originals: tuple[NDArray[Any], ...], array: NDArray[Any], *, swapped: tuple[int, int]) -> NDArray[Any]:
    """Return a fresh array in C order with the memory layout of its first original that does not lie as usual.

    `swapped` axes change positions in memory where the original's are ordered otherwise than the first or last one
    first.
    """
    kinds = [_memory_order_name(original) for original in originals]
    kind = next((kind for kind in kinds if kind != "ordinary"), "ordinary")
    if kind == "swapped":
        return array.swapaxes(*swapped).copy().swapaxes(*swapped) if array.ndim > max(swapped) else array
    return _LAID_OUT[kind](array)


def _memory_order_name(array: NDArray[Any]) -> str:
    """Name the memory order of an array."""
    if not array.flags.writeable:
        return "read-only"
    if any(stride < 0 for stride in array.strides):
        return "backwards"
    is_part = isinstance(array.base, np.ndarray) and array.base.size > array.size
    if is_part:
        if array.flags.c_contiguous:
            return "inside"
        return "prefix" if array.strides[-2:] == (array.shape[-1] * array.itemsize, array.itemsize) else "gapped"
    if array.flags.c_contiguous:
        return "ordinary"
    return "fortran" if array.flags.f_contiguous else "swapped"


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _backwards(array: NDArray[Any]) -> NDArray[Any]:
    turned = (slice(None, None, -1),) * array.ndim
    return array[turned].copy()[turned]


def _gapped(array: NDArray[Any]) -> NDArray[Any]:
    """Return every second element of a larger array, whose other elements show when they are read."""
    larger = np.repeat(_unlike_neighbours(array), 2, axis=-1)
    larger[..., ::2] = array
    return larger[..., ::2]


def _inside(array: NDArray[Any]) -> NDArray[Any]:
    """Return each first part of pairs along the first axis, as keys and values lie that share one array.

    Of one axis, it is a part of a longer array without gaps.
    """
    if array.ndim == 1:
        larger = np.concatenate([_unlike_neighbours(array), array, _unlike_neighbours(array)])
        return larger[len(array) : 2 * len(array)]
    return np.stack([array, _unlike_neighbours(array)], axis=1)[:, 0]


def _prefix(array: NDArray[Any]) -> NDArray[Any]:
    """Return the beginning of an array that is twice as long along the last axis but one."""
    if array.ndim == 1:
        return array
    return np.concatenate([array, _unlike_neighbours(array)], axis=-2)[..., : array.shape[-2], :]


def _unlike_neighbours(array: NDArray[Any]) -> NDArray[Any]:
    """Return what stands beside an array: NaN, or another whole number that is there, too."""
    return np.roll(array, 1) if array.dtype.kind in "iu" else np.full_like(array, np.nan)


_LAID_OUT: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "ordinary": lambda array: array,
    "read-only": _read_only,
    "backwards": _backwards,
    "gapped": _gapped,
    "inside": _inside,
    "prefix": _prefix,
    "fortran": np.asfortranarray,
}
