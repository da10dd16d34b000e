"""Masks by position: causality, both alignments, offsets, lengths and padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.masks.masks.making import BOTTOM_RIGHT, CAUSAL, FROM_THE_END, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

BOTH = ("mask", "additive")


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of causality, offsets, lengths and padding."""
    causal = "causal shape"
    yield mask("causal_square", "four tokens look back")(
        4, causal, changed_argument=ChangedArgument("query_length", 3), **CAUSAL
    )
    yield mask("causal_one", "one token sees itself")(1, causal, **CAUSAL)
    yield mask("causal_off", "without causality every key is seen")((3, 4), "shape")
    yield mask("causal_more_keys", "three queries, top-left, of five keys")(
        (3, 5), causal, changed_argument=ChangedArgument("key_length", 4), **CAUSAL
    )
    yield mask("causal_more_queries", "five queries, top-left, of three keys")((5, 3), causal, **CAUSAL)
    yield mask("causal_offset", "two new tokens behind a past of three")((2, 5), "offset causal", offset=3, **CAUSAL)
    yield mask("causal_offset_decode", "one new token behind a past of six")(
        (1, 7), "offset causal", offset=6, report="pytorch/pytorch/issues/103082", **CAUSAL
    )
    yield mask("causal_offset_ahead", "keys behind the last query's position")(
        (2, 6), "offset causal", offset=1, **CAUSAL
    )
    yield mask("causal_offset_negative", "queries that begin before the first key")(
        (5, 4), "offset causal", offset=-2, **CAUSAL
    )
    yield mask("causal_offset_unused", "an offset without causality excludes nothing")((2, 3), "offset", offset=1)
    yield mask("causal_bottom_right", "two queries at the last of five keys")(
        (2, 5), "alignment causal", **FROM_THE_END
    )
    yield mask("causal_bottom_right_square", "four queries, bottom-right")(4, "alignment causal", **FROM_THE_END)
    yield mask("causal_bottom_right_decode", "one query at the last of six keys")(
        (1, 6), "alignment causal", **FROM_THE_END
    )
    yield mask("causal_bottom_right_more_queries", "five queries at the last of three keys")(
        (5, 3), "alignment causal", **FROM_THE_END
    )
    yield mask("causal_top_left_stated", "two queries, top-left as stated, of five keys")(
        (2, 5),
        "offset causal",
        causal_alignment="top_left",
        changed_argument=ChangedArgument("causal_alignment", "bottom_right"),
        **CAUSAL,
    )
    yield mask("causal_additive", "as numbers to add")((3, 4), "additive causal", outputs=BOTH, **CAUSAL)
    yield mask("causal_additive_bottom_right", "as numbers to add, with a row of minus infinity")(
        (4, 3), "additive alignment", outputs=BOTH, **FROM_THE_END
    )
    yield mask("causal_17", "seventeen tokens, one more than a tile of sixteen")(17, causal, **CAUSAL)

    yield mask("lengths_keys", "keys that count, of two batch entries")((2, 4), "lengths batch", key_lengths=[4, 2])
    yield mask("lengths_keys_none", "a batch entry without keys that count")(
        (2, 3), "lengths batch", key_lengths=[0, 3]
    )
    yield mask("lengths_queries", "queries that count, of three batch entries")(
        (3, 3),
        "lengths batch",
        query_lengths=[3, 1, 2],
        changed_argument=ChangedArgument("query_lengths", reversed=True),
    )
    yield mask("lengths_causal", "top-left: lengths move no query")(
        (3, 5), "lengths offset causal", key_lengths=[5, 2], query_lengths=[2, 3], **CAUSAL
    )
    yield mask("lengths_bottom_right", "the last query that counts at the last key that counts")(
        (2, 5), "alignment lengths batch", key_lengths=[5, 3, 4], **FROM_THE_END
    )
    yield mask("lengths_bottom_right_both", "fewer queries and fewer keys that count")(
        (3, 6), "alignment lengths batch", key_lengths=[6, 3, 4], query_lengths=[3, 1, 2], **FROM_THE_END
    )
    yield mask("lengths_bottom_right_queries", "fewer queries that count of all keys")(
        (4, 5), "alignment lengths batch", query_lengths=[2, 4], **FROM_THE_END
    )
    yield mask("lengths_of_one_entry", "lengths of one batch entry, padding of two")(
        (3, 4), "lengths left_padding batch", key_lengths=[3], left_padding=[0, 1], **CAUSAL
    )
    yield mask("lengths_additive", "padding as numbers to add")(
        (2, 3), "additive lengths", key_lengths=[2, 3], outputs=BOTH
    )
    yield mask("padding_left", "keys before the first token, of two batch entries")(
        (3, 4), "left_padding batch", left_padding=[0, 2]
    )
    yield mask("padding_left_causal", "a prompt behind padding, whose padded queries see nothing")(
        5, "left_padding causal batch", left_padding=[2, 0, 1], **CAUSAL
    )
    yield mask("padding_left_decode", "one new token of two prompts, one of which is padded")(
        (1, 5), "left_padding alignment batch", left_padding=[0, 3], **FROM_THE_END
    )
    yield mask("padding_both_sides", "padding before and lengths behind")(
        (4, 6), "left_padding lengths batch", left_padding=[1, 2], key_lengths=[5, 6], **BOTTOM_RIGHT
    )
    yield mask("padding_all", "a batch entry of padding alone")(
        3, "left_padding batch", left_padding=[3, 1], outputs=BOTH, **CAUSAL
    )
