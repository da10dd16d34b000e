"""Which gradients of attention NaN and infinities leave open.

A NaN that a query attends to is owed in every gradient that depends on it, and is graded by kind. Open is what depends
on how a sum is arranged: 0 times NaN is NaN, and what comes of an infinity may be either. What a query may not attend
to gets nothing of what its gradients hold, for its weight is 0 whatever they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


class NotFinite(NamedTuple):
    """Queries (B, Hq, Sq) that meet what is not finite.

    Attributes
    ----------
    scores_infinite
        An infinity, in themselves, in keys that they attend to or in the mask there: among their logits.
    scores_nan
        NaN or an infinity likewise.
    gradients_infinite
        An infinity in the gradient of their output or logsumexp, or in values that they attend to.
    nan
        NaN or an infinity in any of these.
    excluded
        NaN or an infinity in what is excluded from them, or in themselves where something is.
    """

    scores_infinite: NDArray[np.bool_]
    scores_nan: NDArray[np.bool_]
    gradients_infinite: NDArray[np.bool_]
    nan: NDArray[np.bool_]
    excluded: NDArray[np.bool_]


def not_finite(
    inputs: Mapping[str, NDArray[Any]], live: NDArray[np.bool_], counted: NDArray[np.bool_]
) -> NotFinite | None:
    """Return which queries meet NaN and infinities; None where every number is finite.

    Parameters
    ----------
    inputs
        The inputs as they are.
    live
        Which key each query that counts may attend (B, Hq, Sq, K).
    counted
        Which queries count (B, Hq, Sq).
    """
    gradients = [inputs["grad_output"]]
    if "grad_logsumexp" in inputs:
        gradients.append(inputs["grad_logsumexp"][..., None])
    query, key, value = inputs["query"], inputs["key"], inputs["value"]
    mask = inputs.get("mask", np.zeros(1))
    # Minus infinity excludes, so that no query meets it.
    unmasked = np.isnan(mask) | np.isposinf(mask) if mask.dtype != np.bool_ else np.zeros(1, np.bool_)
    if not unmasked.any() and all(np.isfinite(tensor).all() for tensor in (*gradients, query, key, value)):
        return None
    shared = live.shape[1] // max(key.shape[1], 1)

    def found(kind: Callable[[NDArray[Any]], Any], *tensors: NDArray[Any]) -> NDArray[np.bool_]:
        return np.logical_or.reduce([kind(tensor).any(axis=-1) for tensor in tensors])

    def of_heads(keys: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.repeat(keys, shared, axis=1)[:, :, None, :]

    def met(
        kind: Callable[[NDArray[Any]], Any], of_queries: list[NDArray[Any]], keys: NDArray[Any]
    ) -> NDArray[np.bool_]:
        return (found(kind, *of_queries) & counted) | (live & of_heads(found(kind, keys))).any(axis=-1)

    def any_nonfinite(tensor: NDArray[Any]) -> NDArray[np.bool_]:
        return ~np.isfinite(tensor)

    scores_nan = met(any_nonfinite, [query], key) | (live & unmasked).any(axis=-1)
    excluded = (~live & of_heads(found(any_nonfinite, key, value))).any(axis=-1)
    excluded |= found(any_nonfinite, query, *gradients) & (~live).any(axis=-1)
    return NotFinite(
        met(np.isinf, [query], key) | (live & unmasked & np.isinf(mask)).any(axis=-1),
        scores_nan,
        met(np.isinf, gradients, value),
        scores_nan | met(any_nonfinite, gradients, value),
        excluded,
    )
