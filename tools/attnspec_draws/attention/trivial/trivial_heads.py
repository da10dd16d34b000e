"""Impostors of splitting and combining heads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attnspec_draws.generators.trivial_answers import Outputs, TrivialAnswer, moved, of_the_call_before, zeros

if TYPE_CHECKING:
    from attnspec_draws.generators.trivial_answers import Answered

OUTPUT = ("output",)


def _split_shape(call: Answered) -> tuple[int, int, int, int]:
    batch, tokens, features = call.inputs["x"].shape
    heads = int(call.attributes["num_heads"])
    return batch, heads, tokens, features // heads


def _reshaped_to_heads(call: Answered) -> Outputs:
    return {"output": call.inputs["x"].reshape(_split_shape(call))}


def _interleaved_in_heads(call: Answered) -> Outputs:
    batch, heads, tokens, width = _split_shape(call)
    return {"output": call.inputs["x"].reshape(batch, tokens, width, heads).transpose(0, 3, 1, 2)}


def _reshaped_to_tokens(call: Answered) -> Outputs:
    return {"output": call.inputs["x"].reshape(call.right["output"].shape)}


def _interleaved_in_tokens(call: Answered) -> Outputs:
    return {"output": call.inputs["x"].transpose(0, 2, 3, 1).reshape(call.right["output"].shape)}


def _finite(call: Answered) -> Outputs:
    return {"output": np.nan_to_num(call.right["output"], nan=0.0, posinf=0.0, neginf=0.0)}


SPLIT_HEADS = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer(
        "reshaped", "heads of numbers that lie side by side, whose token they are not asked", _reshaped_to_heads
    ),
    TrivialAnswer("interleaved", "every so many features in one head", _interleaved_in_heads),
    TrivialAnswer("heads_moved", "the head before", partial(moved, names=OUTPUT, axis=1)),
    TrivialAnswer("tokens_moved", "the token before", partial(moved, names=OUTPUT, axis=2)),
    TrivialAnswer("finite", "0 for what is not finite", _finite),
    TrivialAnswer("previous_answer", "the heads of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of splitting heads, cheapest first."""

COMBINED_HEADS = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("reshaped", "tokens of numbers that lie side by side, whatever their head", _reshaped_to_tokens),
    TrivialAnswer("interleaved", "features of all heads in turns", _interleaved_in_tokens),
    TrivialAnswer("tokens_moved", "the token before", partial(moved, names=OUTPUT, axis=1)),
    TrivialAnswer("finite", "0 for what is not finite", _finite),
    TrivialAnswer("previous_answer", "the tokens of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of combining heads, cheapest first."""
