"""Impostors of softmax."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.trivial_answers import (
    PRECISE,
    Outputs,
    TrivialAnswer,
    in_half_precision,
    of_the_call_before,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_draws.generators.trivial_answers import Answered

OPERATION = "softmax"
OUTPUT = ("output",)


def _axis(call: Answered) -> int | None:
    return call.attributes.get("axis", -1)


def _on_another_axis(call: Answered, axis: int | None) -> Outputs:
    return _called(call.inputs, axis)


def _called(inputs: Mapping[str, NDArray[np.float64]], axis: int | None) -> Outputs:
    return reference_outputs(OPERATION, inputs, {"axis": axis})


def _uniform(call: Answered) -> Outputs:
    x = call.inputs["x"]
    axis = _axis(call)
    return {"output": np.full_like(x, 1 / max(x.size if axis is None else x.shape[axis], 1))}


def _largest_alone(call: Answered) -> Outputs:
    x = call.inputs["x"]
    best = (x == x.max(axis=_axis(call), keepdims=True)).astype(np.float64)
    return {"output": best / best.sum(axis=_axis(call), keepdims=True)}


def _exponentials_alone(call: Answered) -> Outputs:
    x = call.inputs["x"]
    return {"output": np.exp(x - x.max(axis=_axis(call), keepdims=True))}


def _to_base_2(call: Answered) -> Outputs:
    return _called({"x": call.inputs["x"] * math.log(2)}, _axis(call))


def _capped(call: Answered) -> Outputs:
    return _called({"x": np.clip(call.inputs["x"], -8.0, 8.0)}, _axis(call))


SOFTMAX = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("unchanged", "its input", lambda call: {"output": call.inputs["x"]}),
    TrivialAnswer("uniform", "equal weights", _uniform),
    TrivialAnswer("largest_alone", "all weight on the largest number", _largest_alone),
    TrivialAnswer("last_axis", "sums along the last axis, whatever is asked for", partial(_on_another_axis, axis=-1)),
    TrivialAnswer("first_axis", "sums along the first axis, whatever is asked for", partial(_on_another_axis, axis=0)),
    TrivialAnswer(
        "whole_array", "a sum over the whole array, whatever is asked for", partial(_on_another_axis, axis=None)
    ),
    TrivialAnswer("exponentials_alone", "exponentials that are not divided by their sum", _exponentials_alone),
    TrivialAnswer("base_2", "powers of 2", _to_base_2),
    TrivialAnswer("clipped", "weights of numbers that are clipped at 8", _capped),
    TrivialAnswer(
        "half_precision",
        "weights that were computed in float16",
        lambda call: _called(in_half_precision(call.inputs), _axis(call)),
        PRECISE,
    ),
    TrivialAnswer("previous_answer", "the weights of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of softmax, cheapest first."""
