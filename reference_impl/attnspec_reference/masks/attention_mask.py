"""Attention mask: who may attend to whom.

Causality, windows, chunks, prefixes, documents, draft trees and tables of blocks each say which keys a query may attend
to; where several are given, all must allow it. The specification page is ``spec/operations/masks/attention_mask.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.masks.attended_blocks import blocks_attended, blocks_attended_whole, listed
from attnspec_reference.masks.draft_tree import ancestors_of
from attnspec_reference.masks.mask_inputs import check_inputs
from attnspec_reference.precision import Array, Booleans, Integers


class AttentionMask(NamedTuple):
    """Which keys each query may attend to, element by element and block by block.

    Attributes
    ----------
    mask
        True where a key may be attended (B, H, Sq, Sk).
    additive
        0 there and minus infinity elsewhere (B, H, Sq, Sk), float64.
    block_counts, block_indices
        For each block of queries, how many blocks of keys hold an attended pair (B, H, Rq), and which (B, H, Rq, Rk).
    full_counts, full_indices
        The same for blocks of which every pair is attended.
    """

    mask: Booleans
    additive: Array
    block_counts: Integers
    block_indices: Integers
    full_counts: Integers
    full_indices: Integers


def attention_mask(
    *,
    query_length: int,
    key_length: int | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    offset: int = 0,
    window: Sequence[int | None] | None = None,
    chunk: int | None = None,
    attended_block_size: Sequence[int] | None = None,
    block_size: Sequence[int] = (128, 128),
    key_lengths: ArrayLike | None = None,
    query_lengths: ArrayLike | None = None,
    left_padding: ArrayLike | None = None,
    prefix_lengths: ArrayLike | None = None,
    query_documents: ArrayLike | None = None,
    key_documents: ArrayLike | None = None,
    query_starts: ArrayLike | None = None,
    key_starts: ArrayLike | None = None,
    parents: ArrayLike | None = None,
    attended_blocks: ArrayLike | None = None,
) -> AttentionMask:
    """Mark the keys that each query may attend to, and list the blocks that hold them.

    Parameters
    ----------
    query_length, key_length
        Number of queries, Sq, and of keys, Sk; as many keys as queries when None.
    is_causal
        Whether a query may attend only to its own position and earlier ones.
    causal_alignment
        ``top_left``: query i stands at i + `offset`. ``bottom_right``: it stands at i + L - N.
    offset
        Position of the first query with ``top_left``; may be negative.
    window
        ``[left, right]``, how far before and after its position a query may attend; None is open.
    chunk
        Number of positions of a chunk: a query attends within its own.
    attended_block_size
        Queries and keys of a block of `attended_blocks`.
    block_size
        Queries and keys of a block of the lists.
    key_lengths, query_lengths
        How many keys and queries of each batch entry count (B,).
    left_padding
        How many keys before the first token of each batch entry do not count (B,).
    prefix_lengths
        How many first keys of each batch entry causality does not exclude (B,).
    query_documents, key_documents
        The document of each query (B, Sq) and key (B, Sk); below 0 for none.
    query_starts, key_starts
        Where the queries and keys of each document begin, and where those of the last end (D + 1,).
    parents
        The draft token from which each query goes on (B, Sq); -1 for a root.
    attended_blocks
        Which blocks may be attended, rank 2 to 4, Boolean.

    Returns
    -------
    masks
        ``mask``, ``additive`` and the lists of blocks.

    Raises
    ------
    ValueError
        Lengths, sizes or shapes do not fit together, parents make no tree, or arguments exclude each other.
    """
    # Check the inputs
    given = check_inputs(
        query_length=query_length,
        key_length=key_length,
        causal_alignment=causal_alignment,
        offset=offset,
        window=window,
        chunk=chunk,
        attended_block_size=attended_block_size,
        block_size=block_size,
        key_lengths=key_lengths,
        query_lengths=query_lengths,
        left_padding=left_padding,
        prefix_lengths=prefix_lengths,
        query_documents=query_documents,
        key_documents=key_documents,
        query_starts=query_starts,
        key_starts=key_starts,
        parents=parents,
        attended_blocks=attended_blocks,
    )
    queries, keys = np.arange(query_length), np.arange(given.key_length)

    # Number the documents
    documents = given.documents
    if given.starts is not None:
        documents = document_of(queries, given.starts[0]), document_of(keys, given.starts[1])

    # Position queries and keys
    if given.starts is not None:
        of_queries, of_keys = given.starts
        k = within_document(keys, of_keys)
        first = first_in_document(queries, of_queries, of_keys, causal_alignment)
        p = (within_document(queries, of_queries) + first)[:, :, np.newaxis]
    else:
        k = keys
        first = first_position(causal_alignment, offset, given.key_lengths, given.query_lengths)
        p = (queries + first)[:, :, np.newaxis]

    # Look back, and across the prefix
    mask = np.ones((given.batch, query_length, given.key_length), dtype=np.bool_)
    if is_causal:
        mask = mask & (at_or_before(k, p) | in_prefix(k, given.prefix_lengths))

    # Stay within the window
    if window is not None:
        mask = mask & in_window(k, p, window)

    # Stay within the chunk
    if chunk is not None:
        mask = mask & in_chunk(k, p, chunk, given.left_padding)

    # Stay within the document
    if documents is not None:
        mask = mask & same_document(*documents)

    # Follow the draft tree
    if given.parents is not None:
        mask = mask & on_branch(ancestors_of(given.parents), first, given.key_length)

    # Count queries and keys
    mask = mask & counts_as_key(keys, given.left_padding, given.key_lengths)
    mask = mask & counts_as_query(queries, given.query_lengths)

    # Look the blocks up
    mask = mask[:, np.newaxis]
    if given.attended_blocks is not None:
        table, size = given.attended_blocks
        mask = mask & in_attended_block(table, queries, keys, size)

    # Write the mask
    additive = as_additive(mask)

    # List the blocks
    block_counts, block_indices = listed(blocks_attended(mask, block_size))
    full_counts, full_indices = listed(blocks_attended_whole(mask, block_size))
    return AttentionMask(mask, additive, block_counts, block_indices, full_counts, full_indices)


def first_position(alignment: str, offset: int, key_lengths: Integers, query_lengths: Integers) -> Integers:
    """Find the position of the first query of each batch entry, (B or 1, 1)."""
    if alignment == "bottom_right":
        return (key_lengths - query_lengths)[:, np.newaxis]
    return np.array([[offset]])


def document_of(tokens: Integers, starts: Integers) -> Integers:
    """Give the number of the document of each token (1, S): -1 before the first start and behind the last end."""
    document = np.searchsorted(starts, tokens, side="right") - 1
    return np.where(document < len(starts) - 1, document, -1)[np.newaxis]


def within_document(tokens: Integers, starts: Integers) -> Integers:
    """Count tokens from the start of their document (1, S)."""
    return tokens - starts[document_of(tokens, starts)]


def first_in_document(queries: Integers, query_starts: Integers, key_starts: Integers, alignment: str) -> Integers:
    """Find the position of the first query of the document of each query, (1, Sq) or (Sq,)."""
    if alignment == "bottom_right":
        document = document_of(queries, query_starts)
        behind = document + 1
        return (key_starts[behind] - key_starts[document]) - (query_starts[behind] - query_starts[document])
    return np.zeros_like(queries)


def at_or_before(k: Integers, p: Integers) -> Booleans:
    """Say whether key position k lies at or before query position p."""
    return k <= p


def in_prefix(k: Integers, prefix_lengths: Integers | None) -> Booleans:
    """Say whether a key lies in the prefix of its batch entry, to which causality does not apply."""
    if prefix_lengths is None:
        return np.zeros((1, 1, 1), dtype=np.bool_)
    return k < prefix_lengths[:, np.newaxis, np.newaxis]


def in_window(k: Integers, p: Integers, window: Sequence[int | None]) -> Booleans:
    """Say whether a key lies within the window around the position of the query."""
    left, right = window
    return not_farther(p - k, left) & not_farther(k - p, right)


def not_farther(distance: Integers, side: int | None) -> Booleans:
    """Say whether a distance is within a side of a window; an open side excludes nothing."""
    return np.ones_like(distance, np.bool_) if side is None else distance <= side


def in_chunk(k: Integers, p: Integers, chunk: int, left_padding: Integers) -> Booleans:
    """Say whether key and query stand in the same chunk, counted from the first token that counts."""
    start = left_padding[:, np.newaxis, np.newaxis]
    return (k - start) // chunk == (p - start) // chunk


def same_document(query_documents: Integers, key_documents: Integers) -> Booleans:
    """Say whether query and key are of the same document, and of one at all."""
    of_query, of_key = query_documents[:, :, np.newaxis], key_documents[:, np.newaxis, :]
    return (of_query == of_key) & (of_query >= 0)


def on_branch(ancestors: Booleans, first: Integers, key_length: int) -> Booleans:
    """Say whether a key is a past token, or a draft token from which the query comes; draft 0 stands at `first`."""
    _, tokens, _ = ancestors.shape
    draft, key = np.ogrid[:tokens, :key_length]
    start = first[:, :, np.newaxis]
    return (key < start) | (ancestors @ (key == draft + start))


def counts_as_key(keys: Integers, left_padding: Integers, key_lengths: Integers) -> Booleans:
    """Say whether a key counts in its batch entry: behind the padding, before the length (B or 1, 1, Sk)."""
    counts = (keys >= left_padding[:, np.newaxis]) & (keys < key_lengths[:, np.newaxis])
    return counts[:, np.newaxis, :]


def counts_as_query(queries: Integers, query_lengths: Integers) -> Booleans:
    """Say whether a query counts in its batch entry (B or 1, Sq, 1)."""
    return (queries < query_lengths[:, np.newaxis])[:, :, np.newaxis]


def in_attended_block(table: Booleans, queries: Integers, keys: Integers, size: Sequence[int]) -> Booleans:
    """Look up whether the block of a query and a key may be attended (B or 1, H or 1, Sq, Sk)."""
    return table[:, :, (queries // size[0])[:, np.newaxis], keys // size[1]]


def as_additive(mask: Booleans) -> Array:
    """Write 0 where a key may be attended and minus infinity where it may not."""
    return np.where(mask, 0.0, -np.inf)
