"""Latent attention in the layouts with pages: latents and rotated keys in the pages of two pools.

Each sequence is read in order and attended by itself, as if it were alone in a batch. Part of latent attention, whose
page is ``spec/operations/attention/latent_attention.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.absorbed_latent_attention import absorbed_latent_attention
from attnspec_reference.attention.latent_attention import latent_attention
from attnspec_reference.attention.served_attention import (
    columns_of,
    each_sequence,
    lengths_by_list,
    pages_needed,
    read_in_order,
)
from attnspec_reference.precision import Array, Integers, result_dtype


def paged_latent_attention(block_table: ArrayLike, key_lengths: ArrayLike, **others: Any) -> Mapping[str, Array]:
    """Let the queries of each sequence attend to the latents in the pages that its row of a table lists.

    Parameters
    ----------
    block_table
        Integers (B, most): the pages of each sequence in order, and then what is not read.
    key_lengths
        Integers (B,): how many keys each sequence has.
    others
        ``latent_pool`` (pages, page size, C), ``key_rotary_pool`` (pages, page size, Dr), and what else
        :func:`~.latent_attention` takes, each as it is there. A mask is one over heads and keys alone.

    Returns
    -------
    outputs
        ``output`` (B, H, Sq, Ev) and ``logsumexp`` (B, H, Sq).

    Notes
    -----
    Clauses: those whose id begins with ``latent.paged.``.
    """
    return attend_by_table(latent_attention, block_table, key_lengths, **others)


def paged_latent_attention_by_list(
    page_starts: ArrayLike, page_indices: ArrayLike, last_page_length: ArrayLike, **others: Any
) -> Mapping[str, Array]:
    """Attend as :func:`paged_latent_attention` does, to pages that one list names for all sequences."""
    return attend_by_list(latent_attention, page_starts, page_indices, last_page_length, **others)


def paged_absorbed_latent_attention(
    block_table: ArrayLike, key_lengths: ArrayLike, **others: Any
) -> Mapping[str, Array]:
    """Attend as :func:`~.absorbed_latent_attention` does, to latents in pages that a table lists.

    It returns ``output_latent`` (B, H, Sq, C) and ``logsumexp`` (B, H, Sq).
    """
    return attend_by_table(absorbed_latent_attention, block_table, key_lengths, **others)


def paged_absorbed_latent_attention_by_list(
    page_starts: ArrayLike, page_indices: ArrayLike, last_page_length: ArrayLike, **others: Any
) -> Mapping[str, Array]:
    """Attend as :func:`paged_absorbed_latent_attention` does, to pages that one list names for all sequences."""
    return attend_by_list(absorbed_latent_attention, page_starts, page_indices, last_page_length, **others)


def attend_by_table(
    attend: Callable[..., Any], block_table: ArrayLike, key_lengths: ArrayLike, **others: Any
) -> Mapping[str, Array]:
    """Find the pages of each sequence in its row of a table, and attend to them."""
    page_size = np.shape(others["latent_pool"])[1]
    lengths = np.asarray(key_lengths).tolist()
    table = zip(np.asarray(block_table), lengths, strict=True)
    pages = [row[: pages_needed(length, page_size)] for row, length in table]
    return attend_to_latent_pages(attend, pages, lengths, **others)


def attend_by_list(
    attend: Callable[..., Any],
    page_starts: ArrayLike,
    page_indices: ArrayLike,
    last_page_length: ArrayLike,
    **others: Any,
) -> Mapping[str, Array]:
    """Find the pages of each sequence in a list of all, and attend to them."""
    pages = [np.asarray(page_indices)[part] for part in each_sequence(page_starts)]
    lengths = lengths_by_list(pages, np.shape(others["latent_pool"])[1], last_page_length)
    return attend_to_latent_pages(attend, pages, lengths, **others)


def attend_to_latent_pages(
    attend: Callable[..., Any],
    pages: Sequence[Integers],
    key_lengths: Sequence[int],
    *,
    latent_pool: ArrayLike,
    key_rotary_pool: ArrayLike,
    query_rotary: ArrayLike,
    query_lengths: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    **others: Any,
) -> Mapping[str, Array]:
    """Read the `pages` of each sequence in order, and let its first queries, `query_lengths` (B,), attend to them.

    The other queries get zeros. A mask is one over heads and keys alone, of which a sequence has its first columns.
    """
    (content,) = {"query_content", "query_latent"} & others.keys()
    query, rotary = np.asarray(others.pop(content)), np.asarray(query_rotary)
    batch, heads, tokens, _ = query.shape
    counted = [tokens] * batch if query_lengths is None else np.asarray(query_lengths).tolist()
    by_sequence: list[Any] = []
    for entry, (own, queries, keys) in enumerate(zip(pages, counted, key_lengths, strict=True)):
        by_sequence.append(
            attend(
                query_rotary=rotary[entry : entry + 1, :, :queries],
                latent=read_in_order(np.asarray(latent_pool), own, keys)[np.newaxis],
                key_rotary=read_in_order(np.asarray(key_rotary_pool), own, keys)[np.newaxis],
                mask=columns_of(mask, keys),
                **{content: query[entry : entry + 1, :, :queries]},
                **others,
            )
        )
    width = others.get("w_value", latent_pool)
    name, dtype = "output" if "w_value" in others else "output_latent", result_dtype(query)
    output = np.zeros((batch, heads, tokens, np.shape(width)[-1]), dtype=dtype)
    logsumexp = np.full((batch, heads, tokens), -np.inf, dtype=dtype)
    for entry, (queries, attention) in enumerate(zip(counted, by_sequence, strict=True)):
        output[entry, :, :queries] = getattr(attention, name)[0]
        logsumexp[entry, :, :queries] = attention.logsumexp[0]
    return {name: output, "logsumexp": logsumexp}
