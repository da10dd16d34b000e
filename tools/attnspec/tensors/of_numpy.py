"""NumPy's own arrays, which need nothing."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import TargetError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray


class NumpyTensors:
    """Arrays as they are."""

    def given(self, array: NDArray[Any]) -> Any:
        """Return the array."""
        return array

    def held(self, tensor: Any) -> NDArray[Any]:
        """Return the array."""
        return tensor

    def returned(self, value: Any) -> Any:
        """Return the value."""
        return value

    def calling(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing."""
        return nullcontext()


def tensors(device: str | None) -> NumpyTensors:
    """Return NumPy's arrays; raise `TargetError` if a device is named."""
    if device is not None:
        raise TargetError(f"--device {device}: NumPy's arrays live on the CPU; name other tensors: --tensors torch")
    return NumpyTensors()
