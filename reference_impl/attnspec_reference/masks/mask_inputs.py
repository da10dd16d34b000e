"""Mask inputs: what an attention mask is computed from, checked, with an array for every length that was left out.

Part of the attention mask, whose page is ``spec/operations/masks/attention_mask.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.masks.attended_blocks import number_of_blocks
from attnspec_reference.masks.draft_tree import without_root
from attnspec_reference.precision import Booleans, Integers

_BY_ENTRY = (
    *("key_lengths", "query_lengths", "left_padding", "prefix_lengths"),
    *("query_documents", "key_documents", "parents"),
)
"""What each batch entry has its own of; starts say it themselves, or it would have to be stated for each document."""

_PAIRS = (
    ("query_documents", "key_documents"),
    ("query_starts", "key_starts"),
    ("attended_blocks", "attended_block_size"),
)
"""What is given together, or not at all."""


class MaskInputs(NamedTuple):
    """The arrays of a mask; lengths and padding (B or 1,) are there always, the others None where they were not given.

    `batch` is the number of batch entries. `documents` and `starts` are those of queries and of keys, and
    `attended_blocks` a table with all four axes and every block, and the size of a block.
    """

    batch: int
    key_length: int
    key_lengths: Integers
    query_lengths: Integers
    left_padding: Integers
    prefix_lengths: Integers | None
    parents: Integers | None
    documents: tuple[Integers, Integers] | None
    starts: tuple[Integers, Integers] | None
    attended_blocks: tuple[Booleans, Sequence[int]] | None


def check_inputs(
    *,
    query_length: int,
    key_length: int | None,
    causal_alignment: str,
    offset: int,
    window: Sequence[int | None] | None,
    chunk: int | None,
    block_size: Sequence[int],
    **arrays: ArrayLike | None,
) -> MaskInputs:
    """Refuse what does not fit together, and give the arrays."""
    key_length = query_length if key_length is None else key_length
    given = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    check_sizes(window, chunk, block_size)
    check_company(given, causal_alignment, offset)
    check_shapes(given, query_length, key_length)
    check_lengths(given, query_length, key_length)
    if "parents" in given:
        check_parents(given["parents"])
    for name, length in (("query_starts", query_length), ("key_starts", key_length)):
        if name in given:
            check_starts(name, given[name], length)
    return MaskInputs(
        batch=batch_of(given),
        key_length=key_length,
        key_lengths=given.get("key_lengths", np.array([key_length])),
        query_lengths=given.get("query_lengths", np.array([query_length])),
        left_padding=given.get("left_padding", np.array([0])),
        prefix_lengths=given.get("prefix_lengths"),
        parents=given.get("parents"),
        documents=both(given, "query_documents", "key_documents"),
        starts=both(given, "query_starts", "key_starts"),
        attended_blocks=table_of_blocks(
            both(given, "attended_blocks", "attended_block_size"), query_length, key_length
        ),
    )


def check_sizes(window: Sequence[int | None] | None, chunk: int | None, block_size: Sequence[int]) -> None:
    """Refuse sides below 0, and chunks and blocks of no position."""
    if window is not None and any(side is not None and side < 0 for side in window):
        raise ValueError(f"window is {window}; its sides must be at least 0, or None.")
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk is {chunk}; it must be at least 1.")
    if min(block_size) < 1:
        raise ValueError(f"block_size is {block_size}; both sizes must be at least 1.")


def check_company(given: Mapping[str, Any], causal_alignment: str, offset: int) -> None:
    """Refuse halves of a pair, and arguments that exclude each other."""
    if causal_alignment not in ("top_left", "bottom_right"):
        raise ValueError(f"causal_alignment is {causal_alignment!r}; it must be 'top_left' or 'bottom_right'.")
    if offset and causal_alignment == "bottom_right":
        raise ValueError(f"offset is {offset}; with 'bottom_right' the lengths position the queries, so leave it out.")
    for one, other in _PAIRS:
        if (one in given) != (other in given):
            raise ValueError(f"{one} and {other} go together; one is given, the other is not.")
    if "query_starts" in given:
        for name in _BY_ENTRY:
            if name in given:
                raise ValueError(f"{name} is given beside query_starts, which say what belongs to each document.")
        if offset:
            raise ValueError(f"offset is {offset}; beside query_starts positions begin anew in each document.")


def check_shapes(given: Mapping[str, Any], query_length: int, key_length: int) -> None:
    """Refuse arrays without the axes that they need."""
    lengths = {"query_documents": query_length, "key_documents": key_length, "parents": query_length}
    for name, array in given.items():
        if name.startswith("attended"):
            continue
        if array.ndim != (2 if name in lengths else 1):
            raise ValueError(f"{name} has shape {array.shape}; it needs rank {2 if name in lengths else 1}.")
        if name in lengths and array.shape[1] != lengths[name]:
            raise ValueError(f"{name} has shape {array.shape}; it needs one number for each of {lengths[name]} tokens.")


def check_lengths(given: Mapping[str, Any], query_length: int, key_length: int) -> None:
    """Refuse lengths below 0 and above the number of tokens."""
    most = {"key_lengths": key_length, "query_lengths": query_length, "left_padding": key_length}
    for name, largest in (*most.items(), ("prefix_lengths", key_length)):
        if name in given and np.any((given[name] < 0) | (given[name] > largest)):
            raise ValueError(f"{name} is {given[name].tolist()}; it needs whole numbers from 0 to {largest}.")


def check_parents(parents: Integers) -> None:
    """Refuse parents that are no tokens, and tokens that come from themselves."""
    if np.any((parents < -1) | (parents >= parents.shape[1])):
        raise ValueError(f"parents is {parents.tolist()}; each must be a token of the tree, or -1 for a root.")
    if np.any(without_root(parents)):
        raise ValueError(f"parents is {parents.tolist()}; a token comes from itself, so this is no tree.")


def check_starts(name: str, starts: Integers, length: int) -> None:
    """Refuse starts that fall, or lie outside of the tokens."""
    if np.any(np.diff(starts, prepend=0, append=length) < 0):
        raise ValueError(f"{name} is {starts.tolist()}; starts must rise, from 0 on and up to {length} at most.")


def both(given: Mapping[str, Any], one: str, other: str) -> tuple[Any, Any] | None:
    """Give two arrays that go together, or None where they were not given."""
    return (given[one], given[other]) if one in given else None


def table_of_blocks(
    table_and_size: tuple[Booleans, Sequence[int]] | None, query_length: int, key_length: int
) -> tuple[Booleans, Sequence[int]] | None:
    """Give a table of blocks four axes and every block, and refuse one that does not cover queries and keys."""
    if table_and_size is None:
        return None
    table, size = table_and_size
    if table.ndim < 2:
        raise ValueError(f"attended_blocks has shape {table.shape}; it needs rank 2 to 4.")
    if min(size) < 1:
        raise ValueError(f"attended_block_size is {list(size)}; both sizes must be at least 1.")
    blocks = (number_of_blocks(query_length, size[0]), number_of_blocks(key_length, size[1]))
    with_four_axes = np.array(table, ndmin=4)
    return np.broadcast_to(with_four_axes, (*with_four_axes.shape[:2], *blocks)), size


def batch_of(given: Mapping[str, Any]) -> int:
    """Give the number of batch entries, and refuse arrays for different ones; an array for one is for all."""
    (batch,) = np.broadcast_shapes((1,), *(given[name].shape[:1] for name in _BY_ENTRY if name in given))
    return batch
