"""Mask inputs: what an attention mask is computed from, checked, with an array for every length that was left out.

Part of the attention mask, whose page is ``spec/operations/masks/attention_mask.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.masks.attended_blocks import number_of_blocks
from attnspec_reference.masks.draft_tree import has_circle
from attnspec_reference.precision import Booleans, Integers

_BESIDE_STARTS = ("key_lengths", "query_lengths", "left_padding", "prefix_lengths", "query_documents", "parents")
"""What starts say themselves, or what would have to be stated for each document."""


class MaskInputs(NamedTuple):
    """The arrays of a mask; lengths and padding (B or 1,) are there always, the others None where they were not given.

    `batch` is the number of batch entries; ``attended_blocks`` has all four axes.
    """

    batch: int
    key_length: int
    key_lengths: Integers
    query_lengths: Integers
    left_padding: Integers
    prefix_lengths: Integers | None
    query_documents: Integers | None
    key_documents: Integers | None
    query_starts: Integers | None
    key_starts: Integers | None
    parents: Integers | None
    attended_blocks: Booleans | None


def check_inputs(
    *,
    query_length: int,
    key_length: int | None,
    causal_alignment: str,
    offset: int,
    window: Sequence[int | None] | None,
    chunk: int | None,
    attended_block_size: Sequence[int] | None,
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
    table = with_four_axes(given.pop("attended_blocks", None))
    check_table(table, attended_block_size, query_length, key_length)
    lengths = {"key_lengths": np.array([key_length]), "query_lengths": np.array([query_length])}
    everything: dict[str, Any] = {**lengths, "left_padding": np.array([0]), **given}
    own: dict[str, Any] = {"batch": batch_of(given, table), "key_length": key_length, "attended_blocks": table}
    fields: dict[str, Any] = {name: everything.get(name) for name in MaskInputs._fields} | own
    return MaskInputs(**fields)


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
    for one, other in (("query_documents", "key_documents"), ("query_starts", "key_starts")):
        if (one in given) != (other in given):
            raise ValueError(f"{one} and {other} go together; one is given, the other is not.")
    if "query_starts" in given:
        for name in _BESIDE_STARTS:
            if name in given:
                raise ValueError(f"{name} is given beside query_starts, which say what belongs to each document.")
        if offset:
            raise ValueError(f"offset is {offset}; beside query_starts positions begin anew in each document.")


def check_shapes(given: Mapping[str, Any], query_length: int, key_length: int) -> None:
    """Refuse arrays without the axes that they need."""
    lengths = {"query_documents": query_length, "key_documents": key_length, "parents": query_length}
    for name, array in given.items():
        if name == "attended_blocks":
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
    if has_circle(parents):
        raise ValueError(f"parents is {parents.tolist()}; a token comes from itself, so this is no tree.")


def check_starts(name: str, starts: Integers, length: int) -> None:
    """Refuse starts that fall, or lie outside of the tokens."""
    if len(starts) < 1 or starts[0] < 0 or starts[-1] > length or np.any(np.diff(starts) < 0):
        raise ValueError(f"{name} is {starts.tolist()}; starts must rise, from 0 on and up to {length} at most.")


def with_four_axes(table: Booleans | None) -> Booleans | None:
    """Put axes of length 1 in front of a table of blocks, so that it has four."""
    if table is None:
        return None
    if not 2 <= table.ndim <= 4:
        raise ValueError(f"attended_blocks has shape {table.shape}; it needs rank 2 to 4.")
    return table.reshape((1,) * (4 - table.ndim) + table.shape)


def check_table(table: Booleans | None, size: Sequence[int] | None, query_length: int, key_length: int) -> None:
    """Refuse a table of blocks without a size, and one that does not cover queries and keys."""
    if (table is None) != (size is None):
        raise ValueError("attended_blocks and attended_block_size go together; one is given, the other is not.")
    if table is None or size is None:
        return
    if min(size) < 1:
        raise ValueError(f"attended_block_size is {size}; both sizes must be at least 1.")
    blocks = (number_of_blocks(query_length, size[0]), number_of_blocks(key_length, size[1]))
    if table.shape[-2:] != blocks:
        raise ValueError(
            f"attended_blocks has {table.shape[-2:]} blocks; blocks of {tuple(size)} make {blocks} of them."
        )


def batch_of(given: Mapping[str, Any], table: Booleans | None) -> int:
    """Give the number of batch entries, and refuse arrays for different ones; an array for one is for all."""
    sizes = {name: len(array) for name, array in given.items() if not name.endswith("starts")}
    if table is not None:
        sizes["attended_blocks"] = len(table)
    several = {size for size in sizes.values() if size != 1} or {1}
    if len(several) > 1:
        raise ValueError(f"The numbers of batch entries differ: {sizes}.")
    return several.pop()
