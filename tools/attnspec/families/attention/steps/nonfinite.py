"""NaN and infinities in the inputs of attention and of its gradients, and where they go.

A tolerance is a number, so the bound itself runs over finite inputs. Here is all that it needs beside them: which
scores are not finite, and which elements an excluded key or value affects where it is multiplied by the weight 0. A NaN
that a query attends to is expected in every gradient that depends on it, and is graded by kind. Open is all that
depends on how a sum is arranged: 0 times NaN is NaN, and an infinity may give either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from attnspec.families.record import Arrays, Marks


def special_scores(
    query: NDArray[Any], key: NDArray[Any], scale: float, softcap: float | None
) -> tuple[NDArray[np.bool_], NDArray[Any]] | None:
    """Return where scores of (B, Hq, Sq, E) and (B, Hq, Sk, E) are not finite, and their logits there, before any mask.

    Such a logit is minus infinity, plus or minus the cap, or 0 where it makes its whole row NaN, which needs no
    tolerance. None where every score is finite.
    """
    if np.isfinite(query).all() and np.isfinite(key).all():
        return None
    scores = scale * (query @ np.swapaxes(key, -1, -2))
    special = ~np.isfinite(scores)
    if softcap:
        return special, np.where(np.isinf(scores), np.copysign(softcap, scores), 0.0)
    return special, np.where(scores == -np.inf, -np.inf, 0.0)


def reached_by_excluded(key: NDArray[Any], value: NDArray[Any], attendable: NDArray[np.bool_]) -> Marks:
    """Return, by output name, elements that excluded keys and values which are not finite affect in plain arithmetic.

    A key (B, Hq, Sk, E) reaches everything of a query from which it is excluded; a value (B, Hq, Sk, Ev) reaches its
    own feature of the output. Empty where excluded positions are finite.
    """
    keys, values = ~np.all(np.isfinite(key), axis=-1), ~np.isfinite(value)
    if not keys.any() and not values.any():
        return {}
    excluded = ~attendable
    rows = np.any(excluded & keys[:, :, None, :], axis=-1)
    features = excluded.astype(np.float64) @ values.astype(np.float64) > 0
    if not rows.any() and not features.any():
        return {}
    over_keys = np.broadcast_to(rows[..., None], attendable.shape)
    return {"output": rows[..., None] | features, "weights": over_keys, "logits": over_keys, "logsumexp": rows}


def reached_by_infinity(query: NDArray[Any], key: NDArray[Any], attendable: NDArray[np.bool_]) -> Marks:
    """Return, by output name, elements that an infinity reaches in a query (B, Hq, Sq, E) or attended key (.., Sk, E).

    A compensated sum takes infinity from infinity where a term is infinite.
    """
    of_query, of_key = np.any(np.isinf(query), axis=-1, keepdims=True), np.any(np.isinf(key), axis=-1, keepdims=True)
    scores = np.broadcast_to(of_query | np.swapaxes(of_key, -1, -2), attendable.shape)
    rows = np.any(scores & attendable, axis=-1)
    of_keys = np.broadcast_to(rows[..., None], attendable.shape)
    return {"output": rows[..., None], "weights": of_keys, "scores": scores, "logits": of_keys, "logsumexp": rows}


def rows_of_open_scores(
    query: NDArray[Any], key: NDArray[Any], attendable: NDArray[np.bool_], beside: Arrays
) -> NDArray[np.bool_]:
    """Return the queries (B, Hq, Sq) with NaN or infinity among the scores of attended keys: there, no number follows.

    It stands in the query (.., E), in a key (.., Sk, E), or `beside` them in a float mask, where minus infinity
    excludes, or in a sink.
    """
    of_query, of_key = (~np.all(np.isfinite(tensor), axis=-1, keepdims=True) for tensor in (query, key))
    scores, mask, sinks = of_query | np.swapaxes(of_key, -1, -2), beside.get("mask"), beside.get("sinks")
    if mask is not None and mask.dtype != np.bool_:
        scores = scores | np.isnan(mask) | np.isposinf(mask)
    rows: NDArray[np.bool_] = np.any(scores & attendable, axis=-1)
    return rows if sinks is None else rows | (np.isnan(sinks) | np.isposinf(sinks))[:, np.newaxis]


class NotFinite(NamedTuple):
    """Queries (B, Hq, Sq) that meet NaN or infinities, by where these stand.

    `scores_*`: in the query, its attended keys or the mask there. `gradients_infinite`: in gradients of its outputs, or
    attended values. `nan`: in any of these. `excluded`: in excluded keys or values, or in a query with some.
    """

    scores_infinite: NDArray[np.bool_]
    scores_nan: NDArray[np.bool_]
    gradients_infinite: NDArray[np.bool_]
    nan: NDArray[np.bool_]
    excluded: NDArray[np.bool_]


def not_finite(inputs: Arrays, live: NDArray[np.bool_], counted: NDArray[np.bool_]) -> NotFinite | None:
    """Return which queries meet NaN and infinities; None if all is finite.

    `live` (B, Hq, Sq, K): which keys each query that counts may attend; `counted` (B, Hq, Sq): which queries count.
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
