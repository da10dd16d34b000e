"""Impostors of merging states."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

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
    from attnspec_draws.generators.trivial_answers import Answered

OPERATION = "merge_states"
OUTPUT = ("output",)
BOTH = ("output", "logsumexp")


def _one_part(call: Answered, part: str) -> Outputs:
    return {name: call.inputs[f"{name}_{part}"] for name in BOTH}


def _mean(call: Answered) -> Outputs:
    return {"output": (call.inputs["output_a"] + call.inputs["output_b"]) / 2}


def _sum(call: Answered) -> Outputs:
    return {"output": call.inputs["output_a"] + call.inputs["output_b"]}


def _larger_part(call: Answered) -> Outputs:
    takes_a = call.inputs["logsumexp_a"] >= call.inputs["logsumexp_b"]
    output = np.where(takes_a[..., np.newaxis], call.inputs["output_a"], call.inputs["output_b"])
    return {"output": output, **_larger_logarithm(call)}


def _exchanged(call: Answered) -> Outputs:
    inputs = {**call.inputs, "output_a": call.inputs["output_b"], "output_b": call.inputs["output_a"]}
    return answer_of(OPERATION, OUTPUT, inputs, {})


def _to_base_2(call: Answered) -> Outputs:
    logarithms = {name: math.log(2) * call.inputs[name] for name in ("logsumexp_a", "logsumexp_b")}
    answered = answer_of(OPERATION, BOTH, {**call.inputs, **logarithms}, {})
    return {**answered, "logsumexp": answered["logsumexp"] / math.log(2)}


def _weights_of_first_head(call: Answered) -> Outputs:
    first = np.zeros(call.inputs["output_a"].shape[1], np.int64)
    logarithms = {name: call.inputs[name][:, first] for name in ("logsumexp_a", "logsumexp_b")}
    return answer_of(OPERATION, OUTPUT, {**call.inputs, **logarithms}, {})


def _larger_logarithm(call: Answered) -> Outputs:
    return {"logsumexp": np.maximum(call.inputs["logsumexp_a"], call.inputs["logsumexp_b"])}


MERGING = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("first_part", "the first part", partial(_one_part, part="a")),
    TrivialAnswer("second_part", "the second part", partial(_one_part, part="b")),
    TrivialAnswer("mean_of_parts", "the mean of both parts", _mean),
    TrivialAnswer("sum_of_parts", "the sum of both parts", _sum),
    TrivialAnswer("larger_part", "the part with the larger logarithm", _larger_part),
    TrivialAnswer("exchanged", "both parts, each with the weight of the other", _exchanged),
    TrivialAnswer("base_2", "both parts, weighed by powers of 2", _to_base_2),
    TrivialAnswer(
        "weights_of_first_head", "both parts, weighed in every head as in the first one", _weights_of_first_head
    ),
    TrivialAnswer("larger_logarithm", "the right output, and the larger of the two logarithms", _larger_logarithm),
    TrivialAnswer("heads_moved", "the output of the head before", partial(moved, names=OUTPUT, axis=1)),
    TrivialAnswer("batch_moved", "the output of the batch entry before", partial(moved, names=OUTPUT, axis=0)),
    TrivialAnswer(
        "half_precision",
        "both parts, merged in float16",
        lambda call: answer_of(OPERATION, BOTH, in_half_precision(call.inputs), {}),
        PRECISE,
    ),
    TrivialAnswer("previous_answer", "the output of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of merging, cheapest first."""
