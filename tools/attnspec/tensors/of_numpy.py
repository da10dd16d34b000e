"""Tensors that NumPy makes: its own arrays, and those that any library takes over by DLPack, the exchange protocol."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import TargetError, Unsupported

_TO_THE_CPU = (1, 0)
"""The device of the protocol whose memory NumPy reads: kDLCPU, the first one."""


class NumpyTensors:
    """Arrays as they are, which need nothing."""

    def given(self, array: NDArray[Any]) -> Any:
        """Return the array."""
        return array

    def array(self, tensor: Any) -> NDArray[Any]:
        """Return the array."""
        return tensor

    def returned(self, value: Any) -> Any:
        """Return the value."""
        return value

    def calling(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing."""
        return nullcontext()

    def call(self, function: Callable[[Mapping[str, Any]], Any], given: Mapping[str, Any], *_: Hashable) -> Any:
        """Return what a function returns."""
        return function(given)


class Exported:
    """A tensor that can do one thing: be taken over by ``from_dlpack`` of any library, without a copy."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __dlpack__(self, **requested: Any) -> Any:
        """Return the capsule of the protocol."""
        return self.array.__dlpack__(**requested)

    def __dlpack_device__(self) -> Any:
        """Return where it lives, as the protocol says it: on the CPU."""
        return self.array.__dlpack_device__()


class ExchangedTensors(NumpyTensors):
    """Tensors that DLPack exchanges: one is made of what it is handed over."""

    def given(self, array: NDArray[Any]) -> Any:
        """Return a copy of the array for ``from_dlpack``; raise `Unsupported` if NumPy exports no such dtype."""
        exported = Exported(strided_copy(array))
        try:
            exported.__dlpack__()
        except (BufferError, TypeError) as error:
            raise Unsupported(f"NumPy hands over no {array.dtype.name} by DLPack ({error}); name --tensors") from None
        return exported

    def array(self, tensor: Any) -> NDArray[Any]:
        """Return the array that was exported."""
        return tensor.array

    def returned(self, value: Any) -> Any:
        """Return a tensor that speaks DLPack as an array, read from its device; anything else as it is."""
        if isinstance(value, Exported):
            return value.array
        # NumPy reads its own arrays, and those that pose as such, as they are.
        if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
            return value
        try:
            if tuple(value.__dlpack_device__()) == _TO_THE_CPU:
                return np.from_dlpack(value)
            return np.from_dlpack(value, device="cpu", copy=True)
        except (BufferError, RuntimeError, TypeError):
            return value


def tensors(device: str | None) -> NumpyTensors:
    """Return NumPy's arrays; raise `TargetError` if a device is named."""
    if device is not None:
        raise TargetError(f"--device {device}: NumPy's arrays live on the CPU; name other tensors: --tensors torch")
    return NumpyTensors()


def exchanged_tensors(device: str | None) -> ExchangedTensors:
    """Return DLPack's tensors; raise `TargetError` if a device is named."""
    if device is not None:
        raise TargetError(
            f"--device {device}: what is handed over by DLPack lives on the CPU, and the target moves it; "
            "or name other tensors: --tensors torch"
        )
    return ExchangedTensors()


def strided_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a writable copy with the strides of an array, whose elements lie as far apart as there.

    An array that runs backwards is copied forwards, in the order of its axes in memory.
    """
    backwards = any(stride < 0 for stride in array.strides)
    if backwards or array.size == 0 or array.flags.c_contiguous or array.flags.f_contiguous:
        return np.array(array, order="K")
    return copy_with_strides(array, array.strides)


def copy_with_strides(array: NDArray[Any], strides: Sequence[int]) -> NDArray[Any]:
    """Return a writable copy, of one element at least, with these strides in bytes.

    Gaps between the elements hold NaN, or 1 in arrays of integers and truth values, so that reading them shows.
    """
    ends = [(length - 1) * stride for length, stride in zip(array.shape, strides, strict=True)]
    before, behind = (sum(max(sign * end, 0) for end in ends) // array.itemsize for sign in (-1, 1))
    gap = 1 if array.dtype.kind in "bi" else np.nan
    memory = np.full(before + 1 + behind, gap, dtype=array.dtype)
    copy = np.lib.stride_tricks.as_strided(memory[before:], array.shape, strides)
    copy[...] = array
    return copy
