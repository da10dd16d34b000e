"""What a mistake of the catalogue gives where an implementation was run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.implementation import Outputs
from attnspec.adapters.returned import read_returned
from attnspec.dtypes import ANY, to_run_dtype
from attnspec.runner import own_attributes, presented_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.runner import Run
    from attnspec_mistakes import Mistake


def outputs_of(mistake: Mistake, run: Run) -> Mapping[str, NDArray[Any]] | None:
    """Return the outputs that a mistake gives for a run, or None where it cannot be computed.

    It is given the inputs as the run gave them, in the memory layouts that the case asks for.
    """
    case, dtype = run.case, "float64" if run.dtype == ANY else run.dtype
    arrays = {name: to_run_dtype(array, dtype) for name, array in case.inputs.items()}
    inputs = presented_all(arrays, case.presentation)
    try:
        with np.errstate(all="ignore"):
            returned = mistake.function(**inputs, **own_attributes(case.attributes))
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return None
    answer = read_returned(returned, run.operation, given=case.inputs)
    return answer.values if isinstance(answer, Outputs) else None
