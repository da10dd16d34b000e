"""Steps of a decoder: whether a prefill, and calls that go on from what it kept, give what one pass gives.

They are graded by the tolerance of the whole case, in one dtype, for all who take what such calls are handed. Nothing
is said of those who get single calls of that kind wrong, which the cases show.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attnspec.contract import CALLED_IN_STEPS
from attnspec.contract.convention import Settles
from attnspec.contract.dtypes import rounded_to
from attnspec.contract.implementation import Declined, Outputs
from attnspec.families.lookup import lacking_capability
from attnspec.grading import RIGHT, STATE, WRONG, Run, grade
from attnspec.runner.result import Result

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.families.record import Arrays, Steps
    from attnspec.grading.verdicts import PartCompared
    from attnspec.runner.session import Session


def call_in_steps(result: Result, session: Session) -> Result:
    """Call a case in the steps of its family, and keep with the verdict what is wrong with them: a `Check`."""
    run = result.run
    kinds = CALLED_IN_STEPS.get(run.case.id)
    if kinds is None or result.verdict.status not in RIGHT or result.got is None:
        return result
    if not session.is_in_first_dtype(run):
        return result
    seen = run.case._replace(inputs={name: rounded_to(array, run.dtype) for name, array in run.case.inputs.items()})
    found: list[PartCompared] = []
    for kind in kinds:
        steps = run.family.steps(seen, kind, run.conventions)
        problem = None if steps is None else _problem(run, steps, session)
        if steps is not None and problem is not None:
            units, sentence = (math.inf, f"{steps.sentence}: {problem}") if problem else (0.0, "")
            found.append((STATE, units, sentence))
    return result._replace(verdict=result.verdict._replace(parts=(*result.verdict.parts, *found))) if found else result


def _problem(run: Run, steps: Steps, session: Session) -> str | None:
    """Return what is wrong with steps, empty if nothing is; None where they are not offered, or known to be wrong."""
    values: Arrays | None = None
    while True:
        try:
            step = next(steps.calls) if values is None else steps.calls.send(values)
        except StopIteration as end:
            outputs, problem = end.value
            verdict = grade(run, Outputs(outputs)) if not problem else None
            return problem if verdict is None else verdict.message if verdict.status in WRONG else ""
        if lacking_capability(step, session.implementation.declaration.without) or _is_known(run, step, session):
            return None
        changed = {name: value for name, value in step.attributes.items() if value != run.case.attributes.get(name)}
        for name in run.conventions.departing[Settles.ATTRIBUTE]:
            changed.pop(name, None)
        answer, _ = session.call(run._replace(case=step, attributes={**run.attributes, **changed}), "part", run)
        if isinstance(answer, Declined):
            return None
        if not isinstance(answer, Outputs):
            return grade(run, answer).message
        values = {name: array.copy() for name, array in answer.values.items()}


def _is_known(run: Run, step: Case, session: Session) -> bool:
    """Return whether a case goes wrong that has the inputs which a step has beside those of its case."""
    beside = step.inputs.keys() - run.case.inputs.keys()
    return bool(beside) and any(
        result.is_wrong and result.case.rejects is None and beside <= result.case.inputs.keys()
        for result in session.results.values()
        if result.case.operation == run.case.operation
    )
