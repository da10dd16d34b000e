"""Scaled dot-product attention: each query takes a weighted mean of the values.

A query is compared with every key that it may attend to. The better a key fits, the more of its value goes
into the query's result. The specification page is ``spec/operations/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnspec_reference.causal_mask import causal_mask
from attnspec_reference.phases import applied_scale, scale_scores, score_every_key, weigh_values
from attnspec_reference.precision import result_dtype, round_to, widen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array, Booleans

Shape = tuple[int, ...]


class Attention(NamedTuple):
    """What attention computes, the result first.

    Attributes
    ----------
    output
        Weighted means of the values (B, Hq, Sq, Ev).
    weights
        Share of each key (B, Hq, Sq, Sk); rows sum to one, or hold zeros where no key may be attended.
    logsumexp
        Natural logarithm of the softmax denominator (B, Hq, Sq); minus infinity where no key may be attended.
    scores
        Dot products times the scale (B, Hq, Sq, Sk).
    logits
        Scores plus the float mask (B, Hq, Sq, Sk), minus infinity at excluded keys.
    """

    output: Array
    weights: Array
    logsumexp: Array
    scores: Array
    logits: Array


def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
) -> Attention:
    """Take, for each query, the mean of the values weighted by how well their keys fit.

    Parameters
    ----------
    query
        Queries (B, Hq, Sq, E). Their dtype is the dtype of the results.
    key
        Keys (B, Hkv, Sk, E).
    value
        Values (B, Hkv, Sk, Ev).
    mask
        Rank 2 to 4, broadcast from the right to (B, Hq, Sq, Sk). Boolean: True may be attended. Float:
        added to the scores after the scale; minus infinity excludes.
    is_causal
        Whether a query may attend only to keys at and before its own position.
    causal_alignment
        ``top_left``: the first query stands at the first key. ``bottom_right``: the last query stands at the
        last key.
    scale
        Factor of the dot products; one over the square root of E when None.

    Returns
    -------
    attention
        ``output``, ``weights``, ``logsumexp``, ``scores`` and ``logits``, in the dtype of ``query``.

    Raises
    ------
    ValueError
        The shapes do not fit together, or ``causal_alignment`` is unknown.

    Notes
    -----
    Clauses: all those whose id begins with ``sdpa.``.
    """
    # Check the inputs
    check_inputs(np.shape(query), np.shape(key), np.shape(value))
    check_mask(mask, (*np.shape(query)[:3], np.shape(key)[2]))
    check_alignment(causal_alignment)

    # Widen
    dtype = result_dtype(query)
    query, key, value = widen(query, dtype), widen(key, dtype), widen(value, dtype)
    heads, query_length, width = query.shape[1:]
    key_length = key.shape[2]

    # Share the key and value heads
    key, value = repeat_heads(key, heads), repeat_heads(value, heads)

    # Score every key
    raw_scores = score_every_key(query, key)

    # Scale
    scores = scale_scores(raw_scores, applied_scale(scale, width))

    # Add the mask
    logits = add_mask(scores, mask)

    # Exclude keys
    attendable = attendable_by_mask(mask, scores.shape)
    if is_causal:
        offset = causal_offset(causal_alignment, query_length, key_length)
        attendable = attendable & causal_mask(query_length=query_length, key_length=key_length, offset=offset)
    logits = exclude_keys(logits, attendable)

    # Softmax over keys
    largest = largest_logit(logits)
    exponentials = exponentiate(logits, largest)
    total = sum_over_keys(exponentials)
    weights = divide_by_total(exponentials, total)
    logsumexp = log_sum_exp(largest, total)

    # Weigh the values
    output = weigh_values(weights, value, attendable)

    # Round
    return Attention(
        output=round_to(dtype, output),
        weights=round_to(dtype, weights),
        logsumexp=round_to(dtype, logsumexp),
        scores=round_to(dtype, scores),
        logits=round_to(dtype, logits),
    )


def check_inputs(query: Shape, key: Shape, value: Shape) -> None:
    """Refuse shapes that do not fit together."""
    for name, shape in (("query", query), ("key", key), ("value", value)):
        if len(shape) != 4:
            raise ValueError(f"{name} has shape {shape}; it needs rank 4: (batch, heads, tokens, features).")
    shapes = f"query has shape {query}, key {key}, value {value}"
    if query[3] != key[3] or query[3] == 0:
        raise ValueError(f"{shapes}: query and key need the same number of features, at least one.")
    if not query[0] == key[0] == value[0]:
        raise ValueError(f"{shapes}: all three need the same batch size.")
    if key[1] != value[1] or query[1] % max(key[1], 1) or (query[1] and not key[1]):
        raise ValueError(f"{shapes}: key and value need the same number of heads, and query a multiple of that number.")
    if key[2] != value[2]:
        raise ValueError(f"{shapes}: key and value need the same number of tokens.")


def check_mask(mask: ArrayLike | None, scores: Shape) -> None:
    """Refuse a mask that does not broadcast to the shape of the scores."""
    if mask is None:
        return
    mask = np.asarray(mask)
    if np.issubdtype(mask.dtype, np.integer):
        raise ValueError(f"mask has dtype {mask.dtype}; it needs truth values, or floats that are added to scores.")
    broadcasts = all(axis in (1, length) for axis, length in zip(mask.shape[::-1], scores[::-1], strict=False))
    if not 2 <= mask.ndim <= 4 or mask.shape[-1] != scores[-1] or not broadcasts:
        raise ValueError(
            f"mask has shape {mask.shape}, the scores {scores}: a mask has rank 2 to 4, one column for each "
            "key, and otherwise axes of the same length or of length 1, matched from the right."
        )


def check_alignment(causal_alignment: str) -> None:
    """Refuse an alignment that does not exist."""
    if causal_alignment not in ("top_left", "bottom_right"):
        raise ValueError(f"causal_alignment is {causal_alignment!r}; it must be 'top_left' or 'bottom_right'.")


def repeat_heads(shared: Array, heads: int) -> Array:
    """Give each query head its key or value head: (B, Hkv, Sk, E) becomes (B, Hq, Sk, E).

    Neighbouring query heads share: query head h reads head h // (Hq / Hkv).
    """
    return np.repeat(shared, heads // max(shared.shape[1], 1), axis=1)


def is_boolean(mask: ArrayLike) -> bool:
    """Tell a mask that selects from one that is added."""
    return np.asarray(mask).dtype == np.bool_


@np.errstate(invalid="ignore", over="ignore")
def add_mask(scores: Array, mask: ArrayLike | None) -> Array:
    """Add a float mask to the scores; a Boolean mask adds nothing."""
    if mask is None or is_boolean(mask):
        return scores
    return scores + np.asarray(mask).astype(scores.dtype)


def attendable_by_mask(mask: ArrayLike | None, shape: Shape) -> Booleans:
    """Tell where the mask lets a query attend to a key (B, Hq, Sq, Sk)."""
    if mask is None:
        return np.ones(shape, dtype=np.bool_)
    mask = np.asarray(mask)
    selected = mask if is_boolean(mask) else mask != -np.inf
    return np.broadcast_to(selected, shape)


def causal_offset(causal_alignment: str, query_length: int, key_length: int) -> int:
    """Find the position of the first query among the keys."""
    return 0 if causal_alignment == "top_left" else key_length - query_length


def exclude_keys(logits: Array, attendable: Booleans) -> Array:
    """Set the logits of excluded keys to minus infinity, whatever they were."""
    return np.where(attendable, logits, -np.inf)


def largest_logit(logits: Array) -> Array:
    """Find the largest logit of each row (B, Hq, Sq, 1); minus infinity where no key may be attended."""
    return np.max(logits, axis=-1, keepdims=True, initial=-np.inf)


@np.errstate(invalid="ignore", over="ignore")
def exponentiate(logits: Array, largest: Array) -> Array:
    """Take the exponential of each logit's distance from the largest; excluded keys get 0."""
    # In a row without keys the distance would be infinity minus infinity.
    shift = np.where(largest == -np.inf, 0, largest)
    return np.exp(logits - shift)


def sum_over_keys(exponentials: Array) -> Array:
    """Sum each row (B, Hq, Sq, 1); 0 where no key may be attended."""
    return np.sum(exponentials, axis=-1, keepdims=True)


@np.errstate(invalid="ignore")
def divide_by_total(exponentials: Array, total: Array) -> Array:
    """Divide each row by its sum; a row without keys stays zero."""
    return exponentials / np.where(total == 0, 1, total)


@np.errstate(divide="ignore", invalid="ignore")
def log_sum_exp(largest: Array, total: Array) -> Array:
    """Take the natural logarithm of each row's sum (B, Hq, Sq), undoing the shift by the largest logit."""
    return np.squeeze(largest + np.log(total), axis=-1)
