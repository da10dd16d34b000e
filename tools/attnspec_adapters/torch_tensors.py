"""Tensors of PyTorch, for its adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.tensors.of_torch import find_device, gradients, to_array, to_tensor, torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["differentiate", "find_device", "heads_differ", "to_array", "to_tensor", "torch"]


def heads_differ(query: NDArray[Any], key: NDArray[Any]) -> bool:
    """Return whether query and key have head axes of different lengths."""
    return query.ndim == key.ndim == 4 and query.shape[1] != key.shape[1]


def differentiate(
    attend: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    inputs: Mapping[str, NDArray[Any] | None],
    along: Mapping[str, NDArray[Any] | None],
    device: Any,
) -> dict[str, NDArray[Any]]:
    """Differentiate a function of tensors by autograd; return ``grad_NAME`` for each input NAME that holds floats.

    `along` has the gradients with respect to its results; None for one that is not used.
    """
    tensors = {name: to_tensor(array, device) for name, array in inputs.items() if array is not None}
    found = gradients(
        lambda differentiated: attend({**tensors, **differentiated}),
        {name: tensor for name, tensor in tensors.items() if tensor.is_floating_point()},
        {name: to_tensor(array, device) for name, array in along.items() if array is not None},
    )
    return {f"grad_{name}": to_array(gradient) for name, gradient in found.items()}
