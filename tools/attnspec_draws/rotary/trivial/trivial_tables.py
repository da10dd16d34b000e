"""Impostors of rotary tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.generators.trivial_answers import (
    PRECISE,
    Outputs,
    TrivialAnswer,
    answer_of,
    of_the_call_before,
    zeros,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_draws.generators.trivial_answers import Answered

BOTH = ("cos", "sin")


def _at(call: Answered, positions: NDArray[np.int64]) -> Outputs:
    return answer_of("rotary_tables", BOTH, {**call.inputs, "position_ids": positions}, call.attributes)


def _counted(call: Answered) -> Outputs:
    positions = call.inputs["position_ids"]
    return _at(call, np.zeros_like(positions) + np.arange(positions.shape[1], dtype=np.int64))


def _counted_on(call: Answered) -> Outputs:
    positions = call.inputs["position_ids"]
    return _at(call, positions[:, :1] + np.arange(positions.shape[1], dtype=np.int64))


def _of_first_entry(call: Answered) -> Outputs:
    positions = call.inputs["position_ids"]
    return _at(call, np.zeros_like(positions) + positions[:1])


def _of_a_byte(call: Answered) -> Outputs:
    return _at(call, call.inputs["position_ids"] % 256)


def _times(call: Answered, power: int) -> Outputs:
    attributes = {name: value for name, value in call.attributes.items() if name != "attention_factor"}
    plain = answer_of("rotary_tables", BOTH, call.inputs, attributes)
    factor = float(call.attributes.get("attention_factor", 1.0))
    return {name: plain[name] * factor**power for name in BOTH}


def _with_coarse_phases(call: Answered) -> Outputs:
    phases = call.inputs["position_ids"][:, :, np.newaxis] * call.inputs["inverse_frequencies"]
    rounded = rounded_to(phases, "bfloat16")
    factor = float(call.attributes.get("attention_factor", 1.0))
    return {"cos": factor * np.cos(rounded), "sin": factor * np.sin(rounded)}


TABLES = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=BOTH)),
    TrivialAnswer(
        "exchanged", "cosine and sine exchanged", lambda call: {"cos": call.right["sin"], "sin": call.right["cos"]}
    ),
    TrivialAnswer("other_way", "sines of the other sign", lambda call: {"sin": -call.right["sin"]}),
    TrivialAnswer("counted", "tables for the positions 0, 1, 2, ...", _counted),
    TrivialAnswer("counted_on", "tables for positions that are counted on from the first one", _counted_on),
    TrivialAnswer("first_entry", "tables of the first batch entry for all", _of_first_entry),
    TrivialAnswer(
        "next_position", "tables for the position behind", lambda call: _at(call, call.inputs["position_ids"] + 1)
    ),
    TrivialAnswer("byte", "tables for positions below 256", _of_a_byte),
    TrivialAnswer("no_factor", "tables without the attention factor", partial(_times, power=0)),
    TrivialAnswer("factor_twice", "tables that are multiplied by the attention factor twice", partial(_times, power=2)),
    TrivialAnswer("coarse_phases", "cosines and sines of phases in bfloat16", _with_coarse_phases, PRECISE),
    TrivialAnswer("previous_answer", "the tables of the call before", partial(of_the_call_before, names=BOTH)),
)
"""Trivial answers of rotary tables, cheapest first."""
