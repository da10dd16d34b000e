"""What the adapters of PyTorch need of its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.adapters.tensors.of_torch import find_device, to_array, to_tensor, torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["find_device", "heads_differ", "to_array", "to_tensor", "torch"]


def heads_differ(query: NDArray[Any], key: NDArray[Any]) -> bool:
    """Tell whether query and key have head axes of different lengths."""
    return query.ndim == key.ndim == 4 and query.shape[1] != key.shape[1]
