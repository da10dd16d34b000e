"""The tensors of a library, for functions that take and return them instead of NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from attnspec.base.errors import UsageError, did_you_mean
from attnspec.base.extensions import import_object

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

__all__ = ["TENSORS", "Differentiable", "Tensors", "tensors_called"]

_MAKERS = {
    "numpy": "attnspec.tensors.of_numpy:tensors",
    "torch": "attnspec.tensors.of_torch:tensors",
    "jax": "attnspec.tensors.of_jax:tensors",
    "dlpack": "attnspec.tensors.of_numpy:exchanged_tensors",
}
"""Library to the function that makes its tensors for a device."""

TENSORS = tuple(_MAKERS)
"""Libraries whose tensors can be handed over, imported when named; ``dlpack`` is for any that speaks this protocol."""


class Tensors(Protocol):
    """How arrays become a library's tensors, and back."""

    def given(self, array: NDArray[Any]) -> Any:
        """Return an array as a tensor of its dtype, with its strides where the library has such tensors.

        Writing to the tensor never changes the array.
        """
        ...

    def array(self, tensor: Any) -> NDArray[Any]:
        """Return the array that a tensor that was given holds now."""
        ...

    def returned(self, value: Any) -> Any:
        """Return a tensor as an array of its dtype, in its own memory where NumPy can see it; else the value itself."""
        ...

    def calling(self) -> AbstractContextManager[Any]:
        """Return the context that surrounds the making and reading of tensors."""
        ...

    def call(
        self,
        function: Callable[[Mapping[str, Any]], Any],
        given: Mapping[str, Any],
        name: Hashable,
        variant: Hashable = None,
        /,
    ) -> Any:
        """Return what a function of tensors by name returns; a library may compile it as a whole.

        `name` tells functions apart, `variant` the other arguments that they get.
        """
        ...


@runtime_checkable
class Differentiable(Tensors, Protocol):
    """Tensors of a library that differentiates what is computed with them."""

    def gradients(
        self,
        function: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        at: Mapping[str, Any],
        along: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        """Return the gradients of a function by reverse differentiation, under the names of `at`.

        The function is called once, `at` tensors by name, and returns others by name, whose own gradients are `along`.
        Gradients are zeros where nothing depends on a tensor. Raises `TypeError` if the library sees no way from the
        outputs back to the tensors, `Unsupported` if it sees one from some of the outputs alone.
        """
        ...

    def has_gradient(self, tensor: Any) -> bool:
        """Return whether there are gradients with respect to such a tensor: it holds numbers of a float dtype."""
        ...


def tensors_called(name: str, device: str | None, *, said_by: str) -> Tensors:
    """Return the tensors of a library of :data:`TENSORS`, on a device in its own words (None: the library's choice).

    Raises, in the name of `said_by`, `UsageError` for no such library; `MissingDependencyError` if it cannot be
    imported; `TargetError` if it cannot use the device.
    """
    if name not in TENSORS:
        hint = did_you_mean(str(name).lower(), TENSORS)
        raise UsageError(f"{said_by} asks for the tensors of {name!r}; there are those of {', '.join(TENSORS)}.{hint}")
    return import_object(_MAKERS[name])(device)
