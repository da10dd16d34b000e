"""Lengths of another number or out of range, and masks of which one axis does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import boolean_mask, float_mask
from attnspec_authoring.recipes.attention.rejects.sizes import rows
from attnspec_authoring.recipes.attention.rejects.twins import STRICT, drawn, refused
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

LENGTHS = "rejects/twin_lengths"


def length_refusals() -> tuple[AuthoredCase, ...]:
    """Change the number and the range of lengths of keys, up to five, and of queries, up to four."""

    def lengths(tensor: str, *numbers: int) -> dict[str, Any]:
        return {tensor: np.array(numbers, dtype=np.int64)}

    return rows(
        LENGTHS,
        row("key_lengths_of_one_entry", "One key length for three batch entries")(
            "batch", lengths("key_lengths", 3), True
        ),
        row("key_lengths_of_four_entries", "Four key lengths for three batch entries")(
            "batch", lengths("key_lengths", 5, 2, 3, 4), True
        ),
        row("query_lengths_of_one_entry", "One query length for three batch entries")(
            "batch", lengths("query_lengths", 3), True
        ),
        row("query_lengths_of_two_entries", "Two query lengths for three batch entries")(
            "batch", lengths("query_lengths", 4, 1), True
        ),
        row("query_lengths_of_four_entries", "Four query lengths for three batch entries")(
            "batch", lengths("query_lengths", 4, 1, 3, 2), True
        ),
        row("very_negative_key_length", "A key length of -5 and others, as if counted from the end")(
            "length", lengths("key_lengths", 5, 2, -5), True
        ),
        row("first_key_length_beyond", "A first key length of six for five keys")(
            "length", lengths("key_lengths", 6, 2, 3), True
        ),
        row("last_key_length_beyond", "A last key length of six for five keys")(
            "length", lengths("key_lengths", 5, 2, 6), True
        ),
        row("far_key_length", "A key length of 261 for five keys, five to a byte")(
            "length", lengths("key_lengths", 5, 261, 3), True
        ),
        row("first_query_length_beyond", "A first query length of five for four queries")(
            "length", lengths("query_lengths", 5, 1, 3), True
        ),
        row("far_query_length", "A query length of 260 for four queries, four to a byte")(
            "length", lengths("query_lengths", 4, 260, 3), True
        ),
    )


def mask_refusals() -> tuple[AuthoredCase, ...]:
    """Change each axis of a Boolean mask, of a float mask, and of one that covers a past; and group masks like keys."""
    boolean, added, past, grouped = (
        f"rejects/twin_{name}" for name in ("boolean_mask", "float_mask", "past_mask", "grouped_mask")
    )
    entry, head, query = single = tuple(f"rejects/twin_mask_of_one_{what}" for what in ("entry", "head", "query"))
    wrong: tuple[tuple[str, str, str, tuple[int, ...]], ...] = (
        ("mask_of_two_rows", "A mask of two rows for four queries", boolean, (2, 5)),
        ("mask_of_five_rows", "A mask of five rows for four queries", boolean, (5, 5)),
        ("mask_of_eight_rows", "A mask of eight rows for four queries", boolean, (8, 5)),
        ("mask_of_ten_columns", "A mask of ten columns for five keys", boolean, (4, 10)),
        ("mask_of_four_heads", "A mask for four heads of two", boolean, (4, 4, 5)),
        ("mask_of_four_entries", "A mask for four batch entries of three", boolean, (4, 1, 4, 5)),
        ("mask_of_six_entries", "A mask for six batch entries of three", boolean, (6, 1, 4, 5)),
        ("float_mask_of_four_columns", "A float mask of four columns for five keys", added, (4, 4)),
        ("float_mask_of_six_columns", "A float mask of six columns for five keys", added, (4, 6)),
        ("float_mask_of_one_column", "A float mask of one column for five keys", added, (4, 1)),
        ("float_mask_of_three_heads", "A float mask for three heads of two", added, (3, 4, 5)),
        ("float_mask_of_two_entries", "A float mask for two batch entries of three", added, (2, 1, 4, 5)),
        ("mask_of_past_alone", "A mask of the past keys alone", past, (4, 3)),
        ("mask_one_short_of_past", "A mask of seven columns for three past keys and five new ones", past, (4, 7)),
        ("mask_one_beyond_past", "A mask of nine columns for three past keys and five new ones", past, (4, 9)),
        ("mask_of_key_heads", "A mask for two key heads of six query heads", grouped, (2, 4, 5)),
        (
            "mask_of_key_heads_and_entry",
            "A mask for two key heads and an entry of six query heads",
            grouped,
            (1, 2, 4, 5),
        ),
        ("mask_of_two_entries_for_one", "A mask for two batch entries where there is one", entry, (2, 1, 4, 5)),
        ("mask_of_two_heads_for_one", "A mask for two heads where there is one", head, (1, 2, 4, 5)),
        ("mask_of_two_rows_for_one", "A mask of two rows for one query", query, (1, 1, 2, 5)),
        ("mask_of_four_rows_for_one", "A mask of rank 2 with four rows for one query", query, (4, 5)),
        ("mask_of_group", "A mask for each of three query heads in a group of six", grouped, (3, 4, 5)),
    )
    return tuple(
        refused(name, f"{title} is refused")(
            "sdpa.rejects.mask_shape",
            twin,
            {**drawn(twin), "mask": (float_mask if twin == added else boolean_mask)(f"rejects/{name}", shape)},
            reason=f"{title} does not fit.",
            # The rules of NumPy repeat a single column, and the scores of one entry, head or query.
            convention=STRICT if shape[-1] == 1 or twin in single else None,
        )
        for name, title, twin, shape in wrong
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refusals of lengths and masks."""
    return (*length_refusals(), *mask_refusals())
