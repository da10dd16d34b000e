"""Trivial answers of norms."""

import numpy as np

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.trivial_answers import Answered, Forms, Outputs

_ROWS = Forms("rms_norm", ("output",))
_PAIR = Forms("qk_norm", ("query_output", "key_output"))
_HEADS = 1
_NAMES = ("query", "key")


def _other_offset(forms: Forms, call: Answered) -> Outputs:
    return forms.answer(call, weight_offset="zero" if call.attributes.get("weight_offset") == "one" else "one")


def _of_the_sum(call: Answered) -> Outputs:
    """Divide by the root of the sum of the squares."""
    features = max(call.inputs["x"].shape[-1], 1)
    of_mean = _ROWS.answer(call, epsilon=call.attributes["epsilon"] / features)["output"]
    return {"output": of_mean / np.sqrt(features)}


def _epsilon_outside(call: Answered) -> Outputs:
    """Add epsilon to the root."""
    x, weight = call.inputs["x"], call.inputs["weight"]
    root = np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + call.attributes["epsilon"]
    return {"output": x / root * (weight + (call.attributes.get("weight_offset") == "one"))}


def _with_other_pairs(call: Answered) -> Outputs:
    if "cos" not in call.inputs:
        return dict(call.right)
    is_interleaved = call.attributes.get("pairing") == "interleaved"
    return _PAIR.answer(call, pairing="half" if is_interleaved else "interleaved")


def _rotated_first(call: Answered) -> Outputs:
    """Rotate before the norm."""
    if "cos" not in call.inputs:
        return dict(call.right)
    tables = {name: call.inputs[name] for name in ("cos", "sin")}
    stated = {name: call.attributes[name] for name in ("pairing",) if name in call.attributes}
    turned = {
        name: reference_outputs("apply_rotary", {"x": call.inputs[name], **tables}, stated)["output"] for name in _NAMES
    }
    return _PAIR.answer(call, **turned, cos=None, sin=None, pairing=None)


def _together(call: Answered) -> Outputs:
    """Normalize the features of all heads together, where those of each head are to be."""
    if call.attributes.get("normalized_over") == "all_heads":
        return dict(call.right)
    weights = {
        f"{name}_weight": np.tile(call.inputs[f"{name}_weight"], call.inputs[name].shape[_HEADS]) for name in _NAMES
    }
    return _PAIR.answer(call, normalized_over="all_heads", **weights)


TRIVIAL_NORMS = {
    "rms_norm": _ROWS.listed(
        {
            "unchanged": lambda call: {"output": call.inputs["x"]},
            "no_weight": lambda call: _ROWS.answer(
                call, weight=np.ones_like(call.inputs["weight"]), weight_offset=None
            ),
            "other_offset": lambda call: _other_offset(_ROWS, call),
            "of_the_sum": _of_the_sum,
            "of_centred": lambda call: _ROWS.answer(
                call, x=call.inputs["x"] - call.inputs["x"].mean(axis=-1, keepdims=True)
            ),
            "no_epsilon": _ROWS.changed(epsilon=0.0),
            "epsilon_outside": _epsilon_outside,
            "half_precision": _ROWS.half_precision,
        },
    ),
    "qk_norm": _PAIR.listed(
        {
            "unchanged": lambda call: {f"{name}_output": call.inputs[name] for name in _NAMES},
            "not_rotated": _PAIR.without("cos", "sin"),
            "other_pairs": _with_other_pairs,
            "rotated_first": _rotated_first,
            "together": _together,
            "other_offset": lambda call: _other_offset(_PAIR, call),
            "no_epsilon": _PAIR.changed(epsilon=0.0),
            "heads_moved": _PAIR.moved(_HEADS),
            "half_precision": _PAIR.half_precision,
        },
    ),
}
"""Operation to its trivial answers, cheapest first."""
