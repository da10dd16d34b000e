"""Attention in the layouts of serving: packed tokens, and keys and values in the pages of a pool.

Packed, the tokens of all sequences stand behind one another; paged, the pages of a sequence stand anywhere. Each
sequence is read in order and attended by itself, as if it were alone in a batch. Part of scaled dot-product attention,
whose page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import Array, Integers, result_dtype


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
    """Find which tokens each sequence has: from where it begins to where the next one does."""
    positions = np.asarray(starts).tolist()
    return [slice(start, end) for start, end in pairwise(positions)]


def alone(tokens: Array) -> Array:
    """Make the tokens of one sequence (T, H, E) a batch of one (1, H, T, E)."""
    return tokens.swapaxes(0, 1)[np.newaxis]


def columns_of(mask: ArrayLike | None, keys: int) -> Array | None:
    """Give a sequence the columns of a mask that belong to its keys."""
    return None if mask is None else np.asarray(mask)[..., :keys]


def paged_attention(
    query: ArrayLike,
    key_pool: ArrayLike,
    value_pool: ArrayLike,
    block_table: ArrayLike,
    key_lengths: ArrayLike,
    **others: Any,
) -> ServedAttention:
    """Let the queries of each sequence attend to the keys in the pages that its row of a table lists.

    Parameters
    ----------
    query
        Queries (B, Hq, Sq, E).
    key_pool
        Pages of keys (pages, page size, Hkv, E).
    value_pool
        Pages of values (pages, page size, Hkv, Ev).
    block_table
        Integers (B, most): the pages of each sequence in order, and then what is not read.
    key_lengths
        Integers (B,): how many keys each sequence has.
    others
        What else :func:`~.scaled_dot_product_attention` takes, each as it is there; `query_lengths` (B,) leaves zeros
        for other queries than the first ones, and a mask is as in :func:`packed_attention`.

    Returns
    -------
    attention
        ``output`` (B, Hq, Sq, Ev) and ``logsumexp`` (B, Hq, Sq).

    Raises
    ------
    ValueError
        As scaled dot-product attention does.

    Notes
    -----
    Clauses: those whose id begins with ``sdpa.paged.``.
    """
    page_size = np.shape(key_pool)[1]
    lengths = np.asarray(key_lengths).tolist()
    pages = [
        row[: pages_needed(length, page_size)] for row, length in zip(np.asarray(block_table), lengths, strict=True)
    ]
    return attend_to_pages(query, key_pool, value_pool, pages, lengths, **others)


def paged_attention_by_list(
    query: ArrayLike,
    key_pool: ArrayLike,
    value_pool: ArrayLike,
    page_starts: ArrayLike,
    page_indices: ArrayLike,
    last_page_length: ArrayLike,
    **others: Any,
) -> ServedAttention:
    """Let the queries of each sequence attend to the keys in the pages that are its part of a list.

    Parameters
    ----------
    query, key_pool, value_pool, others
        As for :func:`paged_attention`.
    page_starts
        Integers (B + 1,): where in the list the pages of each sequence begin, and where those of the last one end.
    page_indices
        Integers: the pages of all sequences behind one another.
    last_page_length
        Integers (B,): how many keys the last page of each sequence holds; not read where it has no page.

    Returns
    -------
    attention
        As that of :func:`paged_attention`, which raises the same.
    """
    page_size = np.shape(key_pool)[1]
    pages = [np.asarray(page_indices)[part] for part in each_sequence(page_starts)]
    lengths = lengths_by_list(pages, page_size, last_page_length)
    return attend_to_pages(query, key_pool, value_pool, pages, lengths, **others)


def pages_needed(length: int, page_size: int) -> int:
    """Count the pages that hold so many keys, the last of which may not be full."""
    return -(-length // page_size)


def lengths_by_list(pages: Sequence[Integers], page_size: int, last_page_length: ArrayLike) -> list[int]:
    """Count the keys of each sequence: its pages are full but for the last one; none where it has no page."""
    return [
        0 if len(own) == 0 else (len(own) - 1) * page_size + last
        for own, last in zip(pages, np.asarray(last_page_length).tolist(), strict=True)
    ]


def attend_to_pages(
    query: ArrayLike,
    key_pool: ArrayLike,
    value_pool: ArrayLike,
    pages: Sequence[Integers],
    key_lengths: Sequence[int],
    *,
    query_lengths: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    **others: Any,
) -> ServedAttention:
    """Read the `pages` of each sequence in order, and let its first queries, `query_lengths` (B,), attend to its keys.

    The other queries get zeros. A mask is one over heads and keys alone, of which a sequence has its first columns.
    """
    query, key_pool, value_pool = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    batch, heads, tokens, _ = query.shape
    counted = [tokens] * batch if query_lengths is None else np.asarray(query_lengths).tolist()
    output = np.zeros((batch, heads, tokens, value_pool.shape[3]), dtype=result_dtype(query))
    logsumexp = np.full((batch, heads, tokens), -np.inf, dtype=result_dtype(query))
    for entry, (own, queries, keys) in enumerate(zip(pages, counted, key_lengths, strict=True)):
        attention = scaled_dot_product_attention(
            query[entry : entry + 1, :, :queries],
            alone(read_in_order(key_pool, own, keys)),
            alone(read_in_order(value_pool, own, keys)),
            mask=columns_of(mask, keys),
            **others,
        )
        output[entry, :, :queries] = attention.output[0]
        logsumexp[entry, :, :queries] = attention.logsumexp[0]
    return ServedAttention(output, logsumexp)


def read_in_order(pool: Array, pages: Integers, length: int) -> Array:
    """Read the tokens of one sequence (L, H, E): token j stands in slot j % page size of its page j // page size."""
    page_size = pool.shape[1]
    return (
        np.array([pool[pages[token // page_size], token % page_size] for token in range(length)])
        .reshape(length, *pool.shape[2:])
        .astype(pool.dtype)
    )


def tokens_first(pool: ArrayLike) -> Array:
    """Turn pages with heads first (pages, Hkv, page size, E) into pages with tokens first."""
    return np.asarray(pool).swapaxes(1, 2)


def paged_attention_heads_first(key_pool: ArrayLike, value_pool: ArrayLike, **others: Any) -> ServedAttention:
    """Attend as :func:`paged_attention` does; the pools are (pages, Hkv, page size, E or Ev)."""
    return paged_attention(key_pool=tokens_first(key_pool), value_pool=tokens_first(value_pool), **others)


def paged_attention_by_list_heads_first(key_pool: ArrayLike, value_pool: ArrayLike, **others: Any) -> ServedAttention:
    """Attend as :func:`paged_attention_by_list` does; the pools are (pages, Hkv, page size, E or Ev)."""
    return paged_attention_by_list(key_pool=tokens_first(key_pool), value_pool=tokens_first(value_pool), **others)
