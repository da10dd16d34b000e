"""What goes wrong with blocks: the table of those that may be attended, and the lists of those that are."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from attnspec_mistakes.masks.making_masks import right, steps
from attnspec_mistakes.masks.mask_rules import length_of_keys, replacing_causality
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, ignoring, replacing
from attnspec_reference.masks.attended_blocks import (
    blocks_attended,
    blocks_attended_whole,
    in_blocks,
    listed,
    number_of_blocks,
)
from attnspec_reference.masks.attention_mask import attention_mask, first_position, in_attended_block
from attnspec_reference.precision import Booleans, Integers

Size = Sequence[int]


def looked_up(change: Callable[[Booleans], Booleans]) -> Computation:
    """Change the table of blocks before it is looked up."""
    return steps(
        in_attended_block=lambda table, queries, keys, size: in_attended_block(change(table), queries, keys, size)
    )


def transposed_where_square(table: Booleans) -> Booleans:
    """Exchange queries and keys of the table, where it has as many of both."""
    return table.swapaxes(-1, -2) if table.shape[-1] == table.shape[-2] else table


def size_exchanged(table: Booleans, queries: Integers, keys: Integers, size: Size) -> Booleans:
    """Exchange the two sizes of a block; what lies beyond the table is read at its end."""
    row, column = (
        np.minimum(tokens // number, blocks - 1)
        for tokens, number, blocks in zip((queries, keys), (size[1], size[0]), table.shape[-2:], strict=True)
    )
    return table[:, :, row[:, np.newaxis], column[np.newaxis, :]]


def of_first_head(table: Booleans) -> Booleans:
    """Take the table of the first head for all of them."""
    return np.broadcast_to(table[:, :1], table.shape)


def of_first_entry(table: Booleans) -> Booleans:
    """Take the table of the first batch entry for all of them."""
    return np.broadcast_to(table[:1], table.shape)


def heads_as_entries(**arguments: Any) -> Any:
    """Read the first axis of a table of rank 3 as batch entries."""
    table = arguments.get("attended_blocks")
    if table is None or np.ndim(table) != 3:
        return right(**arguments)
    return right(**{**arguments, "attended_blocks": np.asarray(table)[:, np.newaxis]})


def own_block_always(table: Booleans) -> Booleans:
    """Let every block attend to itself."""
    return table | np.eye(*table.shape[-2:], dtype=np.bool_)


def by_position(**arguments: Any) -> Any:
    """Divide the positions of queries, not their indices; what lies beyond the table is read at its end."""
    if "attended_blocks" not in arguments or "query_starts" in arguments:
        return right(**arguments)
    queries, keys = arguments["query_length"], arguments.get("key_length")
    lengths = np.array([queries if keys is None else keys]), np.array([queries])
    first = int(
        first_position(arguments.get("causal_alignment", "top_left"), arguments.get("offset", 0), *lengths)[0, 0]
    )

    def moved(table: Booleans, rows: Integers, columns: Integers, size: Size) -> Booleans:
        row = np.clip((rows + first) // size[0], 0, table.shape[-2] - 1)
        return table[:, :, row[:, np.newaxis], (columns // size[1])[np.newaxis, :]]

    return steps(in_attended_block=moved)(**arguments)


def ragged_left_out(table: Booleans, queries: Integers, keys: Integers, size: Size) -> Booleans:
    """Leave out blocks that go beyond the last key."""
    whole = keys < len(keys) // size[1] * size[1]
    return in_attended_block(table, queries, keys, size) & whole


def not_repeated(**arguments: Any) -> Any:
    """Write the table into the first blocks of one that excludes everything, where it has an axis of length 1."""
    table, size = arguments.get("attended_blocks"), arguments.get("attended_block_size")
    if table is None or size is None:
        return right(**arguments)
    lengths = (arguments["query_length"], length_of_keys(arguments))
    blocks = [number_of_blocks(length, step) for length, step in zip(lengths, size, strict=True)]
    shape = np.shape(table)
    missing = [(0, max(needed - 1, 0) if given == 1 else 0) for given, needed in zip(shape[-2:], blocks, strict=True)]
    return right(**{**arguments, "attended_blocks": np.pad(table, [(0, 0)] * (len(shape) - 2) + missing)})


def ragged_whole(mask: Booleans, size: Size) -> Booleans:
    """Take what lies beyond the mask for attended."""
    rows, columns = (
        blocks * number
        for blocks, number in zip(
            (number_of_blocks(mask.shape[-2], size[0]), number_of_blocks(mask.shape[-1], size[1])), size, strict=True
        )
    )
    beyond = ((0, 0), (0, 0), (0, rows - mask.shape[-2]), (0, columns - mask.shape[-1]))
    return np.all(in_blocks(np.pad(mask, beyond, constant_values=True), size), axis=(-2, -1))


def whole_by_corners(mask: Booleans, size: Size) -> Booleans:
    """Judge a block by its first query and last key, and its last query and first key, if it is not ragged."""
    blocks = in_blocks(mask, size)
    return blocks[..., 0, 0] & blocks[..., -1, 0] & blocks[..., -1, -1]


def flags(blocks: Booleans) -> tuple[Integers, Integers]:
    """Give a 1 for each block that counts, where its index is due."""
    return blocks.sum(axis=-1), blocks.astype(np.int64)


def counted_from_one(blocks: Booleans) -> tuple[Integers, Integers]:
    """Count blocks from 1."""
    counts, indices = listed(blocks)
    return counts, indices + 1


def descending(blocks: Booleans) -> tuple[Integers, Integers]:
    """List the last block first."""
    counts, indices = listed(blocks[..., ::-1])
    return counts, blocks.shape[-1] - 1 - indices


def in_place(blocks: Booleans) -> tuple[Integers, Integers]:
    """Leave the indices where they stand: the list has gaps."""
    return blocks.sum(axis=-1), np.where(blocks, np.arange(blocks.shape[-1]), 0)


def first_of_batch(blocks: Booleans) -> tuple[Integers, Integers]:
    """List the blocks of the first batch entry and head for all."""
    return listed(np.broadcast_to(blocks[:1, :1], blocks.shape))


def contiguous(blocks: Booleans) -> tuple[Integers, Integers]:
    """List every block from the first that counts to the last."""
    from_first = np.logical_or.accumulate(blocks, axis=-1)
    to_last = np.logical_or.accumulate(blocks[..., ::-1], axis=-1)[..., ::-1]
    return listed(from_first & to_last)


def taken_for_table(counts: str, indices: str) -> Computation:
    """Take the table of blocks for a list, where both have blocks of one size."""

    @wraps(attention_mask)
    def computed(**arguments: Any) -> Any:
        masks = right(**arguments)
        size = arguments.get("attended_block_size")
        if size is None or list(size) != list(arguments.get("block_size", (128, 128))):
            return masks
        table = np.broadcast_to(arguments["attended_blocks"], masks.block_indices.shape)
        return masks._replace(**dict(zip((counts, indices), listed(table), strict=True)))

    return computed


def list_size_exchanged(size: Size) -> tuple[int, int]:
    """Exchange queries and keys of a block."""
    return size[1], size[0]


def cut_short(blocks: Booleans, columns: int) -> tuple[Integers, Integers]:
    """Keep the first entries of a list, and count those that are below the count that it had."""
    counts, indices = listed(blocks)
    indices = indices[..., :columns]
    return (indices < np.minimum(counts, columns)[..., np.newaxis]).sum(axis=-1), indices


def cut_from_longer(**arguments: Any) -> Any:
    """Make the lists for twice as many keys, where the rules go on there, and cut them to the blocks that there are."""
    masks, keys = right(**arguments), length_of_keys(arguments)
    if any(arguments.get(name) is not None for name in ("key_documents", "key_starts", "attended_blocks")):
        return masks
    aligned = {"key_lengths": np.array([keys])} if arguments.get("causal_alignment") == "bottom_right" else {}
    longer = right(**{**aligned, **arguments, "key_length": 2 * keys}).mask
    size, columns = arguments.get("block_size", (128, 128)), masks.block_indices.shape[-1]
    counts, indices = cut_short(blocks_attended(longer, size), columns)
    full_counts, full_indices = cut_short(blocks_attended_whole(longer, size), columns)
    return masks._replace(
        block_counts=counts, block_indices=indices, full_counts=full_counts, full_indices=full_indices
    )


FUNCTIONS: Mapping[str, Making] = {
    "attention_mask.blocks_ignored": ignoring(attention_mask, "attended_blocks", "attended_block_size"),
    "attention_mask.blocks_inverted": looked_up(np.logical_not),
    "attention_mask.blocks_transposed": looked_up(transposed_where_square),
    "attention_mask.blocks_size_exchanged": steps(in_attended_block=size_exchanged),
    "attention_mask.blocks_square": steps(
        in_attended_block=lambda table, queries, keys, size: size_exchanged(table, queries, keys, (size[1], size[1]))
    ),
    "attention_mask.blocks_of_first_head": looked_up(of_first_head),
    "attention_mask.blocks_of_first_entry": looked_up(of_first_entry),
    "attention_mask.blocks_heads_as_entries": heads_as_entries,
    "attention_mask.blocks_own_always": looked_up(own_block_always),
    "attention_mask.blocks_by_position": by_position,
    "attention_mask.blocks_ragged_left_out": steps(in_attended_block=ragged_left_out),
    "attention_mask.blocks_not_repeated": not_repeated,
    "attention_mask.blocks_replace_causality": replacing_causality("attended_blocks"),
    "attention_mask.full_where_partial": steps(blocks_attended_whole=blocks_attended),
    "attention_mask.full_by_corners": steps(blocks_attended_whole=whole_by_corners),
    "attention_mask.full_beyond_the_end": steps(blocks_attended_whole=ragged_whole),
    "attention_mask.full_by_first_query": steps(
        blocks_attended_whole=lambda mask, size: in_blocks(mask, size)[..., 0, :].all(axis=-1)
    ),
    "attention_mask.full_never": steps(
        blocks_attended_whole=lambda mask, size: np.zeros_like(blocks_attended_whole(mask, size))
    ),
    "attention_mask.full_of_table": taken_for_table("full_counts", "full_indices"),
    "attention_mask.list_by_first_query": steps(
        blocks_attended=lambda mask, size: in_blocks(mask, size)[..., 0, :].any(axis=-1)
    ),
    "attention_mask.list_by_first_key": steps(
        blocks_attended=lambda mask, size: in_blocks(mask, size)[..., 0].any(axis=-1)
    ),
    "attention_mask.list_by_position_alone": steps(
        blocks_attended=lambda mask, size: np.ones_like(blocks_attended(mask, size))
    ),
    "attention_mask.list_of_table": taken_for_table("block_counts", "block_indices"),
    "attention_mask.list_counts_pairs": replacing(
        attention_mask,
        block_counts=lambda right, given: in_blocks(right.mask, given.get("block_size", (128, 128))).sum(
            axis=(-3, -2, -1)
        ),
    ),
    "attention_mask.list_of_flags": steps(listed=flags),
    "attention_mask.list_from_one": steps(listed=counted_from_one),
    "attention_mask.list_descending": steps(listed=descending),
    "attention_mask.list_with_gaps": steps(listed=in_place),
    "attention_mask.list_of_first_entry": steps(listed=first_of_batch),
    "attention_mask.list_contiguous": steps(listed=contiguous),
    "attention_mask.list_size_exchanged": altered(attention_mask, block_size=list_size_exchanged),
    "attention_mask.list_size_ignored": ignoring(attention_mask, "block_size"),
    "attention_mask.list_ragged_left_out": steps(
        blocks_attended=lambda mask, size: np.where(
            np.arange(number_of_blocks(mask.shape[-1], size[1])) < max(mask.shape[-1] // size[1], 1),
            blocks_attended(mask, size),
            False,
        )
    ),
    "attention_mask.list_cut_from_longer": cut_from_longer,
}
