"""A call with one argument changed: the output must change with it, and be right where the reference says what is.

The case states the argument and its change. No fixture holds the new outputs; the reference gives them where the page
asks nothing new of the call. An input is overwritten in place, to show results kept by the identity of an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import attributes_in
from attnspec.contract.convention import Settles
from attnspec.contract.dtypes import REFERENCE_DTYPE, rounded_to
from attnspec.contract.implementation import Outputs
from attnspec.families.lookup import lacking, needed
from attnspec.grading import RIGHT, NotGraded, Values, Verdict, grade, with_overwritten
from attnspec.grading.reference_answers import reference_outputs
from attnspec.runner.checks.again import equal_bits
from attnspec.runner.memory_order import arrays_of, inputs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.cases import Case, ChangedArgument
    from attnspec.grading import Run
    from attnspec.runner.result import Result
    from attnspec.runner.session import Session


def changed_argument(result: Result, session: Session) -> Result:
    """Fail a run whose output stays the same, or is wrong, when an argument changes that it depends on: a `Check`."""
    run, without = result.run, session.implementation.declaration.without
    if run.case.changed_argument is None or result.verdict.status not in RIGHT or result.got is None:
        return result
    name, changed = run.case.changed_argument.name, _changed(run, run.case.changed_argument)
    if changed is None or (without and lacking(changed.case, without)):
        return result
    handed: dict[str, NDArray[Any]] | None = inputs_of(run)
    if _can_be_written_over(handed, name):
        # Called once more, so that results kept by the identity of arrays are kept by these.
        before, _ = session.call(run, "again", handed=handed)
        if isinstance(before, Outputs) and (before.overwritten or before.inputs_changed):
            return result._replace(verdict=grade(run, before))
        # So training writes into weights.
        np.copyto(handed[name], arrays_of(changed)[name])
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


def _changed(run: Run, changed: ChangedArgument) -> Run | None:
    """Return a run with its one argument changed; None where a convention took the attribute away.

    Its expectation is still that of the run before the change.
    """
    if changed.reversed:
        inputs = {**run.case.inputs, changed.name: np.flip(run.case.inputs[changed.name]).copy()}
        return run._replace(case=run.case._replace(inputs=inputs))
    if changed.name not in run.attributes:
        return None
    value = {changed.name: changed.value}
    case = run.case._replace(attributes={**run.case.attributes, **value})
    return run._replace(case=case, attributes={**run.attributes, **value})


def _owed_by_reference(run: Run, case: Case) -> Case | None:
    """Return a changed call as a case, with the outputs of the reference.

    None where no whole outputs of the case are held, and where the reference refuses the call.
    """
    if case.properties is not None or case.sample or case.thinned:
        return None
    names, attributes = tuple(case.golden(run.dtype)), attributes_in(REFERENCE_DTYPE, case.attributes)
    seen = {name: rounded_to(array, run.dtype) for name, array in case.inputs.items()}
    try:
        outputs = reference_outputs(case.operation, seen, attributes)
    except ValueError:
        return None
    expected = {name: np.asarray(outputs[name]) for name in names if name in outputs}
    return case._replace(expected={"all": expected}, printed=(), changed_argument=None, is_certified=False)


def _verdict(run: Run, case: Case, answer: Outputs, session: Session, *, stayed: bool) -> Verdict | None:
    """Return the verdict on the answer to a changed call; None where nothing says which answer is right."""
    follows = _owed_by_reference(run, case)
    if follows is None:
        return None
    if not stayed:
        # It may need a capability that the case does not need, or NaN, of which conventions say more than a case does.
        expects_nan = any(np.isnan(np.asarray(array, np.float64)).any() for array in follows.golden(run.dtype).values())
        if expects_nan or not needed(follows) <= needed(run.case):
            return None
    planned = session.plan(follows, run.dtype)
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
        message = f"{output} stayed the same to the last bit {when}, as if results were kept without regard to it"
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
