"""Case generator of applying rotary positions: both pairings, features that are left alone, tables of any numbers."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec.families.rotary.tolerances import paired_features
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.memory import laid_out, share_memory
from attnspec_draws.generators.refusing import Misfit
from attnspec_draws.generators.special_numbers import NOT_FINITE, make_alike, spoil_one
from attnspec_draws.generators.words import Stream, Words, coarse, coarse_or_wide, whole_numbers

_AXES = ("batch", "heads", "tokens", "pairs")
_LONG = {"tokens": 5, "pairs": 4, "heads": 2, "batch": 1, "untouched": 1}
"""Which axes are long, with weights."""

PARTIAL, NONFINITE, STANDING = "partial_rotation", "nonfinite", "standing_tokens"
_PARTIAL, _NONFINITE = 40, 8
"""Of a hundred draws, how many have features that are not rotated, and a feature that is not finite."""

_STANDING, _STAND, _SPOILT = 8, 30, 50
"""Of a hundred draws, those with unturned tokens; of a hundred tokens; of such draws, the first one not finite."""

HEAVY = "heavy"
_HEAVY = 10
"""Of a hundred draws in float16, how many have features whose products with the tables exceed it."""

_FIRST, _SECOND = (55500.0, 1250.0), (21000.0, 500.0)
_COSINE, _SINE = 1.25, 0.5
"""Size of the heavy features of a pair, and what coarse numbers move it by; and the tables beside them. The first
times the cosine lies between 66,000 and 73,000, of which the second times the sine takes between 10,000 and 11,000
away: the expected result lies between 51,000 and 63,000, and float16 ends at 65,504."""

_FEWEST_PARTIAL = 3
"""A pair, and a feature beside it."""

_PAIRINGS = {"": 2, "half": 4, "interleaved": 5}
_TABLES = {"coarse": 5, "full_width": 3, "quarter_turns": 2}
"""Numbers of the tables, with weights: the page does not ask that they are a cosine and a sine."""

_UNKNOWN_PAIRINGS = ("", "HALF", "halves", "neox")
"""Names of a pairing elsewhere, and names of none: refused whether one is stated or not."""

MISFIT_OF_ROTATION = Misfit("pairing", "apply_rotary.rejects.pairing", lambda _: _UNKNOWN_PAIRINGS)

_TURNS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
"""Cosine and sine of right angles."""


def draw_rotation(words: Words, limits: Limits) -> Drawn:
    """Draw a case of applying rotary positions."""
    extents = _extents(words.of("extents"), limits)
    pairing = words.of("pairing").weighted(_PAIRINGS)
    stated = bool(pairing) and limits.allow("pairing", f"pairing={pairing}")
    kind = words.of("tables").weighted(_TABLES)
    kind = kind if limits.allow(kind) else "coarse"
    inputs = _numbers(words, extents, kind, limits)
    alike = make_alike(words, inputs, ("cos", "sin"), limits)
    spoilt = words.of("spoilt").percent(_NONFINITE) and limits.allow(NONFINITE)
    if spoilt:
        spoil_one(words, inputs["x"])
    stands, spoils = _stand(words, inputs, limits)
    spoilt |= spoils
    layouts, in_memory = share_memory(words, inputs, ("cos", "sin"), limits)
    is_plain = not (alike or spoilt or stands or in_memory)
    heavy = is_plain and _make_heavy(words, inputs, extents, pairing if stated else "half", limits)
    is_partial = extents["untouched"] > 0
    features = {kind: kind != "coarse", PARTIAL: is_partial, "pairing": stated, NONFINITE: spoilt}
    clauses = {"tokens": True, "rotation": True, "shape": True, "untouched": is_partial}
    clauses |= {f"pairing.{pairing if stated else 'default'}": True, "nonfinite": spoilt}
    return laid_out(
        words,
        limits,
        "apply_rotary",
        inputs,
        features=those({**features, STANDING: stands, HEAVY: heavy}),
        behind=(*alike, *in_memory),
        clauses=those(clauses),
        memory_order=layouts,
        attributes={"pairing": pairing} if stated else {},
        extents=extents,
    )


def _stand(words: Words, inputs: dict[str, NDArray[np.float64]], limits: Limits) -> tuple[bool, bool]:
    """Turn some tokens by no angle, or none; return whether any stands, and whether one holds a non-finite number."""
    stream = words.of("standing")
    standing = whole_numbers(words.of("standing tokens"), inputs["cos"].shape[:2], 0, 99) < _STAND
    stands, spoils, number = stream.percent(_STANDING), stream.percent(_SPOILT), stream.one_of(NOT_FINITE)
    head, feature = (stream.below(inputs["x"].shape[axis]) for axis in (1, 3))
    if not stands or not standing.any() or not limits.allow(STANDING):
        return False, False
    inputs["cos"][standing], inputs["sin"][standing] = 1.0, 0.0
    if not spoils or not limits.allow(NONFINITE):
        return True, False
    entry, token = np.argwhere(standing)[0]
    inputs["x"][entry, head, token, feature] = number
    return True, True


def _make_heavy(
    words: Words, inputs: dict[str, NDArray[np.float64]], extents: Mapping[str, int], pairing: str, limits: Limits
) -> bool:
    """Make products of features and tables too large for float16, but not the expected result; return whether done."""
    if not words.of(HEAVY).percent(_HEAVY) or limits.dtype != "float16" or not limits.allow(HEAVY):
        return False
    batch, heads, tokens, pairs = (extents[axis] for axis in _AXES)
    signs: dict[str, NDArray[Any]] = {
        name: 1.0 - 2.0 * whole_numbers(words.of(f"sign of {name}"), shape, 0, 1)
        for name, shape in (
            ("cos", (batch, 1, tokens, pairs)),
            ("sin", (batch, 1, tokens, pairs)),
            ("x", (batch, heads, tokens, pairs)),
        )
    }
    inputs |= {name: size * signs[name][:, 0] for name, size in (("cos", _COSINE), ("sin", _SINE))}
    first, second = (
        rounded_to(size + step * coarse(words.varied(f"heavy {name}"), signs["x"].shape), limits.dtype)
        for name, (size, step) in (("first", _FIRST), ("second", _SECOND))
    )
    of_first, of_second = paired_features(pairs, pairing)
    inputs["x"][..., of_first] = signs["x"] * first
    inputs["x"][..., of_second] = signs["x"] * signs["cos"] * signs["sin"] * second
    return True


def _extents(stream: Stream, limits: Limits) -> dict[str, int]:
    lengths = draw_axes(stream, (*_AXES, "untouched"), _LONG, limits)
    if not stream.percent(_PARTIAL) or not limits.allow(PARTIAL) or limits.elements < _FEWEST_PARTIAL:
        lengths["untouched"] = 0
    return as_stated(lengths, limits, lambda found: math.prod(found[axis] for axis in _AXES[:3]) * _width(found))


def _width(lengths: Mapping[str, int]) -> int:
    return 2 * lengths["pairs"] + lengths["untouched"]


def _numbers(words: Words, extents: Mapping[str, int], kind: str, limits: Limits) -> dict[str, NDArray[np.float64]]:
    batch, heads, tokens, pairs = (extents[axis] for axis in _AXES)
    shapes = {
        "x": (batch, heads, tokens, _width(extents)),
        "cos": (batch, tokens, pairs),
        "sin": (batch, tokens, pairs),
    }
    is_wide = kind == "full_width"
    inputs = {
        name: coarse_or_wide(words.varied(name), shape, limits.dtype, is_wide=is_wide) for name, shape in shapes.items()
    }
    if kind == "quarter_turns":
        turns = _TURNS[whole_numbers(words.varied("turns"), shapes["cos"], 0, 3)]
        inputs |= {"cos": turns[..., 0].copy(), "sin": turns[..., 1].copy()}
    return inputs
