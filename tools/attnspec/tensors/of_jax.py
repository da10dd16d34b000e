"""JAX's arrays. They have no strides of their own, and nobody can write to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import TargetError
from attnspec.tensors.jax_programs import Programs
from attnspec.tensors.libraries import import_library

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


jax = import_library("jax", adapter="jax")

MOST_MAPPINGS = 40_000
"""Mappings of memory with which compiled programs are let go. Each has a dozen, Linux gives a process 65,530, and LLVM
ends a process that gets no more."""

_CALLS_BETWEEN = 200
"""Calls from one look at the mappings to the next: looking takes as long as some calls."""

_calls = count(1)
_MAPPINGS = Path("/proc/self/maps")


def let_go_of_programs(kept: Programs | None = None) -> None:
    """Forget compiled programs, the kept ones too, before there is no room for more: a run has thousands of shapes."""
    if next(_calls) % _CALLS_BETWEEN or not _MAPPINGS.exists():
        return
    if _MAPPINGS.read_bytes().count(b"\n") > MOST_MAPPINGS:
        if kept is not None:
            kept.forget()
        jax.clear_caches()


def gradients(
    function: Callable[[Mapping[str, Any]], Mapping[str, Any]], at: Mapping[str, Any], along: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the gradients of a function by ``jax.vjp``, as `Differentiable.gradients` says."""

    def differentiated(given: dict[str, Any]) -> dict[str, Any]:
        outputs = function(given)
        return {name: jax.numpy.asarray(outputs[name]) for name in along}

    outputs, pull_back = jax.vjp(differentiated, dict(at))
    (found,) = pull_back({name: along[name].astype(output.dtype) for name, output in outputs.items()})
    return found


class JaxTensors:
    """JAX's arrays on a device."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._programs = Programs()

    def given(self, array: NDArray[Any]) -> Any:
        """Return the array as an array of JAX, which shares no memory with it."""
        with self.calling():
            return jax.device_put(np.array(array), self._device)

    def array(self, tensor: Any) -> NDArray[Any]:
        """Return JAX's array as one of NumPy."""
        return np.asarray(tensor)

    def returned(self, value: Any) -> Any:
        """Return an array of JAX as one of NumPy; anything else as it is."""
        return np.asarray(value) if isinstance(value, jax.Array) else value

    def calling(self) -> AbstractContextManager[Any]:
        """Return the context in which JAX has 64-bit numbers, without which float64 is float32 to it."""
        return jax.enable_x64(True)

    def call(
        self,
        function: Callable[[Mapping[str, Any]], Any],
        given: Mapping[str, Any],
        name: Hashable,
        variant: Hashable = None,
        /,
    ) -> Any:
        """Return what a function returns, compiled as one program where it can be; see `Programs.call`."""
        let_go_of_programs(self._programs)
        with self.calling():
            return self._programs.call(function, given, name, variant)

    gradients = staticmethod(gradients)

    def has_gradient(self, tensor: Any) -> bool:
        """Return whether an array holds numbers of a float dtype."""
        return bool(jax.numpy.issubdtype(tensor.dtype, jax.numpy.floating))


def tensors(device: str | None) -> JaxTensors:
    """Return JAX's arrays on a device (None: the CPU); raise `TargetError` if JAX cannot use it."""
    platform, _, index = (device or "cpu").partition(":")
    try:
        return JaxTensors(jax.devices(platform)[int(index or 0)])
    except (RuntimeError, IndexError, ValueError) as error:
        raise TargetError(f"--device {device}: JAX {jax.__version__} cannot use it here: {error}") from None
