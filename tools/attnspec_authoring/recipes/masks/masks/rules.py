"""Masks by rule: windows, chunks and prefixes, alone and beside causality, offsets and padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.masks.masks.making import BOTTOM_RIGHT, CAUSAL, FROM_THE_END, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

ONE_TOO_MANY = "ml-explore/mlx-lm/pull/390"
IGNORED_ALONE = "jax-ml/jax/issues/32300"
BOTH_SIDES = "huggingface/transformers/issues/39408"
SPAN_OF_A_TILE = "flashinfer-ai/flashinfer/pull/4992"
LLAMA_4 = "huggingface/transformers/issues/37351"
DECODE_STEP = "nod-ai/amd-shark-ai/pull/1452"


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of windows, chunks and prefixes."""
    yield from windows()
    yield from chunks()
    yield from prefixes()


def windows() -> Iterator[AuthoredCase]:
    """Return windows of both sides and of one."""
    window, causal = "window", "window causal"
    yield mask("window_left", "one position back, looking back")(
        5, causal, window=[1, 0], report=ONE_TOO_MANY, **CAUSAL
    )
    yield mask("window_both", "one position back and two ahead")(6, window, window=[1, 2])
    yield mask("window_alike", "one position back and one ahead")(5, window, window=[1, 1])
    yield mask("window_alike_wide", "two positions back and two ahead")(7, window, window=[2, 2])
    yield mask("window_right_open", "two positions back, open ahead")(5, window, window=[2, None])
    yield mask("window_right_open_long", "open ahead, more keys than a tile and the window have")(
        (2, 140), window, window=[1, None], report=SPAN_OF_A_TILE
    )
    yield mask("window_right_open_tiles", "open ahead, behind a past, in several tiles")(
        (18, 40), "window offset", window=[3, None], offset=5, report=SPAN_OF_A_TILE
    )
    yield mask("window_left_open", "open back, one position ahead")(5, window, window=[None, 1])
    yield mask("window_open", "open to both sides")((3, 4), window, window=[None, None])
    yield mask("window_itself", "its own position alone")(4, window, window=[0, 0])
    yield mask("window_alone", "a window beside nothing else")((4, 6), window, window=[0, 2], report=IGNORED_ALONE)
    yield mask("window_right_cut", "causality cuts what lies ahead")(5, causal, window=[1, 3], **CAUSAL)
    yield mask("window_wide", "wider than the text")(4, causal, window=[9, 9], report=BOTH_SIDES, **CAUSAL)
    yield mask("window_three_back", "three positions back of nine tokens")(9, causal, window=[3, None], **CAUSAL)
    yield mask("window_offset", "around the position of new tokens behind a past")(
        (2, 7), "window offset", window=[2, 1], offset=4
    )
    yield mask("window_decode", "one query at the last of seven keys")(
        (1, 7), "window alignment", window=[2, 0], **FROM_THE_END
    )
    yield mask("window_decode_lengths", "one query of texts of other lengths")(
        (1, 6), "window alignment batch", window=[1, None], key_lengths=[6, 3, 1], **FROM_THE_END
    )
    yield mask("window_bottom_right", "three queries at the last of six keys")(
        (3, 6), "window alignment", window=[1, 1], **BOTTOM_RIGHT
    )
    yield mask("window_lengths", "around positions that differ by batch entry")(
        (2, 6), "window alignment batch", window=[1, 0], key_lengths=[6, 4, 2], **FROM_THE_END
    )
    yield mask("window_beyond", "queries behind the last key see none")((5, 3), window, window=[0, 0])
    yield mask("window_left_open_far", "open back, farther from the keys than there are any")(
        (2, 4), "window offset", window=[None, 0], offset=9
    )
    yield mask("window_right_open_far", "open ahead, farther before the keys than there are any")(
        (2, 4), "window offset", window=[9, None], offset=-9
    )
    yield mask("window_open_more_queries", "open back, more queries than keys")(
        (7, 2), causal, window=[None, 1], **CAUSAL
    )
    yield mask("window_padding", "padding inside the window")(
        6, "window left_padding", window=[2, 0], left_padding=[0, 3], **CAUSAL
    )


def chunks() -> Iterator[AuthoredCase]:
    """Return chunks from the first key, behind padding, and in steps of decoding."""
    chunk, causal = "chunk", "chunk causal"
    yield mask("chunk_causal", "chunks of two, looking back")(6, causal, chunk=2, report=LLAMA_4, **CAUSAL)
    yield mask("chunk_ragged", "chunks of three, the last one shorter")(7, causal, chunk=3, **CAUSAL)
    yield mask("chunk_both_ways", "chunks of two, without causality")(5, chunk, chunk=2)
    yield mask("chunk_one", "chunks of one token")(4, chunk, chunk=1)
    yield mask("chunk_longer", "a chunk longer than the text")(4, causal, chunk=8, **CAUSAL)
    yield mask("chunk_whole", "a chunk exactly as long as the text")(4, chunk, chunk=4)
    yield mask("chunk_offset", "new tokens across the boundary of two chunks")(
        (3, 7), "chunk offset", chunk=3, offset=4, report=DECODE_STEP, **CAUSAL
    )
    yield mask("chunk_decode", "one query at the first position of a chunk")(
        (1, 5), "chunk alignment", chunk=4, **FROM_THE_END
    )
    yield mask("chunk_decode_last", "one query at the last position of a chunk")(
        (1, 8), "chunk alignment", chunk=4, **FROM_THE_END
    )
    yield mask("chunk_padding", "chunks counted from the first token")(
        6, "chunk chunk_padding batch", chunk=3, left_padding=[0, 1, 2], report=LLAMA_4, **CAUSAL
    )
    yield mask("chunk_padding_decode", "one new token of prompts with other padding")(
        (1, 7), "chunk chunk_padding alignment", chunk=2, left_padding=[1, 0, 4], **FROM_THE_END
    )
    yield mask("chunk_padding_both_ways", "padded queries stand in a chunk of their own")(
        5, "chunk chunk_padding", chunk=3, left_padding=[2, 1]
    )
    yield mask("chunk_lengths", "chunks beside lengths, bottom-right")(
        (2, 6), "chunk alignment batch", chunk=2, key_lengths=[6, 3], **FROM_THE_END
    )
    yield mask("chunk_negative", "queries before the first key stand in chunks before it")(
        (6, 4), "chunk offset", chunk=3, offset=-2
    )
    yield mask("chunk_beyond", "all keys in one chunk, some queries in the next")(
        (3, 3), "chunk offset", chunk=8, offset=6
    )
    yield mask("chunk_before", "all keys in one chunk, some queries in the one before")(
        (3, 3), "chunk offset", chunk=8, offset=-2
    )
    yield mask("chunk_padding_longer", "a chunk longer than the text, padded queries stand before it")(
        4, "chunk chunk_padding", chunk=8, left_padding=[2, 0]
    )
    yield mask("chunk_more_queries", "more queries than keys")((6, 4), causal, chunk=2, **CAUSAL)


def prefixes() -> Iterator[AuthoredCase]:
    """Return prefixes that are seen from both sides."""
    prefix = "prefix causal"
    yield mask("prefix_two", "two first keys that every query sees")(4, prefix, prefix_lengths=[2], **CAUSAL)
    yield mask("prefix_entries", "prefixes that differ by batch entry")(
        5, f"{prefix} batch", prefix_lengths=[3, 1, 0], **CAUSAL
    )
    yield mask("prefix_none", "no prefix is causality alone")(3, prefix, prefix_lengths=[0], **CAUSAL)
    yield mask("prefix_one", "a prefix of one key adds nothing")(4, prefix, prefix_lengths=[1, 2], **CAUSAL)
    yield mask("prefix_all", "everything is prefix")(4, prefix, prefix_lengths=[4, 3], **CAUSAL)
    yield mask("prefix_without_causality", "without causality a prefix changes nothing")(
        4, "prefix_alone", prefix_lengths=[2]
    )
    yield mask("prefix_offset", "a prefix longer than the past")(
        (3, 6), "prefix offset", prefix_lengths=[4, 2], offset=2, **CAUSAL
    )
    yield mask("prefix_bottom_right", "queries at the last keys, one of which is prefix")(
        (3, 5), "prefix alignment", prefix_lengths=[4], **FROM_THE_END
    )
    yield mask("prefix_negative", "queries before the first key see the prefix")(
        (4, 4), "prefix offset", prefix_lengths=[2], offset=-2, **CAUSAL
    )
    yield mask("prefix_lengths", "a prefix that is cut by the number of keys that count")(
        4, "prefix prefix_alone lengths", prefix_lengths=[3, 3], key_lengths=[2, 4], **CAUSAL
    )
    yield mask("prefix_padding", "a prefix counted from key 0, behind padding")(
        5, "prefix prefix_alone left_padding", prefix_lengths=[3, 3], left_padding=[2, 0], **CAUSAL
    )
    yield mask("prefix_padding_long", "padding longer than the prefix")(
        6, "prefix prefix_alone left_padding batch", prefix_lengths=[2, 4], left_padding=[3, 1], **CAUSAL
    )
    yield mask("prefix_without_causality_offset", "without causality a prefix changes nothing behind a past")(
        (2, 5), "prefix_alone offset", prefix_lengths=[3, 1], offset=2
    )
    yield mask("prefix_window", "a window cuts the prefix")(
        6, "prefix prefix_alone window", prefix_lengths=[4], window=[1, 1], **CAUSAL
    )
    yield mask("prefix_chunk", "a chunk cuts the prefix")(
        6, "prefix prefix_alone chunk", prefix_lengths=[3, 5], chunk=2, **CAUSAL
    )
    yield mask("prefix_additive", "a prefix as numbers to add")(
        4, "prefix additive", prefix_lengths=[3], outputs=("mask", "additive"), **CAUSAL
    )
