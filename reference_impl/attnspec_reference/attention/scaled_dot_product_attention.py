"""Scaled dot-product attention: each query takes a weighted mean of the values.

A query is compared with every key that it may attend to. The better a key fits, the more of its value goes
into the query's result. The specification page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.attention_inputs import (
    check_alignment,
    check_inputs,
    check_lengths,
    check_mask,
    check_one_for_each_head,
    check_past,
    check_scale,
    check_softcap,
    check_window,
)
from attnspec_reference.attention.attention_logits import (
    add_distance_bias,
    add_mask,
    answered_queries,
    attendable_by_mask,
    cap_scores,
    causal_offset,
    dequantize,
    exclude_keys,
    lengths_or_all,
    output_dtype_or_own,
    prepend_past,
    repeat_heads,
    within_length,
    within_window,
)
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.phases import (
    applied_scale,
    divide_by_total,
    exponentiate,
    join_sinks,
    largest_logit,
    log_sum_exp,
    scale_scores,
    score_every_key,
    sum_over_keys,
    weigh_values,
)
from attnspec_reference.precision import Array, quietly, round_to, widen, widen_if_given


class Attention(NamedTuple):
    """What attention computes, the result first.

    Attributes
    ----------
    output
        Weighted means of the values (B, Hq, Sq, Ev).
    weights
        Share of each key (B, Hq, Sq, P + Sk); rows sum to one, to less beside a sink, or hold zeros where no key
        may be attended.
    logsumexp
        Natural logarithm of the softmax denominator (B, Hq, Sq); minus infinity where it is empty.
    scores
        Dot products times the scale (B, Hq, Sq, P + Sk).
    logits
        Scores after the cap, ALiBi and the float mask (B, Hq, Sq, P + Sk), minus infinity at excluded keys.
    present_key
        Past and new keys (B, Hkv, P + Sk, E).
    present_value
        Past and new values (B, Hkv, P + Sk, Ev).
    """

    output: Array
    weights: Array
    logsumexp: Array
    scores: Array
    logits: Array
    present_key: Array
    present_value: Array


@quietly
def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    past_key: ArrayLike | None = None,
    past_value: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    query_lengths: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    alibi_slopes: ArrayLike | None = None,
    query_scale: ArrayLike | None = None,
    key_scale: ArrayLike | None = None,
    value_scale: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Sequence[int | None] | None = None,
    output_dtype: str | None = None,
) -> Attention:
    """Take, for each query, the mean of the values weighted by how well their keys fit.

    Parameters
    ----------
    query
        Queries (B, Hq, Sq, E). Their dtype is the dtype of the results, unless they are quantized.
    key
        Keys (B, Hkv, Sk, E).
    value
        Values (B, Hkv, Sk, Ev).
    mask
        Rank 2 to 4, broadcast from the right to (B, Hq, Sq, P + Sk). Boolean: True may be attended. Float:
        added to the scores after scale and cap; minus infinity excludes.
    past_key
        Keys of earlier tokens (B, Hkv, P, E), which stand before ``key``.
    past_value
        Values of earlier tokens (B, Hkv, P, Ev).
    key_lengths
        Integers (B,): how many keys of each batch entry count, the first ones.
    query_lengths
        Integers (B,): how many queries of each batch entry count, the first ones. The others get zeros, and
        minus infinity as ``logsumexp``.
    sinks
        Logits (Hq,) that stand in the softmax denominator of every query of a head, and belong to no key.
    alibi_slopes
        Slopes (Hq,): a score falls by the slope for each position between query and key.
    query_scale, key_scale, value_scale
        What queries, keys and values in float8 or int8 are multiplied by: (), (Hkv,) or (B, Hkv). A query takes
        the scale of the key head that it reads, past keys and values that of the new ones.
    is_causal
        Whether a query may attend only to keys at and before its own position.
    causal_alignment
        ``top_left``: the first query stands at the first key of ``key``. ``bottom_right``: the last query stands
        at the last key.
    scale
        Factor of the dot products; one over the square root of E when None.
    softcap
        Bound c of the scores, which become c * tanh(score / c); None and 0 leave them as they are.
    window
        How many positions before and after its own a query may attend to, ``[left, right]``; None for an open
        side, and for no window.
    output_dtype
        Name of the dtype of the results, beside a quantized query.

    Returns
    -------
    attention
        ``output``, ``weights``, ``logsumexp``, ``scores``, ``logits``, ``present_key`` and ``present_value``, in
        the dtype of ``query`` or in ``output_dtype``.

    Raises
    ------
    ValueError
        The shapes do not fit together, an attribute or a length is out of its range, or past and lengths are
        both given.
    """
    # Check the inputs
    query_shape, key_shape, value_shape = np.shape(query), np.shape(key), np.shape(value)
    check_inputs(query_shape, key_shape, value_shape)
    check_past(past_key, past_value, key_shape, value_shape)
    batch, heads, query_length, width = query_shape
    past_length = 0 if past_key is None else np.shape(past_key)[2]
    key_length = past_length + key_shape[2]
    check_lengths("query_lengths", query_lengths, query_length, batch, past=past_key is not None)
    check_lengths("key_lengths", key_lengths, key_length, batch, past=past_key is not None)
    check_mask(mask, (batch, heads, query_length, key_length))
    check_one_for_each_head("sinks", sinks, heads)
    check_one_for_each_head("alibi_slopes", alibi_slopes, heads)
    check_scale("query_scale", query_scale, batch, key_shape[1])
    check_scale("key_scale", key_scale, batch, key_shape[1])
    check_scale("value_scale", value_scale, batch, key_shape[1])
    check_alignment(causal_alignment)
    check_softcap(softcap)
    check_window(window)

    # Prepend the past
    present_key, present_value = prepend_past(past_key, key), prepend_past(past_value, value)

    # Multiply by the scales
    dtype = output_dtype_or_own(query, output_dtype)
    query = dequantize(query, query_scale, dtype)
    present_key, present_value = (
        dequantize(present_key, key_scale, dtype),
        dequantize(present_value, value_scale, dtype),
    )

    # Widen
    query, key, value = widen(query, dtype), widen(present_key, dtype), widen(present_value, dtype)
    sinks, alibi_slopes = widen_if_given(sinks, dtype), widen_if_given(alibi_slopes, dtype)

    # Position the queries
    queries_counted, keys_counted = lengths_or_all(query_lengths, query_length), lengths_or_all(key_lengths, key_length)
    offset = causal_offset(causal_alignment, queries_counted, keys_counted, past_length)

    # Share the key and value heads
    key, value = repeat_heads(key, heads), repeat_heads(value, heads)

    # Score every key
    raw_scores = score_every_key(query, key)

    # Scale
    scores = scale_scores(raw_scores, applied_scale(scale, width))

    # Cap the scores
    logits = cap_scores(scores, softcap)

    # Bias by distance
    logits = add_distance_bias(logits, alibi_slopes, offset)

    # Add the mask
    logits = add_mask(logits, mask)

    # Exclude keys
    attendable = attendable_by_mask(mask, scores.shape)
    if is_causal:
        attendable = attendable & causal_mask(query_length=query_length, key_length=key_length, offset=offset)
    if window is not None:
        attendable = attendable & within_window(window, query_length, key_length, offset)
    attendable = attendable & within_length(key_length, keys_counted)
    attendable = attendable & answered_queries(query_length, queries_counted)
    logits = exclude_keys(logits, attendable)

    # Join the sinks
    terms = join_sinks(logits, sinks, queries_counted)

    # Softmax over keys
    largest = largest_logit(terms)
    exponentials = exponentiate(terms, largest)
    total = sum_over_keys(exponentials)
    weights = divide_by_total(exponentials, total)[..., :key_length]
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
        present_key=round_to(dtype, present_key),
        present_value=round_to(dtype, present_value),
    )
