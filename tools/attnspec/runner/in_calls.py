"""Answer to a request that is made of several calls, such as the steps in which a cache is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.contract.implementation import Answer, Implementation, Outputs

if TYPE_CHECKING:
    from attnspec.families.record import Arrays, Calls


def answered_in_calls(implementation: Implementation, calls: Calls) -> Answer:
    """Return the outputs of all calls together, or the first answer that is none."""
    changed: dict[str, None] = {}
    overwritten: dict[str, None] = {}
    values: Arrays | None = None
    while True:
        try:
            request = next(calls) if values is None else calls.send(values)
        except StopIteration as end:
            return Outputs(end.value, tuple(changed), tuple(overwritten))
        answer = implementation.run(request)
        if not isinstance(answer, Outputs):
            return answer
        # What a call returned is handed over again, and may be written there.
        values = {name: array.copy() for name, array in answer.values.items()}
        changed |= dict.fromkeys(answer.inputs_changed)
        overwritten |= dict.fromkeys(answer.overwritten)
