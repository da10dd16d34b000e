"""A call with one argument changed: the output must change with it, and be right where the reference says what is.

Which argument, and what it becomes, the case itself says. What such a call owes no fixture holds; where the page asks
nothing of it that it did not ask of the case, the reference says it. An input is written over where it lies, for
results that are kept as long as they are asked of the same array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec import capabilities
from attnspec.adapters.implementation import Outputs
from attnspec.cases import attributes_in
from attnspec.comparison import RIGHT, NotGraded, Values, Verdict, grade, with_overwritten
from attnspec.convention import Settles
from attnspec.dtypes import REFERENCE_DTYPE, rounded_to
from attnspec.reference_answers import reference_outputs
from attnspec.runner.checks.again import equal_bits
from attnspec.runner.presenting import arrays_of, inputs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.cases import Case, ChangedArgument
    from attnspec.comparison import Run
    from attnspec.runner.result import Result
    from attnspec.runner.session import Session


def changed_argument(result: Result, session: Session) -> Result:
    """Fail a run whose output stays the same when an argument changes that it depends on, or is wrong then.

    A check, as :class:`attnspec.runner.checks.Check` has it.
    """
    run, without = result.run, session.implementation.declaration.without
    if run.case.changed_argument is None or result.verdict.status not in RIGHT or result.got is None:
        return result
    name, changed = run.case.changed_argument.name, _changed(run, run.case.changed_argument)
    if changed is None or (without and capabilities.lacking(changed.case, without)):
        return result
    handed: dict[str, NDArray[Any]] | None = inputs_of(run)
    if _can_be_written_over(handed, name):
        # Asked once more, so that what is kept by the arrays themselves is kept by these.
        before, _ = session.call(run, "again", handed=handed)
        if isinstance(before, Outputs) and (before.overwritten or before.inputs_changed):
            return result._replace(verdict=grade(run, before))
        # So who trains writes into weights.
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
    follows = _owed_by_reference(run, changed.case)
    if not stayed and (follows is None or not _asks_no_more(run, follows)):
        return result
    owed = None if follows is None else session.plan(follows, run.dtype)
    # A declared convention may take an attribute away of which the case does not say what it is then.
    fixed = {} if owed is None else owed.conventions.departing[Settles.ATTRIBUTE]
    stated = {**run.operation.attributes, **changed.case.attributes}
    is_asked_whole = all(stated.get(attribute) == only for attribute, only in fixed.items())
    if owed is None or isinstance(owed.expected, NotGraded) or not is_asked_whole:
        # What would have changed may be NaN, before and after.
        is_kept = stayed and not _is_nan_by_declaration(run, output, result.got[output])
        verdict = None
    else:
        verdict = grade(owed, answer)
        is_kept = verdict.status not in RIGHT
    if not is_kept:
        return result
    when = f"when {name} alone became {run.case.changed_argument.change}"
    if stayed or verdict is None:
        message = f"{output} stayed the same to the last bit {when}, as if results were kept without regard to it"
        return result._replace(verdict=Verdict("fail", check="repeatable", output=output, message=message))
    found = f": {verdict.message}" if verdict.message else ""
    message = (
        f"{verdict.output or 'the answer'} was wrong {when}, after a right answer{found}, as if something were kept "
        "without regard to it"
    )
    return result._replace(verdict=Verdict("fail", check="repeatable", output=verdict.output, message=message))


def _changed(run: Run, changed: ChangedArgument) -> Run | None:
    """Return a run with its one argument changed; None where a convention took the attribute away.

    What the changed run is expected to give is not what it says.
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
    """Return a changed call as a case, with what the reference gives for it; None where nothing can be said of that.

    Nothing is said where no whole outputs of the case are held, and where the reference refuses the call.
    """
    if case.properties is not None or case.sample or case.thinned:
        return None
    seen = {name: rounded_to(array, run.dtype) for name, array in case.inputs.items()}
    try:
        outputs = reference_outputs(case.operation, seen, attributes_in(REFERENCE_DTYPE, case.attributes))
    except ValueError:
        return None
    expected = {name: np.asarray(outputs[name]) for name in case.golden(run.dtype) if name in outputs}
    return case._replace(expected={"all": expected}, printed=(), changed_argument=None, is_certified=False)


def _asks_no_more(run: Run, follows: Case) -> bool:
    """Tell whether a changed call asks for nothing that its case does not ask for.

    That would be a capability, and NaN, of which conventions tell more than a case does.
    """
    owed = follows.golden(run.dtype).values()
    owes_nan = any(np.isnan(np.asarray(output, np.float64)).any() for output in owed)
    return not owes_nan and capabilities.needed(follows) <= capabilities.needed(run.case)


def _can_be_written_over(handed: Mapping[str, NDArray[Any]], argument: str) -> bool:
    """Tell whether an argument that was handed over is an array that can become another, and no other one with it."""
    array = handed.get(argument)
    if array is None or not array.flags.writeable:
        return False
    others = (other for name, other in handed.items() if name != argument)
    return not any(np.may_share_memory(array, other) for other in others)


def _is_nan_by_declaration(run: Run, output: str, got: NDArray[Any]) -> bool:
    """Tell whether NaN came where the page owes numbers: what passes so has declared it."""
    if not isinstance(run.expected, Values):
        return False
    is_nan, owed = np.isnan(got), run.case.golden(run.dtype).get(output)
    if run.case.sample.get(output) is None and owed is not None and owed.shape == got.shape:
        is_nan &= ~np.isnan(owed)
    return bool(is_nan.any())
