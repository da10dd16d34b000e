"""Masks that are refused: sizes, lengths, shapes, parents, starts and arguments that exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.authoring import Rejects, row
from attnspec_authoring.recipes.masks.masks.making import BOTTOM_RIGHT, CAUSAL, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

BLOCKS: dict[str, Any] = {"attended_blocks": [[True, False], [False, True]], "attended_block_size": [2, 2]}


def cases() -> Iterator[AuthoredCase]:
    """Return what is refused under strict checks of the inputs, each beside a case of the kind that is not."""
    rows = (
        row("chunk_zero", "a chunk of no position")("sizes", "chunk_causal", 6, {"chunk": 0, **CAUSAL}),
        row("chunk_negative", "a chunk of a negative size")("sizes", "chunk_both_ways", 5, {"chunk": -2}),
        row("block_size_zero", "blocks of no key")("sizes", "lists_causal", 6, {"block_size": [2, 0], **CAUSAL}),
        row("key_length_above", "more keys that count than keys")(
            "lengths",
            "lengths_keys",
            (2, 4),
            {"key_lengths": [5, 2]},
        ),
        row("key_length_below", "a negative number of keys")(
            "lengths", "lengths_keys", (2, 4), {"key_lengths": [4, -1]}
        ),
        row("query_length_above", "more queries that count than queries")(
            "lengths",
            "lengths_queries",
            3,
            {"query_lengths": [3, 4, 2]},
        ),
        row("prefix_above", "a prefix longer than the text")(
            "lengths",
            "prefix_two",
            4,
            {"prefix_lengths": [5], **CAUSAL},
        ),
        row("padding_above", "more padding than keys")("lengths", "padding_left", (3, 4), {"left_padding": [0, 5]}),
        row("batch", "lengths and padding of different numbers of batch entries")(
            "shape",
            "padding_both_sides",
            (4, 6),
            {"left_padding": [1, 2, 0], "key_lengths": [5, 6], **BOTTOM_RIGHT},
        ),
        row("documents_too_few", "fewer numbers of documents than keys")(
            "shape",
            "documents_two",
            5,
            {"query_documents": [[0, 0, 1, 1, 1]], "key_documents": [[0, 0, 1, 1]]},
        ),
        row("parents_flat", "parents without a batch axis")("shape", "tree_siblings", 3, {"parents": [-1, 0, 0]}),
        row("blocks_too_few", "fewer blocks than cover the keys")("shape", "blocks_even", (4, 6), BLOCKS),
        row("parent_beyond", "a parent behind the last draft")(
            "parents", "tree_siblings", 3, {"parents": [[-1, 0, 3]]}
        ),
        row("parent_below", "a parent below -1")("parents", "tree_siblings", 3, {"parents": [[-2, 0, 0]]}),
        row("parents_in_a_circle", "parents that lead in a circle")(
            "parents",
            "tree_siblings",
            3,
            {"parents": [[-1, 2, 1]]},
        ),
        row("own_parent", "a draft that is its own parent")("parents", "tree_chain", 4, {"parents": [[-1, 1, 1, 2]]}),
        row("starts_fall", "starts that fall")("starts", "starts_causal", 6, {"starts": [0, 4, 2, 6], **CAUSAL}),
        row("starts_beyond", "starts that end behind the last token")("starts", "starts_two", 5, {"starts": [0, 2, 6]}),
        row("documents_of_keys_alone", "documents of keys alone")(
            "company",
            "documents_two",
            5,
            {"key_documents": [[0, 0, 1, 1, 1]]},
        ),
        row("starts_of_queries_alone", "starts of queries alone")(
            "company",
            "starts_two",
            5,
            {"query_starts": [0, 2, 5]},
        ),
        row("offset_bottom_right", "an offset beside bottom-right")(
            "company",
            "causal_bottom_right",
            (2, 5),
            {"offset": 3, **CAUSAL, **BOTTOM_RIGHT},
        ),
        row("starts_and_lengths", "starts beside lengths")(
            "company",
            "starts_two",
            5,
            {"starts": [0, 2, 5], "key_lengths": [4]},
        ),
        row("blocks_size_zero", "a table of blocks of no key")(
            "sizes", "blocks_of_one", (2, 3), {"attended_blocks": [[True] * 3] * 2, "attended_block_size": [1, 0]}
        ),
        row("batch_of_prefix", "a prefix that changes nothing, of another number of batch entries than lengths")(
            "shape", "prefix_without_causality", 4, {"prefix_lengths": [2, 1, 0], "key_lengths": [4, 3]}
        ),
        row("documents_of_one", "one document of queries for five")(
            "shape",
            "documents_two",
            5,
            {"query_documents": [[0]], "key_documents": [[0, 0, 1, 1, 1]]},
        ),
        row("parents_of_one", "one parent for three drafts")("shape", "tree_siblings", 3, {"parents": [[-1]]}),
        row("prefix_of_rank_2", "a prefix that changes nothing, with an axis too many")(
            "shape", "prefix_without_causality", 4, {"prefix_lengths": [[2]]}
        ),
        row("blocks_flat", "a table of blocks of rank 1")(
            "shape", "blocks_one_row", (5, 6), {"attended_blocks": [True, False, True], "attended_block_size": [2, 2]}
        ),
        row("first_own_parent", "a first draft that is its own parent")(
            "parents", "tree_siblings", 3, {"parents": [[0, 0, 0]]}
        ),
        row("starts_below", "starts that begin below 0")("starts", "starts_two", 5, {"starts": [-1, 2, 5]}),
        *(
            row(f"starts_and_{name}", f"starts beside {words}")(
                "company", "starts_two", 5, {"starts": [0, 2, 5], **stated}
            )
            for name, words, stated in (
                ("query_lengths", "lengths of queries", {"query_lengths": [4]}),
                ("padding", "padding", {"left_padding": [1]}),
                ("prefix", "a prefix", {"prefix_lengths": [2]}),
                ("documents", "numbers of documents", {"documents": [[0, 0, 1, 1, 1]]}),
                ("parents", "a draft tree", {"parents": [[-1, 0, 0, 1, 1]]}),
                ("offset", "an offset", {"offset": 1}),
            )
        ),
        row("documents_of_queries_alone", "documents of queries alone")(
            "company", "documents_two", 5, {"query_documents": [[0, 0, 1, 1, 1]]}
        ),
        row("starts_of_keys_alone", "starts of keys alone")("company", "starts_two", 5, {"key_starts": [0, 2, 5]}),
        row("size_without_blocks", "a size of blocks without their table")(
            "company", "blocks_even", (4, 6), {"attended_block_size": [2, 2]}
        ),
        row("blocks_without_size", "a table of blocks without their size")(
            "company",
            "blocks_even",
            (4, 6),
            {"attended_blocks": [[True, False, True], [False, True, False]]},
        ),
    )
    for name, title, clause, counterpart, lengths, stated in rows:
        reason = f"{title[0].upper()}{title[1:]}."
        yield mask(f"rejects_{name}", title)(
            lengths,
            f"rejects.{clause}",
            rejects=Rejects(reason, f"masks/{counterpart}", ("input_checks", "strict")),
            **stated,
        )
