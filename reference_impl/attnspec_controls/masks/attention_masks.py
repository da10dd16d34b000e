"""Right implementations of masks in another way: by powers, counts, one-hot documents and blocks."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import patch, replacing
from attnspec_reference.masks.attended_blocks import listed
from attnspec_reference.masks.attention_mask import AttentionMask, attention_mask
from attnspec_reference.precision import Booleans, Integers


def reached_by_powers(parents: Integers) -> Booleans:
    """Multiply the table of parents by itself until it has every ancestor."""
    tokens = int(parents.shape[-1])
    token: Integers = np.arange(tokens)
    steps: Integers = np.eye(tokens, dtype=np.int64) + (parents[:, :, np.newaxis] == token)
    reached: Integers = np.broadcast_to(np.eye(tokens, dtype=np.int64), steps.shape)
    for _ in range(tokens):
        reached = np.minimum(reached @ steps, 1)
    return reached > 0


def listed_with_minus_one(blocks: Booleans) -> tuple[Integers, Integers]:
    """List the blocks that count, and -1 behind them."""
    counts, indices = listed(blocks)
    number: Integers = np.arange(int(blocks.shape[-1]))
    return counts, np.where(number < counts[..., np.newaxis], indices, -1)


def by_one_hot(query_documents: Integers, key_documents: Integers) -> Booleans:
    """Multiply tables of which token is of which document."""
    most = max(int(query_documents.max(initial=0)), int(key_documents.max(initial=0))) + 1
    number: Integers = np.arange(most)
    of_query, of_key = (side[..., np.newaxis] == number for side in (query_documents, key_documents))
    return (of_query.astype(np.int64) @ of_key.astype(np.int64).swapaxes(-1, -2)) > 0


def block_by_block(mask: Booleans, size: Any) -> Booleans:
    """Look at one block after the other, and compare the number of its pairs with that of a whole one."""
    batch, heads, queries, keys = mask.shape
    rows, columns = range(0, queries, size[0]), range(0, keys, size[1])
    whole = np.zeros((batch, heads, len(rows), len(columns)), dtype=np.bool_)
    for (row, top), (column, left) in product(enumerate(rows), enumerate(columns)):
        block = mask[..., top : top + size[0], left : left + size[1]]
        whole[..., row, column] = block.sum(axis=(-2, -1)) == size[0] * size[1]
    return whole


def narrow(right: AttentionMask, _arguments: Any) -> Any:
    """Write the numbers to add in float16."""
    return right.additive.astype(np.float16)


CONTROLS: tuple[Control, ...] = (
    Control(
        id="attention_mask.tree_by_powers",
        operation="attention_mask",
        sentence="The ancestors of a draft are found by powers of a table of parents.",
        function=patch(attention_mask, ancestors_of=reached_by_powers),
    ),
    Control(
        id="attention_mask.minus_one_behind_the_count",
        operation="attention_mask",
        sentence="Behind the blocks that count the lists hold -1.",
        function=patch(attention_mask, listed=listed_with_minus_one),
    ),
    Control(
        id="attention_mask.documents_by_one_hot",
        operation="attention_mask",
        sentence="Documents are compared by a product of tables.",
        function=patch(attention_mask, same_document=by_one_hot),
    ),
    Control(
        id="attention_mask.block_by_block",
        operation="attention_mask",
        sentence="Full blocks are counted one after the other.",
        function=patch(attention_mask, blocks_attended_whole=block_by_block),
    ),
    Control(
        id="attention_mask.narrow_numbers",
        operation="attention_mask",
        sentence="The numbers to add are in float16.",
        function=replacing(attention_mask, additive=narrow),
    ),
)
