"""JAX's arrays. They have no strides of their own, and nobody can write to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.builtin.libraries import import_library
from attnspec.errors import TargetError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

jax = import_library("jax", adapter="jax")


class JaxTensors:
    """JAX's arrays on a device.

    Parameters
    ----------
    device
        A device of JAX.
    """

    def __init__(self, device: Any) -> None:
        self._device = device

    def given(self, array: NDArray[Any]) -> Any:
        """Return the array as an array of JAX, which shares no memory with it."""
        with self.calling():
            return jax.device_put(np.array(array), self._device)

    def held(self, tensor: Any) -> NDArray[Any]:
        """Return what the array holds."""
        return np.asarray(tensor)

    def returned(self, value: Any) -> Any:
        """Return an array of JAX as one of NumPy; anything else as it is."""
        return np.asarray(value) if isinstance(value, jax.Array) else value

    def calling(self) -> AbstractContextManager[Any]:
        """Return the context in which JAX has 64-bit numbers, without which float64 is float32 to it."""
        return jax.enable_x64(True)


def tensors(device: str | None) -> JaxTensors:
    """Return them.

    Raises
    ------
    TargetError
        If JAX cannot use the device.
    """
    platform, _, place = (device or "cpu").partition(":")
    try:
        return JaxTensors(jax.devices(platform)[int(place or 0)])
    except (RuntimeError, IndexError, ValueError) as error:
        raise TargetError(f"--device {device}: JAX {jax.__version__} cannot use it here: {error}") from None
