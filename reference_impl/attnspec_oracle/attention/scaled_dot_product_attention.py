"""Attention on given queries, keys and values: dot products, biases, softmax over keys, means of the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.logits import exact_logits, scale_for
from attnspec_oracle.attention.placement import place
from attnspec_oracle.attention.rows import RowMeans, Values
from attnspec_oracle.attention.softmax import Softmax, rounded_logits
from attnspec_oracle.certification import certify
from attnspec_oracle.exact import ExactArray, add, exact_array, joined, matmul, overridden

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
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Sequence[int | None] | None = None,
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
    is_causal, causal_alignment
        Whether a query attends only to the keys up to its position, and where the queries stand among the keys.
    scale
        The factor of the dot products; 1/sqrt(E) when None.
    softcap
        The c of ``c * tanh(score / c)``, before any bias; off when None or 0.
    window
        How many keys to the left and to the right of its position a query attends to; None for an open side.

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
    present_key, present_value = _present("key", key, past_key), _present("value", value, past_value)
    _check_attention(query.shape, present_key.shape, present_value.shape)
    batch, heads, query_length, width = query.shape
    keys, values = (
        exact_array(shared).rearranged(lambda moved: np.repeat(moved, heads // moved.shape[1], axis=1))
        for shared in (present_key, present_value)
    )
    placement = place(
        batch=batch,
        queries=query_length,
        keys=keys.shape[2],
        past=present_key.shape[2] - key.shape[2],
        causal_alignment=causal_alignment,
        key_lengths=key_lengths,
        query_lengths=query_lengths,
    )
    # Every query times every key, with the scale, the softcap and the biases
    factor = scale_for(scale, width)
    dots = matmul(exact_array(query), transposed(keys))
    attended, addends = read_mask(mask, dots.shape)
    attended = attended & placement.attendable(is_causal=is_causal, window=window)
    if alibi_slopes is not None:
        _check_per_head("alibi_slopes", alibi_slopes, heads)
        addends = add(addends, placement.distance_penalties(alibi_slopes))
    summed = attended & placement.live
    if sinks is None:
        softmax = Softmax(exact_logits(dots, factor, addends, softcap), summed)
    else:
        # A sink is one more column, whose dot product and whose value are zero and which nothing excludes.
        _check_per_head("sinks", sinks, heads)
        column = np.broadcast_to(sinks[:, np.newaxis, np.newaxis], (*dots.shape[:-1], 1))
        extended = joined(dots, exact_array(np.zeros(column.shape)), axis=-1)
        addends_and_sinks = joined(_full(addends, dots.shape), _excluding(column), axis=-1)
        summed = np.concatenate([summed, placement.live & (column != -np.inf)], axis=-1)
        softmax = Softmax(exact_logits(extended, factor, addends_and_sinks, softcap), summed)
        values = joined(values, exact_array(np.zeros((batch, heads, 1, values.shape[-1]))), axis=-2)
    return {
        "output": lambda elements: means("output", softmax, values, elements),
        "weights": lambda elements: softmax.weights("weights", elements, keys=keys.shape[2]),
        "logsumexp": lambda elements: softmax.logsumexp("logsumexp", elements),
        "scores": lambda elements: rounded_logits("scores", exact_logits(dots, factor), elements),
        "logits": lambda elements: np.where(
            attended,
            rounded_logits("logits", exact_logits(dots, factor, addends, softcap), elements),
            -np.inf,
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


def read_mask(mask: NDArray[Any] | None, shape: tuple[int, ...]) -> tuple[NDArray[np.bool_], ExactArray]:
    """Tell what a mask lets attend, and what it adds, to logits of a shape (B, H, Sq, Sk)."""
    attended = np.ones(shape, dtype=np.bool_)
    nothing = exact_array(np.zeros((1,) * len(shape)))
    if mask is None:
        return attended, nothing
    _check_mask(mask.shape, shape)
    if mask.dtype == np.bool_:
        return attended & mask, nothing
    return attended & (mask != -np.inf), _excluding(mask)


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
            place_of_head = np.unravel_index(head, values.shape[:-2])
            per_head[head] = Values(values.rearranged(lambda moved: moved[place_of_head]))
        return RowMeans(softmax.row(index), per_head[head])

    return pair


def transposed(array: ExactArray) -> ExactArray:
    """Swap the last two axes."""
    return array.rearranged(lambda moved: moved.swapaxes(-1, -2))


def _excluding(addends: NDArray[np.float64]) -> ExactArray:
    """Read addends in which -inf stands for an exclusion, which is kept elsewhere, and adds nothing."""
    return exact_array(np.where(addends == -np.inf, 0.0, addends))


def _full(array: ExactArray, shape: tuple[int, ...]) -> ExactArray:
    return array.rearranged(lambda moved: np.broadcast_to(moved, shape))


def _present(name: str, new: NDArray[Any], past: NDArray[Any] | None) -> NDArray[Any]:
    """Put the past before the new keys or values."""
    if past is None:
        return new
    if past.ndim != 4 or new.ndim != 4 or (*past.shape[:2], past.shape[3]) != (*new.shape[:2], new.shape[3]):
        raise ValueError(
            f"past_{name} and {name} may differ in length only; their shapes are {past.shape} and {new.shape}."
        )
    return np.concatenate([past, new], axis=2)


def _check_per_head(name: str, numbers: NDArray[Any], heads: int) -> None:
    if numbers.shape != (heads,):
        raise ValueError(f"{name} needs one number for each of the {heads} query heads, not shape {numbers.shape}.")


def _check_attention(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]) -> None:
    if not len(query) == len(key) == len(value) == 4:
        raise ValueError(f"Query, key and value need 4 axes each; their shapes are {query}, {key} and {value}.")
    if query[-1] != key[-1]:
        raise ValueError(f"Query and key need the same width; their shapes are {query} and {key}.")
    if query[0] != key[0] or key[:3] != value[:3]:
        raise ValueError(
            "Query, key and value need the same batch, and key and value the same heads and length; "
            f"their shapes are {query}, {key} and {value}."
        )
    if key[1] < 1 or query[1] % key[1]:
        raise ValueError(f"{query[1]} query heads cannot share {key[1]} key and value heads evenly.")


def _check_mask(mask: tuple[int, ...], logits: tuple[int, ...]) -> None:
    fits = 2 <= len(mask) <= 4 and mask[-1] == logits[-1]
    if not fits or any(have not in (1, want) for have, want in zip(mask[::-1], logits[::-1], strict=False)):
        raise ValueError(f"A mask of shape {mask} does not broadcast to {logits} with its key axis in full.")
