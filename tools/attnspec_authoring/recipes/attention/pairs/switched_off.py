"""The same call without one of its features, feature by feature, to see whether each shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec_authoring.recipes.attention.attendance import attendance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.covering.table import Call
    from attnspec_authoring.recipes.authoring import AuthoredCase

_OF_SCORES = ("entries of query", "entries of key", "past_key")


def switched_off(case: AuthoredCase) -> dict[str, Call]:
    """Return feature to the call without it, for those features of a case that are to show."""
    made = _SWITCHES.get(case.operation, _without_attributes)(case)
    return {name: call for name, call in made.items() if not _idle_by_design(case, name)}


def _without_attributes(case: AuthoredCase) -> dict[str, Call]:
    """Leave out each optional attribute that is stated, and each optional input."""
    made: dict[str, Call] = {
        name: (case.inputs, {key: value for key, value in case.attributes.items() if key != name})
        for name in ("scale", "is_causal", "axis", "softcap", "window")
        if name in case.attributes
    }
    for name in OPERATIONS[case.operation].optional_inputs:
        # A past changes how long a mask is.
        if name in case.inputs and not name.startswith("past_"):
            made[name] = ({key: array for key, array in case.inputs.items() if key != name}, case.attributes)
    return made


def _attention(case: AuthoredCase) -> dict[str, Call]:
    inputs, attributes = case.inputs, case.attributes
    made = _without_attributes(case)
    query_heads, heads = inputs["query"].shape[1], inputs["key"].shape[1]
    if query_heads != heads and heads > 1:
        in_turn: NDArray[np.int64] = np.arange(query_heads, dtype=np.int64) % heads
        made["heads in turn"] = (_with_heads(inputs, in_turn), attributes)
    if inputs["query"].shape[0] > 1:
        for name in ("query", "key", "value"):
            if case.memory_order.get(name) != "broadcast":
                first = np.broadcast_to(inputs[name][:1], inputs[name].shape)
                made[f"entries of {name}"] = ({**inputs, name: first}, attributes)
    if "past_key" in inputs:
        for name in ("past_key", "past_value"):
            made[name] = ({**inputs, name: np.zeros_like(inputs[name])}, attributes)
    if "causal_alignment" in attributes:
        other = "top_left" if attributes["causal_alignment"] == "bottom_right" else "bottom_right"
        made["causal_alignment"] = (inputs, {**attributes, "causal_alignment": other})
    return made


def _with_heads(inputs: Mapping[str, NDArray[Any]], heads: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    names = {"key", "value", "past_key", "past_value"} & inputs.keys()
    return {name: array[:, heads] if name in names else array for name, array in inputs.items()}


def _idle_by_design(case: AuthoredCase, feature: str) -> bool:
    """Return what a case has that must change nothing.

    That is what only scores show where the scale is 0, a softcap of 0, a bias of the keys, an open window, lengths of
    queries that move no query, and what is positional where the one query stands at the last key.
    """
    attributes = case.attributes
    if feature in _OF_SCORES:
        return attributes.get("scale") == 0.0
    if feature == "b_key":
        # It adds the same to every score of a query, which the softmax takes away.
        return True
    if feature == "softcap":
        return not attributes["softcap"]
    if feature == "query_lengths":
        return attributes.get("causal_alignment") != "bottom_right"
    if feature not in ("window", "is_causal") or "query" not in case.inputs or case.inputs["query"].ndim != 4:
        return False
    rest = {name: value for name, value in attributes.items() if name != feature}
    now, then = attendance(case.inputs, attributes), attendance(case.inputs, rest)
    one_query = case.inputs["query"].shape[2] == 1 and attributes.get("causal_alignment") != "top_left"
    return (one_query or attributes.get("window") == [None, None]) and bool((now.attended == then.attended).all())


_SWITCHES = {"scaled_dot_product_attention": _attention}
