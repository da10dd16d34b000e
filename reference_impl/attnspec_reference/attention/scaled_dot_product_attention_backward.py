"""The backward pass of scaled dot-product attention: how a loss moves with each of its inputs.

The gradient of the result goes back the way that the result came: through the weighted values, the softmax, the cap
and the dot products. The specification page is ``spec/operations/attention/scaled_dot_product_attention_backward.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnspec_reference.attention.attention_gradients import (
    check_of_queries,
    gradient_of_cap,
    gradient_of_sinks,
    gradient_of_softmax,
    shares_of_keys,
    sum_attended,
    sum_for_keys,
    sum_for_queries,
    sum_over_group,
    sum_to_mask,
)
from attnspec_reference.attention.attention_inputs import check_inputs
from attnspec_reference.attention.attention_keys import answered_queries, lengths_or_all
from attnspec_reference.attention.attention_logits import repeat_heads
from attnspec_reference.attention.phases import applied_scale, score_every_key
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import quietly, result_dtype, round_to, widen, widen_if_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array


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
    mask
        As the forward pass takes it.
    key_lengths
        As the forward pass takes it.
    query_lengths
        As the forward pass takes it. Other queries than the first ones add nothing to any gradient.
    sinks
        As the forward pass takes it.
    alibi_slopes
        As the forward pass takes it.
    is_causal
        As the forward pass takes it.
    causal_alignment
        As the forward pass takes it.
    scale
        As the forward pass takes it.
    softcap
        As the forward pass takes it.
    window
        As the forward pass takes it.

    Returns
    -------
    gradients
        ``grad_query``, ``grad_key``, ``grad_value``, ``grad_mask``, ``grad_sinks``, ``delta`` and ``grad_scores``, in
        the dtype of ``query``.

    Raises
    ------
    ValueError
        The shapes do not fit together, or an attribute or a length is out of its range.

    Notes
    -----
    Clauses: all those whose id begins with ``sdpa_backward.``.
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
