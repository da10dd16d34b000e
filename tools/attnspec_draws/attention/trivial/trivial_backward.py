"""Impostors of the backward pass of attention."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_draws.attention.trivial.trivial_forms import scale_of, scale_slightly_off, with_heads_tiled
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
    from collections.abc import Callable

    from attnspec_draws.generators.trivial_answers import Answered

OPERATION = "scaled_dot_product_attention_backward"
GRADIENTS = ("grad_query", "grad_key", "grad_value")
_OF_KEYS = ("grad_key", "grad_value")


def _without(*arguments: str) -> Callable[[Answered], Outputs]:
    """Return a trivial answer that does not look at some arguments."""

    def answer(call: Answered) -> Outputs:
        if not call.inputs.keys() & set(arguments) and not call.attributes.keys() & set(arguments):
            return dict(call.right)
        inputs = {name: array for name, array in call.inputs.items() if name not in arguments}
        attributes = {name: value for name, value in call.attributes.items() if name not in arguments}
        return answer_of(OPERATION, GRADIENTS, inputs, attributes)

    return answer


def _without_delta(call: Answered) -> Outputs:
    """Take a stored output of zeros, from which delta comes to 0."""
    inputs = {**call.inputs, "output": np.zeros_like(call.inputs["grad_output"])}
    return answer_of(OPERATION, GRADIENTS, inputs, call.attributes)


def _without_scale(call: Answered) -> Outputs:
    factor = scale_of(call) or 1.0
    return {name: call.right[name] / factor for name in ("grad_query", "grad_key")}


def _exchanged(call: Answered) -> Outputs:
    queries, keys = call.right["grad_query"], call.right["grad_key"]
    return {"grad_query": keys, "grad_key": queries} if queries.shape == keys.shape else dict(call.right)


def _group(call: Answered) -> int:
    return call.inputs["query"].shape[1] // max(call.inputs["key"].shape[1], 1)


def _mean_over_group(call: Answered) -> Outputs:
    return {name: call.right[name] / max(_group(call), 1) for name in _OF_KEYS}


def _last_of_group(call: Answered) -> Outputs:
    """Give the gradients of keys and values that the last query head of a group alone asks for."""
    shared, group = call.inputs["key"].shape[1], _group(call)
    if group < 2:
        return dict(call.right)
    repeated = {name: np.repeat(call.inputs[name], group, axis=1) for name in ("key", "value")}
    answered = answer_of(OPERATION, _OF_KEYS, {**call.inputs, **repeated}, call.attributes)
    return {name: answered[name][:, group - 1 :: group][:, :shared] for name in _OF_KEYS}


def _heads_tiled(call: Answered) -> Outputs:
    answered = answer_of(OPERATION, GRADIENTS, with_heads_tiled(call), call.attributes)
    shared = call.inputs["key"].shape[1]
    summed = {
        name: np.stack([answered[name][:, head::shared].sum(axis=1) for head in range(shared)], axis=1)
        for name in _OF_KEYS
        if shared
    }
    return {**answered, **summed} if shared else dict(call.right)


def _scale_off(call: Answered) -> Outputs:
    inputs: dict[str, Any] = {name: array for name, array in call.inputs.items() if name not in ("output", "logsumexp")}
    return answer_of(OPERATION, GRADIENTS, inputs, scale_slightly_off(call))


BACKWARD = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=GRADIENTS)),
    TrivialAnswer("no_gradient_of_queries", "zeros for the queries", partial(zeros, names=("grad_query",))),
    TrivialAnswer("no_gradient_of_keys", "zeros for the keys", partial(zeros, names=("grad_key",))),
    TrivialAnswer("no_gradient_of_values", "zeros for the values", partial(zeros, names=("grad_value",))),
    TrivialAnswer(
        "opposite_gradients",
        "the opposite of every gradient",
        lambda call: {name: -call.right[name] for name in GRADIENTS},
    ),
    TrivialAnswer("no_delta", "gradients in which delta is left out", _without_delta),
    TrivialAnswer("no_scale", "gradients of queries and keys without the scale", _without_scale),
    TrivialAnswer("scale_off_by_a_percent", "gradients with a scale that is 1% too large", _scale_off, PRECISE),
    TrivialAnswer("exchanged", "the gradient of the keys for that of the queries, and the other way round", _exchanged),
    TrivialAnswer("mean_over_group", "gradients averaged over a group of heads in place of summed", _mean_over_group),
    TrivialAnswer("last_of_group", "gradients that the last head of a group alone asks for", _last_of_group),
    TrivialAnswer("heads_tiled", "gradients of head h % Hkv in place of h // group", _heads_tiled),
    TrivialAnswer("no_mask", "gradients without the mask", _without("mask")),
    TrivialAnswer("not_causal", "gradients of attention that looks ahead", _without("is_causal")),
    TrivialAnswer("no_window", "gradients without the window", _without("window")),
    TrivialAnswer("no_softcap", "gradients without the softcap", _without("softcap")),
    TrivialAnswer("no_lengths", "gradients that look at no lengths", _without("key_lengths", "query_lengths")),
    TrivialAnswer(
        "no_gradient_of_logarithms", "gradients to which the logsumexp adds nothing", _without("grad_logsumexp")
    ),
    TrivialAnswer("batch_moved", "the gradients of the batch entry before", partial(moved, names=GRADIENTS, axis=0)),
    TrivialAnswer(
        "half_precision",
        "gradients in float16",
        lambda call: answer_of(OPERATION, GRADIENTS, in_half_precision(call.inputs), call.attributes),
        PRECISE,
    ),
    TrivialAnswer("previous_answer", "the gradients of the call before", partial(of_the_call_before, names=GRADIENTS)),
)
"""Trivial answers of the backward pass, cheapest first; one without a feature is right where a case lacks it."""
