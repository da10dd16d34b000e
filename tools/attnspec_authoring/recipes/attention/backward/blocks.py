"""Keys and queries in blocks, and windows, causality and lengths that begin or end at their borders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    HIDDEN,
    TOP,
    TOP_LEFT,
    Sizes,
    floats,
)
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients
from attnspec_authoring.recipes.authoring import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

MANY = 257
"""One more than the largest block of queries or keys that kernels commonly have."""

REACHES: tuple[tuple[int, int], ...] = (
    (0, 72),
    (16, 72),
    (32, 72),
    (64, 72),
    (66, 72),
    (0, 16),
    (0, 64),
    (15, 17),
    (32, 64),
    (63, 65),
)
"""First key and the one behind the last that each query may attend to, at the borders of blocks."""


def reached(keys: int, reaches: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    """Return a mask of a row for each extent."""
    columns = np.arange(keys)
    return np.array([(columns >= first) & (columns < end) for first, end in reaches])


def up_to(keys: int) -> tuple[tuple[int, int], ...]:
    """Return the reaches that begin within so many keys, and end with them at the latest."""
    return tuple((first, min(end, keys)) for first, end in REACHES if first < keys)


def query_cases() -> tuple[AuthoredCase, ...]:
    """More queries than a block has: what is summed over them."""
    causal: dict[str, Any] = {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}
    return (
        gradients(f"queries_{MANY}_sinks_mask", f"A sink and a float mask of one row sum over {MANY} queries")(
            Sizes(1, 1, 1, MANY, 2, 1, 1), sinks=[0.5], mask=np.array([[0.5, -0.25]])
        ),
        gradients(
            "queries_271_stored",
            "A sink and a float mask of one row sum over 271 queries, and output and logsumexp are given",
        )(Sizes(1, 1, 1, 271, 3, 1, 1), sinks=[-0.25], mask=np.array([[0.25, 0.0, -0.5]]), derived=STORED),
        gradients(
            "queries_66_grouped",
            "Sinks of two heads that share a key, 66 queries and a mask for each head, and output and logsumexp",
        )(
            Sizes(1, 2, 1, 66, 2, 1, 1),
            sinks=[0.5, -1.0],
            mask=floats(2, 1, 2, hides=False),
            softcap=1.5,
            derived=STORED,
        ),
        gradients("queries_68_lengths", "Of 68 queries, 67 and 65 count; a sink and the row of a mask hear them alone")(
            Sizes(2, 1, 1, 68, 1, 1, 1), sinks=[0.25], mask=np.array([[0.5]]), query_lengths=[67, 65]
        ),
        gradients("queries_132_before_the_keys", "Causality leaves the first 130 of 132 queries nothing but a sink")(
            Sizes(1, 1, 1, 132, 2, 1, 1), sinks=[0.5], with_grad_logsumexp=True, **causal
        ),
        gradients("queries_70_without_keys_first", "Causality leaves the first 66 of 70 queries nothing")(
            Sizes(1, 1, 1, 70, 4, 1, 1), **causal
        ),
        gradients("queries_70_without_keys_last", "A window leaves the last 62 of 70 queries nothing")(
            Sizes(1, 1, 1, 70, 5, 1, 1), window=[3, 1], **TOP
        ),
        gradients("queries_72_hidden_blocks", "Keys that are each heard by the queries of some blocks alone")(
            Sizes(1, 1, 1, 72, len(up_to(72)), 1, 1), mask=reached(72, up_to(72)).T
        ),
    )


BORDERS = (8, 16, 32, 64)
"""Tiles that kernels have. Their borders are those of tiles of 2 and 4, too."""
WINDOWS: tuple[list[int | None], ...] = ([1, 0], [0, 1], [0, 0], [3, 2], [7, 0], [0, 7], [8, 8], [1, None], [None, 1])


def key_border_cases() -> Iterator[AuthoredCase]:
    """Three queries that stand before, at and behind the first key of a tile."""
    for border in BORDERS:
        sizes = Sizes(1, 1, 1, 3, border + 2, 1, 1)
        edges: tuple[tuple[str, dict[str, Any]], ...] = (
            ("1_0", {"window": [1, 0]}),
            ("2_1", {"window": [2, 1]}),
            (f"{border // 2}_0", {"window": [border // 2, 0]}),
            ("causal", {"is_causal": True}),
        )
        yield from (
            gradients(
                f"keys_border_{border}_{name}",
                f"Three queries at the border of a tile of {border} keys, {name.replace('_', ' ')}",
            )(sizes, **BOTTOM, derived=STORED if border == 16 else (), **feature)
            for name, feature in edges
        )


def query_border_cases() -> Iterator[AuthoredCase]:
    """Three keys that are heard by queries up to the border of a tile of queries, or from it on."""
    for border in BORDERS:
        yield from (
            gradients(
                f"queries_border_{border}_until", f"A window ends for three keys at the border of {border} queries"
            )(Sizes(1, 1, 1, border + 4, 3, 1, 1), window=[border - 2, 0], **TOP),
            gradients(
                f"queries_border_{border}_from", f"A window begins for three keys at the border of {border} queries"
            )(Sizes(1, 1, 1, border + 2, 3, 1, 1), window=[1, 0], **BOTTOM),
            gradients(
                f"queries_border_{border}_before",
                f"Queries before the keys reach forward, from the border of {border} on",
            )(Sizes(1, 1, 1, border + 4, 3, 1, 1), window=[None, 1], **BOTTOM),
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
            clauses="scale.default grad_weights grad_query grad_key grad_value",
            derived=STORED if of_values > 32 else (),
        )
        for width, of_values in widths
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    case = table(gradients, with_grad_logsumexp=True)
    return (
        *query_cases(),
        # More keys than a block has: what is summed over them, and what counts once however many blocks there are.
        gradients("keys_269_sinks", "Two sinks beside 269 keys, of which every third has a bias")(
            Sizes(1, 2, 1, 1, 269, 1, 1),
            sinks=[2.0, 3.0],
            mask=np.where(np.arange(269) % 3 == 0, 0.5, 0.0).reshape(1, 269),
        ),
        gradients("keys_75_sinks", "A sink beside 75 keys, for two queries")(Sizes(1, 1, 1, 2, 75, 1, 1), sinks=[2.5]),
        gradients(
            "keys_40_sinks", "Sinks and a row of a float mask beside forty keys, and output and logsumexp are given"
        )(Sizes(1, 2, 1, 3, 40, 1, 1), derived=STORED, sinks=[3.0, 1.5], mask=floats(1, 40, hides=False)),
        case(f"keys_{MANY}_sinks", f"One sink beside {MANY} keys, and a gradient of the logsumexp")(
            Sizes(1, 1, 1, 2, MANY, 1, 1), sinks=[5.0]
        ),
        case("keys_72_softcap_alibi", "A softcap and biases by distance over 72 keys")(
            Sizes(1, 2, 1, 3, 72, 1, 1), softcap=1.5, alibi_slopes=[0.0625, 0.5], **BOTTOM
        ),
        gradients("keys_36_lengths", "Lengths at the borders of blocks, and a window from the bottom right")(
            Sizes(3, 1, 1, 4, 36, 1, 1), key_lengths=[34, 32, 17], query_lengths=[4, 3, 4], window=[2, 0], **BOTTOM
        ),
        # Blocks of keys that some queries may attend to and others may not, by each of the ways to exclude.
        gradients("hidden_blocks_boolean", "A Boolean mask leaves each query the keys of some blocks")(
            Sizes(1, 1, 1, len(up_to(68)), 68, 1, 1), mask=reached(68, up_to(68))
        ),
        gradients("hidden_blocks_float", "A float mask leaves each query the keys of some blocks")(
            Sizes(1, 1, 1, len(up_to(34)), 34, 1, 1), mask=np.where(reached(34, up_to(34)), 0.25, HIDDEN)
        ),
        case("hidden_blocks_sinks", "A Boolean mask leaves each query the keys of some blocks, and a sink")(
            Sizes(1, 1, 1, len(up_to(20)), 20, 1, 1), mask=reached(20, up_to(20)), sinks=[-0.5]
        ),
        *(
            gradients(
                f"hidden_blocks_window_{alignment}",
                f"A window ends within a block for some queries and before it for others, {alignment}",
            )(Sizes(1, 1, 1, *extents, 1, 1), window=window, causal_alignment=alignment)
            for alignment, extents, window in ((BOTTOM_RIGHT, (9, 69), [3, 0]), (TOP_LEFT, (40, 38), [2, 1]))
        ),
        gradients(
            "hidden_blocks_causal_window",
            "A window and causality, where the first block of some queries lies before their window",
        )(Sizes(1, 1, 1, 8, 133, 1, 1), window=[4, None], **BOTTOM_CAUSAL, alibi_slopes=[-0.5]),
        *key_border_cases(),
        *query_border_cases(),
        # Tiles of both sides: skipped, taken whole, and cut by the edge of a window.
        *(
            gradients(
                f"square_18_{'_'.join('open' if side is None else str(side) for side in window)}",
                f"Eighteen tokens and the window {window}",
            )(Sizes(1, 1, 1, 18, 18, 1, 1), window=window)
            for window in WINDOWS
        ),
        gradients("more_18_causal_window", "Causality and a window, 14 queries over 18 keys, bottom-right")(
            Sizes(1, 1, 1, 14, 18, 1, 1), is_causal=True, window=[3, 4], **BOTTOM
        ),
        gradients("fewer_18_causal_window", "Causality and a window, 18 queries over 13 keys, bottom-right, and sinks")(
            Sizes(1, 1, 1, 18, 13, 1, 1), is_causal=True, window=[4, None], sinks=[0.5], **BOTTOM
        ),
        gradients(
            "lengths_18_window", "A window beside lengths whose difference is another in each entry, bottom-right"
        )(Sizes(3, 1, 1, 9, 18, 1, 1), window=[3, 0], key_lengths=[18, 16, 9], query_lengths=[9, 4, 8], **BOTTOM),
        gradients(
            "lengths_18_causal", "Causality beside lengths, more queries than keys in some entries, bottom-right"
        )(Sizes(3, 1, 1, 18, 9, 1, 1), is_causal=True, key_lengths=[9, 4, 8], query_lengths=[18, 16, 9], **BOTTOM),
        *width_cases(),
    )
