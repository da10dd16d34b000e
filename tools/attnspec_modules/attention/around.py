"""Normalisations and a residual inside a layer, which multi-head attention does not have: they are left out.

A normalisation gives back what it is given. Tokens that are added are subtracted again; the projection before is filled
with larger numbers, so that a rounding of their sum is small beside what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NORMALISES = re.compile(r"(?:Layer|RMS|Group|Batch|Power)?Norm(?:alization)?(?:\d?d)?$")
_FACTORS: Mapping[int, float] = {2: 2.0**30, 4: 2.0**30, 8: 2.0**60}
"""Powers of two by the bytes of a number; float16, of which the range is too small for any, has to be left out."""


def normalising_parts(layer: Any) -> dict[str, Any]:
    """Return the parts of a module of PyTorch that normalize, by the attributes that lead to them."""
    if not hasattr(layer, "named_modules"):
        return {}
    return {path: part for path, part in layer.named_modules() if path and _NORMALISES.search(type(part).__name__)}


def without_normalisations(layer: Any) -> tuple[str, ...]:
    """Have the parts of a layer that normalize give back what they are given; return their paths."""
    parts = normalising_parts(layer)
    for part in parts.values():
        part.forward = _same
    return tuple(parts)


def _same(tokens: Any, *_: Any, **__: Any) -> Any:
    return tokens


def made_louder(weights: Mapping[str, NDArray[Any]], name: str) -> tuple[dict[str, NDArray[Any]], float]:
    """Return weights of which one matrix and its bias are times a power of two, and that."""
    factor = _FACTORS[weights[name].dtype.itemsize]
    of_it = {each for each in (name, name.replace("w_", "b_")) if each in weights}
    return {**weights, **{each: weights[each] * weights[each].dtype.type(factor) for each in of_it}}, factor


def subtracted(output: NDArray[Any], tokens: NDArray[Any], factor: float) -> NDArray[Any]:
    """Return what was added to tokens, divided by the factor with which it was made."""
    with np.errstate(invalid="ignore"):
        return ((output.astype(np.float64) - tokens.astype(np.float64)) / factor).astype(output.dtype)
