"""Trivial answers of rotary positions: applying them, their frequencies and their tables."""

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.generators.trivial_answers import Answer, Answered, Forms, Outputs

_ROTATED = Forms("apply_rotary", ("output",))
_FREQUENCIES = Forms("rotary_frequencies", ("inverse_frequencies",))
_WITH_FACTOR = Forms("rotary_frequencies", ("inverse_frequencies", "attention_factor"))
_TABLES = Forms("rotary_tables", ("cos", "sin"))
_BATCH, _TOKENS = 0, 1


def _with_other_pairs(call: Answered) -> Outputs:
    is_interleaved = call.attributes.get("pairing") == "interleaved"
    return _ROTATED.answer(call, pairing="half" if is_interleaved else "interleaved")


def _turned_as(axis: int, *, first: bool) -> Answer:
    """Return the trivial answer that takes the tables of the first one along an axis, or of the one before."""

    def answer(call: Answered) -> Outputs:
        before: NDArray[np.int64] = np.arange(call.inputs["cos"].shape[axis], dtype=np.int64) - 1
        taken = np.zeros_like(before) if first else before
        return _ROTATED.answer(call, **{name: call.inputs[name].take(taken, axis=axis) for name in _TABLES.outputs})

    return answer


def _first_feature_first(call: Answered) -> Outputs:
    """Turn first features, and second ones with what the first have become."""
    half = call.attributes.get("pairing") != "interleaved"
    x, right, pairs = call.inputs["x"], call.right["output"].copy(), call.inputs["cos"].shape[-1]
    firsts, seconds = (
        (slice(pairs), slice(pairs, 2 * pairs)) if half else (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2))
    )
    cos, sin = (call.inputs[name][:, np.newaxis] for name in _TABLES.outputs)
    with np.errstate(all="ignore"):
        right[..., seconds] = sin * right[..., firsts] + cos * x[..., seconds]
    return {"output": right}


def _of_odd_powers(call: Answered) -> Outputs:
    """Take the powers of i instead of 2i, so that the last pair turns as the middle one should."""
    pairs = call.right["inverse_frequencies"].size
    base = float(call.attributes.get("theta", 10000.0))
    return {"inverse_frequencies": call.right["inverse_frequencies"] * base ** (np.arange(pairs) / (2 * pairs))}


def _counted(call: Answered, first: NDArray[np.int64] | int) -> Outputs:
    """Count the positions on from the first one."""
    positions = call.inputs["position_ids"]
    counted = first + np.arange(positions.shape[1], dtype=np.int64)
    return _TABLES.answer(call, position_ids=np.zeros_like(positions) + counted)


def _of_first_entry(call: Answered) -> Outputs:
    positions = call.inputs["position_ids"]
    return _TABLES.answer(call, position_ids=np.zeros_like(positions) + positions[:1])


def _factor(call: Answered) -> float:
    return float(call.attributes.get("attention_factor", 1.0))


def _factor_times(power: int) -> Answer:
    def answer(call: Answered) -> Outputs:
        plain = _TABLES.answer(call, attention_factor=None)
        return {name: plain[name] * _factor(call) ** power for name in _TABLES.outputs}

    return answer


def _with_coarse_phases(call: Answered) -> Outputs:
    phases = call.inputs["position_ids"][:, :, np.newaxis] * call.inputs["inverse_frequencies"]
    rounded = rounded_to(phases, "bfloat16")
    return {"cos": _factor(call) * np.cos(rounded), "sin": _factor(call) * np.sin(rounded)}


TRIVIAL_ROTARY = {
    "apply_rotary": _ROTATED.listed(
        {
            "unchanged": lambda call: {"output": call.inputs["x"]},
            "other_pairs": _with_other_pairs,
            "other_way": lambda call: _ROTATED.answer(call, sin=-call.inputs["sin"]),
            "exchanged": lambda call: _ROTATED.answer(call, cos=call.inputs["sin"], sin=call.inputs["cos"]),
            "in_place": _first_feature_first,
            "first_token": _turned_as(_TOKENS, first=True),
            "token_before": _turned_as(_TOKENS, first=False),
            "first_entry": _turned_as(_BATCH, first=True),
            "heads_moved": _ROTATED.moved(1),
            "batch_moved": _ROTATED.moved(0),
            "half_precision": _ROTATED.half_precision,
        },
    ),
    "rotary_frequencies": _WITH_FACTOR.listed(
        {
            "unscaled": _WITH_FACTOR.changed(scaling=None),
            "linear": lambda call: _WITH_FACTOR.answer(
                call, scaling=None if call.attributes.get("factor") is None else "linear"
            ),
            "usual_base": _WITH_FACTOR.changed(theta=None),
            "short": _WITH_FACTOR.changed(sequence_length=None),
            "half_powers": _of_odd_powers,
            "pairs_moved": _FREQUENCIES.moved(0),
            "no_attention_factor": lambda _: {"attention_factor": np.ones((), np.float64)},
        },
    ),
    "rotary_tables": _TABLES.listed(
        {
            "exchanged": lambda call: {"cos": call.right["sin"], "sin": call.right["cos"]},
            "other_way": lambda call: {"sin": -call.right["sin"]},
            "counted": lambda call: _counted(call, 0),
            "counted_on": lambda call: _counted(call, call.inputs["position_ids"][:, :1]),
            "first_entry": _of_first_entry,
            "next_position": lambda call: _TABLES.answer(call, position_ids=call.inputs["position_ids"] + 1),
            "byte": lambda call: _TABLES.answer(call, position_ids=call.inputs["position_ids"] % 256),
            "no_factor": _factor_times(0),
            "factor_twice": _factor_times(2),
            "coarse_phases": _with_coarse_phases,
        },
        precise=("coarse_phases",),
    ),
}
"""Operation to its trivial answers, cheapest first."""
