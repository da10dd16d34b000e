"""Outputs that a mistake of the catalogue gives for a run, in the contract's form or that of a layout."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import run_attributes
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import Choices, conventions_settling
from attnspec.contract.dtypes import ANY, to_run_dtype
from attnspec.contract.implementation import Outputs, Request
from attnspec.contract.layout import layout_name
from attnspec.runner import in_memory_orders
from attnspec.targets.calling import read_returned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.runner import Run
    from attnspec_mistakes import Mistake

_CALLERS = "any"
"""The choice of a convention under which the caller states the attribute."""


def mistake_outputs(mistake: Mistake, run: Run, before: int = 0) -> Mapping[str, NDArray[Any]] | None:
    """Return a mistake's outputs for a run, with its inputs in the case's memory layouts; None if not computable.

    `before` counts equal earlier calls, which matter where a layout hands arrays over anew each time.
    """
    case, dtype = run.case, "float64" if run.dtype == ANY else run.dtype
    arrays = {name: to_run_dtype(array, dtype) for name, array in case.inputs.items()}
    inputs = in_memory_orders(arrays, case.memory_order)
    if mistake.in_layout:
        return _outputs_in_layout(mistake, run, inputs, before)
    try:
        with np.errstate(all="ignore"):
            returned = mistake.function(**inputs, **deepcopy(run_attributes(dtype, case.attributes)))
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return None
    answer = read_returned(returned, run.operation, given=case.inputs)
    return answer.values if isinstance(answer, Outputs) else None


def _outputs_in_layout(
    mistake: Mistake, run: Run, inputs: Mapping[str, NDArray[Any]], before: int
) -> Mapping[str, NDArray[Any]] | None:
    """Return the outputs that a mistake gives with the arguments of the run's layout, in the contract's shapes."""
    name = layout_name(run.layout)
    if name is None or run.layout is None or name not in mistake.in_layout:
        return None
    from attnspec.targets.in_process import InProcessImplementation
    from attnspec.targets.laid_out import laid_out

    holder = SimpleNamespace(**{mistake.operation: mistake.in_layout[name]}, layout=run.layout)
    implementation = laid_out(InProcessImplementation(holder, mistake.id), run.layout)
    attributes = deepcopy({**run.case.attributes})
    # A mistake hears every attribute, also those whose one value an implementation need not be given.
    heard = dict.fromkeys(conventions_settling(Settles.ATTRIBUTE), _CALLERS)
    conventions = Choices({**run.conventions, **heard})
    request = Request(mistake.operation, run.dtype, inputs, attributes, conventions=conventions)
    for _ in range(before):
        implementation.run(request)
    answer = implementation.run(request)
    return answer.values if isinstance(answer, Outputs) else None
