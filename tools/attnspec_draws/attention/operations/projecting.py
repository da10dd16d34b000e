"""Case generators of attention with projections, of one head and of several, and of splitting and combining heads."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec.families.attention.steps.attendance import Attendance, attendance
from attnspec_draws.attention.operations.forward import TOKENS, unchanged_arguments
from attnspec_draws.attention.parts.exclusions import draw_mask, excluding_nothing, forms_of_mask
from attnspec_draws.attention.parts.extents import Extents
from attnspec_draws.attention.parts.spoiling import ATTENDED, EXCLUDED, spoil_mask
from attnspec_draws.attention.parts.tokens import CROSS, share_tokens
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.memory import MEMORY_ORDER, ONE_ARRAY, ONE_PART, laid_out, share_memory
from attnspec_draws.generators.special_numbers import ALIKE, NOT_FINITE, make_alike, spoil_one
from attnspec_draws.generators.words import Words, coarse_or_wide

_OF_ONE = ("tokens", "features", "width", "value_width", "output_width")
_LONG_OF_ONE = {"tokens": 5, "features": 3, "width": 3, "value_width": 1, "output_width": 1}
_TOKENS = ("queries", "keys")
_OF_SEVERAL = ("batch", "heads", "queries", "keys", "width")
_LONG_OF_SEVERAL = {"keys": 5, "queries": 4, "heads": 3, "width": 3, "batch": 1}
"""Which axes are long, with weights."""

_WITH_OUTPUT, _ALIKE, _WITH_BIAS, _CAUSAL, _SCALED = 60, 20, 50, 30, 35
"""Of a hundred draws, how many have an output projection, as many queries as keys, each bias, causality and a scale."""

_NO_KEYS = 3
"""Of a hundred draws of several heads, how many have no keys at all."""

_NUMBERS = {"coarse": 7, "full_width": 3}
_SHARPNESS = {1: 2, 2: 3, 4: 2}
"""Numbers of all tensors, and what queries' weights are multiplied by, with weights."""

_SCALES = (1.0, 0.5, 0.25, 0.1, 2.0)

LARGE = "large"
_LARGE = 8
_FACTOR, _ITS_SCALE = 2.0**8, 2.0**-16
"""Of a hundred draws, those with large query and key weights; their factor, so that products exceed float16; and the
scale that makes ordinary scores of them."""

_EXCLUDED, _ATTENDED = 12, 4
"""Of a hundred draws of several heads: non-finite tokens that no query may attend; one that some query may."""

PROJECTED_WORDS = frozenset((LARGE, "full_width", "fully_masked_row", ALIKE, ONE_ARRAY, ONE_PART, MEMORY_ORDER))

_MATRICES = ("w_query", "w_key", "w_value", "w_output")
_BIASES = ("b_query", "b_key", "b_value", "b_output")

SOME_BIASES = "some_biases"
"""The word for a case that has some biases, and not all."""

_IN_MEMORY = {
    "single_head": ("x", "w_query", "w_key", "w_value"),
    "multi_head": ("query", "key", "value", "w_query", "w_key", "w_value", "w_output"),
}
"""Inputs that every case has, and that may share memory."""


def draw_one_head(words: Words, limits: Limits) -> Drawn:
    """Draw a case of one head."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _OF_ONE, _LONG_OF_ONE, limits)
    mixes = limits.has("w_output", drawn=stream.percent(_WITH_OUTPUT))
    extents = as_stated(lengths, limits, _elements_of_one)
    tokens, features, width, value_width, output_width = (extents[axis] for axis in _OF_ONE)
    shapes = {"x": (tokens, features), "w_query": (features, width), "w_key": (features, width)}
    shapes["w_value"] = (features, value_width)
    if mixes:
        shapes["w_output"] = (value_width, output_width)
    inputs, numbers = _numbers(words, shapes, limits)
    attributes = _scale(words, limits)
    large = _enlarge(words, inputs, attributes, limits)
    alike = make_alike(words, inputs, _MATRICES, limits)
    clauses = ["projections", "scores", "softmax.keys", "output", f"scale.{'explicit' if attributes else 'default'}"]
    clauses += ["output_projection"] if mixes else []
    features_had = [numbers, *large, *alike, *(("w_output",) if mixes else ()), *attributes]
    return _drawn(
        words, limits, "single_head", inputs, features_had, attributes=attributes, extents=extents, clauses=clauses
    )


def draw_several_heads(words: Words, limits: Limits) -> Drawn:
    """Draw a case of several heads."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _OF_SEVERAL, _LONG_OF_SEVERAL, limits)
    alike = stream.percent(_ALIKE) or not limits.allow("unequal_lengths")
    stated = [limits.extents[axis] for axis in _TOKENS if axis in limits.extents]
    if alike and stated:
        limits = replace(limits, extents={**dict.fromkeys(_TOKENS, stated[0]), **limits.extents})
    extents = as_stated(lengths, limits, _elements_of_several)
    if (alike and not stated) or not limits.allow(CROSS):
        extents |= dict.fromkeys(_TOKENS, min(extents["queries"], extents["keys"]))
    if words.of("no keys").percent(_NO_KEYS) and not alike and "keys" not in limits.extents:
        extents |= {"keys": 0} if limits.allow("empty_keys") else {}
    batch, heads, queries, keys, width = (extents[axis] for axis in _OF_SEVERAL)
    features = heads * width
    shapes: dict[str, tuple[int, ...]] = {"query": (batch, queries, features)}
    shapes |= dict.fromkeys(("key", "value"), (batch, keys, features))
    shapes |= dict.fromkeys(_MATRICES, (features, features))
    biases = _biases(words, limits)
    inputs, numbers = _numbers(words, shapes | dict.fromkeys(biases, (features,)), limits)
    share_tokens(inputs, limits)
    attributes: dict[str, Any] = {"num_heads": heads}
    if words.of("causal").percent(_CAUSAL) and limits.allow("is_causal"):
        attributes["is_causal"] = True
    attributes |= {**_scale(words, limits), **limits.stated}
    large = _enlarge(words, inputs, attributes, limits)
    over_keys = Extents(batch, heads, 1, queries, keys, width, width, 0)
    is_causal = bool(attributes.get("is_causal"))
    mask = draw_mask(words, over_keys, limits, is_causal=is_causal)
    inputs |= {} if mask is None else {"mask": mask}
    alike = make_alike(words, inputs, ("mask", *_MATRICES, *_BIASES), limits)
    given: dict[str, NDArray[Any]] = {"mask": inputs.pop("mask")} if mask is not None else {}
    attended = attendance(over_keys.over_keys, 0, given, is_causal=is_causal)
    dead = attended.fully_masked is not None
    if dead and keys and not limits.allow("fully_masked_row"):
        given, dead = {name: excluding_nothing(array) for name, array in given.items() if name in limits.given}, False
        attended = attendance(over_keys.over_keys, 0, given, is_causal=is_causal)
    inputs |= given
    features_had = [numbers, *large, *alike, *biases, *given, *(name for name in attributes if name != "num_heads")]
    if given:
        features_had += ["boolean_mask" if given["mask"].dtype == np.bool_ else "float_mask"]
        features_had += forms_of_mask(given["mask"].shape, over_keys)
    features_had += those(
        {
            SOME_BIASES: 0 < len(biases) < len(_BIASES),
            "broadcast_mask": bool(given) and given["mask"].shape != over_keys.over_keys,
            "mask_and_causal": bool(given) and is_causal,
            "unequal_lengths": queries != keys,
            "fully_masked_row": dead and keys > 0,
            "empty_keys": not keys,
        }
    )
    clauses = ["projections", "split", "softmax.keys", "combine", "output_projection"]
    clauses += [f"scale.{'explicit' if 'scale' in attributes else 'default'}", "weights"]
    clauses += those({"biases": bool(biases), "mask": bool(given), "causal": is_causal})
    drawn = _drawn(
        words,
        limits,
        "multi_head",
        inputs,
        features_had,
        attributes=attributes,
        extents=extents,
        clauses=clauses,
        conventions=("fully_masked_row" if keys else "no_keys",) if dead else (),
    )
    return _spoilt(words, drawn, attended, limits)


def _biases(words: Words, limits: Limits) -> list[str]:
    """Return the biases that are given: any, or, without `SOME_BIASES`, all of them as the last one is, or none."""
    drawn = {name: words.of(f"given {name}").percent(_WITH_BIAS) for name in _BIASES}
    if not limits.allow(SOME_BIASES):
        are_given = drawn[_BIASES[-1]] or not limits.given.keys().isdisjoint(_BIASES)
        drawn = dict.fromkeys(_BIASES, are_given and limits.allow(*_BIASES))
    return [name for name in _BIASES if limits.has(name, drawn=drawn[name])]


def _spoilt(words: Words, drawn: Drawn, keys: Attendance, limits: Limits) -> Drawn:
    """Put NaN or infinity into tokens that no query may attend, or NaN into one that some may; mostly do nothing."""
    stream = words.of("spoilt")
    # Turned around, a mask may leave a query without any key.
    drawn = replace(drawn, unchanged=unchanged_arguments(limits, TOKENS, ("mask",)))
    excluded, attended = stream.percent(_EXCLUDED), stream.percent(_ATTENDED)
    number, spoilt = stream.one_of(NOT_FINITE), stream.weighted({"key": 1, "value": 2, "both": 2})
    inputs = dict(drawn.inputs)
    unseen: NDArray[np.bool_] = np.logical_not(np.any(keys.attendable, axis=(1, 2)))
    if not {ONE_ARRAY, ONE_PART}.isdisjoint(drawn.features) or not unseen.size:
        return drawn
    if excluded and unseen.any() and limits.allow(EXCLUDED):
        tokens, word = unseen, EXCLUDED
    elif attended and limits.allow(ATTENDED):
        tokens, word, number = np.zeros_like(unseen), ATTENDED, np.nan
        tokens.flat[stream.below(tokens.size)] = True
    else:
        return _with_words(drawn, inputs, spoil_mask(words, inputs, keys, limits))
    for name in ("key", "value") if spoilt == "both" else (spoilt,):
        inputs[name] = np.where(tokens[..., np.newaxis], number, inputs[name])
    return _with_words(drawn, inputs, (word,))


def _with_words(drawn: Drawn, inputs: Mapping[str, NDArray[Any]], done: tuple[str, ...]) -> Drawn:
    """Return what was drawn with inputs that hold what is not finite, by the words for what was done, if anything."""
    conventions = (*drawn.conventions, *(("masked_nonfinite", "nonfinite_input") if done else ()))
    return replace(drawn, inputs=inputs, features=(*drawn.features, *done), conventions=conventions)


def _elements_of_one(lengths: Mapping[str, int]) -> int:
    tokens, features, width, value_width, output_width = (lengths[axis] for axis in _OF_ONE)
    widest = max(width, value_width, features)
    return max(tokens * max(tokens, widest), features * widest, value_width * output_width)


def _elements_of_several(lengths: Mapping[str, int]) -> int:
    batch, heads, queries, keys, width = (lengths[axis] for axis in _OF_SEVERAL)
    features = heads * width
    return max(batch * heads * queries * keys, batch * max(queries, keys) * features, features**2)


def _numbers(
    words: Words, shapes: Mapping[str, tuple[int, ...]], limits: Limits
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """Draw all tensors; weights are the smaller the more features they sum over, so that projections stay alike."""
    stream = words.of("numbers")
    kind, sharpness = stream.weighted(_NUMBERS), stream.weighted(_SHARPNESS)
    kind = kind if limits.allow(kind) else "coarse"
    inputs: dict[str, NDArray[np.float64]] = {}
    for name, shape in shapes.items():
        array = coarse_or_wide(words.varied(name), shape, limits.dtype, is_wide=kind == "full_width")
        if name.startswith("w_"):
            array = rounded_to(array * 2.0 ** -(shape[0].bit_length() // 2), limits.dtype)
        inputs[name] = array * sharpness if name == "w_query" else array
    return inputs, kind


def _scale(words: Words, limits: Limits) -> dict[str, float]:
    stream = words.of("scale")
    return {"scale": stream.one_of(_SCALES)} if stream.percent(_SCALED) and limits.allow("scale") else {}


def _enlarge(
    words: Words, inputs: dict[str, NDArray[Any]], attributes: dict[str, Any], limits: Limits
) -> tuple[str, ...]:
    """Make weights of queries and keys large and the scale small, or nothing; return the words for what was done."""
    if not words.of("large").percent(_LARGE) or not limits.allow(LARGE, "scale"):
        return ()
    for name in ("w_query", "w_key", "b_query", "b_key"):
        if name in inputs:
            inputs[name] = inputs[name] * _FACTOR
    attributes["scale"] = _ITS_SCALE
    return (LARGE,)


def _drawn(
    words: Words, limits: Limits, prefix: str, inputs: dict[str, NDArray[Any]], features: Iterable[str], **fields: Any
) -> Drawn:
    layouts, in_memory = share_memory(words, inputs, _IN_MEMORY[prefix], limits)
    features = [name for name in features if name != "coarse"]
    return laid_out(words, limits, prefix, inputs, features=(*features, *in_memory), memory_order=layouts, **fields)


_OF_HEADS = ("batch", "heads", "tokens", "width")
_LONG_OF_HEADS = {"tokens": 5, "width": 4, "heads": 4, "batch": 1}
"""Which axes are long, with weights."""

_NUMBERS_OF_HEADS = {"coarse": 1, "full_width": 3}
NONFINITE = "nonfinite"
_SPOILT = 20
"""Of a hundred draws, how many hold a number that is not finite."""

HEADS_WORDS = frozenset(("full_width", NONFINITE, MEMORY_ORDER))


def draw_split(words: Words, limits: Limits) -> Drawn:
    """Draw a case of splitting tokens into heads."""
    extents = _extents_of_heads(words, limits)
    batch, heads, tokens, width = (extents[axis] for axis in _OF_HEADS)
    return _moved(words, limits, "split_heads", (batch, tokens, heads * width), {"num_heads": heads}, extents)


def draw_combined(words: Words, limits: Limits) -> Drawn:
    """Draw a case of combining heads into tokens."""
    extents = _extents_of_heads(words, limits)
    return _moved(words, limits, "combine_heads", tuple(extents[axis] for axis in _OF_HEADS), {}, extents)


def _extents_of_heads(words: Words, limits: Limits) -> dict[str, int]:
    return as_stated(draw_axes(words.of("extents"), _OF_HEADS, _LONG_OF_HEADS, limits), limits)


def _moved(words: Words, limits: Limits, prefix: str, shape: tuple[int, ...], attributes: Any, extents: Any) -> Drawn:
    """Draw the numbers of heads that are moved and not changed, those that are not finite included."""
    kind = words.of("numbers").weighted(_NUMBERS_OF_HEADS)
    is_wide = kind == "full_width" and limits.allow(kind)
    x = coarse_or_wide(words.varied("x"), shape, limits.dtype, is_wide=is_wide)
    spoilt = words.of("spoilt").percent(_SPOILT) and limits.allow(NONFINITE)
    if spoilt:
        spoil_one(words, x)
    return laid_out(
        words,
        limits,
        prefix,
        {"x": x},
        features=those({"full_width": is_wide, NONFINITE: spoilt}),
        clauses=("order", "shape"),
        attributes=attributes,
        extents=extents,
        conventions=("nonfinite_input",) if spoilt else (),
    )
