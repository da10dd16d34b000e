"""The clauses that a drawn case exercises, by what it has."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.attendance import Attendance
from attnspec_draws.generators.drawn import those

TOP_LEFT, BOTTOM_RIGHT = "top_left", "bottom_right"


def clauses_of_forward(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], keys: Attendance
) -> tuple[str, ...]:
    """Return what follows the short name in the clauses of a case of attention."""
    mask, scale, softcap = inputs.get("mask"), attributes.get("scale"), attributes.get("softcap")
    left, right = attributes.get("window") or (None, None)
    window, causal = "window" in attributes, bool(attributes.get("is_causal"))
    to_the_right = attributes.get("causal_alignment") == BOTTOM_RIGHT
    placed = causal or window or "alibi_slopes" in inputs
    dead = keys.fully_masked is not None
    numbers = mask is not None and mask.dtype != np.bool_
    used = {
        **_of_both(inputs, attributes, keys),
        "scale.negative": scale is not None and scale < 0,
        "softcap.definition": bool(softcap),
        "softcap.off": softcap == 0,
        "softcap.order": bool(softcap) and bool({"mask", "alibi_slopes", "sinks"} & inputs.keys()),
        "mask.boolean": mask is not None and not numbers,
        "mask.additive": numbers,
        "mask.broadcast": mask is not None and mask.shape != keys.attendable.shape,
        "causal.top_left": causal and not to_the_right,
        "causal.bottom_right": causal and to_the_right,
        "window.left": left is not None,
        "window.right": right is not None,
        "window.open_side": window and (left is None or right is None),
        "past.concatenation": "past_key" in inputs,
        "past.position": "past_key" in inputs and placed,
        "key_lengths.exclusion": "key_lengths" in inputs,
        "key_lengths.alignment": "key_lengths" in inputs and placed and to_the_right,
        "query_lengths.rows": "query_lengths" in inputs,
        "query_lengths.alignment": "query_lengths" in inputs and placed and to_the_right,
        "alibi.distance": "alibi_slopes" in inputs,
        "alibi.position": "alibi_slopes" in inputs and "causal_alignment" in attributes,
        "sinks.denominator": "sinks" in inputs,
        "sinks.logsumexp": "sinks" in inputs,
        "logsumexp.fully_masked_row": dead and "sinks" not in inputs,
    }
    return ("scores", "softmax.keys", "output", "logsumexp", *those(used))


def clauses_of_backward(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], keys: Attendance
) -> tuple[str, ...]:
    """Return what follows the short name in the clauses of a case of the backward pass."""
    mask = inputs.get("mask")
    numbers = mask is not None and mask.dtype != np.bool_
    used = {
        **_of_both(inputs, attributes, keys),
        "stored": bool({"output", "logsumexp"} & inputs.keys()),
        "causal": bool(attributes.get("is_causal")),
        "window": "window" in attributes,
        "position": "causal_alignment" in attributes,
        "alibi": "alibi_slopes" in inputs,
        "mask.boolean": mask is not None and not numbers,
        "mask.additive": numbers,
        "grad_mask": numbers,
        "grad_mask.broadcast": numbers and mask is not None and mask.shape != keys.attendable.shape,
        "key_lengths": "key_lengths" in inputs,
        "query_lengths": "query_lengths" in inputs,
        "grad_logsumexp": "grad_logsumexp" in inputs,
        "softcap": "softcap" in attributes,
        "sinks": "sinks" in inputs,
        "grad_sinks": "sinks" in inputs,
    }
    return ("grad_query", "grad_key", "grad_value", *those(used))


def _of_both(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], keys: Attendance) -> dict[str, bool]:
    """Return the clauses, in use or not, that attention and its backward pass call by the same names."""
    scale, dead, empty = attributes.get("scale"), keys.fully_masked is not None, keys.attendable.shape[-1] == 0
    return {
        "heads.grouped": inputs["query"].shape[1] != inputs["key"].shape[1],
        "scale.explicit": scale is not None,
        "scale.zero": scale == 0,
        "sinks.fully_masked_row": "sinks" in inputs and dead,
        "fully_masked_row": dead and "sinks" not in inputs and not empty,
        "no_keys": dead and empty,
    }
