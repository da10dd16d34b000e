"""The calls that follow some cases with one argument changed, and in which the output must change with it.

Which argument, and what it becomes, the case itself says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.runner.presenting import arrays_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

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
        follows = run._replace(attributes={**run.attributes, changed.name: changed.value})
    else:
        return None
    return ChangedCall(changed.name, changed.change, follows)


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
