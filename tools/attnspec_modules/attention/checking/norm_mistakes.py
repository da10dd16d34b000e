"""Norms inside a layer as the reference has them, and usual mistakes in them, with sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.around import EPSILON, epsilon_of, norm_weight, normalising_parts
from attnspec_reference import rms_norm

Array = NDArray[Any]

USUAL_EPSILON = 1e-6
"""Epsilon of a norm that keeps none, which is too small to show."""


@dataclass(frozen=True)
class Norm:
    """Norm of the last axis, with the weight of the norm of its `number` among those that are looked at.

    `kind` is ``rms``, or ``layer`` for one that subtracts the mean before. `epsilon` is added to the mean of the
    squares. `outside`: it is added to the root instead; `sums`: the squares are added up, and not averaged; `is_one`:
    the weight is left out; `offset` is 1 where that is added to the weight.
    """

    kind: Literal["rms", "layer"]
    number: int = 0
    epsilon: float = EPSILON
    offset: float = 0.0
    outside: bool = False
    sums: bool = False
    is_one: bool = False


def norm_of_part(layer: Any, path: str, number: int) -> Norm:
    """Return the norm that a part of a layer is by the name of its class, with the epsilon that it keeps.

    Whether 1 is added to its weight shows where that is 0; where it has none, all features have the weight 1.
    """
    part = normalising_parts(layer)[path]
    epsilon = epsilon_of(part)
    kind = "rms" if re.search("rms", type(part).__name__, re.IGNORECASE) else "layer"
    has_weight = bool(list(part.parameters()))
    return Norm(
        kind,
        number,
        USUAL_EPSILON if epsilon is None else EPSILON,
        float(has_weight and _adds_one(part)),
        is_one=not has_weight,
    )


def _adds_one(part: Any) -> bool:
    """Return whether a norm gives anything back with a weight of 0."""
    parameters = list(part.parameters())
    before = [each.detach().clone() for each in parameters]
    for each in parameters:
        each.data.zero_()
    try:
        ones = before[0].new_ones((1, *before[0].shape))
        ones[..., 0] = 2
        return bool(part(ones).abs().sum() > 0)
    finally:
        for each, kept in zip(parameters, before, strict=True):
            each.data.copy_(kept)


def normalized(array: Array, norm: Norm | None) -> Array:
    """Return an array (..., D), normalized; as it is, without a norm."""
    if norm is None:
        return array
    weight = norm_weight(array.shape[-1], norm.number)
    weight = np.ones_like(weight) if norm.is_one else weight + norm.offset
    centred = array - array.mean(axis=-1, keepdims=True) if norm.kind == "layer" else array
    if not (norm.outside or norm.sums):
        return rms_norm(centred, weight, epsilon=norm.epsilon)
    squares = np.square(centred)
    size = squares.sum(axis=-1, keepdims=True) if norm.sums else squares.mean(axis=-1, keepdims=True)
    root = np.sqrt(size) + norm.epsilon if norm.outside else np.sqrt(size + norm.epsilon)
    return centred / root * weight


def wrong_norms(norm: Norm) -> Iterator[tuple[str, Norm | None]]:
    """Yield sentences, without a subject and an end, on what a norm does wrong, and that norm."""
    yield "is missing, or has no effect", None
    yield "adds its epsilon outside of the root, and not to the mean of the squares", replace(norm, outside=True)
    yield "adds up the squares, and does not average them", replace(norm, sums=True)
    yield "leaves its weight out", replace(norm, is_one=True)
    if norm.kind == "rms":
        yield "subtracts the mean, as layer norm does", replace(norm, kind="layer")
    else:
        yield "does not subtract the mean", replace(norm, kind="rms")
