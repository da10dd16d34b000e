"""Scales of entries where there are as many key heads, as many query heads, or as many of both; and scales of 0.

A shape says whose a scale is by its axes from the right alone. Where lengths are equal, every other reading fits, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, Sizes
from attnspec_authoring.recipes.attention.quantized.numbers import E4M3, E5M2, INT8, quantized

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_authoring.recipes.authoring import AuthoredCase

TENSORS = ("query", "key", "value")
SQUARE, WIDER, ROW = Sizes(2, 4, 2, 2, 3, 2), Sizes(4, 4, 2, 1, 3, 2), Sizes(1, 4, 2, 2, 3, 2)
OF_TWO: dict[str, tuple[float, ...]] = {"query": (0.0275, 0.0091), "key": (0.0123, 0.0415), "value": (0.37, 0.059)}
OF_THREE: dict[str, tuple[float, ...]] = {name: (*of_two, of_two[0] / 2.5) for name, of_two in OF_TWO.items()}
OF_FOUR: dict[str, tuple[float, ...]] = {name: (*of, of[1] * 3.5) for name, of in OF_THREE.items()}
FORMATS: dict[str, Any] = {"query": INT8, "key": E4M3, "value": E5M2}
ALL: dict[str, Any] = {"query": INT8, "key": INT8, "value": INT8}


def as_column(scales: tuple[float, ...]) -> tuple[tuple[float], ...]:
    """Return scales of batch entries, (B, 1)."""
    return tuple((scale,) for scale in scales)


def scales(of_each: Callable[[str], Any], tensors: tuple[str, ...] = TENSORS) -> dict[str, Any]:
    """Return the scales of some tensors by their names, each as it is for its tensor."""
    return {f"{tensor}_scale": of_each(tensor) for tensor in tensors}


def of_entries() -> tuple[AuthoredCase, ...]:
    """Return scales of batch entries, each alone and all, where heads are as many."""
    three = Sizes(3, 3, 3, 1, 3, 2)
    made = [
        quantized(
            f"{tensor}_scale_of_{name}",
            f"A scale of the {tensor} for each batch entry, of which there are as many as {words}",
        )(
            sizes,
            outputs=("output", "logsumexp"),
            **FORMATS,
            **scales(lambda name, of=of_each: as_column(of[name]), (tensor,)),
        )
        for tensor in TENSORS
        for name, words, sizes, of_each in (
            ("as_many_entries", "key heads", SQUARE, OF_TWO),
            ("entries_like_query_heads", "query heads", WIDER, OF_FOUR),
        )
    ]
    made.append(
        quantized("scales_of_three_entries", "Scales of three batch entries, each with three heads")(
            three, **ALL, **scales(lambda tensor: as_column(OF_THREE[tensor]))
        )
    )
    made.append(
        quantized(
            "scales_of_two_entries_lengths",
            "Scales of two batch entries, each with two key heads and its own lengths, causal",
        )(
            Sizes(2, 4, 2, 3, 4, 2),
            **FORMATS,
            **scales(lambda tensor: as_column(OF_TWO[tensor])),
            key_lengths=[4, 2],
            query_lengths=[2, 3],
            is_causal=True,
            causal_alignment=BOTTOM_RIGHT,
        )
    )
    return tuple(made)


def of_heads() -> tuple[AuthoredCase, ...]:
    """Return scales of heads in a row of their own, (1, Hkv), where batch entries are as many, and where one is."""
    given: tuple[tuple[str, str, Sizes, dict[str, Any]], ...] = (
        ("heads_in_a_row", "Scales (1, 2) of two heads, in two batch entries", SQUARE, {}),
        ("heads_in_a_row_of_one_entry", "Scales (1, 2) of two heads, in one batch entry", ROW, {}),
    )
    return (
        *(
            quantized(name, title)(sizes, **ALL, **scales(lambda tensor: (OF_TWO[tensor],)), **others)
            for name, title, sizes, others in given
        ),
        quantized("list_of_heads_of_every_scale", "Lists of two scales for two heads, in two batch entries")(
            SQUARE, **FORMATS, **scales(lambda tensor: OF_TWO[tensor])
        ),
        quantized(
            "unlike_owners",
            "A query scale for each batch entry, key scales of heads, and value scales of both, two of each",
        )(
            SQUARE,
            **FORMATS,
            query_scale=as_column(OF_TWO["query"]),
            key_scale=OF_TWO["key"],
            value_scale=((0.37, 0.059), (0.0213, 3.1)),
        ),
        quantized(
            "unlike_owners_turned",
            "Query scales of both, a key scale for each batch entry, and value scales of heads in a row, two of each",
        )(
            SQUARE,
            **FORMATS,
            query_scale=((0.0275, 0.0091), (0.013, 0.046)),
            key_scale=as_column(OF_TWO["key"]),
            value_scale=(OF_TWO["value"],),
        ),
        quantized("more_heads_than_entries", "Two batch entries of three key heads, with scales for each")(
            Sizes(2, 6, 3, 1, 3, 2), **FORMATS, **scales(lambda tensor: (OF_THREE[tensor], OF_THREE[tensor][::-1]))
        ),
        quantized("one_number_in_a_table", "One scale of each tensor, as (1, 1), in two batch entries of two heads")(
            SQUARE, **ALL, **scales(lambda tensor: ((OF_TWO[tensor][1],),))
        ),
    )


def of_unusual_numbers() -> tuple[AuthoredCase, ...]:
    """Return scales of 0, which a tensor of zeros has, and negative ones."""
    return (
        *(
            quantized(f"zero_{tensor}_scale", f"A scale of 0 of the {tensor} in the first head")(
                ROW, outputs=("output", "logsumexp"), **ALL, **scales(lambda name: (0.0, OF_TWO[name][1]), (tensor,))
            )
            for tensor in TENSORS
        ),
        *(
            quantized(f"negative_{tensor}_scale", f"A negative scale of the {tensor} in the second head")(
                ROW,
                outputs=("output", "logsumexp"),
                **ALL,
                **scales(lambda name: (OF_TWO[name][0], -OF_TWO[name][1]), (tensor,)),
            )
            for tensor in TENSORS
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases about scales whose shape could be read in two ways."""
    return (*of_entries(), *of_heads(), *of_unusual_numbers())
