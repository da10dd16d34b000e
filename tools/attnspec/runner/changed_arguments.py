"""The calls that follow some cases with one argument changed, and in which the output must change with it.

Which argument, and what it becomes, the case itself says. What such a call owes no fixture holds; where the page asks
nothing of it that it did not ask of the case, the reference says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.cases import attributes_in
from attnspec.dtypes import REFERENCE_DTYPE, rounded_to
from attnspec.families.lookup import needed
from attnspec.reference_answers import reference_outputs
from attnspec.runner.presenting import arrays_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.comparison import Run


class ChangedCall(NamedTuple):
    """A run of which one argument was changed; what it owes is not what it says.

    Attributes
    ----------
    argument
        Name of the input or attribute.
    change
        What it became, in words.
    run
        What to ask for.
    """

    argument: str
    change: str
    run: Run


def changed_call(run: Run) -> ChangedCall | None:
    """Return the call that follows a run; None for most cases, and where a convention took the attribute away.

    Parameters
    ----------
    run
        A run of any case.
    """
    changed = run.case.changed_argument
    if changed is None:
        return None
    if changed.reversed:
        inputs = {**run.case.inputs, changed.name: np.flip(run.case.inputs[changed.name]).copy()}
        follows = run._replace(case=run.case._replace(inputs=inputs))
    elif changed.name in run.attributes:
        value = {changed.name: changed.value}
        case = run.case._replace(attributes={**run.case.attributes, **value})
        follows = run._replace(case=case, attributes={**run.attributes, **value})
    else:
        return None
    return ChangedCall(changed.name, changed.change, follows)


def owed_by_reference(run: Run, changed: ChangedCall) -> Case | None:
    """Return a changed call as a case, with what the reference gives for it; None where nothing can be said of that.

    Nothing is said where no whole outputs of the case are held, and where the reference refuses the call.

    Parameters
    ----------
    run
        The run before it.
    changed
        The call.
    """
    case, dtype = changed.run.case, run.dtype
    if case.properties is not None or case.sample or case.thinned:
        return None
    seen = {name: rounded_to(array, dtype) for name, array in case.inputs.items()}
    try:
        outputs = reference_outputs(case.operation, seen, attributes_in(REFERENCE_DTYPE, case.attributes))
    except ValueError:
        return None
    expected = {name: np.asarray(outputs[name]) for name in case.golden(dtype) if name in outputs}
    return case._replace(expected={"all": expected}, printed=(), changed_argument=None, is_certified=False)


def asks_no_more(run: Run, follows: Case) -> bool:
    """Tell whether a changed call asks for nothing that its case does not ask for.

    That would be a capability, and NaN, of which conventions tell more than a case does.

    Parameters
    ----------
    run
        The run before it.
    follows
        The changed call as a case.
    """
    owed = follows.golden(run.dtype).values()
    owes_nan = any(np.isnan(np.asarray(output, np.float64)).any() for output in owed)
    return not owes_nan and needed(follows) <= needed(run.case)


def can_be_written_over(handed: Mapping[str, NDArray[Any]], changed: ChangedCall) -> bool:
    """Tell whether what was handed over for a run can become what a changed call has, in the same memory.

    Parameters
    ----------
    handed
        The inputs of the run, as they were handed over.
    changed
        The call that follows it.
    """
    array = handed.get(changed.argument)
    if array is None or not array.flags.writeable:
        return False
    others = (other for name, other in handed.items() if name != changed.argument)
    return not any(np.may_share_memory(array, other) for other in others)


def write_over(handed: Mapping[str, NDArray[Any]], changed: ChangedCall) -> None:
    """Write what a changed call has into the memory of the run before it, as who trains writes into weights."""
    np.copyto(handed[changed.argument], arrays_of(changed.run)[changed.argument])
