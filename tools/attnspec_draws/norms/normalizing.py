"""Case generators of norms: features small and large beside epsilon, weights less 1, heads apart and together."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes, lengths_of
from attnspec_draws.generators.memory import laid_out
from attnspec_draws.generators.special_numbers import spoil_one
from attnspec_draws.generators.words import Words, coarse, coarse_or_wide

NONFINITE = "nonfinite"
_SPOILT = 8
"""Of a hundred draws, how many have a feature that is not finite."""

_NUMBERS = {"coarse": 5, "full_width": 4, "small": 2, "large": 2}
_FACTORS = {"small": 2.0**-8, "large": 2.0**9}
"""Classes of numbers, with weights, and factors of features: epsilon counts beside small ones, and float16 does not
hold the squares of large ones."""

CLASSES = frozenset(_NUMBERS) - {"coarse"}

_EPSILONS = (1e-6, 1e-5, 0.0, 0.5)
_OFFSETS = {"": 4, "zero": 2, "one": 4}
_OVER = {"": 4, "head": 2, "all_heads": 4}
_PAIRINGS = {"": 4, "half": 2, "interleaved": 4}
"""Values of attributes, with weights; the empty word where none is stated."""

_RANKS = {1: 1, 2: 3, 3: 4, 4: 2}
_OF_ROWS = ("batch", "heads", "tokens", "width")
_OF_PAIR = ("batch", "heads", "key_heads", "tokens", "width")
_LONG = {"width": 5, "tokens": 3, "heads": 1, "batch": 1}
"""Ranks of tokens, axes, and which of them are long, with weights."""

LARGEST = 2**22
"""Elements of the largest tensor that a judge grades: a tolerance takes as long as a few sums."""

_TABLES, _WHOLE = 60, 50
"""Of a hundred draws, those with tables; of these, those that rotate all pairs."""


def draw_rms_norm(words: Words, limits: Limits) -> Drawn:
    """Draw a case of RMS norm."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _OF_ROWS, _LONG, limits)
    drawn = stream.weighted(_RANKS)
    stated = [len(_OF_ROWS) - index for index, axis in enumerate(_OF_ROWS) if axis in limits.extents]
    rank = stated[0] if len(stated) > 1 else max(drawn, *stated, 1)
    extents = as_stated({axis: lengths[axis] for axis in _OF_ROWS[-rank:]}, limits)
    attributes = _attributes(words, limits)
    shapes = {"x": tuple(extents.values()), "weight": (extents["width"],)}
    inputs, chosen = _numbers(words, shapes, ("x",), attributes["epsilon"], limits)
    spoilt = words.of("spoilt").percent(_SPOILT) and inputs["x"].size > 0 and limits.allow(NONFINITE)
    if spoilt:
        spoil_one(words, inputs["x"])
    clauses = {**_clauses(attributes), "last_axis": rank > 1, "weight": True, "nonfinite": spoilt}
    return laid_out(
        words,
        limits,
        "rms_norm",
        inputs,
        features=(
            *(name for name in attributes if name != "epsilon"),
            *those({chosen: chosen in CLASSES}),
            *those({NONFINITE: spoilt}),
        ),
        clauses=those(clauses),
        attributes=attributes,
        extents=extents,
    )


def draw_qk_norm(words: Words, limits: Limits) -> Drawn:
    """Draw a case of QK-norm."""
    extents = as_stated(draw_axes(words.of("extents"), _OF_PAIR, _LONG, limits), limits, _elements)
    batch, heads, key_heads, tokens, width = (extents[axis] for axis in _OF_PAIR)
    attributes = _attributes(words, limits)
    attributes |= _word(words, limits, "normalized_over", _OVER)
    together = attributes.get("normalized_over") == "all_heads"
    shapes = {
        "query": (batch, heads, tokens, width),
        "key": (batch, key_heads, tokens, width),
        "query_weight": (heads * width if together else width,),
        "key_weight": (key_heads * width if together else width,),
    }
    inputs, chosen = _numbers(words, shapes, ("query", "key"), attributes["epsilon"], limits)
    stream = words.of("tables")
    drawn, whole, fewer = stream.percent(_TABLES), stream.percent(_WHOLE), stream.between(1, max(width // 2, 1))
    is_given = not {"cos", "sin"}.isdisjoint(limits.given)
    has_tables = (is_given or (drawn and width > 1)) and limits.allow("cos", "sin")
    pairs = min(limits.extents.get("pairs", width if whole else fewer), width // 2)
    if has_tables:
        inputs |= {name: coarse(words.varied(name), (batch, tokens, pairs)) for name in ("cos", "sin")}
        attributes |= _word(words, limits, "pairing", _PAIRINGS)
        extents |= {"pairs": pairs} if "pairs" in limits.extents else {}
    clauses = {
        **_clauses(attributes),
        f"normalized_over.{attributes.get('normalized_over', 'default')}": True,
        "weights": True,
        "order": has_tables,
        "rotation": has_tables,
        "pairing.default": has_tables and "pairing" not in attributes,
        "pairing.interleaved": attributes.get("pairing") == "interleaved",
        "unrotated": has_tables and 2 * pairs < width,
    }
    return laid_out(
        words,
        limits,
        "qk_norm",
        inputs,
        features=(
            *(name for name in attributes if name != "epsilon"),
            *those({chosen: chosen in CLASSES}),
            *those({"cos": has_tables}),
        ),
        clauses=those(clauses),
        attributes=attributes,
        extents=extents,
    )


def extents_of(operation: str, shapes: Mapping[str, tuple[int, ...]], _: Mapping[str, Any]) -> Mapping[str, int]:
    """Return axis to length at a user's shapes; `ValueError` where there are no such axes."""
    if operation == "rms_norm":
        return lengths_of("x", _OF_ROWS[-max(len(shapes.get("x", ())), 2) :], shapes)
    of_tables = lengths_of("cos", ("batch", "tokens", "pairs"), shapes) if "cos" in shapes else {}
    of_key = lengths_of("key", ("batch", "key_heads", "tokens", "width"), shapes)
    return {**of_tables, **of_key, **lengths_of("query", ("batch", "heads", "tokens", "width"), shapes)}


def _elements(lengths: Mapping[str, int]) -> int:
    """Return how many elements the larger of queries and keys has."""
    heads = max(lengths["heads"], lengths["key_heads"])
    return heads * math.prod(lengths[axis] for axis in ("batch", "tokens", "width"))


def _attributes(words: Words, limits: Limits) -> dict[str, Any]:
    """Draw the attributes of both norms."""
    epsilon = {"epsilon": words.of("epsilon").one_of(_EPSILONS)}
    return {**epsilon, **_word(words, limits, "weight_offset", _OFFSETS), **limits.stated}


def _word(words: Words, limits: Limits, name: str, choices: Mapping[str, int]) -> dict[str, str]:
    """Draw an attribute that is a word, unless a user states it; none where it is not stated."""
    if name in limits.stated:
        return {name: limits.stated[name]}
    chosen = words.of(name).weighted(choices)
    return {name: chosen} if chosen and limits.allow(name, f"{name}={chosen}") else {}


def _numbers(
    words: Words,
    shapes: Mapping[str, tuple[int, ...]],
    normalized: tuple[str, ...],
    epsilon: float,
    limits: Limits,
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """Draw features and weights, and return their class; a token of zeros has no norm where epsilon is 0."""
    chosen = words.of("numbers").weighted(_NUMBERS)
    chosen = chosen if limits.allow(chosen) else "coarse"
    is_wide = chosen == "full_width"
    inputs = {
        name: coarse_or_wide(words.varied(name), shape, limits.dtype, is_wide=is_wide) for name, shape in shapes.items()
    }
    for name in normalized:
        if not epsilon:
            inputs[name][inputs[name] == 0] = 1.0
        inputs[name] *= _FACTORS.get(chosen, 1.0)
    return inputs, chosen


def _clauses(attributes: Mapping[str, Any]) -> dict[str, bool]:
    """Return the clauses that both norms have, exercised or not."""
    return {
        "mean_square": True,
        "epsilon": attributes["epsilon"] > 0,
        "precision": True,
        "weight_offset.default": "weight_offset" not in attributes,
        "weight_offset.one": attributes.get("weight_offset") == "one",
        "shape": True,
    }
