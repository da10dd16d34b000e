"""What impostors of all operations of attention are made of: the right answer of another call, or moved elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import follows_run
from attnspec.reference_answers import reference_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.family import Answered

Outputs = dict[str, "NDArray[Any]"]

PRECISE = ("float64", "float32")
"""Dtypes in which an error of a hundredth or a thousandth is no rounding."""

_BEYOND = 1.01
"""A scale off by 1%: less than users' own tolerances notice as a rule."""


def answer_of(
    operation: str, names: Sequence[str], inputs: Mapping[str, Any], attributes: Mapping[str, Any]
) -> Outputs:
    """Return some outputs of the reference for a call; inputs and attributes that are None are left out."""
    given = {name: array for name, array in inputs.items() if array is not None}
    stated = {name: value for name, value in attributes.items() if value is not None}
    answered = reference_outputs(operation, given, stated)
    return {name: answered[name] for name in names if name in answered}


def zeros(call: Answered, names: Sequence[str]) -> Outputs:
    """Return zeros for some outputs."""
    return {name: np.zeros_like(call.right[name]) for name in names}


def moved(call: Answered, names: Sequence[str], axis: int) -> Outputs:
    """Return the right outputs, moved on by one along an axis."""
    return {name: np.roll(call.right[name], 1, axis) for name in names}


def of_the_call_before(call: Answered, names: Sequence[str]) -> Outputs:
    """Return the outputs of the call before: as much of their memory as is needed, again and again if it ends."""
    if not call.before:
        return {}
    return {
        name: np.resize(call.before[name], call.right[name].shape) if call.before[name].size else call.right[name]
        for name in names
    }


def in_half_precision(inputs: Mapping[str, NDArray[Any]]) -> Outputs:
    """Return inputs in float16, where they are in the dtype of the run."""
    return {name: array.astype(np.float16) if follows_run(array) else array for name, array in inputs.items()}


def scale_of(call: Answered) -> float:
    """Return the scale of a call."""
    scale = call.attributes.get("scale")
    return default_scale(call) if scale is None else float(scale)


def default_scale(call: Answered) -> float:
    """Return the scale of a call that states none."""
    return 1 / math.sqrt(max(call.inputs["query"].shape[3], 1))


def scale_slightly_off(call: Answered) -> dict[str, Any]:
    """Return the attributes of a call with a scale that is 1% too large."""
    return {**call.attributes, "scale": _BEYOND * scale_of(call)}


def with_heads_tiled(call: Answered) -> dict[str, Any]:
    """Return the inputs of a call with a key head for each query head, h % Hkv in place of h // group."""
    heads, shared = call.inputs["query"].shape[1], call.inputs["key"].shape[1]
    group = heads // max(shared, 1)
    tiled = {
        name: np.tile(call.inputs[name], (1, group, 1, 1))
        for name in ("key", "value", "past_key", "past_value")
        if name in call.inputs
    }
    return {**call.inputs, **tiled}
