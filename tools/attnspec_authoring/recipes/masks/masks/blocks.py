"""Tables of blocks that may be attended, and the lists of blocks that a mask comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.masks.masks.making import BOTTOM_RIGHT, CAUSAL, FROM_THE_END, LISTS, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

WRONG_SPARSE = "pytorch/pytorch/issues/141126"
RAGGED = "pytorch/pytorch/issues/159247"
EDGES = "pytorch/pytorch/pull/143534"

CHECKED = [[True, False, True], [False, True, False]]
CORNER = [[True, False], [True, True]]


EMPTYING: dict[str, tuple[str, dict[str, Any]]] = {
    "causality": ("causal", CAUSAL),
    "windows": ("window", {"window": [1, 0]}),
    "chunks": ("chunk", {"chunk": 3}),
    "key_lengths": ("lengths", {"key_lengths": [1]}),
    "query_lengths": ("lengths", {"query_lengths": [1]}),
    "padding": ("left_padding", {"left_padding": [3]}),
    "documents": ("documents", {"documents": [[0, 1, 1, 1]]}),
    "starts": ("starts", {"starts": [0, 1, 4]}),
    "trees": ("tree", {"parents": [[-1, -1, 0, 1]]}),
}
"""Each rule that leaves blocks of one query and two keys of four tokens empty, and others in part."""


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of tables and lists of blocks."""
    yield from tables()
    yield from repeated()
    yield from lists()
    yield from lists_beside_tables()


def tables() -> Iterator[AuthoredCase]:
    """Return tables of blocks."""
    rule = "blocks"
    yield mask("blocks_even", "blocks of two queries and two keys")(
        (4, 6),
        rule,
        attended_blocks=CHECKED,
        attended_block_size=[2, 2],
        report=WRONG_SPARSE,
        changed_argument=ChangedArgument("attended_block_size", [3, 2]),
    )
    yield mask("blocks_unlike_sides", "blocks of one query and three keys")(
        (2, 8), rule, attended_blocks=CHECKED, attended_block_size=[1, 3]
    )
    yield mask("blocks_tall", "blocks of three queries and one key")(
        (5, 3), rule, attended_blocks=CHECKED, attended_block_size=[3, 1]
    )
    yield mask("blocks_ragged", "last blocks that go beyond the end")(
        (3, 5), rule, attended_blocks=[[False, True, True], [True, False, True]], attended_block_size=[2, 2]
    )
    yield mask("blocks_of_one", "blocks of a single pair")(
        (2, 3), rule, attended_blocks=CHECKED, attended_block_size=[1, 1]
    )
    yield mask("blocks_one_block", "one block for all of it")(
        (3, 4), rule, attended_blocks=[[[True]], [[False]]], attended_block_size=[8, 8]
    )
    yield mask("blocks_none", "no block may be attended")(
        (2, 4), rule, attended_blocks=[[False, False]], attended_block_size=[2, 2]
    )
    yield mask("blocks_causal", "blocks beside causality")(
        5,
        "blocks causal",
        attended_blocks=[[True, True, False], [False, True, True], [True, False, True]],
        attended_block_size=[2, 2],
        **CAUSAL,
    )
    yield mask("blocks_indices", "blocks divide queries, not positions")(
        (4, 8),
        "blocks alignment",
        attended_blocks=[[True, False], [False, True]],
        attended_block_size=[2, 4],
        **FROM_THE_END,
    )
    yield mask("blocks_offset", "blocks divide queries that stand behind a past")(
        (4, 6),
        "blocks offset",
        attended_blocks=[[True, False, True], [False, True, True]],
        attended_block_size=[2, 2],
        offset=2,
        **CAUSAL,
    )
    yield mask("blocks_heads", "a table for each head")(
        (4, 4),
        "blocks blocks_broadcast",
        attended_blocks=[CORNER, [[False, True], [True, False]]],
        attended_block_size=[2, 2],
    )
    yield mask("blocks_entries", "a table for each batch entry")(
        (4, 4),
        "blocks blocks_broadcast batch",
        attended_blocks=[[CORNER], [[[False, True], [True, False]]]],
        attended_block_size=[2, 2],
    )
    yield mask("blocks_entries_and_heads", "a table for each head of each batch entry")(
        (4, 4),
        "blocks blocks_broadcast batch",
        attended_blocks=[
            [CORNER, [[True, True], [False, True]]],
            [[[False, True], [True, False]], [[True, False]] * 2],
        ],
        attended_block_size=[2, 2],
    )
    yield mask("blocks_heads_lengths", "a table for each head, lengths of each batch entry")(
        (2, 4),
        "blocks blocks_broadcast batch lengths",
        attended_blocks=[[[True, False]], [[True, True]], [[False, True]]],
        attended_block_size=[2, 2],
        key_lengths=[4, 3],
    )


def repeated() -> Iterator[AuthoredCase]:
    """Return tables with axes of length 1, which are repeated."""
    rule = "blocks blocks_broadcast"
    yield mask("blocks_one_row", "a row of blocks for all queries")(
        (5, 6), rule, attended_blocks=[[True, False, True]], attended_block_size=[2, 2]
    )
    yield mask("blocks_one_column", "a column of blocks for all keys")(
        (4, 5), rule, attended_blocks=[[False], [True]], attended_block_size=[2, 2]
    )
    yield mask("blocks_one_for_all", "one block of each head for all queries and keys")(
        (3, 4), rule, attended_blocks=[[[True]], [[False]]], attended_block_size=[2, 2]
    )
    yield mask("blocks_one_row_each", "a row of blocks for each head of each batch entry")(
        (3, 4),
        f"{rule} batch",
        attended_blocks=[[[[True, False]], [[False, True]]], [[[True, True]], [[True, False]]]],
        attended_block_size=[1, 2],
    )
    yield mask("blocks_one_column_each", "a column of blocks for each batch entry")(
        (2, 3),
        f"{rule} batch",
        attended_blocks=[[[[True], [False]]], [[[False], [True]]]],
        attended_block_size=[1, 1],
    )
    yield mask("blocks_one_entry", "tables of heads for one batch entry, lengths of two")(
        (2, 4),
        f"{rule} batch lengths",
        attended_blocks=[[[[True, False]], [[True, True]]]],
        attended_block_size=[2, 2],
        key_lengths=[4, 3],
    )


def lists() -> Iterator[AuthoredCase]:
    """Return lists of blocks: attended in part, whole, ragged and none."""
    both = "block_lists full_blocks block_size"
    yield mask("lists_causal", "causality in blocks of two")(6, both, block_size=[2, 2], **CAUSAL)
    yield mask("lists_all", "everything is attended")((4, 6), both, block_size=[2, 2])
    yield mask("lists_none", "nothing is attended")((2, 4), both, block_size=[2, 2], key_lengths=[0])
    yield mask("lists_ragged", "last blocks that go beyond both ends")((5, 5), both, block_size=[2, 2], report=RAGGED)
    yield mask("lists_ragged_keys", "last blocks that go beyond the keys")(
        (4, 7), both, block_size=[2, 3], report=RAGGED
    )
    yield mask("lists_ragged_causal", "causality in blocks of three, of seven tokens")(
        7, both, block_size=[3, 3], report=EDGES, **CAUSAL
    )
    yield mask("lists_unlike_sides", "blocks of one query and four keys")(
        (3, 8), both, block_size=[1, 4], **FROM_THE_END
    )
    yield mask("lists_tall", "blocks of four queries and one key")((8, 3), both, block_size=[4, 1], **CAUSAL)
    yield mask("lists_default", "blocks of 128, which go beyond the end")((2, 3), both, block_size=[128, 128], **CAUSAL)
    yield mask("lists_window", "a window leaves blocks out on both sides")(10, both, block_size=[2, 2], window=[2, 1])
    yield mask("lists_sparse", "a table in other blocks than the lists")(
        (6, 6),
        f"{both} blocks",
        block_size=[2, 3],
        attended_blocks=[[True, False], [False, True]],
        attended_block_size=[3, 3],
    )
    yield mask("lists_heads", "lists for each head")(
        (4, 6),
        f"{both} blocks_broadcast",
        block_size=[2, 2],
        attended_blocks=[CHECKED, [[False, True, True]] * 2],
        attended_block_size=[2, 2],
    )
    yield mask("lists_entries", "lists for each batch entry")(
        (4, 6), f"{both} batch", block_size=[2, 2], key_lengths=[6, 3], **FROM_THE_END
    )
    yield mask("lists_documents", "documents that end inside of blocks")(
        8, f"{both} documents", block_size=[2, 4], documents=[[0, 0, 0, 1, 1, 1, 1, 1]]
    )
    yield mask("lists_gap", "a document in two pieces leaves a block out between them")(
        8, f"{both} documents", block_size=[2, 2], documents=[[0, 0, 1, 1, 0, 0, 1, 1]]
    )
    yield mask("lists_tree", "a draft tree behind a past that fills blocks")(
        (4, 8), f"{both} tree_past", block_size=[2, 2], parents=[[-1, 0, 0, 1]], **BOTTOM_RIGHT
    )
    yield mask("lists_late", "one attended pair at the end of a block")(
        (4, 4), both, block_size=[2, 2], window=[None, None], left_padding=[3], **CAUSAL
    )
    yield mask("lists_many", "more blocks than are sorted in order by chance")(
        (1, 40), both, block_size=[1, 1], query_documents=[[1]], key_documents=[[0, 1, 1, 0, 1] * 8]
    )
    yield mask("lists_default_queries", "one query more than a block of 128 has")(
        (129, 1), "block_lists block_size", query_lengths=[128], outputs=("mask", *LISTS)
    )
    yield mask("lists_default_keys", "one key more than a block of 128 has")(
        (1, 129), "block_lists block_size", key_lengths=[128], outputs=("mask", *LISTS)
    )


def lists_beside_tables() -> Iterator[AuthoredCase]:
    """Return lists in the blocks of a table, some of which another rule leaves without a pair, or with some alone."""
    for words, (clause, stated) in EMPTYING.items():
        yield mask(f"lists_table_{words}", f"blocks of a table that {words.replace('_', ' ')} empty")(
            4,
            f"block_lists full_blocks blocks {clause}",
            block_size=[1, 2],
            attended_blocks=[[True, True], [True, False], [True, True], [True, True]],
            attended_block_size=[1, 2],
            **stated,
        )
