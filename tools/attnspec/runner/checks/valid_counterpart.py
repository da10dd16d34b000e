"""Refusals beside their valid counterparts: an implementation that refuses everything shows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.grading import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Case, Suite
    from attnspec.grading import Status
    from attnspec.runner.following import Key
    from attnspec.runner.result import Result
    from attnspec.runner.session import Session


def valid_counterpart(result: Result, session: Session) -> Result:
    """Take back the pass of a refusal whose valid counterpart (called if not selected) does not pass: a `Check`."""
    counterpart = _counterpart_of(result, session.suite)
    if counterpart is None:
        return result
    key = _key(counterpart, result)
    if key in session.results:
        return _taken_back(result, counterpart, session.amended(session.results[key]).status)
    if key not in session.statuses:
        session.statuses[key] = session.first_result(session.plan(counterpart, key[1]), result.run).status
    return _taken_back(result, counterpart, session.statuses[key])


def beside_counterparts(results: Sequence[Result], suite: Suite) -> tuple[Result, ...]:
    """Take back the passes of refusals whose valid counterparts do not pass, where nothing can be called any more."""
    known: dict[Key, Status] = {(result.case.id, result.dtype): result.status for result in results}
    checked: list[Result] = []
    for result in results:
        counterpart = _counterpart_of(result, suite)
        if counterpart is None:
            checked.append(result)
        else:
            checked.append(_taken_back(result, counterpart, known.get(_key(counterpart, result))))
    return tuple(checked)


def _counterpart_of(result: Result, suite: Suite) -> Case | None:
    """Return the case that differs from a passed refusal only in what is wrong there; None for any other result."""
    rejects = result.run.case.rejects
    if rejects is None or result.verdict.status != "pass":
        return None
    return suite.cases.get(rejects.counterpart) or suite.counterparts[rejects.counterpart]


def _key(counterpart: Case, result: Result) -> Key:
    return counterpart.id, result.dtype if result.dtype in counterpart.runs else counterpart.runs[0]


def _taken_back(result: Result, counterpart: Case, status: Status | None) -> Result:
    """Return a refusal as unsupported where its counterpart did not pass or was not run: it says nothing then."""
    if status == "pass":
        return result
    how = "was not run" if status is None else "did not pass"
    message = f"the valid twin {counterpart.id} {how}, so a refusal says nothing"
    return result._replace(verdict=Verdict("unsupported", message=message))
