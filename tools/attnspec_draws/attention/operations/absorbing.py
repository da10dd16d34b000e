"""Case generators of latent attention and of its absorbed form: widths, a past, lengths, masks, scales, magnitudes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract.dtypes import rounded_to
from attnspec.families.attention.steps.attendance import attendance
from attnspec_draws.attention.operations.forward import unchanged_arguments
from attnspec_draws.attention.parts.exclusions import draw_lengths, draw_mask, excluding_nothing, forms_of_mask
from attnspec_draws.attention.parts.extents import Extents
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.memory import laid_out
from attnspec_draws.generators.words import Words, coarse_or_wide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_AXES = ("batch", "heads", "queries", "keys", "latent", "content", "rotary", "value", "past")
_LONG = {"keys": 8, "queries": 4, "latent": 4, "content": 2, "rotary": 2, "value": 2, "heads": 2, "batch": 2, "past": 2}
"""Which axes are long, with weights."""

_OF_HEADS = ("content", "value", "past")
"""Axes that a kernel does not see."""

_TOKENS = ("queries", "keys")
_PLACING = ("is_causal", "causal_alignment")

_PAST, _CAUSAL, _BOTTOM, _SCALED, _MAGNIFIED = 25, 35, 60, 40, 30
"""Of a hundred draws, those with a past, causal ones; of causal ones, those from the bottom right; of a hundred draws,
those with a stated scale, and those with a magnitude."""

_SCALES = (1.0, 0.5, 0.25, 0.1)
_MAGNITUDES = (1.25, 1.5, 0.75, 1.0)

_NUMBERS = {"coarse": 5, "full_width": 3}


def draw_latents(words: Words, limits: Limits) -> Drawn:
    """Draw a case of latent attention."""
    return _draw(words, limits, "latent")


def draw_absorbed(words: Words, limits: Limits) -> Drawn:
    """Draw a case of absorbed latent attention."""
    return _draw(words, limits, "absorbed")


def _draw(words: Words, limits: Limits, prefix: str) -> Drawn:
    naive = prefix == "latent"
    extents = _extents(words, limits, naive=naive)
    batch, heads, queries, keys, latent, _, rotary, _, past = (extents[axis] for axis in _AXES)
    inputs, kind = _numbers(words, extents, limits, naive=naive)
    attributes = _attributes(words, limits, naive=naive) | dict(limits.stated)
    over_keys = Extents(batch, heads, 1, queries, keys, latent + rotary, latent, past)
    lengths = dict(draw_lengths(words, over_keys, limits)) if not past else {}
    mask = draw_mask(words, over_keys, limits, is_causal=bool(attributes.get("is_causal")))
    given: dict[str, NDArray[Any]] = {**lengths, **({} if mask is None else {"mask": mask})}
    placing = {name: attributes[name] for name in _PLACING if name in attributes}
    attended = attendance(over_keys.over_keys, past, given, **placing)
    if attended.fully_masked is not None and not limits.allow("fully_masked_row"):
        placing = {name: value for name, value in placing.items() if name in limits.stated}
        attributes = {name: value for name, value in attributes.items() if name not in _PLACING or name in placing}
        kept = {name: array for name, array in given.items() if name in limits.given}
        given = {name: excluding_nothing(array) if name == "mask" else array for name, array in kept.items()}
        attended = attendance(over_keys.over_keys, past, given, **placing)
    dead = attended.fully_masked is not None
    inputs |= given
    stated = bool(attributes.get("scale") is not None)
    features = [kind] if kind != "coarse" else []
    # Kernels are always given their scale, so that no draw can leave it out.
    features += [*given, *(name for name in attributes if naive or name != "scale")]
    if "mask" in given:
        features += ["boolean_mask" if given["mask"].dtype == np.bool_ else "float_mask"]
        features += forms_of_mask(given["mask"].shape, over_keys)
    features += those(
        {
            "past_latent": past > 0,
            "broadcast_mask": "mask" in given and given["mask"].shape != over_keys.over_keys,
            "mask_and_causal": "mask" in given and "is_causal" in placing,
            "unequal_lengths": queries != keys + past,
            "fully_masked_row": dead,
        }
    )
    clauses = ["keys", "rotary.parts", "output"] if naive else ["scores", "scale", "output_latent"]
    clauses += ["softmax", "weights"]
    of_scale = {"scale.explicit": stated, "scale.default": not stated, "scale.magnitude": "magnitude" in attributes}
    clauses += those(of_scale) if naive else []
    used = {"mask": "mask" in given, "causal": "is_causal" in placing, "lengths": bool(lengths) and bool(given)}
    clauses += those({**used, "past.concatenation": past > 0})
    other = "top_left" if attributes.get("causal_alignment") == "bottom_right" else "bottom_right"
    conventions = {
        "causal_alignment": "is_causal" in placing and (queries != keys or not given.keys().isdisjoint(lengths)),
        "fully_masked_row": dead,
    }
    return laid_out(
        words,
        limits,
        prefix,
        inputs,
        features=features,
        clauses=clauses,
        attributes=attributes,
        extents=extents if naive else {axis: length for axis, length in extents.items() if axis not in _OF_HEADS},
        conventions=those(conventions),
        unchanged=unchanged_arguments(limits, (), ("mask", *lengths, "is_causal", "causal_alignment")),
        others={"causal_alignment": other} if "causal_alignment" in attributes else {},
    )


def _extents(words: Words, limits: Limits, *, naive: bool) -> dict[str, int]:
    """Draw the lengths of all axes; those that a case does not have take no room."""
    lengths = draw_axes(words.of("extents"), _AXES, _LONG, limits)
    stated = dict(limits.extents)
    drawn = words.of("past").percent(_PAST) or "past" in stated
    alike = not limits.allow("unequal_lengths")
    may_have_past = naive and limits.allow("past_latent", "past_key_rotary") and not alike
    if not may_have_past or not (drawn or "past_latent" in limits.given):
        lengths["past"] = 0
        stated.pop("past", None)
    if not naive:
        lengths |= dict.fromkeys(("content", "value"), 1)
    of_tokens = [stated[axis] for axis in _TOKENS if axis in stated]
    if alike and of_tokens:
        stated = dict.fromkeys(_TOKENS, of_tokens[0]) | stated
    extents = as_stated(lengths, replace(limits, extents=stated), _elements)
    if alike and not of_tokens:
        extents |= dict.fromkeys(_TOKENS, min(extents[axis] for axis in _TOKENS))
    return extents


def _attributes(words: Words, limits: Limits, *, naive: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    stream = words.of("attributes")
    scaled, scale = stream.percent(_SCALED), stream.one_of(_SCALES)
    magnified, magnitude = stream.percent(_MAGNIFIED), stream.one_of(_MAGNITUDES)
    causal, bottom = stream.percent(_CAUSAL), stream.percent(_BOTTOM)
    if not naive or (scaled and limits.allow("scale")):
        found["scale"] = scale
    if naive and magnified and limits.allow("magnitude"):
        found["magnitude"] = magnitude
    if causal and limits.allow("is_causal"):
        found["is_causal"] = True
        if bottom and limits.allow("causal_alignment", "causal_alignment=bottom_right"):
            found["causal_alignment"] = "bottom_right"
    return found


def _numbers(
    words: Words, extents: Mapping[str, int], limits: Limits, *, naive: bool
) -> tuple[dict[str, NDArray[Any]], str]:
    """Draw all tensors; matrices are the smaller the wider latents are, so that keys and values stay alike."""
    batch, heads, queries, keys, latent, content, rotary, value, past = (extents[axis] for axis in _AXES)
    shapes: dict[str, tuple[int, ...]] = {
        "query_content" if naive else "query_latent": (batch, heads, queries, content if naive else latent),
        "query_rotary": (batch, heads, queries, rotary),
        "latent": (batch, keys, latent),
        "key_rotary": (batch, keys, rotary),
    }
    if naive:
        shapes |= {"w_key": (heads, latent, content), "w_value": (heads, latent, value)}
    if past:
        shapes |= {"past_latent": (batch, past, latent), "past_key_rotary": (batch, past, rotary)}
    kind = words.of("numbers").weighted(_NUMBERS)
    kind = kind if limits.allow(kind) else "coarse"
    inputs: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        array = coarse_or_wide(words.varied(name), shape, limits.dtype, is_wide=kind == "full_width")
        smaller = name.startswith("w_") or name == "query_latent"
        inputs[name] = rounded_to(array * 2.0 ** -(latent.bit_length() // 2), limits.dtype) if smaller else array
    return inputs, kind


def _elements(lengths: Mapping[str, int]) -> int:
    """Count the elements of the largest tensor, steps included; both parts of queries and of keys are tensors."""
    batch, heads, queries, keys, latent, content, rotary, value, past = (lengths[axis] for axis in _AXES)
    widest = max(latent, content, rotary, value)
    of_tokens = batch * heads * max(queries, keys + past) * widest
    return max(of_tokens, batch * heads * queries * (keys + past), heads * latent * max(content, value))
