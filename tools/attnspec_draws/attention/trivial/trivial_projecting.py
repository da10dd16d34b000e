"""Impostors of attention with projections."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_draws.generators.trivial_answers import (
    PRECISE,
    Outputs,
    TrivialAnswer,
    answer_of,
    in_half_precision,
    moved,
    of_the_call_before,
    zeros,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_draws.generators.trivial_answers import Answered

ONE, SEVERAL = "single_head_attention", "multi_head_attention"
OUTPUT = ("output",)
_MATRICES = ("w_query", "w_key", "w_value", "w_output")
_WITH_HEADS = 3
"""Axes of a mask from which on it has one of heads."""

_BIASES = ("b_query", "b_value", "b_output")


def _with_inputs(call: Answered, operation: str, **inputs: NDArray[Any] | None) -> Outputs:
    return answer_of(operation, OUTPUT, {**call.inputs, **inputs}, call.attributes)


def _with_attributes(call: Answered, operation: str, **attributes: object) -> Outputs:
    return answer_of(operation, OUTPUT, call.inputs, {**call.attributes, **attributes})


def _half(call: Answered, operation: str) -> Outputs:
    return answer_of(operation, OUTPUT, in_half_precision(call.inputs), call.attributes)


def _transposed(call: Answered) -> Outputs:
    return _with_inputs(call, SEVERAL, **{name: call.inputs[name].T for name in _MATRICES})


def _one_head(call: Answered) -> Outputs:
    mask = call.inputs.get("mask")
    inputs = {**call.inputs, "mask": mask if mask is None or mask.ndim < _WITH_HEADS else mask[..., :1, :, :]}
    return answer_of(SEVERAL, OUTPUT, inputs, {**call.attributes, "num_heads": 1})


def _unprojected(call: Answered) -> Outputs:
    return _with_inputs(call, SEVERAL, w_output=np.eye(call.inputs["w_output"].shape[0]), b_output=None)


def _scaled_by_token(call: Answered) -> Outputs:
    return _with_attributes(call, SEVERAL, scale=1 / math.sqrt(call.inputs["query"].shape[-1]))


def _weighed_over_queries(call: Answered) -> Outputs:
    scores = call.right["scores"]
    terms = np.exp(scores - scores.max(axis=0, keepdims=True))
    mixed = terms / terms.sum(axis=0, keepdims=True) @ call.right["value"]
    return {"output": mixed @ call.inputs["w_output"] if "w_output" in call.inputs else mixed}


def _exchanged(call: Answered) -> Outputs:
    return _with_inputs(call, ONE, w_query=call.inputs["w_key"], w_key=call.inputs["w_query"])


ONE_HEAD = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("uniform_weights", "the mean of all values", partial(_with_attributes, operation=ONE, scale=0.0)),
    TrivialAnswer("no_scale", "the right answer to the scale 1", partial(_with_attributes, operation=ONE, scale=1.0)),
    TrivialAnswer("default_scale", "the default scale", partial(_with_attributes, operation=ONE, scale=None)),
    TrivialAnswer("exchanged", "queries and keys exchanged", _exchanged),
    TrivialAnswer("over_queries", "weights that sum to one over the queries", _weighed_over_queries),
    TrivialAnswer("tokens_moved", "the output of the token before", partial(moved, names=OUTPUT, axis=0)),
    TrivialAnswer("half_precision", "what was computed from float16", partial(_half, operation=ONE), PRECISE),
    TrivialAnswer("previous_answer", "the output of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of one head, cheapest first."""

SEVERAL_HEADS = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("uniform_weights", "equal weights", partial(_with_attributes, operation=SEVERAL, scale=0.0)),
    TrivialAnswer(
        "no_scale", "the right answer to the scale 1", partial(_with_attributes, operation=SEVERAL, scale=1.0)
    ),
    TrivialAnswer("default_scale", "the default scale", partial(_with_attributes, operation=SEVERAL, scale=None)),
    TrivialAnswer("scale_of_token", "a scale by the features of a token", _scaled_by_token),
    TrivialAnswer("one_head", "a single head", _one_head),
    TrivialAnswer("transposed", "weight matrices that are transposed", _transposed),
    TrivialAnswer("unprojected", "heads that are not projected in the end", _unprojected),
    TrivialAnswer("no_biases", "no biases at all", partial(_with_inputs, operation=SEVERAL, **dict.fromkeys(_BIASES))),
    TrivialAnswer("no_mask", "the right answer without the mask", partial(_with_inputs, operation=SEVERAL, mask=None)),
    TrivialAnswer(
        "not_causal",
        "the right answer without causality",
        partial(_with_attributes, operation=SEVERAL, is_causal=False),
    ),
    TrivialAnswer("batch_moved", "the output of the batch entry before", partial(moved, names=OUTPUT, axis=0)),
    TrivialAnswer("tokens_moved", "the output of the token before", partial(moved, names=OUTPUT, axis=1)),
    TrivialAnswer("half_precision", "what was computed from float16", partial(_half, operation=SEVERAL), PRECISE),
    TrivialAnswer("previous_answer", "the output of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of several heads, cheapest first."""
