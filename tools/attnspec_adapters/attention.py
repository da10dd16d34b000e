"""Attention for adapters of libraries: softmax over a whole array, projections, the one scale of a layer."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported

_PROJECTIONS = ("query", "key", "value", "output")


def softmax_along(run: Callable[[NDArray[Any], int], NDArray[Any]]) -> Callable[..., NDArray[Any]]:
    """Make `softmax` of one that always has an axis: the whole array is flattened."""

    def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
        return run(x.reshape(-1), 0).reshape(x.shape) if axis is None else run(x, axis)

    return softmax


def matrices_of(given: SimpleNamespace) -> tuple[NDArray[Any], ...]:
    """Return the matrices of query, key, value and output; without an output matrix the identity."""
    *others, output = (getattr(given, f"w_{name}") for name in _PROJECTIONS)
    return (*others, np.eye(given.w_value.shape[-1], dtype=given.w_value.dtype) if output is None else output)


def biases_of(given: SimpleNamespace) -> tuple[NDArray[Any] | None, ...]:
    """Return the biases of query, key, value and output, None where there is none."""
    return tuple(getattr(given, f"b_{name}", None) for name in _PROJECTIONS)


def refuse_scale(scale: float | None, width: int, layer: str) -> None:
    """Raise `Unsupported` unless a scale is the only one that a library's layer has."""
    if scale is not None and not math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-15):
        raise Unsupported(f"{layer} has no scale but 1/sqrt(E)")
