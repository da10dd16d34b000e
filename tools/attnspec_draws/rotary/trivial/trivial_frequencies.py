"""Impostors of rotary frequencies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_draws.generators.trivial_answers import (
    Outputs,
    TrivialAnswer,
    answer_of,
    moved,
    of_the_call_before,
    zeros,
)

if TYPE_CHECKING:
    from attnspec_draws.generators.trivial_answers import Answered

FREQUENCIES = ("inverse_frequencies",)
BOTH = (*FREQUENCIES, "attention_factor")


def _with(call: Answered, **attributes: Any) -> Outputs:
    """Return the answer with other attributes; those that are None are left out."""
    return answer_of("rotary_frequencies", BOTH, {}, {**call.attributes, **attributes})


def _linear(call: Answered) -> Outputs:
    factor = call.attributes.get("factor")
    return _with(call, scaling=None if factor is None else "linear")


def _short(call: Answered) -> Outputs:
    return _with(call, sequence_length=None)


def _of_odd_powers(call: Answered) -> Outputs:
    """Take the powers of i instead of 2i, so that the last pair turns as the middle one should."""
    pairs = call.right["inverse_frequencies"].size
    base = float(call.attributes.get("theta", 10000.0))
    return {"inverse_frequencies": call.right["inverse_frequencies"] * base ** (np.arange(pairs) / (2 * pairs))}


FREQUENCY = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=BOTH)),
    TrivialAnswer("unscaled", "frequencies and a factor without any scaling", partial(_with, scaling=None)),
    TrivialAnswer("linear", "frequencies that are all divided by the factor", _linear),
    TrivialAnswer("usual_base", "powers of 10000, whatever the base", partial(_with, theta=None)),
    TrivialAnswer("short", "what holds for texts as long as those in training", _short),
    TrivialAnswer("half_powers", "powers that fall half as fast", _of_odd_powers),
    TrivialAnswer("pairs_moved", "the frequency of the pair before", partial(moved, names=FREQUENCIES, axis=0)),
    TrivialAnswer(
        "no_attention_factor", "an attention factor of 1", lambda _: {"attention_factor": np.ones((), np.float64)}
    ),
    TrivialAnswer("previous_answer", "the frequencies of the call before", partial(of_the_call_before, names=BOTH)),
)
"""Trivial answers of rotary frequencies, cheapest first."""
