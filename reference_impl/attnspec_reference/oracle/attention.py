"""Attention on given queries, keys and values: dot products, mask, softmax over keys, means of the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_reference.oracle.certification import certify
from attnspec_reference.oracle.exact import ExactArray, exact_array, matmul, overridden
from attnspec_reference.oracle.logits import exact_logits, scale_for
from attnspec_reference.oracle.rows import RowMeans, Values
from attnspec_reference.oracle.softmax import Softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from attnspec_reference.oracle.logits import Scale

Outputs = dict[str, "NDArray[Any]"]


def scaled_dot_product_attention(
    *,
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
) -> Outputs:
    """Evaluate ``scaled_dot_product_attention`` (clauses ``sdpa.*``).

    Parameters
    ----------
    query, key, value
        (B, Hq, Sq, E), (B, Hkv, Sk, E), (B, Hkv, Sk, Ev).
    mask
        bool (True attends) or float (added, -inf excludes); broadcasts from the right to (B, Hq, Sq, Sk).
    is_causal, causal_alignment
        Whether a query attends only to the keys up to its position, counted from the ``top_left`` or so
        that the last query meets the last key (``bottom_right``).
    scale
        The factor of the dot products; 1/sqrt(E) when None.

    Returns
    -------
    dict[str, NDArray]
        ``output`` (B, Hq, Sq, Ev); ``weights``, ``scores`` and ``logits`` (B, Hq, Sq, Sk); ``logsumexp``
        (B, Hq, Sq).

    Raises
    ------
    ValueError
        When shapes contradict each other or an attribute is unknown.
    """
    queries, keys, values = exact_array(query), exact_array(key), exact_array(value)
    _check_attention(queries.shape, keys.shape, values.shape)
    group = queries.shape[1] // keys.shape[1]
    keys, values = (array.rearranged(lambda moved: np.repeat(moved, group, axis=1)) for array in (keys, values))
    factor = scale_for(scale, queries.shape[-1])
    dots = matmul(queries, transposed(keys))
    softmax = masked_softmax(dots, factor, mask, is_causal=is_causal, causal_alignment=causal_alignment)
    scores = Softmax.over_every_key(exact_logits(dots, factor))
    return {
        "output": means("output", softmax, values),
        "weights": softmax.weights("weights"),
        "logsumexp": softmax.logsumexp("logsumexp"),
        "scores": scores.rounded_logits("scores"),
        "logits": softmax.rounded_logits("logits"),
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
    dict[str, NDArray]
        ``context`` (D,); ``weights``, ``scores`` (after the scale) and ``raw_scores`` (before it), (S,).
    """
    states = exact_array(encoder_states)
    query = exact_array(decoder_state).rearranged(lambda moved: moved[np.newaxis, :])
    dots = matmul(query, transposed(states))
    softmax = Softmax.over_every_key(exact_logits(dots, scale_for(scale, query.shape[-1])))
    outputs = {
        "context": means("context", softmax, states),
        "weights": softmax.weights("weights"),
        "scores": softmax.rounded_logits("scores"),
        "raw_scores": dots.rounded(),
    }
    return {name: output[0] for name, output in outputs.items()}


def masked_softmax(
    dots: ExactArray, scale: Scale, mask: NDArray[Any] | None, *, is_causal: bool, causal_alignment: str
) -> Softmax:
    """Scale the dots, (B, H, Sq, Sk), add a float mask, and note which keys may be attended."""
    attended = np.ones(dots.shape, dtype=np.bool_)
    addends = None
    if mask is not None:
        _check_mask(mask.shape, dots.shape)
    if mask is not None and mask.dtype == np.bool_:
        attended &= mask
    elif mask is not None:
        attended &= mask != -np.inf
        addends = exact_array(np.where(mask == -np.inf, 0.0, mask))
    if is_causal:
        query_length, key_length = dots.shape[-2:]
        offsets = {"top_left": 0, "bottom_right": key_length - query_length}
        if causal_alignment not in offsets:
            raise ValueError(f"causal_alignment must be 'top_left' or 'bottom_right', not {causal_alignment!r}.")
        attended &= np.tri(query_length, key_length, offsets[causal_alignment], dtype=np.bool_)
    return Softmax(exact_logits(dots, scale, addends), attended)


def means(output: str, softmax: Softmax, values: ExactArray) -> NDArray[np.float64]:
    """Average values (..., Sk, width) with the weights (..., Sq, Sk): (..., Sq, width)."""
    quantities = weighted_means(softmax, values)
    shape = (*softmax.logits.shape[:-1], values.shape[-1])
    return overridden(certify(output, quantities, shape), softmax.nonfinite_means(values))


def weighted_means(softmax: Softmax, values: ExactArray) -> Sequence[RowMeans]:
    """Pair every row (..., Sq) of a softmax with the values (..., Sk, width) of its head, row-major."""
    stack = values.shape[:-2]
    length = softmax.logits.shape[-2]
    per_head = [Values(values.rearranged(_selecting(place))) for place in np.ndindex(stack)]
    return [RowMeans(row, per_head[index // length]) for index, row in enumerate(softmax.rows)]


def _selecting(place: tuple[int, ...]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda moved: moved[place]


def transposed(array: ExactArray) -> ExactArray:
    """Swap the last two axes."""
    return array.rearranged(lambda moved: moved.swapaxes(-1, -2))


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
