"""Impostors of applying rotary positions."""

from __future__ import annotations

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
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_draws.generators.trivial_answers import Answered

OUTPUT = ("output",)
_TABLES = ("cos", "sin")
_BATCH, _TOKENS = 0, 1


def _of(call: Answered, **inputs: NDArray[np.float64]) -> Outputs:
    return answer_of("apply_rotary", OUTPUT, {**call.inputs, **inputs}, call.attributes)


def _with_other_pairs(call: Answered) -> Outputs:
    other = "half" if call.attributes.get("pairing") == "interleaved" else "interleaved"
    return answer_of("apply_rotary", OUTPUT, call.inputs, {"pairing": other})


def _other_way(call: Answered) -> Outputs:
    return _of(call, sin=-call.inputs["sin"])


def _exchanged(call: Answered) -> Outputs:
    return _of(call, cos=call.inputs["sin"], sin=call.inputs["cos"])


def _as_the_first(call: Answered, axis: int) -> Outputs:
    return _of(call, **_taken(call.inputs, axis, first=True))


def _as_the_one_before(call: Answered, axis: int) -> Outputs:
    return _of(call, **_taken(call.inputs, axis, first=False))


def _taken(inputs: Mapping[str, NDArray[np.float64]], axis: int, *, first: bool) -> dict[str, NDArray[np.float64]]:
    places: NDArray[np.int64] = np.arange(inputs["cos"].shape[axis], dtype=np.int64) - 1
    places = np.zeros_like(places) if first else places
    return {name: inputs[name].take(places, axis=axis) for name in _TABLES}


def _first_feature_first(call: Answered) -> Outputs:
    """Turn first features in place, and second ones with what the first have become."""
    half = call.attributes.get("pairing") != "interleaved"
    x, right, pairs = call.inputs["x"], call.right["output"].copy(), call.inputs["cos"].shape[-1]
    firsts, seconds = (
        (slice(pairs), slice(pairs, 2 * pairs)) if half else (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2))
    )
    cos, sin = (call.inputs[name][:, np.newaxis] for name in _TABLES)
    with np.errstate(all="ignore"):
        right[..., seconds] = sin * right[..., firsts] + cos * x[..., seconds]
    return {"output": right}


ROTATION = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("unchanged", "its input, not turned at all", lambda call: {"output": call.inputs["x"]}),
    TrivialAnswer("other_pairs", "the pairs of the other pairing", _with_other_pairs),
    TrivialAnswer("other_way", "pairs that are turned the other way", _other_way),
    TrivialAnswer("exchanged", "cosine and sine exchanged", _exchanged),
    TrivialAnswer("in_place", "second features that are turned with the turned first ones", _first_feature_first),
    TrivialAnswer("first_token", "every token turned as the first one", partial(_as_the_first, axis=_TOKENS)),
    TrivialAnswer("token_before", "every token turned as the one before it", partial(_as_the_one_before, axis=_TOKENS)),
    TrivialAnswer("first_entry", "every batch entry turned as the first one", partial(_as_the_first, axis=_BATCH)),
    TrivialAnswer("heads_moved", "the output of the head before", partial(moved, names=OUTPUT, axis=1)),
    TrivialAnswer("batch_moved", "the output of the batch entry before", partial(moved, names=OUTPUT, axis=0)),
    TrivialAnswer(
        "half_precision",
        "pairs that were turned in float16",
        lambda call: answer_of("apply_rotary", OUTPUT, in_half_precision(call.inputs), call.attributes),
        PRECISE,
    ),
    TrivialAnswer("previous_answer", "the output of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of applying rotary positions, cheapest first."""
