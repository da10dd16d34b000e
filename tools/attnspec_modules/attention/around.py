"""Normalisations and a residual inside a layer, which multi-head attention does not have: they are left out.

A normalisation gives back what it is given. Tokens that are added are subtracted again; the projection before is filled
with larger numbers, so that a rounding of their sum is small beside what it is.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.names import plain
from attnspec_modules.libraries import Parameter
from attnspec_modules.libraries.kinds import attributes_of

_NORMALISES = re.compile(r"(?:Layer|RMS|Group|Batch|Power)?Norm(?:alization)?(?:\d?d)?$")
_EPSILON = re.compile(r"(?:\w*norm|variance)?eps(?:ilon)?")

EPSILON = 0.3
"""Epsilon of norms that are looked at: large enough for its position to show."""

_FACTORS: Mapping[int, float] = {2: 2.0**30, 4: 2.0**30, 8: 2.0**60}
"""Powers of two by the bytes of a number; float16, of which the range is too small for any, has to be left out."""


def normalising_parts(layer: Any) -> dict[str, Any]:
    """Return the parts of a module of PyTorch that normalize, by the attributes that lead to them."""
    if not hasattr(layer, "named_modules"):
        return {}
    return {path: part for path, part in layer.named_modules() if path and _NORMALISES.search(type(part).__name__)}


def is_inside(path: str, parts: Iterable[str]) -> bool:
    """Return whether a parameter belongs to one of some parts of a layer."""
    return path.startswith(tuple(f"{part}." for part in parts))


def without_normalisations(layer: Any, kept: Container[str] = ()) -> None:
    """Have the parts of a layer that normalize give back what they are given; those kept get a large epsilon."""
    for path, part in normalising_parts(layer).items():
        if path not in kept:
            part.forward = _same
        elif (name := epsilon_of(part)) is not None:
            setattr(part, name, EPSILON)


def epsilon_of(part: Any) -> str | None:
    """Return the attribute in which a part of a layer keeps its epsilon."""
    return next((name for name in attributes_of(part) if _EPSILON.fullmatch(plain(name))), None)


def filled_norms(norms: Mapping[str, Parameter], kept: Sequence[str], dtype: Any) -> dict[str, NDArray[Any]]:
    """Return numbers for the parameters of norms that are kept: weights that differ in all, and biases of 0."""
    found: dict[str, NDArray[Any]] = {}
    for number, part in enumerate(kept):
        for path, each in norms.items():
            if is_inside(path, [part]):
                weight = np.zeros(1) if path.endswith("bias") else norm_weight(each.shape[-1], number)
                found[path] = np.broadcast_to(weight, each.shape).astype(dtype)
    return found


def norm_weight(features: int, number: int) -> NDArray[np.float64]:
    """Return the weight of a norm of so many features; those of two norms differ, and so do their features."""
    return 1 + 0.5 * np.sin(np.arange(1, features + 1) * np.sqrt(features) + number)


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
