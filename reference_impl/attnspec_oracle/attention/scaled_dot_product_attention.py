"""Attention on given queries, keys and values: dot products, biases, softmax over keys, means of the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.attending import attend, check_attention, products_with_scale, shared_among, transposed
from attnspec_oracle.attention.logits import exact_logits, scale_for
from attnspec_oracle.attention.rows import RowMeans, Values
from attnspec_oracle.attention.softmax import Softmax, rounded_logits
from attnspec_oracle.certification import certify
from attnspec_oracle.exact import ExactArray, exact_array, joined, matmul, overridden

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs


def scaled_dot_product_attention(
    *,
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    mask: NDArray[Any] | None = None,
    past_key: NDArray[Any] | None = None,
    past_value: NDArray[Any] | None = None,
    key_lengths: NDArray[Any] | None = None,
    query_lengths: NDArray[Any] | None = None,
    sinks: NDArray[Any] | None = None,
    alibi_slopes: NDArray[Any] | None = None,
    query_scale: NDArray[Any] | None = None,
    key_scale: NDArray[Any] | None = None,
    value_scale: NDArray[Any] | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Sequence[int | None] | None = None,
    output_dtype: str | None = None,
) -> Outputs:
    """Evaluate ``scaled_dot_product_attention`` (clauses ``sdpa.*``).

    Parameters
    ----------
    query, key, value
        (B, Hq, Sq, E), (B, Hkv, Sk, E), (B, Hkv, Sk, Ev).
    mask
        bool (True attends) or float (added, -inf excludes); broadcasts from the right to (B, Hq, Sq, P+Sk).
    past_key, past_value
        (B, Hkv, P, E), (B, Hkv, P, Ev): what stands before key and value.
    key_lengths, query_lengths
        (B,): how many keys and queries of each batch item are no padding.
    sinks
        (Hq,): one more logit in the denominator of every row of a head.
    alibi_slopes
        (Hq,): slopes of the penalty on distance.
    query_scale, key_scale, value_scale
        (), (Hkv,) or (B, Hkv): what quantized numbers are multiplied by.
    is_causal, causal_alignment
        Whether a query attends only to the keys up to its position, and where the queries stand among the keys.
    scale
        The factor of the dot products; 1/sqrt(E) when None.
    softcap
        The c of ``c * tanh(score / c)``, before any bias; off when None or 0.
    window
        How many keys to the left and to the right of its position a query attends to; None for an open side.
    output_dtype
        Says nothing here: every result is a float64.

    Returns
    -------
    dict[str, Callable]
        ``output`` (B, Hq, Sq, Ev); ``weights``, ``scores`` and ``logits`` (B, Hq, Sq, P+Sk); ``logsumexp``
        (B, Hq, Sq); ``present_key`` and ``present_value`` (B, Hkv, P+Sk, E or Ev).

    Raises
    ------
    ValueError
        When shapes contradict each other or an attribute has no meaning.
    """
    del output_dtype
    shared = key.shape[1]
    query = products_with_scale(query, query_scale, shared)
    present_key = products_with_scale(_present("key", key, past_key), key_scale, shared)
    present_value = products_with_scale(_present("value", value, past_value), value_scale, shared)
    check_attention(query.shape, present_key.shape, present_value.shape)
    batch, heads = query.shape[:2]
    keys, values = shared_among(heads, present_key), shared_among(heads, present_value)
    attending = attend(
        query,
        keys,
        present_key.shape[2] - key.shape[2],
        mask=mask,
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
    softmax = attending.softmax
    if sinks is not None:
        values = joined(values, exact_array(np.zeros((batch, heads, 1, values.shape[-1]))), axis=-2)
    return {
        "output": lambda elements: means("output", softmax, values, elements),
        "weights": lambda elements: softmax.weights("weights", elements, keys=keys.shape[2]),
        "logsumexp": lambda elements: softmax.logsumexp("logsumexp", elements),
        "scores": lambda elements: rounded_logits("scores", attending.scores, elements),
        "logits": lambda elements: np.where(
            attending.attended, rounded_logits("logits", attending.logits, elements), -np.inf
        ),
        "present_key": lambda _: present_key,
        "present_value": lambda _: present_value,
    }


def context_vector(*, encoder_states: NDArray[Any], decoder_state: NDArray[Any], scale: float | None = None) -> Outputs:
    """Evaluate ``context_vector`` (clauses ``context_vector.*``).

    Parameters
    ----------
    encoder_states, decoder_state
        (S, D), (D,).
    scale
        The factor of the dot products; 1/sqrt(D) when None.

    Returns
    -------
    dict[str, Callable]
        ``context`` (D,); ``weights``, ``scores`` (after the scale) and ``raw_scores`` (before it), (S,).
    """
    states = exact_array(encoder_states)
    query = exact_array(decoder_state).rearranged(lambda moved: moved[np.newaxis, :])
    dots = matmul(query, transposed(states))
    softmax = Softmax.over_every_key(exact_logits(dots, scale_for(scale, query.shape[-1])))
    return {
        "context": lambda elements: means("context", softmax, states, elements)[0],
        "weights": lambda elements: softmax.weights("weights", elements)[0],
        "scores": lambda elements: rounded_logits("scores", softmax.logits, elements)[0],
        "raw_scores": lambda _: dots.rounded()[0],
    }


def means(output: str, softmax: Softmax, values: ExactArray, elements: Elements) -> NDArray[np.float64]:
    """Average values (..., columns, width) with the weights (..., Sq, columns): (..., Sq, width)."""
    shape = (*softmax.logits.shape[:-1], values.shape[-1])
    certified = certify(output, row_means(softmax, values), shape, elements)
    return overridden(certified, softmax.nonfinite_means(values))


def row_means(softmax: Softmax, values: ExactArray) -> Callable[[int], RowMeans]:
    """Pair rows (..., Sq) of a softmax, by row-major index, with the values (..., columns, width) of their head."""
    length = softmax.logits.shape[-2]
    per_head: dict[int, Values] = {}

    def pair(index: int) -> RowMeans:
        head = index // length
        if head not in per_head:
            index_of_head = np.unravel_index(head, values.shape[:-2])
            per_head[head] = Values(values.rearranged(lambda moved: moved[index_of_head]))
        return RowMeans(softmax.row(index), per_head[head])

    return pair


def _present(name: str, new: NDArray[Any], past: NDArray[Any] | None) -> NDArray[Any]:
    """Put the past before the new keys or values."""
    if past is None:
        return new
    if past.ndim != 4 or new.ndim != 4 or (*past.shape[:2], past.shape[3]) != (*new.shape[:2], new.shape[3]):
        raise ValueError(
            f"past_{name} and {name} may differ in length only; their shapes are {past.shape} and {new.shape}."
        )
    return np.concatenate([past, new], axis=2)
