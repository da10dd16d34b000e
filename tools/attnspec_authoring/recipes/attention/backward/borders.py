"""Windows and causality that end at the border of a tile, on either side of it; features behind the last block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

BORDERS = (8, 16, 32, 64)
"""Tiles that kernels have. Their borders are those of tiles of 2 and 4, too."""
WINDOWS: tuple[list[int | None], ...] = ([1, 0], [0, 1], [0, 0], [3, 2], [7, 0], [0, 7], [8, 8], [1, None], [None, 1])


def key_cases() -> tuple[AuthoredCase, ...]:
    """Three queries that stand before, at and behind the first key of a tile."""
    made: list[AuthoredCase] = []
    for border in BORDERS:
        sizes = Sizes(1, 1, 1, 3, border + 2, 1, 1)
        edges: tuple[tuple[str, dict[str, Any]], ...] = (
            ("1_0", {"window": [1, 0]}),
            ("2_1", {"window": [2, 1]}),
            (f"{border // 2}_0", {"window": [border // 2, 0]}),
            ("causal", {"is_causal": True}),
        )
        made += [
            gradients(
                f"keys_border_{border}_{name}",
                f"Three queries at the border of a tile of {border} keys, {name.replace('_', ' ')}",
            )(sizes, causal_alignment=BOTTOM_RIGHT, derived=STORED if border == 16 else (), **feature)
            for name, feature in edges
        ]
    return tuple(made)


def query_cases() -> tuple[AuthoredCase, ...]:
    """Three keys that are heard by queries up to the border of a tile of queries, or from it on."""
    made: list[AuthoredCase] = []
    for border in BORDERS:
        made += [
            gradients(
                f"queries_border_{border}_until", f"A window ends for three keys at the border of {border} queries"
            )(Sizes(1, 1, 1, border + 4, 3, 1, 1), window=[border - 2, 0], causal_alignment=TOP_LEFT),
            gradients(
                f"queries_border_{border}_from", f"A window begins for three keys at the border of {border} queries"
            )(Sizes(1, 1, 1, border + 2, 3, 1, 1), window=[1, 0], causal_alignment=BOTTOM_RIGHT),
            gradients(
                f"queries_border_{border}_before",
                f"Queries before the keys reach forward, from the border of {border} on",
            )(Sizes(1, 1, 1, border + 4, 3, 1, 1), window=[None, 1], causal_alignment=BOTTOM_RIGHT),
        ]
    return tuple(made)


def square_cases() -> tuple[AuthoredCase, ...]:
    """Tiles of both sides: skipped, taken whole, and cut by the edge of a window."""
    return (
        *(
            gradients(
                f"square_18_{'_'.join('open' if side is None else str(side) for side in window)}",
                f"Eighteen tokens and the window {window}",
            )(Sizes(1, 1, 1, 18, 18, 1, 1), window=window)
            for window in WINDOWS
        ),
        gradients("more_18_causal_window", "Causality and a window, 14 queries over 18 keys, bottom-right")(
            Sizes(1, 1, 1, 14, 18, 1, 1), is_causal=True, window=[3, 4], causal_alignment=BOTTOM_RIGHT
        ),
        gradients("fewer_18_causal_window", "Causality and a window, 18 queries over 13 keys, bottom-right, and sinks")(
            Sizes(1, 1, 1, 18, 13, 1, 1), is_causal=True, window=[4, None], sinks=[0.5], causal_alignment=BOTTOM_RIGHT
        ),
        gradients(
            "lengths_18_window", "A window beside lengths whose difference is another in each entry, bottom-right"
        )(
            Sizes(3, 1, 1, 9, 18, 1, 1),
            window=[3, 0],
            key_lengths=[18, 16, 9],
            query_lengths=[9, 4, 8],
            causal_alignment=BOTTOM_RIGHT,
        ),
        gradients(
            "lengths_18_causal", "Causality beside lengths, more queries than keys in some entries, bottom-right"
        )(
            Sizes(3, 1, 1, 18, 9, 1, 1),
            is_causal=True,
            key_lengths=[9, 4, 8],
            query_lengths=[18, 16, 9],
            causal_alignment=BOTTOM_RIGHT,
        ),
    )


def width_cases() -> tuple[AuthoredCase, ...]:
    """Features behind the last whole block of 32, 64 and 128."""
    widths = ((40, 3), (3, 40), (67, 35), (35, 67), (131, 2), (2, 131), (48, 33))
    return tuple(
        gradients(
            f"features_{width}_{of_values}",
            f"Queries and keys of {width} features, values of {of_values}: blocks and what is left",
        )(
            Sizes(1, 1, 1, 1, 2, width, of_values),
            clauses=("scale.default", "grad_weights", "grad_query", "grad_key", "grad_value"),
            derived=STORED if of_values > 32 else (),
        )
        for width, of_values in widths
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases at borders."""
    return (*key_cases(), *query_cases(), *square_cases(), *width_cases())
