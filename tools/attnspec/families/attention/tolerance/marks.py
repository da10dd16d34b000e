"""Elements of the outputs of attention that come from some queries: open ones, and those that conventions decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.tolerance import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.families.attention.tolerance.error_bound import AttentionTolerance

_ROUNDED_MEAN = 2.0**-6
"""How far a mean may lie beyond its values, relative to them: some roundings of the coarsest dtype."""


def means(values: NDArray[Any]) -> dict[str, Interval]:
    """Return, by output name, where every mean of values (B, Hq, Sk, Ev) lies, and its weights; of all entries."""
    lowest, highest = (extreme(values, axis=(0, 2), keepdims=True) for extreme in (np.min, np.max))
    finite, beyond = (
        np.isfinite(lowest) & np.isfinite(highest),
        _ROUNDED_MEAN * np.maximum(np.abs(lowest), np.abs(highest)),
    )
    output = Interval(np.where(finite, lowest - beyond, -np.inf), np.where(finite, highest + beyond, np.inf))
    return {"output": output, "weights": Interval(np.zeros(1), np.ones(1))}


def unspecified_elements(result: AttentionTolerance) -> dict[str, NDArray[np.bool_]]:
    """Return elements left open: queries that do not count, those whose scores all are minus infinity, 0 beside NaN.

    Arithmetic says NaN of the second, a running maximum 0 (clause ``sdpa.nonfinite_input``).
    """
    found: dict[str, NDArray[np.bool_]] = {}
    if result.keys.padding is not None:
        found = step_marks(result, result.keys.padding)
    without_weight = None if result.all_live else result.without_weight
    beside_nan = {} if result.not_numbers is None else open_weights(result)
    for elements in ({} if without_weight is None else row_marks(result, without_weight), beside_nan):
        for name, of_output in elements.items():
            found[name] = found[name] | of_output if name in found else of_output
    return found


def open_weights(result: AttentionTolerance) -> dict[str, NDArray[np.bool_]]:
    """Return the weights of excluded keys in rows of NaN: the page says 0, and 0 divided by NaN is NaN."""
    if result.not_numbers is None:
        return {}
    rows = np.any(result.not_numbers & result.keys.attendable, axis=-1, keepdims=True)
    return {"weights": rows & ~result.keys.attendable}


def row_marks(result: AttentionTolerance, queries: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
    """Return which elements of each output come from some queries (B, Hq, Sq)."""
    rows = queries[..., None]
    width = result.value.value.shape[-1]
    return {
        "output": np.broadcast_to(rows, (*queries.shape, width)),
        "weights": np.broadcast_to(rows, result.keys.attendable.shape),
        "logsumexp": queries,
    }


def step_marks(result: AttentionTolerance, queries: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
    """Return which elements of each output, and of each step before it, come from some queries (B, Hq, Sq)."""
    of_rows = row_marks(result, queries)
    return {**of_rows, "scores": of_rows["weights"], "logits": of_rows["weights"]}
