"""A second call of a case, after others have run: the answer must not depend on what ran before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.contract.implementation import Crashed, Outputs
from attnspec.contract.layout import operation_in
from attnspec.grading import OUTPUTS_UNCHANGED, RIGHT, grade
from attnspec.runner.following import SECOND_CALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.runner.result import Result
    from attnspec.runner.session import Session

_NO_ANSWER = ("error", "crash", "timeout", "malformed")
"""Statuses that keep their name in a second call: there is no value that could differ."""


def again(result: Result, session: Session) -> Result:
    """Call a case that was answered rightly once more: a check, as :class:`attnspec.runner.checks.Check` has it."""
    # Without a first answer to hold it against, as for thinned cases, a second call would say little for its time.
    if result.verdict.status not in RIGHT or result.got is None:
        return result
    run = result.run
    answer, _ = session.call(run, "again")
    if isinstance(answer, Crashed) and not answer.was_requested:
        return result
    got = answer.values if isinstance(answer, Outputs) else None
    if isinstance(answer, Outputs) and not answer.inputs_changed and not answer.overwritten:
        first = result.got
        if answer.values.keys() == first.keys() and all(
            equal_bits(answer.values[name], array) for name, array in first.items()
        ):
            return result._replace(same_bits=True)
    verdict = grade(run, answer)
    if verdict.status in RIGHT and run.case.properties is None:
        return result._replace(same_bits=False)
    if verdict.status in _NO_ANSWER:
        message = f"{SECOND_CALL}: {verdict.message}"
        return result._replace(verdict=verdict._replace(message=message), got=None)
    if verdict.check == OUTPUTS_UNCHANGED:
        return result._replace(verdict=verdict)
    found = verdict.message or "other numbers for the same seed"
    if operation_in(run.operation.name, run.layout) is not run.operation:
        # A layout chooses its arguments anew each time: it was given the same case and not the same arguments, so that
        # nothing is said of repeating itself.
        verdict = verdict._replace(message=f"{SECOND_CALL}, with other contents where nothing may be read: {found}")
    else:
        message = f"{SECOND_CALL}, did not pass: {found}"
        verdict = verdict._replace(status="fail", check="repeatable", message=message)
    return result._replace(verdict=verdict, got=got, same_bits=False)


def equal_bits(second: NDArray[Any], first: NDArray[Any]) -> bool:
    """Return whether two arrays are of one dtype and shape, and hold the same bits."""
    return second.dtype == first.dtype and second.shape == first.shape and second.tobytes() == first.tobytes()
