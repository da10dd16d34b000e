"""Attention over packed tokens: those of all sequences stand behind one another.

Each sequence is cut out and attended by itself, as if it were alone in a batch. Part of scaled dot-product attention,
whose page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import result_dtype

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array


class ServedAttention(NamedTuple):
    """What attention gives in the layouts of serving.

    Attributes
    ----------
    output
        Weighted means of the values, in the layout of the queries.
    logsumexp
        Natural logarithm of the softmax denominator of each query.
    """

    output: Array
    logsumexp: Array


def packed_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    query_starts: ArrayLike,
    key_starts: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    **others: Any,
) -> ServedAttention:
    """Let the queries of each sequence attend to its own keys.

    Parameters
    ----------
    query
        Queries of all sequences (Tq, Hq, E).
    key
        Keys of all sequences (Tk, Hkv, E).
    value
        Values of all sequences (Tk, Hkv, Ev).
    query_starts
        Integers (B + 1,): where the queries of each sequence begin, and Tq at last.
    key_starts
        Integers (B + 1,): where the keys and values of each sequence begin, and Tk at last.
    mask
        A mask over heads and keys alone: (1, K), (Hq, 1, K) or (1, Hq, 1, K). A sequence has its first columns.
    others
        What else :func:`~.scaled_dot_product_attention` takes, each as it is there.

    Returns
    -------
    attention
        ``output`` (Tq, Hq, Ev) and ``logsumexp`` (Tq, Hq).

    Raises
    ------
    ValueError
        As scaled dot-product attention does.

    Notes
    -----
    Clauses: those whose id begins with ``sdpa.packed.``.
    """
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    tokens, heads, _ = query.shape
    output = np.zeros((tokens, heads, value.shape[2]), dtype=result_dtype(query))
    logsumexp = np.zeros((tokens, heads), dtype=result_dtype(query))
    for queries, keys in zip(each_sequence(query_starts), each_sequence(key_starts), strict=True):
        attention = scaled_dot_product_attention(
            alone(query[queries]),
            alone(key[keys]),
            alone(value[keys]),
            mask=columns_of(mask, keys.stop - keys.start),
            **others,
        )
        output[queries] = attention.output[0].swapaxes(0, 1)
        logsumexp[queries] = attention.logsumexp[0].swapaxes(0, 1)
    return ServedAttention(output, logsumexp)


def each_sequence(starts: ArrayLike) -> list[slice]:
    """Tell which tokens each sequence has: from where it begins to where the next one does."""
    positions = np.asarray(starts).tolist()
    return [slice(start, end) for start, end in pairwise(positions)]


def alone(tokens: Array) -> Array:
    """Make the tokens of one sequence (T, H, E) a batch of one (1, H, T, E)."""
    return tokens.swapaxes(0, 1)[np.newaxis]


def columns_of(mask: ArrayLike | None, keys: int) -> Array | None:
    """Give a sequence the columns of a mask that belong to its keys."""
    return None if mask is None else np.asarray(mask)[..., :keys]
