"""The checks that follow a first answer, for faults that one call of a case does not show.

- A second call, after others have run: the answer must not depend on what ran before.
- A call with one argument changed: the output must change with it, and be right where the reference says what is. The
  case states the argument and its change. No fixture holds the new outputs; the reference gives them where the page
  asks nothing new of the call. An input is overwritten, to show results kept by the identity of an array.
- Calls of parts of a case, whose results should have the same bits where that is declared.
- Calls of a case in steps that go on from what earlier ones kept, which give what one pass gives.
- Refusals beside their valid counterparts: an implementation that refuses everything shows nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case, Suite
from attnspec.contract.convention import Settles
from attnspec.contract.implementation import Crashed, Outputs
from attnspec.contract.layout import operation_in
from attnspec.families.lookup import lacking_capability, needed_capabilities
from attnspec.grading import OUTPUTS_UNCHANGED, RIGHT, NotGraded, Run, Status, Values, Verdict, grade, with_overwritten
from attnspec.runner.changed_call import changed_run, expected_by_reference
from attnspec.runner.invariance import call_in_parts
from attnspec.runner.memory_order import inputs_as_handed_over, inputs_in_c_order
from attnspec.runner.planning import planned_runs
from attnspec.runner.result import STAYED_THE_SAME, Result
from attnspec.runner.session import SECOND_CALL, Key, Session
from attnspec.runner.steps import call_in_steps

_NO_ANSWER = ("error", "crash", "timeout", "malformed")
"""Statuses that keep their name in a second call: there is no value that could differ."""


def call_again(result: Result, session: Session) -> Result:
    """Call a case that was answered rightly once more: a `Check`."""
    # Without a first answer to compare it with, as for thinned cases, a second call would say little for its time.
    if result.verdict.status not in RIGHT or result.got is None:
        return result
    run = result.run
    answer, _ = session.call(run, "again")
    if isinstance(answer, Crashed) and not answer.was_requested:
        return result
    got = answer.values if isinstance(answer, Outputs) else None
    if isinstance(answer, Outputs) and not answer.inputs_changed and not answer.overwritten:
        values, first = answer.values, result.got
        if values.keys() == first.keys() and all(equal_bits(values[name], array) for name, array in first.items()):
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
        # A layout chooses its arguments anew each time: the case was the same, the arguments were not, and nothing is
        # said of repeating itself.
        verdict = verdict._replace(message=f"{SECOND_CALL}, with other contents where nothing may be read: {found}")
    else:
        message = f"{SECOND_CALL}, did not pass: {found}"
        verdict = verdict._replace(status="fail", check="repeatable", message=message)
    return result._replace(verdict=verdict, got=got, same_bits=False)


def equal_bits(second: NDArray[Any], first: NDArray[Any]) -> bool:
    """Return whether two arrays have one dtype, one shape and the same bits."""
    return second.dtype == first.dtype and second.shape == first.shape and second.tobytes() == first.tobytes()


def call_with_changed_argument(result: Result, session: Session) -> Result:
    """Fail a run whose output stays the same, or is wrong, when an argument changes that it depends on: a `Check`."""
    run, without = result.run, session.implementation.declaration.without
    if run.case.changed_argument is None or result.verdict.status not in RIGHT or result.got is None:
        return result
    name, changed = run.case.changed_argument.name, changed_run(run, run.case.changed_argument)
    if changed is None or (without and lacking_capability(changed.case, without)):
        return result
    handed: dict[str, NDArray[Any]] | None = inputs_as_handed_over(run)
    if _can_be_written_over(handed, name) and not run.conventions.departing[Settles.IN_PLACE]:
        # Called once more, so that results kept by the identity of arrays are kept by these.
        before, _ = session.call(run, "again", handed=handed)
        if isinstance(before, Outputs) and (before.overwritten or before.inputs_changed):
            return result._replace(verdict=grade(run, before))
        # So training writes into weights.
        # Under a declared convention, others may follow from it.
        for each, array in inputs_in_c_order(changed).items():
            if handed[each].flags.writeable:
                np.copyto(handed[each], array)
    else:
        handed = None
    answer, _ = session.call(changed, "changed", run, handed)
    if not isinstance(answer, Outputs):
        return result
    if answer.overwritten:
        return result._replace(verdict=with_overwritten(result.verdict, answer))
    output = run.operation.outputs[0]
    stayed = equal_bits(answer.values[output], result.got[output])
    verdict = _verdict(run, changed.case, answer, session, stayed=stayed)
    if verdict is not None:
        is_kept = verdict.status not in RIGHT
    else:
        # The elements that should change may be NaN, before and after.
        is_kept = stayed and not _is_nan_by_declaration(run, output, result.got[output])
    return _failed(result, None if stayed else verdict) if is_kept else result


def _verdict(run: Run, case: Case, answer: Outputs, session: Session, *, stayed: bool) -> Verdict | None:
    """Return the verdict on the answer to a changed call; None where nothing says which answer is right."""
    follows = expected_by_reference(run, case)
    if follows is None:
        return None
    if not stayed:
        # It may need a capability that the case does not need, or NaN, of which conventions say more than a case does.
        expects_nan = any(np.isnan(np.asarray(array, np.float64)).any() for array in follows.golden(run.dtype).values())
        if expects_nan or not needed_capabilities(follows) <= needed_capabilities(run.case):
            return None
    (planned,) = planned_runs(follows, [run.dtype], session.implementation.declaration, session.resolved)
    if isinstance(planned.expected, NotGraded):
        return None
    # Where a declared convention takes an attribute away, the case must say of it what it is then.
    stated, fixed = {**run.operation.attributes, **case.attributes}, planned.conventions.departing[Settles.ATTRIBUTE]
    return grade(planned, answer) if all(stated.get(name) == only for name, only in fixed.items()) else None


def _failed(result: Result, verdict: Verdict | None) -> Result:
    """Return the fail of a run that kept earlier results: all of them without a verdict, or part of them."""
    changed = result.run.case.changed_argument
    assert changed is not None
    when = f"when {changed.name} alone became {changed.change}"
    if verdict is None:
        output: str | None = result.run.operation.outputs[0]
        message = f"{output} {STAYED_THE_SAME} {when}, as if results were kept without regard to it"
    else:
        output = verdict.output
        found = f": {verdict.message}" if verdict.message else ""
        message = (
            f"{output or 'the answer'} was wrong {when}, after a right answer{found}, as if something were kept "
            "without regard to it"
        )
    return result._replace(verdict=Verdict("fail", check="repeatable", output=output, message=message))


def _can_be_written_over(handed: Mapping[str, NDArray[Any]], argument: str) -> bool:
    """Return whether an argument that was handed over is an array that can become another, and no other one with it."""
    array = handed.get(argument)
    if array is None or not array.flags.writeable:
        return False
    others = (other for name, other in handed.items() if name != argument)
    return not any(np.may_share_memory(array, other) for other in others)


def _is_nan_by_declaration(run: Run, output: str, got: NDArray[Any]) -> bool:
    """Return whether NaN came where the page expects numbers: such a pass rests on a declaration."""
    if not isinstance(run.expected, Values):
        return False
    is_nan, expected = np.isnan(got), run.case.golden(run.dtype).get(output)
    if run.case.sample.get(output) is None and expected is not None and expected.shape == got.shape:
        is_nan &= ~np.isnan(expected)
    return bool(is_nan.any())


def require_valid_counterpart(result: Result, session: Session) -> Result:
    """Take back the pass of a refusal whose valid counterpart (called if not selected) does not pass: a `Check`."""
    counterpart = _counterpart_of(result, session.suite)
    if counterpart is None:
        return result
    key = _key(counterpart, result)
    if key in session.results:
        return _refusal_taken_back(result, counterpart, session.results[key].status)
    if key not in session.statuses:
        (run,) = planned_runs(counterpart, [key[1]], session.implementation.declaration, session.resolved)
        session.statuses[key] = session.first_result(run, result.run).status
    return _refusal_taken_back(result, counterpart, session.statuses[key])


def beside_counterparts(results: Sequence[Result], suite: Suite) -> tuple[Result, ...]:
    """Take back the passes of refusals whose valid counterparts do not pass, where nothing can be called any more."""
    known: dict[Key, Status] = {result.key: result.status for result in results}
    found = ((result, _counterpart_of(result, suite)) for result in results)
    return tuple(
        result if other is None else _refusal_taken_back(result, other, known.get(_key(other, result)))
        for result, other in found
    )


def _counterpart_of(result: Result, suite: Suite) -> Case | None:
    """Return the case that differs from a passed refusal only in what is wrong there; None for any other result."""
    rejects = result.run.case.rejects
    if rejects is None or result.verdict.status != "pass":
        return None
    return suite.cases.get(rejects.counterpart) or suite.counterparts[rejects.counterpart]


def _key(counterpart: Case, result: Result) -> Key:
    return counterpart.id, result.dtype if result.dtype in counterpart.runs else counterpart.runs[0]


def _refusal_taken_back(result: Result, counterpart: Case, status: Status | None) -> Result:
    """Return a refusal as unsupported where its counterpart did not pass or was not run: it says nothing then."""
    if status == "pass":
        return result
    how = "was not run" if status is None else "did not pass"
    message = f"the valid counterpart {counterpart.id} {how}, so a refusal says nothing"
    return result._replace(verdict=Verdict("unsupported", message=message))


Check = Callable[[Result, Session], Result]
"""Check of a run that has an answer, from its result so far and a session, which calls the implementation again and has
the results of the other runs. It returns the same result where it finds nothing, or does not concern the run."""

CHECKS: tuple[tuple[Check, ...], ...] = (
    (call_again, call_with_changed_argument),
    (call_in_parts, call_in_steps),
    (require_valid_counterpart,),
)
"""Every check, in the order in which they are made. Those of one round follow each other on the same run."""
