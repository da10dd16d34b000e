"""Attention over paged keys and values: they stand in pages, and the pages anywhere in a pool.

The pages of each sequence are read in order, and its queries attend to what is read as if it were alone in a batch.
Part of scaled dot-product attention, whose page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_reference.attention.packed_attention import ServedAttention, alone, columns_of, each_sequence
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import result_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array, Integers


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
        As for :func:`attend_to_pages`.

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
    """Read the pages of each sequence in order, and let its queries attend to what they hold.

    Parameters
    ----------
    query, key_pool, value_pool
        As for :func:`paged_attention`.
    pages
        The pages of each sequence, in order.
    key_lengths
        How many keys each sequence has.
    query_lengths
        Integers (B,): how many queries of each batch entry count, the first ones; the others get zeros.
    mask
        A mask over heads and keys alone: (1, K), (Hq, 1, K) or (1, Hq, 1, K). A sequence has its first columns.
    others
        What else :func:`~.scaled_dot_product_attention` takes, each as it is there.

    Returns
    -------
    attention
        ``output`` (B, Hq, Sq, Ev) and ``logsumexp`` (B, Hq, Sq).
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
