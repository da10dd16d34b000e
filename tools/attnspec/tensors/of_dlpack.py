"""Tensors of any library that speaks DLPack, the array exchange protocol: one is made of what it is handed over."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import TargetError, Unsupported
from attnspec.tensors.strided_copies import strided_copy

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

_TO_THE_CPU = (1, 0)
"""The device of the protocol whose memory NumPy reads: kDLCPU, the first one."""


class Exported:
    """A tensor that can do one thing: be taken over by ``from_dlpack`` of any library, without a copy."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __dlpack__(self, **asked: Any) -> Any:
        """Return the capsule that the protocol asks for."""
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        """Return where it lives, as the protocol says it: on the CPU."""
        return self.array.__dlpack_device__()


class ExchangedTensors:
    """Tensors that DLPack exchanges."""

    def given(self, array: NDArray[Any]) -> Any:
        """Return a copy of the array for ``from_dlpack``; raise `Unsupported` if NumPy exports no such dtype."""
        exported = Exported(strided_copy(array))
        try:
            exported.__dlpack__()
        except (BufferError, TypeError) as error:
            raise Unsupported(f"NumPy hands over no {array.dtype.name} by DLPack ({error}); name --tensors") from None
        return exported

    def held(self, tensor: Any) -> NDArray[Any]:
        """Return the array that the tensor holds."""
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

    def calling(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing."""
        return nullcontext()


def tensors(device: str | None) -> ExchangedTensors:
    """Return DLPack's tensors; raise `TargetError` if a device is named."""
    if device is not None:
        raise TargetError(
            f"--device {device}: what is handed over by DLPack lives on the CPU, and the target moves it; "
            "or name other tensors: --tensors torch"
        )
    return ExchangedTensors()
