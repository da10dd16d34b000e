"""Widths with which a layer of latent attention is made, so that it holds the features of a case.

Where a width follows from others, heads are wider than those of the case: further features are 0, and queries are
larger by a power of two, which undoes what the wider heads do to the scale. Widths beside rotary features are even: a
layer may read these as complex numbers where they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from attnspec.base.errors import Unsupported
from attnspec_modules.attention.layer_reading import LatentTies, LatentWidths

_MOST_DOUBLINGS = 6


class Needed(NamedTuple):
    """Features that a case has: `tokens` are those of a token, `query_latent` those of the latents of queries.

    Without `query_latent` these are as wide as all queries are.
    """

    heads: int
    content: int
    rotary: int
    value: int
    latent: int
    tokens: int
    query_latent: int | None = None


class Chosen(NamedTuple):
    """Features of the tokens of a layer, its other widths, and the factor by which its queries are larger."""

    tokens: int
    widths: LatentWidths
    factor: float


def possible_ties(words: frozenset[str]) -> Iterator[LatentTies]:
    """Yield the ties that a layer may have that is made with some words, the likeliest first."""
    rotary = (True,) if "rotary" in words else (False,)
    head_widths = ("content", "joined") if "head_width" in words else ("content",)
    contents = ("own",) if {"content", "head_width"} & words else ("head", "rest") if "rotary" in words else ("head",)
    values = {"own": ("content", "joined", "head"), "head": ("content",), "rest": ("content", "joined")}
    for has_rotary, head_width, content in product(rotary, head_widths, contents):
        for value in ("own",) if "value_width" in words else values[content]:
            yield LatentTies(content, value, head_width, has_rotary)


def widths_for(ties: LatentTies, needed: Needed) -> Chosen:
    """Return the narrowest widths of a layer that hold what is needed, and have its scale but for a power of two.

    Raises Unsupported where there are none.
    """
    if needed.rotary and not ties.has_rotary:
        raise Unsupported("it has no rotary features")
    rotary = needed.rotary + needed.rotary % 2
    if ties.has_rotary:
        rotary = max(rotary, 2)
    for doublings in range(_MOST_DOUBLINGS):
        joined = 4**doublings * (needed.content + needed.rotary)
        content = joined - rotary
        if content < needed.content or (rotary and content % 2):
            continue
        chosen = _of_content(ties, needed, content, rotary)
        if chosen is not None:
            return Chosen(*chosen, 2.0**doublings)
    raise Unsupported("its widths follow from others, and none of them fit")


def _of_content(ties: LatentTies, needed: Needed, content: int, rotary: int) -> tuple[int, LatentWidths] | None:
    """Return tokens and widths of a layer whose heads have so many features; None where something is too narrow."""
    heads, joined = needed.heads, content + rotary
    values = {"own": needed.value, "content": content, "joined": joined}
    tied = {"head": heads * content, "rest": heads * joined}
    # Some have as many features of tokens as all heads have, and refuse any other number that heads do not divide.
    least = max(needed.tokens, heads * values.get(ties.value, needed.value))
    tokens = tied.get(ties.content, -(-least // (2 * heads)) * 2 * heads)
    value = values.get(ties.value, tokens // heads)
    if tokens < least or value < needed.value or heads * value > tokens:
        return None
    widths = LatentWidths(
        content=content,
        rotary=rotary,
        value_width=value,
        latent=needed.latent + needed.latent % 2,
        query_latent=needed.query_latent or heads * joined,
        head_width=joined if ties.head_width == "joined" else content,
    )
    return tokens, widths
