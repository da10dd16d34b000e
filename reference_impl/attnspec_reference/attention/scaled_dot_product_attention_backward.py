"""The backward pass of scaled dot-product attention: how a loss moves with each of its inputs.

The gradient of the result goes back the way that the result came: through the weighted values, the softmax, the cap
and the dot products. The specification page is ``spec/operations/attention/scaled_dot_product_attention_backward.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.attention_inputs import check_inputs
from attnspec_reference.attention.attention_logits import answered_queries, is_boolean, lengths_or_all, repeat_heads
from attnspec_reference.attention.phases import applied_scale, score_every_key, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans, quietly, result_dtype, round_to, widen, widen_if_given


class AttentionGradients(NamedTuple):
    """The gradients of attention, those of its matrices first.

    Attributes
    ----------
    grad_query
        Gradient of the queries (B, Hq, Sq, E).
    grad_key
        Gradient of the keys (B, Hkv, Sk, E), summed over the query heads that share them.
    grad_value
        Gradient of the values (B, Hkv, Sk, Ev), summed likewise.
    grad_mask
        Gradient of a float mask, of its shape; None without one.
    grad_sinks
        Gradient of the sinks (Hq); None without them.
    delta
        For each query, the mean of the gradients of its weights (B, Hq, Sq): each counts with its weight.
    grad_scores
        Gradient of the scores (B, Hq, Sq, Sk): of the dot products times the scale.
    """

    grad_query: Array
    grad_key: Array
    grad_value: Array
    grad_mask: Array | None
    grad_sinks: Array | None
    delta: Array
    grad_scores: Array


@quietly
def scaled_dot_product_attention_backward(
    grad_output: ArrayLike,
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    output: ArrayLike | None = None,
    logsumexp: ArrayLike | None = None,
    grad_logsumexp: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    query_lengths: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    alibi_slopes: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Sequence[int | None] | None = None,
) -> AttentionGradients:
    """Find how a loss moves with the inputs of attention, from how it moves with the results.

    Parameters
    ----------
    grad_output
        Gradient of the output (B, Hq, Sq, Ev).
    query
        Queries (B, Hq, Sq, E). Their dtype is the dtype of the results.
    key
        Keys (B, Hkv, Sk, E).
    value
        Values (B, Hkv, Sk, Ev).
    output
        Output of the forward pass (B, Hq, Sq, Ev), from which ``delta`` is taken; found anew when None.
    logsumexp
        Natural logarithm of the softmax denominator (B, Hq, Sq), from the forward pass; found anew when None.
    grad_logsumexp
        Gradient of the logsumexp (B, Hq, Sq); zeros when None.
    mask, key_lengths, query_lengths, sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window
        As the forward pass takes them. Other queries than the first ones add nothing to any gradient.

    Returns
    -------
    gradients
        ``grad_query``, ``grad_key``, ``grad_value``, ``grad_mask``, ``grad_sinks``, ``delta`` and ``grad_scores``, in
        the dtype of ``query``.

    Raises
    ------
    ValueError
        The shapes do not fit together, or an attribute or a length is out of its range.
    """
    # Check the inputs
    query_shape, key_shape, value_shape = np.shape(query), np.shape(key), np.shape(value)
    check_inputs(query_shape, key_shape, value_shape)
    (_, heads, query_length, width), key_heads = query_shape, key_shape[1]
    of_queries = query_shape[:3]
    for name, given in (("grad_output", grad_output), ("output", output)):
        check_of_queries(name, given, (*of_queries, value_shape[3]))
    for name, given in (("logsumexp", logsumexp), ("grad_logsumexp", grad_logsumexp)):
        check_of_queries(name, given, of_queries)

    # Widen
    dtype = result_dtype(query)
    query, key, value = widen(query, dtype), widen(key, dtype), widen(value, dtype)
    output, logsumexp = widen_if_given(output, dtype), widen_if_given(logsumexp, dtype)
    grad_output, grad_logsumexp = widen(grad_output, dtype), widen_if_given(grad_logsumexp, dtype)
    sinks = widen_if_given(sinks, dtype)

    # Repeat the forward pass
    forward = scaled_dot_product_attention(
        query,
        key,
        value,
        mask,
        key_lengths=key_lengths,
        query_lengths=query_lengths,
        sinks=sinks,
        alibi_slopes=alibi_slopes,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        scale=scale,
        softcap=softcap,
        window=window,
    )
    attendable = forward.logits != -np.inf
    if logsumexp is None:
        logsumexp, weights = forward.logsumexp, forward.weights
    else:
        weights = shares_of_keys(forward.logits, logsumexp, attendable)

    # Share the key and value heads
    shared_key, shared_value = repeat_heads(key, heads), repeat_heads(value, heads)

    # Gradient of the values
    grad_value = sum_for_keys(weights, grad_output, attendable)

    # Gradient of the weights
    grad_weights = score_every_key(grad_output, shared_value)

    # Delta
    delta = sum_attended(weights * grad_weights, attendable) if output is None else (grad_output * output).sum(axis=-1)

    # Gradient of the logits
    subtracted = delta if grad_logsumexp is None else delta - grad_logsumexp
    grad_logits = gradient_of_softmax(weights, grad_weights, subtracted, attendable)

    # Gradient of the mask
    grad_mask = sum_to_mask(grad_logits, mask)

    # Gradient of the sinks
    answered = answered_queries(query_length, lengths_or_all(query_lengths, query_length))[..., 0]
    grad_sinks = gradient_of_sinks(sinks, logsumexp, subtracted, answered)

    # Gradient of the scores
    grad_scores = grad_logits * gradient_of_cap(forward.scores, softcap, attendable)

    # Gradient of the queries
    factor = applied_scale(scale, width)
    grad_query = factor * sum_for_queries(grad_scores, shared_key, attendable)

    # Gradient of the keys
    grad_key = factor * sum_for_keys(grad_scores, query, attendable)

    # Sum over the heads of a group
    grad_key, grad_value = sum_over_group(grad_key, key_heads), sum_over_group(grad_value, key_heads)

    # Round
    return AttentionGradients(
        grad_query=round_to(dtype, grad_query),
        grad_key=round_to(dtype, grad_key),
        grad_value=round_to(dtype, grad_value),
        grad_mask=None if grad_mask is None else round_to(dtype, grad_mask),
        grad_sinks=None if grad_sinks is None else round_to(dtype, grad_sinks),
        delta=round_to(dtype, delta),
        grad_scores=round_to(dtype, grad_scores),
    )


Shape = tuple[int, ...]


def check_of_queries(name: str, given: ArrayLike | None, shape: Shape) -> None:
    """Refuse what does not have the shape of the forward pass."""
    if given is not None and np.shape(given) != shape:
        raise ValueError(f"{name} has shape {np.shape(given)}; the forward pass gives {shape}.")


def shares_of_keys(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Take the exponential of each logit's distance from the logsumexp of its row; excluded keys get 0."""
    return np.where(attendable, np.exp(logits - logsumexp[..., np.newaxis]), 0)


def sum_attended(products: Array, attendable: Booleans) -> Array:
    """Sum each row (B, Hq, Sq) over the keys that its query may attend to."""
    return np.where(attendable, products, 0).sum(axis=-1)


def gradient_of_softmax(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
    """Multiply each weight by how far its gradient lies above what is subtracted in its row; excluded keys get 0."""
    return np.where(attendable, weights * (grad_weights - subtracted[..., np.newaxis]), 0)


def gradient_of_cap(scores: Array, softcap: float | None, attendable: Booleans) -> Array | float:
    """Find how much a capped score moves with its score; 1 without a cap, and where nothing is attended."""
    if not softcap:
        return 1.0
    return np.where(attendable, 1 - np.tanh(scores / softcap) ** 2, 1)


def sum_for_queries(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
    """Sum the keys, each times the gradient of its score (B, Hq, Sq, E)."""
    return weigh_values(grad_scores, key, attendable)


def sum_for_keys(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
    """Sum over the queries what belongs to each, times its number for the key (B, Hq, Sk, E or Ev)."""
    return weigh_values(of_scores.swapaxes(-1, -2), of_queries, attendable.swapaxes(-1, -2))


def sum_over_group(of_heads: Array, key_heads: int) -> Array:
    """Sum over the query heads that share a key head: (B, Hq, Sk, E) becomes (B, Hkv, Sk, E)."""
    batch, heads, *rest = of_heads.shape
    group = heads // max(key_heads, 1)
    return of_heads.reshape(batch, key_heads, group, *rest).sum(axis=2)


def gradient_of_sinks(sinks: Array | None, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array | None:
    """Lower each sink by what is subtracted in the rows of its head, times its share of them (Hq); None without sinks.

    A sink weighs no value, so that its weight has the gradient 0. Rows that do not count add nothing.
    """
    if sinks is None:
        return None
    shares = np.exp(sinks[:, np.newaxis] - logsumexp)
    return -np.where(answered, shares * subtracted, 0).sum(axis=(0, 2))


def sum_to_mask(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
    """Sum over the axes along which the mask was repeated; None for a mask that adds no numbers."""
    if mask is None or is_boolean(mask):
        return None
    shape = np.shape(mask)
    missing = grad_logits.ndim - len(shape)
    repeated = [missing + axis for axis, length in enumerate(shape) if length == 1]
    return grad_logits.sum(axis=(*range(missing), *repeated)).reshape(shape)
