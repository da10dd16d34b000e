"""Parts of a case of attention: an entry alone, beside others, in another order; one query alone, a decode step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.families.parts import BATCH, last_alone, length_along, other_neighbours, other_order, taken
from attnspec.families.record import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.cases import Case

_QUERY = "query"
"""The axis of queries, in the contract."""

_NUMBER = 3.0
"""What neighbours hold where NaN may be refused, or enter by declaration."""

_WITH_NAN = {"masked_nonfinite": "ignored", "nonfinite_input": "propagates"}
"""Conventions under which NaN in one entry is nothing to another, whatever is done with it."""


def parts(case: Case, kinds: Sequence[str], conventions: Mapping[str, str]) -> Sequence[Part]:
    """Return the parts of some kinds of a case."""
    return [_MADE[kind](case, conventions) for kind in kinds]


def fill_where_nothing_is_read(conventions: Mapping[str, str]) -> float:
    """Return NaN, or a number where NaN may be refused, or enter by declaration."""
    return _NUMBER if any(conventions[name] != choice for name, choice in _WITH_NAN.items()) else np.nan


def _neighbours(case: Case, conventions: Mapping[str, str]) -> Part:
    """Return a batch whose other entries hold NaN, have all their tokens, and nothing masked."""
    fill = fill_where_nothing_is_read(conventions)

    def other(name: str, array: NDArray[Any]) -> NDArray[Any]:
        if name.endswith("_lengths"):
            return np.full_like(array, length_along(case, name.removesuffix("_lengths")))
        if array.dtype == bool:
            return np.ones_like(array)
        return np.zeros_like(array) if name == "mask" else np.full_like(array, fill)

    return other_neighbours(case, {name: other(name, array) for name, array in case.inputs.items()})


def _last_query(case: Case, _: Mapping[str, str]) -> Part:
    """Return the last query with all keys: where its position matters, it stands by the end of the keys."""
    part = last_alone("queries", case, _QUERY)
    if "query_lengths" not in part.inputs:
        return part
    before = length_along(case, _QUERY) - 1
    return part._replace(inputs={**part.inputs, "query_lengths": np.maximum(case.inputs["query_lengths"] - before, 0)})


def _step(case: Case, _: Mapping[str, str]) -> Part:
    """Return the last query and its key behind a past of all others, of as many keys as queries: a step of decoding."""
    last = length_along(case, _QUERY) - 1
    inputs = taken(case, _QUERY, [last])
    for name in ("key", "value"):
        array = case.inputs[name]
        inputs[name], inputs[f"past_{name}"] = array[:, :, last:], array[:, :, :last]
    return Part("steps", f"query {last} as a step behind a past", inputs, {_QUERY: ([last], [0])})


_MADE: Mapping[str, Callable[[Case, Mapping[str, str]], Part]] = {
    "alone": lambda case, _: last_alone("alone", case, BATCH),
    "order": lambda case, _: other_order(case),
    "neighbours": _neighbours,
    "queries": _last_query,
    "steps": _step,
}
"""Kind of a part, in the contract, to its maker."""
