"""Case generator of rotary tables: positions in any order, near and far, and frequencies of any size from 0 to 1."""

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.memory import laid_out
from attnspec_draws.generators.words import Words, full_width, whole_numbers

_AXES = ("batch", "tokens", "pairs")
_LONG = {"tokens": 5, "pairs": 4, "batch": 1}
"""Which axes are long, with weights."""

_POSITIONS = {"counted": 3, "shifted": 4, "any": 6, "backwards": 2, "repeated": 1}
_FARTHEST = {15: 3, 300: 4, 5000: 3, 131071: 2}
"""How positions follow one another, and the farthest, with weights."""

_ALIKE = 30
"""Of a hundred draws, how many have the same positions in every entry of the batch."""

TURNED = "turned_inside"
_TURNED = 12
"""Of a hundred draws, those with inner positions reversed: the ends then look as if they followed one another."""

_FREQUENCIES = {"halving": 4, "full_width": 5, "standing": 1}
_HALVINGS = 10
"""Numbers of the frequencies, with weights; how often the last of those that fall has been halved."""

_WITH_FACTOR = 40
_FACTORS = (0.5, 1.0, 1.25, 1.1386, 2.0, 0.0, -0.5)
"""Of a hundred draws, how many state an attention factor, and which."""


def draw_tables(words: Words, limits: Limits) -> Drawn:
    """Draw a case of rotary tables."""
    extents = as_stated(draw_axes(words.of("extents"), _AXES, _LONG, limits), limits)
    stream = words.of("factor")
    factor = stream.percent(_WITH_FACTOR) and limits.allow("attention_factor")
    stated = {"attention_factor": stream.one_of(_FACTORS)} if factor else {}
    kind = words.of("frequencies").weighted(_FREQUENCIES)
    kind = kind if kind == "halving" or limits.allow("full_width") else "halving"
    positions = _positions(words, extents["batch"], extents["tokens"])
    turned = words.of("turned inside").percent(_TURNED) and limits.allow(TURNED)
    if turned:
        positions[:, 1:-1] = positions[:, -2:0:-1].copy()
    inputs = {
        "position_ids": positions,
        "inverse_frequencies": _frequencies(words, extents["pairs"], kind, limits),
    }
    features = {"full_width": kind != "halving", "attention_factor": factor, TURNED: turned}
    clauses = {"positions": True, "batch": extents["batch"] > 1, "precision.phases": True, "cosine": True, "sine": True}
    return laid_out(
        words,
        limits,
        "rotary_tables",
        inputs,
        features=those(features),
        clauses=(*those(clauses), "attention_factor", "shape"),
        attributes=stated,
        extents=extents,
    )


def _positions(words: Words, batch: int, tokens: int) -> NDArray[np.int64]:
    stream = words.of("positions")
    kind, farthest, alike = stream.weighted(_POSITIONS), stream.weighted(_FARTHEST), stream.percent(_ALIKE)
    any_position = whole_numbers(words.varied("position_ids"), (batch, tokens), 0, farthest)
    counted = np.arange(tokens)
    positions = {
        "counted": np.broadcast_to(counted, any_position.shape),
        "shifted": any_position[:, :1] + counted,
        "any": any_position,
        "backwards": any_position[:, :1] + counted[::-1],
        "repeated": np.broadcast_to(any_position[:, :1], any_position.shape),
    }[kind]
    return np.array(np.broadcast_to(positions[:1], any_position.shape) if alike else positions)


def _frequencies(words: Words, pairs: int, kind: str, limits: Limits) -> NDArray[np.float64]:
    stream = words.varied("inverse_frequencies")
    if kind == "halving":
        return 2.0 ** -(np.arange(pairs) * _HALVINGS // max(pairs, 1)) * (whole_numbers(stream, (pairs,), 8, 15) / 8)
    found = rounded_to(np.abs(full_width(stream, (pairs,), limits.dtype)) / 2, limits.dtype)
    if kind == "standing":
        found[1::2] = 0.0
    return found
