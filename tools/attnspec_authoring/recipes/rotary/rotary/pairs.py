"""Pairs, heads and features in numbers that no vector unit takes whole, and in the widths of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import EVERY_DTYPE
from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.frequencies import frequencies, plain
from attnspec_authoring.recipes.rotary.rotary.rotations import both, rotation
from attnspec_authoring.recipes.rotary.rotary.tables import tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

COUNTS = {5: "five", 6: "six", 7: "seven", 9: "nine", 13: "thirteen"}
"""Beyond 4, 8 and 16, by one and by more: what whole vectors leave over is done by itself, or forgotten."""
STEP = 2.0**-13


def coarse(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw halves, which take little room."""
    return np.round(2.0 * grid(f"rotary/{name}", shape)) / 2.0


def turned(name: str, shape: tuple[int, int, int, int], width: int) -> dict[str, Any]:
    """Draw features and tables of halves."""
    table = (shape[0], shape[2], width // 2)
    return {"x": coarse(f"{name}/x", shape), **{kind: coarse(f"{name}/{kind}", table) for kind in ("cos", "sin")}}


def of_rotations() -> tuple[AuthoredCase, ...]:
    """Turn every count of pairs, alone and before features that stay, in several layouts, and many heads."""
    odd, kept = (1, 2, 1, 10), (1, 2, 1, 13)
    # Two tokens and batch entries that share their tables.
    row = coarse("shared_row/cos", (1, 1, 5))
    shared = {"cos": np.broadcast_to(row, (3, 2, 5)).copy(), "sin": np.broadcast_to(row[..., ::-1], (3, 2, 5)).copy()}
    return (
        *(
            case
            for pairs, word in COUNTS.items()
            for name, title, width in (
                (f"{pairs}_pairs", f"{word} pairs", 2 * pairs),
                (f"{pairs}_pairs_partial", f"{word} pairs before three features that stay", 2 * pairs + 3),
            )
            for case in both(name, title)((1, 1, 1, width), 2 * pairs, **turned(name, (1, 1, 1, width), 2 * pairs))
        ),
        *(
            case
            for heads, word in ((9, "nine"), (17, "seventeen"))
            for case in both(f"{heads}_heads", f"{word} heads")(
                (1, heads, 1, 3), 2, **turned(f"{heads}_heads", (1, heads, 1, 3), 2)
            )
        ),
        *(
            case
            for tokens, word in ((5, "five"), (9, "nine"))
            for case in both(f"{tokens}_tokens", f"{word} tokens")(
                (1, 1, tokens, 3), 2, **turned(f"{tokens}_tokens", (1, 1, tokens, 3), 2)
            )
        ),
        *(
            case
            for width, word in ((96, "ninety-six"), (128, "a hundred and twenty-eight"))
            for case in both(f"width_{width}", f"{word} features")(
                (1, 1, 1, width), width, **turned(f"{width}", (1, 1, 1, width), width)
            )
        ),
        *(
            rotation(f"5_pairs_{layout}_{name}", f"five pairs, {name} that lie {how}")(
                odd, 10, pairing="interleaved", memory_order=dict.fromkeys(inputs, layout), **turned("5_pairs", odd, 10)
            )
            for layout, how in (("gapped", "with gaps in memory"), ("reversed", "backwards in memory"))
            for name, inputs in (("features", ("x",)), ("tables", ("cos", "sin")))
        ),
        *both("5_pairs_one_entry_of_tables", "five pairs, one batch entry of the tables stands for all")(
            (3, 1, 2, 10),
            10,
            memory_order={"cos": "broadcast", "sin": "broadcast"},
            x=coarse("5_pairs_one_entry/x", (3, 1, 2, 10)),
            **shared,
        ),
        *both("digits_46", "each number of 46 bits, five pairs before three features that stay")(
            kept,
            10,
            dtypes=("float64",),
            x=digits("digits_46/x", kept),
            cos=digits("digits_46/cos", (1, 1, 5)),
            sin=digits("digits_46/sin", (1, 1, 5)),
        ),
        *both("digits_46_whole", "each number of 46 bits, two heads and tokens")(
            (1, 2, 2, 4),
            4,
            dtypes=("float64",),
            x=digits("digits_46_whole/x", (1, 2, 2, 4)),
            cos=digits("digits_46_whole/cos", (1, 2, 2)),
            sin=digits("digits_46_whole/sin", (1, 2, 2)),
        ),
    )


def digits(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw numbers of four groups of bits, which fill most of float64 and which float32 does not hold."""
    groups = [grid(f"rotary/{name}/digits_{part}", shape) * STEP**part for part in range(4)]
    return np.sum(groups, axis=0)


def of_frequencies() -> tuple[AuthoredCase, ...]:
    """Find the frequencies of every count of pairs without scaling, and of odd counts under every scaling."""
    one = "attention_factor.one"
    scalings: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
        "linear": (("linear", one), {"factor": 2.5}),
        "dynamic": (("dynamic.base", one), {"factor": 2.0, "original_length": 64, "sequence_length": 160}),
        "llama3": (
            ("llama3.long_waves", "llama3.short_waves", "llama3.between", one),
            {"factor": 4.0, "original_length": 256, "low_frequency_factor": 1.0, "high_frequency_factor": 8.0},
        ),
        "proportional": (("proportional", one), {"proportion": 0.75, "factor": 2.0}),
        "yarn": (
            ("yarn.range", "yarn.truncate", "yarn.blend", "attention_factor.yarn"),
            {"factor": 4.0, "original_length": 2048},
        ),
    }
    return (
        *(plain(f"width_{2 * pairs}", f"{word} pairs")(width=2 * pairs) for pairs, word in COUNTS.items()),
        plain("width_96", "forty-eight pairs")(width=96),
        *(
            frequencies(f"{scaling}_width_{2 * pairs}", f"{scaling}, {COUNTS[pairs]} pairs")(
                clauses, width=2 * pairs, scaling=scaling, **attributes
            )
            for scaling, (clauses, attributes) in scalings.items()
            for pairs in (5, 9)
        ),
        *(
            frequencies(f"longrope_width_{2 * pairs}", f"longrope, {COUNTS[pairs]} pairs")(
                ("longrope.long", "attention_factor.longrope"),
                width=2 * pairs,
                scaling="longrope",
                factor=4.0,
                original_length=64,
                sequence_length=128,
                short_factors=[1.0 + pair / 8.0 for pair in range(pairs)],
                long_factors=[2.0 + pair / 2.0 for pair in range(pairs)],
            )
            for pairs in (5, 9)
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of odd and of large counts."""
    return (
        *of_rotations(),
        # Make tables of every count of pairs, and of frequencies that float32 does not hold.
        *(
            tables(f"{pairs}_pairs", f"{word} pairs at one position")(
                [[3]], (np.arange(pairs, 0, -1) / 32.0).tolist(), dtypes=EVERY_DTYPE
            )
            for pairs, word in COUNTS.items()
        ),
        tables("many_digits", "frequencies of 46 bits")(
            [[0, 1, 5]], np.abs(digits("tables", (3,))).tolist(), dtypes=("float64",)
        ),
        tables("many_digits_factor", "frequencies and an attention factor of many bits")(
            [[2, 7]],
            np.abs(digits("tables_factor", (3,))).tolist(),
            ("attention_factor",),
            dtypes=("float64",),
            attention_factor=1.1386294361119891,
        ),
        *(tables(f"{tokens}_tokens", f"{tokens} tokens")([list(range(tokens))], (0.5, 0.25)) for tokens in (9,)),
        *of_frequencies(),
    )
