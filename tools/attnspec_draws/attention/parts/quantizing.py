"""Drawn queries, keys and values of few bits, and the scales that they are multiplied by."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import RUN_DTYPE, numpy_dtype
from attnspec_draws.attention.parts.extents import Extents
from attnspec_draws.generators.drawn import those
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.words import Words, whole_numbers

_QUANTIZED = 10
"""Of a hundred draws, how many have quantized tensors."""

_TENSORS = {"key_and_value": 5, "all": 3, "key": 1, "value": 1, "query": 1, "query_and_key": 1}
"""Tensors that are quantized, with weights."""

_MIXED = 20
"""Of a hundred such draws, in how many each tensor has a format of its own."""

_FORMATS = ("float8_e4m3fn", "float8_e5m2", "int8")

_MOST = {"float8_e4m3fn": 448, "float8_e5m2": 57344, "int8": 127}
"""The largest number of each format; one of int8 has no opposite, and is left out."""

_EXPONENTS = (3, 4, 5, 6)
"""Numbers are multiplied by 2 to the power of one of these, and become whole."""

_RAISED = {"float8_e4m3fn": (0, 0, 2, -9), "float8_e5m2": (0, 0, 9, -16), "int8": (0,)}
"""Then by 2 to the power of one of these: some come to the end of the format, or lie below its least normal number."""

_OF_SCALES = {"one": 4, "heads": 3, "entries": 3}
"""Unit of a scale, with weights: the tensor, each key head, or each key head of each batch entry."""


def quantize(
    words: Words, extents: Extents, inputs: dict[str, NDArray[Any]], attributes: dict[str, Any], limits: Limits
) -> tuple[str, ...]:
    """Quantize queries, keys or values to few bits with scales, in `inputs`; for most draws nothing.

    Returns the features. All numbers must be finite.
    """
    stream = words.of("quantized")
    is_quantized = stream.percent(_QUANTIZED)
    which, is_mixed = stream.weighted(_TENSORS), stream.percent(_MIXED)
    formats = {name: stream.one_of(_FORMATS) for name in ("key", "value", "query")}
    given = [name for name in formats if f"{name}_scale" in limits.given]
    if not is_quantized and not given:
        return ()
    if not is_mixed:
        formats = dict.fromkeys(formats, formats["key"])
    names = given or (formats if which == "all" else which.split("_and_"))
    formats = _allowed({name: formats[name] for name in names}, limits)
    for name, dtype in formats.items():
        _round(words, name, dtype, extents, inputs, limits)
    if "query" in formats:
        attributes["output_dtype"] = RUN_DTYPE
    return _features(formats, inputs)


def clauses_of_quantized(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what follows the short name in the clauses of what a case has of quantized tensors."""
    scales = {name: inputs[f"{name}_scale"] for name in ("query", "key", "value") if f"{name}_scale" in inputs}
    if not scales:
        return ()
    mask = inputs.get("mask")
    added = {"sinks", "alibi_slopes"} & inputs.keys() or (mask is not None and mask.dtype != np.bool_)
    used = {
        **{name: name in scales for name in ("query", "key", "value")},
        "heads": any(scale.ndim and scale.shape[-1] > 1 for scale in scales.values()),
        "batch": any(scale.ndim > 1 and len(scale) > 1 for scale in scales.values()),
        "order": bool(added or attributes.get("softcap")),
        "past": "past_key" in inputs,
    }
    return ("quantized.numbers", *(f"quantized.{clause}" for clause in those(used)))


def _allowed(formats: dict[str, str], limits: Limits) -> dict[str, str]:
    """Leave out what a draw is not to have: formats, scales, and tensors of unlike formats."""
    offered = [dtype for dtype in _FORMATS if limits.allow(dtype)]
    if not offered:
        return {}
    names = [name for name in formats if limits.allow(f"{name}_scale")]
    kept = {name: formats[name] if formats[name] in offered else offered[0] for name in names}
    if limits.allow("mixed_quantization"):
        return kept
    return dict.fromkeys(kept, kept["key"]) if len(kept) == len(("query", "key", "value")) else {}


def _round(
    words: Words, name: str, dtype: str, extents: Extents, inputs: dict[str, NDArray[Any]], limits: Limits
) -> None:
    """Round a tensor, and its past, to a format, and give it a scale that brings it back to about its size."""
    stream = words.of(f"quantized {name}")
    exponent, raised = stream.one_of(_EXPONENTS), stream.one_of(_RAISED[dtype])
    has_scale_for = stream.weighted(_OF_SCALES)
    for tensor in (name, f"past_{name}"):
        if tensor in inputs:
            numbers = np.rint(inputs[tensor] * 2.0**exponent) * 2.0**raised
            inputs[tensor] = np.clip(numbers, -_MOST[dtype], _MOST[dtype]).astype(numpy_dtype(dtype))
    shape: tuple[int, ...] = ()
    if has_scale_for != "one" and limits.allow("scale_per_head"):
        shape = (extents.shared,)
    if has_scale_for == "entries" and limits.allow("scale_per_batch_entry"):
        shape = (extents.batch, extents.shared if shape else 1)
    stated = limits.shape_of(f"{name}_scale", (extents.batch, extents.shared))
    shape = shape if stated is None else stated
    # Of 10 digits, and no power of two.
    scale = whole_numbers(words.varied(f"{name}_scale"), shape or (1,), 513, 1023) * 2.0 ** -(10 + exponent + raised)
    inputs[f"{name}_scale"] = (scale if shape else scale[0]).astype(np.float32)


def _features(formats: Mapping[str, str], inputs: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    if not formats:
        return ()
    scales = [inputs[f"{name}_scale"] for name in formats]
    is_mixed = len(formats) < len(("query", "key", "value")) or len({*formats.values()}) > 1
    named = {
        "mixed_quantization": is_mixed,
        "scale_per_head": any(scale.ndim and scale.shape[-1] != 1 for scale in scales),
        "scale_per_batch_entry": any(scale.ndim > 1 and len(scale) != 1 for scale in scales),
    }
    return (*dict.fromkeys(formats.values()), *(f"{name}_scale" for name in formats), *those(named))
