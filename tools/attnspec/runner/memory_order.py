"""Handing an input over in another memory layout than the ordinary one, with the same shape and the same numbers.

Ordinary inputs are writable and lie in C order. Kernels that take a pointer and assume strides, and code that edits
its inputs, go wrong with these.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import in_run_dtype
from attnspec.contract.implementation import Request
from attnspec.grading import Run

SHARED = "shared"
"""The layout of inputs that are one array, which is handed over more than once."""

FUSED = "fused"
"""The layout of inputs that are sections of one array, as one projection to query, key and value gives them."""


_UNEDITABLE = (str, int, float, type(None))


def in_memory_orders(arrays: Mapping[str, NDArray[Any]], layouts: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the inputs of a call, each in its memory layout; fresh arrays in C order may be given away for it.

    `SHARED` ones hold the same numbers, `FUSED` ones lie side by side along the last axis where all others agree.
    Clauses ``memory_layout`` and ``inputs_unchanged`` of each operation, such as ``sdpa.memory_layout``.
    """
    handed: dict[str, NDArray[Any]] = {}
    shared: NDArray[Any] | None = None
    for name, array in arrays.items():
        layout = layouts.get(name)
        if layout == SHARED:
            shared = array if shared is None else shared
            handed[name] = shared
        else:
            handed[name] = in_memory_order(array, layout)
    return handed | _side_by_side({name: arrays[name] for name in arrays if layouts.get(name) == FUSED})


def _side_by_side(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays as sections of one, those of one dtype whose axes agree but for the last."""
    groups: dict[Any, list[str]] = {}
    for name, array in arrays.items():
        groups.setdefault((array.shape[:-1], array.dtype), []).append(name)
    sections: dict[str, NDArray[Any]] = {}
    for names in groups.values():
        whole = np.concatenate([arrays[name] for name in names], axis=-1)
        ends = np.cumsum([arrays[name].shape[-1] for name in names])
        sections |= zip(names, np.split(whole, ends[:-1], axis=-1), strict=True)
    return sections


def request_of(
    run: Run, on_surplus: Callable[[str], None] | None = None, handed: Mapping[str, NDArray[Any]] | None = None
) -> Request:
    """Return the request for a run, with fresh arrays in its memory layouts, or `handed` ones that hold the same."""
    inputs = inputs_as_handed_over(run) if handed is None else dict(handed)
    # Editing a list among the attributes must not change the case; most are plain values, which nobody can edit.
    attributes = {
        name: value if isinstance(value, _UNEDITABLE) else deepcopy(value) for name, value in run.attributes.items()
    }
    return Request(run.case.operation, run.dtype, inputs, attributes, on_surplus, run.conventions)


def inputs_as_handed_over(run: Run) -> dict[str, NDArray[Any]]:
    """Return the inputs of a run as they are handed over: fresh arrays, in the memory layouts of its case."""
    arrays = inputs_in_c_order(run)
    return in_memory_orders(arrays, run.case.memory_order) if run.case.memory_order else arrays


def inputs_in_c_order(run: Run) -> dict[str, NDArray[Any]]:
    """Return the inputs of a run, as fresh arrays in its dtype, in C order, and under its conventions."""
    handed = run.family.handed(run.operation.name, run.case.inputs, run.attributes, run.conventions)
    return in_run_dtype(handed, run.dtype)


def in_memory_order(array: NDArray[Any], layout: str | None) -> NDArray[Any]:
    """Return a fresh array in one of `MEMORY_ORDERS`; None for the ordinary layout, in C order.

    Clauses ``memory_layout`` and ``inputs_unchanged`` of each operation, such as ``sdpa.memory_layout``.
    """
    return array if layout is None else MEMORY_ORDERS[layout](array)


def _telltale_number(array: NDArray[Any]) -> float:
    """Return a number that shows where it is read beside those of an array."""
    return np.nan if array.dtype.kind not in "bi" else 1


def heads_last(array: NDArray[Any]) -> NDArray[Any]:
    """Return (B, H, S, E) as a view of memory that holds (B, S, H, E)."""
    return array.swapaxes(1, 2).copy().swapaxes(1, 2)


def heads_last_gapped(array: NDArray[Any]) -> NDArray[Any]:
    """Return (B, H, S, E) as a view of memory with the heads of a token side by side, and gaps between tokens.

    So the queries lie in an array that holds the projections to queries, keys and values of each token.
    """
    batch, heads, tokens, width = array.shape
    larger = np.full((batch, tokens, heads * width + 3), _telltale_number(array), dtype=array.dtype)
    view = larger[..., : heads * width].reshape(batch, tokens, heads, width).swapaxes(1, 2)
    view[...] = array
    return view


def reversed_in_memory(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that runs backwards through memory along every axis."""
    backwards = (slice(None, None, -1),) * array.ndim
    return array[backwards].copy()[backwards]


def gapped(array: NDArray[Any]) -> NDArray[Any]:
    """Return every second element of a larger array, whose other elements show when they are read."""
    larger = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
    larger[..., 1::2] = _telltale_number(array)
    larger[..., ::2] = array
    return larger[..., ::2]


def one_along(*axes: int) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return a function whose arrays hold equal entries along some axes, or all, in one piece of memory."""

    def laid_out(array: NDArray[Any]) -> NDArray[Any]:
        strides = list(array.strides)
        for axis in axes or range(array.ndim):
            strides[axis] = 0
        return np.lib.stride_tricks.as_strided(array, array.shape, strides, writeable=True)

    return laid_out


def inside(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that begins inside a larger array, whose other elements show when they are read."""
    larger = np.full(array.size + 5, _telltale_number(array), dtype=array.dtype)
    larger[3:-2] = array.reshape(-1)
    return larger[3:-2].reshape(array.shape)


def prefix(array: NDArray[Any]) -> NDArray[Any]:
    """Return the beginning of a longer array along the last axis but one, as tokens lie in a cache that is not full."""
    if array.ndim == 1:
        return array
    *before, tokens, width = array.shape
    longer = np.full((*before, tokens + 2, width), _telltale_number(array), dtype=array.dtype)
    longer[..., :tokens, :] = array
    return longer[..., :tokens, :]


def unmoved(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself: inputs that share memory are laid out together."""
    return array


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that cannot be written to."""
    array.flags.writeable = False
    return array


MEMORY_ORDERS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "fortran": np.asfortranarray,
    "heads_last": heads_last,
    "heads_last_gapped": heads_last_gapped,
    "reversed": reversed_in_memory,
    "gapped": gapped,
    "broadcast": one_along(0),
    "heads_broadcast": one_along(1),
    "tokens_broadcast": one_along(-2),
    "features_broadcast": one_along(-1),
    "one_number": one_along(),
    "inside": inside,
    "prefix": prefix,
    "readonly": readonly,
    SHARED: unmoved,
    FUSED: unmoved,
}
"""Every memory layout that a case may ask for."""
