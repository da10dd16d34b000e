"""Where kernels have a path of their own: one query over split keys, rows that end before their tiles, and both ends.

A kernel that decodes cuts the keys into parts, takes each part's maximum and sum, and merges. Parts may be empty, hold
what is excluded, or hold the maximum; sinks and the present token belong to one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, TOP_LEFT, Sizes, attention
from attnspec_authoring.recipes.attention.pairs.numbers import attention_numbers, dtypes_of, is_exact
from attnspec_authoring.recipes.authoring import headed, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

LENGTHS = (65, 129, 257, 300)
EVERYTHING_AT = (65, 257)
ELSEWHERE = ("sinks_and_empty_part", "key_lengths", "rising", "falling_with_sinks")
"""What the other lengths have; each reaches into every part."""
PART = 64
"""Parts of so many keys, or of a multiple or a fraction of it, are what most kernels take."""


def drawn(case_id: str, sizes: Sizes, numbers: str) -> dict[str, Any]:
    """Draw queries, keys and values of a class of numbers."""
    shapes = sizes.shapes()
    joined = {name: (*shapes[name][:2], sizes.columns, shapes[name][3]) for name in ("key", "value")}
    return attention_numbers(numbers, case_id, {"query": shapes["query"], **joined}, past=sizes.past)


@headed
def made(name: str, title: str, sizes: Sizes, numbers: str, **arguments: Any) -> AuthoredCase:
    """Make a case of these numbers, offered where they are."""
    case_id = f"pairs/{name}"
    return attention(case_id, title)(
        sizes, dtypes=dtypes_of(numbers), exact=is_exact(numbers), **{**drawn(case_id, sizes, numbers), **arguments}
    )


def without_part(keys: int, part: int) -> NDArray[np.bool_]:
    """Return a mask (1, keys) that excludes one part, the last one where `part` is -1."""
    first = part * PART if part >= 0 else (keys - 1) // PART * PART
    index: NDArray[np.int64] = np.arange(keys, dtype=np.int64)
    return ((index < first) | (index >= first + PART))[np.newaxis]


def decoding_cases() -> Iterator[AuthoredCase]:
    """Hold one query against keys in several parts, with everything that reaches into the merging of parts."""
    for keys in LENGTHS:
        sizes = Sizes(1, 2, 1, 1, keys, 2, 1)
        batch = Sizes(3, 2, 1, 1, keys, 1)
        index: NDArray[np.int64] = np.arange(keys, dtype=np.int64)
        first_part = without_part(keys, 0)
        hidden = np.where(without_part(keys, -1), np.round(np.cos(index) / 2.0, 4), HIDDEN)
        variants = (
            row("sinks", "with a sink that takes a third")(sizes, "full", {"sinks": [5.1, 4.4]}),
            row("first_part_excluded", "of which the first part is excluded")(sizes, "full", {"mask": first_part}),
            row("last_part_excluded", "of which a float mask excludes the last part")(sizes, "full", {"mask": hidden}),
            row("sinks_and_empty_part", "of which a part is excluded, with sinks")(
                sizes, "float16", {"mask": without_part(keys, (keys - 1) // PART - 1), "sinks": [4.5, -1.25]}
            ),
            row("key_lengths", "of which all but one, one, and one part count")(
                batch, "full", {"key_lengths": [keys - 1, 1, PART]}
            ),
            row("sinks_and_key_lengths", "of which none count in one entry, with sinks")(
                batch, "bfloat16", {"key_lengths": [keys - 1, 0, PART + 1], "sinks": [3.0, 1.5]}
            ),
            row("negative", "whose scores are all negative")(sizes, "negative", {}),
            row("rising", "whose scores rise")(sizes, "rising", {}),
            row("falling_with_sinks", "whose scores fall, with a sink above them")(
                sizes, "rising", {"scale": -0.5, "sinks": [6.0, 5.0]}
            ),
            row("softcap", "whose scores are capped, with slopes")(
                sizes, "full", {"softcap": 1.7, "alibi_slopes": [0.013, 0.0041], "causal_alignment": BOTTOM_RIGHT}
            ),
            row("window", "under a window that begins inside a part")(
                sizes, "full", {"window": [keys - PART // 2, None], "causal_alignment": BOTTOM_RIGHT}
            ),
        )
        for name, what, its, numbers, arguments in variants:
            if keys not in EVERYTHING_AT and name not in ELSEWHERE:
                continue
            given = {key: np.asarray(value) if key == "sinks" else value for key, value in arguments.items()}
            yield made(f"decode_{keys}_{name}", f"One query over {keys} keys, {what}")(its, numbers, **given)


def one_head_dead_cases() -> Iterator[AuthoredCase]:
    """Hold rows without keys beside living ones where keys fill several tiles."""
    for keys in (128, 129, 256):
        sizes = Sizes(1, 2, 1, 4, keys, 1)
        of_heads = np.ones((2, 4, keys), dtype=np.bool_)
        of_heads[0, 1] = of_heads[1, 3] = of_heads[1, 0] = False
        name = f"dead_rows_{keys}"
        mask = np.where(of_heads[0], 0.0, HIDDEN)
        yield from (
            made(name, f"Whole rows of {keys} keys are excluded")(sizes, "full", mask=of_heads[:1]),
            made(f"{name}_float", f"Whole rows of {keys} keys are excluded by a float mask, with sinks")(
                sizes, "bfloat16", mask=mask, sinks=np.array([3.0, 1.0])
            ),
        )
    tall = Sizes(1, 2, 1, 65, 5, 2)
    half_dead = np.ones((65, 5), dtype=np.bool_)
    half_dead[16:49] = False
    yield from (
        made("dead_tile_of_queries", "A whole tile of queries may attend to no key")(tall, "full", mask=half_dead),
        made("dead_tile_bottom_right", "Queries before the keys fill whole tiles, bottom-right")(
            tall, "full", is_causal=True, causal_alignment=BOTTOM_RIGHT
        ),
    )


def window_cases() -> tuple[AuthoredCase, ...]:
    """Hold windows of which one side ends within a tile and the other beyond the keys."""
    keys = 130
    return tuple(
        made(f"window_{keys}_{name}_{alignment}", f"A window {window} over {keys} keys, {alignment.replace('_', '-')}")(
            Sizes(1, 2, 1, 17, keys, 2, 1), "full", window=window, causal_alignment=alignment
        )
        for name, window in (("left_wider", [keys + 9, 1]), ("right_wider", [2, keys + 9]), ("narrow", [1, 0]))
        for alignment in (TOP_LEFT, BOTTOM_RIGHT)
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of split keys, rows without keys, tiles and windows."""
    return (
        *decoding_cases(),
        *one_head_dead_cases(),
        # Hold causality and windows where queries and keys both fill several tiles, once with a maximum that rises.
        *(
            made(f"tiles_{length}_{name}", f"{length} queries and keys, {what}")(
                Sizes(1, 1, 1, length, length, width), numbers, **arguments
            )
            for length, width in ((64, 2), (129, 1), (257, 1))
            for name, what, numbers, arguments in (
                ("causal", "causal", "full", {"is_causal": True}),
                ("window", "under a window that spans two tiles, rising", "rising", {"window": [length // 2 + 1, 3]}),
            )
        ),
        *window_cases(),
    )
