"""The calls that follow some cases with one argument changed, and in which the output must change with it.

Which argument, and what it becomes, the case itself says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
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
