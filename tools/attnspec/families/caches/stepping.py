"""Steps of a cache in calls of their own, for functions that write one step at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.contract.implementation import Request
    from attnspec.families.record import Calls

_STATES = {
    "scatter_cache": ({"cache": "present"}, {"present": "history"}, ("update",), "write_indices"),
    "write_window": (
        {"key_cache": "present_key", "value_cache": "present_value"},
        {"present_key": "key_history", "present_value": "value_history"},
        ("key", "value"),
        "past_lengths",
    ),
}
"""Operation to its caches, each with the output that is the next step's; its outputs with their histories; what is cut
into steps; and where the first token goes, or how many came before it."""


def in_calls(request: Request) -> Calls | None:
    """Return the calls of a request with `step_lengths`, one a step; None for a request without."""
    if "step_lengths" not in request.inputs or request.operation not in _STATES:
        return None
    return _step_by_step(request)


def _step_by_step(request: Request) -> Calls:
    caches, histories, new, counted = _STATES[request.operation]
    inputs = {name: array for name, array in request.inputs.items() if name != "step_lengths"}
    axis, done = request.attributes.get("axis", -2), 0
    first = inputs.get(counted)
    if first is None:
        first = np.zeros(len(inputs[next(iter(caches))]), dtype=np.int64)
    after: dict[str, list[NDArray[Any]]] = {name: [] for name in histories}
    values: dict[str, NDArray[Any]] = {}
    for length in request.inputs["step_lengths"].tolist():
        step = {name: np.take(inputs[name], range(done, done + length), axis=axis) for name in new}
        values = dict((yield request._replace(inputs={**inputs, **step, counted: first + done})))
        if any(values[output].shape != inputs[name].shape for name, output in caches.items()):
            # It is no cache for a next step, and is graded as it came.
            return values
        inputs |= {name: values[output].copy() for name, output in caches.items()}
        done += length
        for name, kept in after.items():
            kept.append(values[name])
    return {**values, **{history: np.array(after[name]) for name, history in histories.items()}}
