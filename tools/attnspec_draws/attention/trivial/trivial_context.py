"""Impostors of the context vector."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from attnspec_draws.generators.trivial_answers import (
    PRECISE,
    Outputs,
    TrivialAnswer,
    answer_of,
    in_half_precision,
    of_the_call_before,
    zeros,
)

if TYPE_CHECKING:
    from attnspec_draws.generators.trivial_answers import Answered

OPERATION = "context_vector"
OUTPUT = ("context",)


def _scaled(call: Answered, scale: float | None) -> Outputs:
    return answer_of(OPERATION, OUTPUT, call.inputs, {**call.attributes, "scale": scale})


def _scaled_by_tokens(call: Answered) -> Outputs:
    return _scaled(call, 1 / math.sqrt(len(call.inputs["encoder_states"])))


def _best_alone(call: Answered) -> Outputs:
    return {"context": call.inputs["encoder_states"][call.right["scores"].argmax()]}


def _backwards(call: Answered) -> Outputs:
    return {"context": call.right["weights"][::-1] @ call.inputs["encoder_states"]}


def _half(call: Answered) -> Outputs:
    return answer_of(OPERATION, OUTPUT, in_half_precision(call.inputs), call.attributes)


CONTEXT = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("unchanged", "the state that asks", lambda call: {"context": call.inputs["decoder_state"]}),
    TrivialAnswer("uniform_weights", "the mean of all states", partial(_scaled, scale=0.0)),
    TrivialAnswer("best_alone", "the state with the largest score", _best_alone),
    TrivialAnswer("no_scale", "the right answer to the scale 1", partial(_scaled, scale=1.0)),
    TrivialAnswer("default_scale", "the default scale", partial(_scaled, scale=None)),
    TrivialAnswer("scale_of_tokens", "a scale by the number of tokens", _scaled_by_tokens),
    TrivialAnswer("backwards", "weights for the states in the opposite order", _backwards),
    TrivialAnswer("half_precision", "what was computed from float16", _half, PRECISE),
    TrivialAnswer("previous_answer", "the context of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of the context vector, cheapest first."""
