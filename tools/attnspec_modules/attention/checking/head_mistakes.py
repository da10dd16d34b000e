"""Usual mistakes of heads inside a layer: how they are rotated, each with what it makes of them, and how shared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from attnspec_modules.attention.checking.composed_attention import (
    Array,
    Heads,
    Share,
    Turn,
    rotated,
    shared_by_neighbours,
)
from attnspec_modules.attention.layer_reading import Rotation
from attnspec_modules.attention.rotating import angles_of

_OTHER_BASES = (10.0, 100.0, 1000.0, 1024.0, 5000.0, 10_000.0, 50_000.0, 100_000.0, 500_000.0, 1_000_000.0)

_OTHER = {"half": "interleaved", "interleaved": "half"}
_PAIRS = {"half": "halves (i with i + E/2)", "interleaved": "neighbours (2i with 2i + 1)"}


def rotary_mistakes(rotation: Rotation) -> Iterator[tuple[str, Turn]]:
    """Yield sentences, without an end, on what was done in place of a rotation, and what it gives."""
    once = _of(rotation, rotation)
    yield (
        "rotary positions have no effect: neither queries nor keys are rotated, or the rotation does not count tokens",
        _of(),
    )
    yield "the keys are not rotated, and the queries are", _of(query=rotation)
    yield "the queries are not rotated, and the keys are", _of(key=rotation)
    yield "the values are rotated, too, and not queries and keys alone", _of(rotation, rotation, rotation)
    yield "the values are rotated in place of the keys", _of(query=rotation, value=rotation)
    yield "queries and keys are rotated twice", lambda heads: once(once(heads))
    yield (
        "positions are counted over the heads, and not over the tokens: the rotation takes the axis of heads for "
        "that of tokens",
        _over_heads(rotation),
    )
    yield "queries and keys are rotated before they are cut into heads", _before_cutting(rotation)
    yield from _of_pairs(rotation)
    yield from _of_frequencies(rotation)


def _of(query: Rotation | None = None, key: Rotation | None = None, value: Rotation | None = None) -> Turn:
    rotations = {"query": query, "key": key, "value": value}

    def turn(heads: Heads) -> Heads:
        return {
            name: array if (own := rotations[name]) is None else rotated(array, own, range(array.shape[2]))
            for name, array in heads.items()
        }

    return turn


def _over_heads(rotation: Rotation) -> Turn:
    def turn(heads: Heads) -> Heads:
        swapped = {name: heads[name].swapaxes(1, 2) for name in ("query", "key")}
        turned = {name: rotated(each, rotation, range(each.shape[2])) for name, each in swapped.items()}
        return {**heads, **{name: each.swapaxes(1, 2) for name, each in turned.items()}}

    return turn


def _before_cutting(rotation: Rotation) -> Turn:
    def turned(array: Array) -> Array:
        batch, heads, tokens, width = array.shape
        whole = array.transpose(0, 2, 1, 3).reshape(batch, 1, tokens, heads * width)
        cut = rotated(whole, rotation, range(tokens)).reshape(batch, tokens, heads, width)
        return cut.transpose(0, 2, 1, 3)

    return lambda heads: {**heads, **{name: turned(heads[name]) for name in ("query", "key")}}


def _of_pairs(rotation: Rotation) -> Iterator[tuple[str, Turn]]:
    """Yield mistakes in what is done with a pair of features."""
    paired, laid = (_PAIRS[each] for each in (rotation.pairing, _OTHER[rotation.pairing]))
    yield f"features are paired as {paired}, and the tables of angles lie for {laid}", _turned(rotation, crossed=True)
    yield "queries and keys are rotated backwards: the sine has the wrong sign", _turned(rotation, signs=(1, -1))
    yield (
        "the first feature of a pair lacks the minus sign of its sine, so that nothing is rotated",
        _turned(rotation, signs=(1, 1)),
    )
    yield "the second feature of a pair has a minus sign, too", _turned(rotation, signs=(-1, -1))
    yield "keys are rotated backwards, and queries are not", _turned(rotation, signs=(1, -1), names=("key",))
    yield "queries are rotated backwards, and keys are not", _turned(rotation, signs=(1, -1), names=("query",))
    yield "cosine and sine are swapped", _turned(rotation, swapped=True)


def _turned(
    rotation: Rotation,
    *,
    signs: tuple[int, int] = (-1, 1),
    crossed: bool = False,
    swapped: bool = False,
    names: tuple[str, ...] = ("query", "key"),
) -> Turn:
    """Return x · cos + partner · sin, with signs of the partners; `crossed` tables lie for the other pairing."""

    def partner(array: Array) -> Array:
        found = np.empty_like(array)
        first, second = _positions_of_pairs(array.shape[-1], rotation.pairing)
        found[..., first], found[..., second] = signs[0] * array[..., second], signs[1] * array[..., first]
        return found

    def turned(array: Array) -> Array:
        angles = angles_of(range(array.shape[2]), array.shape[-1], rotation)
        table = np.empty((array.shape[2], array.shape[-1]))
        pairing = _OTHER[rotation.pairing] if crossed else rotation.pairing
        for positions in _positions_of_pairs(array.shape[-1], pairing):
            table[:, positions] = angles
        cosine, sine = (np.sin(table), np.cos(table)) if swapped else (np.cos(table), np.sin(table))
        return array * cosine + partner(array) * sine

    as_it_should = _of(rotation, rotation)
    return lambda heads: {**as_it_should(heads), **{name: turned(heads[name]) for name in names}}


def _positions_of_pairs(width: int, pairing: str) -> tuple[slice, slice]:
    if pairing == "half":
        return slice(0, width // 2), slice(width // 2, width)
    return slice(0, width, 2), slice(1, width, 2)


def _of_frequencies(rotation: Rotation) -> Iterator[tuple[str, Turn]]:
    """Yield mistakes in the frequencies: another base, or another exponent."""
    exponents: tuple[tuple[str, float], ...] = (
        ("the exponent of the frequencies lacks its factor 2 (-i/E in place of -2i/E)", 0.5),
        ("the exponent of the frequencies has its factor 2 twice (-4i/E in place of -2i/E)", 2.0),
        ("the exponent of the frequencies has the wrong sign", -1.0),
    )
    for sentence, power in exponents:
        other = replace(rotation, theta=rotation.theta**power)
        yield f"{sentence}, or their base is {other.theta:g}, and not {rotation.theta:g}", _of(other, other)
    for base in _OTHER_BASES:
        if base != rotation.theta:
            other = replace(rotation, theta=base)
            yield f"the base of the frequencies is {base:g}, and not {rotation.theta:g}", _of(other, other)
    yield "the exponent of the frequencies divides by the features of a token, not of a head", _by_width(rotation)


def _by_width(rotation: Rotation) -> Turn:
    def turn(heads: Heads) -> Heads:
        count: Any = heads["query"].shape[1]
        other = replace(rotation, theta=rotation.theta ** (1 / count))
        return _of(other, other)(heads)

    return turn


def group_mistakes() -> Iterator[tuple[str, Share]]:
    """Yield sentences, without an end, on how keys and values were shared, and what does it."""
    yield (
        f"the heads of keys and values are {_AS_TILES}",
        lambda keys, values, heads: (
            _tiled(keys, heads),
            _tiled(values, heads),
        ),
    )
    yield (
        f"the heads of keys alone are {_AS_TILES}",
        lambda keys, values, heads: (
            _tiled(keys, heads),
            shared_by_neighbours(keys, values, heads)[1],
        ),
    )
    yield (
        f"the heads of values alone are {_AS_TILES}",
        lambda keys, values, heads: (
            shared_by_neighbours(keys, values, heads)[0],
            _tiled(values, heads),
        ),
    )
    yield (
        "the first head of keys and values serves all heads of queries",
        lambda keys, values, heads: shared_by_neighbours(keys[:, :1], values[:, :1], heads),
    )
    yield (
        "the groups of heads come in reverse",
        lambda keys, values, heads: shared_by_neighbours(keys[:, ::-1], values[:, ::-1], heads),
    )


_AS_TILES = (
    "tiled (0, 1, 0, 1, …), as `repeat` does, where neighbours are to share one (0, 0, …, 1, 1, …), as "
    "`repeat_interleave` does"
)


def _tiled(array: Array, heads: int) -> Array:
    return np.tile(array, (1, heads // array.shape[1], 1, 1))
