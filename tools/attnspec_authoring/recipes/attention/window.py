"""Profile window: how far a query sees, by inclusive distances to the left and to the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    booleans,
    coarse,
    counting,
    float_mask,
    floats,
    probe,
    probe_sizes,
    profile,
)
from attnspec_authoring.recipes.attention.pairwise import pairwise_cases
from attnspec_authoring.recipes.authoring import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

window_case = profile("window")

Window = list[int | None]

PLAIN = Sizes(1, 2, 2, 4, 7)
SQUARE = Sizes(1, 2, 2, 5, 5)
SEEN = probe_sizes(1, 2, 2, 6, 6)
SEEN_FEWER = probe_sizes(1, 2, 2, 4, 7)
SEEN_MORE = probe_sizes(1, 2, 2, 7, 4)


CAUSAL: tuple[tuple[Window, str], ...] = (([2, 0], "to the left"), ([1, None], "open to the right"))


def _name(window: Window) -> str:
    return "_".join("open" if side is None else str(side) for side in window)


def bound_cases() -> tuple[AuthoredCase, ...]:
    """Probe every kind of bound on as many queries as keys, where no alignment matters."""
    windows: tuple[tuple[Window, str, str | None], ...] = (
        ([0, 0], "Only the query's own position", "unslothai/unsloth/pull/8253"),
        ([1, 0], "The query's own position and the one before", "jax-ml/jax/pull/39576"),
        ([0, 1], "The query's own position and the next", None),
        ([1, 1], "One position on either side", "jax-ml/jax/issues/32300"),
        ([2, 0], "Two positions to the left", "huggingface/transformers/issues/29623"),
        ([1, 2], "More to the right than to the left", "vllm-project/vllm/pull/31406"),
        ([3, 1], "More to the left than to the right", "huggingface/transformers/pull/40700"),
        ([None, 0], "Everything to the left, nothing to the right: causal by another name", None),
        ([0, None], "Nothing to the left, everything to the right", None),
        ([None, 2], "Everything to the left, two to the right", None),
        ([1, None], "One to the left, everything to the right", None),
        ([None, None], "Both sides open: the window changes nothing", None),
        ([6, 6], "A window as wide as the keys changes nothing", None),
        ([5, 5], "A window that just reaches every key", None),
        ([4, 4], "A window that misses only the two farthest pairs", None),
    )
    return tuple(
        window_case(f"bounds_{_name(window)}", title)(SEEN, report=report, window=window, **probe(SEEN))
        for window, title, report in windows
    )


def drawn_cases() -> tuple[AuthoredCase, ...]:
    """Hold windows over drawn numbers."""
    windows: tuple[Window, ...] = ([2, 1], [None, 1])
    made = [
        window_case(f"square_{_name(window)}", f"Drawn numbers under the window {window}")(SQUARE, window=window)
        for window in windows
    ]
    return (
        *made,
        window_case("square_2_1_other_values", "The window [2, 1] over other values")(SQUARE, window=[2, 1]),
        window_case("steps", "Weights, logits and logsumexp under a window")(
            Sizes(1, 2, 2, 5, 5), also="weights logsumexp logits", window=[1, 1]
        ),
        window_case("values_wider", "A window with values wider than the keys")(
            Sizes(1, 2, 2, 5, 5, 3, 4), window=[1, 1]
        ),
        window_case("width_8", "A window over eight features")(Sizes(1, 2, 2, 5, 5, 8), window=[2, 1]),
        window_case("scale_negative", "A window under a negative scale")(SQUARE, window=[2, 1], scale=-0.5),
        window_case("grouped", "A window over grouped heads")(Sizes(1, 6, 2, 5, 5), window=[1, 1], revision=2),
        window_case("softcap", "A window and a softcap")(SQUARE, window=[2, 0], softcap=1.0),
    )


def position_cases() -> Iterator[AuthoredCase]:
    """Position the window by the alignment, whether the case is causal or not."""
    for alignment in (TOP_LEFT, BOTTOM_RIGHT):
        short = alignment.split("_", maxsplit=1)[0]
        yield from (
            window_case(f"{name}_{short}", f"The window {window} with {name.replace('_', ' ')} than keys, {short}")(
                sizes, clauses="window.position", window=window, causal_alignment=alignment, **probe(sizes)
            )
            for name, sizes, window in (("fewer_queries", SEEN_FEWER, [1, 1]), ("more_queries", SEEN_MORE, [2, 0]))
        )
        yield from (
            window_case(f"decode_{short}", f"One query against seven keys under the window [2, 0], {short}")(
                Sizes(3, 2, 2, 1, 7),
                clauses="window.position",
                report="ROCm/flash-attention/pull/185" if alignment == BOTTOM_RIGHT else None,
                window=[2, 0],
                causal_alignment=alignment,
            ),
            window_case(f"drawn_{short}", f"Drawn numbers with fewer queries than keys, {short}")(
                PLAIN, clauses="window.position", window=[1, 2], causal_alignment=alignment
            ),
        )
    yield window_case("sides_of_32_bits", "Sides as large as an integer of 32 bits, to which no position may be added")(
        Sizes(1, 2, 1, 4, 5, 2), window=[2**31 - 1, 2**31 - 1]
    )
    beyond: tuple[tuple[str, str, Window], ...] = (("left", TOP_LEFT, [None, 0]), ("right", BOTTOM_RIGHT, [0, 2]))
    yield from (
        window_case(f"{side}_beyond_the_keys", f"Three queries and one key, which the {side} side never hides")(
            Sizes(1, 1, 1, 3, 1, 2, 1),
            report="Dao-AILab/flash-attention/issues/895",
            query=np.zeros((1, 1, 3, 2)),
            causal_alignment=alignment,
            window=window,
        )
        for side, alignment, window in beyond
    )


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put windows together with causality and masks."""
    case = table(window_case, is_causal=True)
    powers = Sizes(3, 2, 2, 4, 6, width=1)
    four = Sizes(3, 2, 2, 4, 4, width=1)
    batch = Sizes(3, 2, 2, 5, 5)
    boolean, added = "window/boolean_mask", "window/float_mask"
    aligned, tiles = "window/aligned_tiles", Sizes(1, 2, 1, 16, 32, 1)
    return (
        case("causal_powers", "Causal with one key to the left: the last of four queries sees 4 and 8")(
            four, report="microsoft/onnxruntime/pull/25927", window=[1, 0], **counting(four)
        ),
        case("causal_cuts_the_right", "Causality cuts off what a window allows on the right")(SQUARE, window=[2, 3]),
        case("causal_open_left", "Causal with an open left side and two on the right is causal alone")(
            SQUARE, window=[None, 2]
        ),
        *(
            case(
                f"causal_{alignment}",
                f"Causal with a window and fewer queries than keys, {alignment.replace('_', '-')}",
            )(powers, clauses="window.position", window=[1, 0], causal_alignment=alignment, **counting(powers))
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        attention(boolean, "A Boolean mask and a window")(
            batch,
            clauses="window.left mask.boolean",
            window=[2, 2],
            mask=boolean_mask(boolean, (3, 1, 5, 5)) | np.eye(5, dtype=np.bool_),
            revision=2,
        ),
        attention(added, "A float mask and a window")(
            SQUARE, clauses="window.left mask.additive", window=[2, 1], mask=floats(2, 5, 5, hides=False)
        ),
        case("mask_and_causal", "A mask, causality and a window at once, over grouped heads")(
            Sizes(1, 6, 2, 4, 7), window=[3, None], **BOTTOM, mask=booleans(6, 4, 7)
        ),
        window_case("dead_rows_beyond_the_keys", "Queries that stand too far behind the last key see nothing")(
            Sizes(1, 2, 2, 7, 4), clauses="fully_masked_row window.left", also="weights", window=[1, 1], **TOP
        ),
        window_case("dead_rows_before_the_keys", "Queries that stand before the first key see nothing to the left")(
            Sizes(1, 2, 2, 7, 4, 1), clauses="fully_masked_row window.right", window=[None, 0], **BOTTOM
        ),
        window_case("past", "A window that reaches back into the past")(
            Sizes(3, 2, 2, 4, 4, past=3), clauses="window.position past.position", window=[2, 0]
        ),
        window_case("key_lengths", "A window that counts back from the last key of each batch entry")(
            Sizes(3, 2, 2, 1, 7),
            clauses="window.position key_lengths.alignment",
            report="sgl-project/sglang/pull/32087",
            window=[2, 0],
            key_lengths=[7, 4, 2],
            **BOTTOM,
        ),
        *(
            window_case(
                f"key_lengths_causal_{_name(window)}",
                f"One query, causal, and a window {where} that counts back from the last key of each batch entry",
            )(
                Sizes(3, 2, 2, 1, 7),
                clauses="window.position key_lengths.alignment",
                window=window,
                key_lengths=[7, 4, 2],
                **BOTTOM_CAUSAL,
            )
            for window, where in CAUSAL
        ),
        # Kernels have their fast paths where lengths are multiples of 16.
        attention(aligned, "16 queries and 32 keys with window, causality, cap, distances, mask and sinks")(
            tiles,
            report="HKUSTDial/flash-sparse-attention/pull/363",
            **coarse(aligned, tiles),
            mask=np.round(float_mask(aligned, (2, 1, 32))),
            sinks=[0.5, -0.5],
            alibi_slopes=[0.25, 0.5],
            **BOTTOM_CAUSAL,
            scale=-0.75,
            softcap=2.0,
            window=[9, 2],
        ),
    )


def before_the_keys() -> tuple[AuthoredCase, ...]:
    """Hold several tiles of queries, the first of which stand before all keys: some rows have none."""
    sides: tuple[tuple[str, Window], ...] = (
        ("2_1", [2, 1]),
        ("0_0", [0, 0]),
        ("1_open", [1, None]),
        ("open_2", [None, 2]),
        ("20_3", [20, 3]),
    )
    return tuple(
        window_case(
            f"{queries}_queries_before_{keys}_keys_{name}",
            f"The last of {queries} queries at the last of {keys} keys, window {window}",
        )(Sizes(1, 2, 1, queries, keys, 1), window=list(window), **BOTTOM)
        for queries, keys in ((21, 9), (40, 19), (70, 35))
        for name, window in sides
    )


def of_causal_attention() -> tuple[AuthoredCase, ...]:
    """Give causal queries nothing but a left bound, and a past; and one query, before the keys of a cache."""
    square = table(window_case, clauses="window.left", is_causal=True)
    decode = table(window_case, clauses="window.left window.position", **BOTTOM_CAUSAL)
    return (
        square("causal_square_2_0", "Causal, with two keys to the left")(SQUARE, window=[2, 0]),
        square("causal_square_1_0", "Causal, with one key to the left, in two batch entries")(
            Sizes(2, 3, 3, 4, 4, 2), window=[1, 0]
        ),
        *(
            window_case(f"past_causal_{left}_0", f"Causal, with {words} to the left, behind {sizes.past} past keys")(
                sizes, clauses="window.left past.position", window=[left, 0], is_causal=True
            )
            for left, words, sizes in (
                (1, "one key", Sizes(3, 2, 2, 4, 4, 2, past=5)),
                (2, "two keys", Sizes(1, 2, 2, 4, 4, past=3)),
                (3, "three keys", Sizes(2, 6, 2, 3, 3, 2, past=4)),
            )
        ),
        decode("decode_causal_0_0", "One query, causal, that sees its own position alone")(
            Sizes(2, 3, 3, 1, 6, 2), window=[0, 0]
        ),
        decode("decode_causal_2_0", "One query, causal, with two keys to the left of seven")(
            Sizes(3, 2, 2, 1, 7), window=[2, 0]
        ),
        decode("decode_causal_3_0", "One query of six heads over two shared ones, causal, with three keys to the left")(
            Sizes(2, 6, 2, 1, 9, 2), window=[3, 0]
        ),
        decode("decode_causal_one_length", "One query, causal, with one key to the left of the fifth of seven keys")(
            Sizes(2, 3, 3, 1, 7, 2), window=[1, 0], key_lengths=[5, 5]
        ),
    )


def open_to_the_right() -> tuple[AuthoredCase, ...]:
    """Leave the right side open over several tiles of keys: what lies beyond the first of them still counts."""
    return tuple(
        window_case(
            f"square_of_{tokens}_{left}_open", f"{tokens} queries and keys, {what} to the left, all to the right"
        )(Sizes(1, 2, 1, tokens, tokens, 1), clauses="window.left window.open_side", window=[left, None])
        for tokens, left, what in ((40, 1, "one key"), (72, 5, "five keys"))
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile window."""
    return (
        *bound_cases(),
        *drawn_cases(),
        *position_cases(),
        *combined_cases(),
        *before_the_keys(),
        *of_causal_attention(),
        *open_to_the_right(),
        *pairwise_cases("window"),
    )
