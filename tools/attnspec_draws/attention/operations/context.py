"""Drawn cases of the context vector: one state that asks, and any number of states of which a mean is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_draws.generators import (
    ALIKE,
    Drawn,
    as_stated,
    coarse,
    draw_memory_order,
    full_width,
    lengthened,
    make_alike,
)

if TYPE_CHECKING:
    from attnspec_draws.generators import Limits, Words

_SHORT = 6
_AXES = ("tokens", "width")
_LONG = {"tokens": 3, "width": 2}
"""Which axes are long, with weights."""

_ALIKE = 15
"""Of a hundred draws, how many have as many tokens as features: weights then fit along either."""

_NUMBERS = {"coarse": 6, "full_width": 3, "large": 1}
_SHARPNESS = {1: 2, 2: 3, 4: 2, 8: 1}
"""Classes of numbers, and what the state that asks is multiplied by, with weights."""

_SCALED = 40
_SCALES = (1.0, 0.5, 0.25, 0.1, 2.0, -0.5)
"""Of a hundred draws, how many state a scale, and which."""

_FACTOR, _ITS_SCALE = 2.0**8, 2.0**-16
"""Factor of large states, so that products of them exceed float16; and their scale."""

CONTEXT_WORDS = frozenset(("full_width", "large", ALIKE, "negative_scale", "presentation"))


def draw_context(words: Words, limits: Limits) -> Drawn:
    """Draw a case of the context vector."""
    stream = words.of("extents")
    lengths = lengthened(stream, {axis: stream.between(1, _SHORT) for axis in _AXES}, _LONG, limits)
    alike = stream.percent(_ALIKE) and limits.extents.keys().isdisjoint(_AXES)
    if alike:
        lengths = {axis: min(lengths.values()) for axis in lengths}
    extents = as_stated(lengths, limits, lambda found: found["tokens"] * found["width"])
    if alike:
        extents = {axis: min(extents.values()) for axis in extents}
    tokens, width = (extents[axis] for axis in _AXES)
    stream = words.of("numbers")
    kind, sharpness = stream.weighted(_NUMBERS), stream.weighted(_SHARPNESS)
    kind = kind if limits.allow(kind) and (kind != "large" or limits.allow("scale")) else "coarse"
    inputs = {
        name: full_width(words.varied(name), shape, limits.dtype)
        if kind == "full_width"
        else coarse(words.varied(name), shape)
        for name, shape in (("encoder_states", (tokens, width)), ("decoder_state", (width,)))
    }
    inputs["decoder_state"] *= sharpness
    alike = make_alike(words, inputs, ("encoder_states", "decoder_state"), limits)
    stream = words.of("scale")
    stated, scale = stream.percent(_SCALED), stream.one_of(_SCALES)
    scale = abs(scale) if not limits.allow("negative_scale") else scale
    attributes = {"scale": scale} if stated and limits.allow("scale") else {}
    if kind == "large":
        inputs = {name: array * _FACTOR for name, array in inputs.items()}
        attributes = {"scale": _ITS_SCALE}
    memory_order = draw_memory_order(words, inputs, limits)
    features = {kind: kind != "coarse", "scale": bool(attributes), "presentation": bool(memory_order)}
    features["negative_scale"] = attributes.get("scale", 0.0) < 0
    clauses = ("raw_scores", f"scale.{'explicit' if attributes else 'default'}", "softmax", "context")
    return Drawn(
        inputs=inputs,
        attributes=attributes,
        features=(*(name for name, holds in features.items() if holds), *alike),
        extents=extents,
        clauses=tuple(f"context_vector.{name}" for name in (*clauses, *(("memory_layout",) if memory_order else ()))),
        memory_order=memory_order,
    )
