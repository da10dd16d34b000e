"""Outputs of a mistake of the catalogue for a run of an implementation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import attributes_in
from attnspec.contract.dtypes import ANY, to_run_dtype
from attnspec.contract.implementation import Outputs, Request
from attnspec.contract.layout import name_of
from attnspec.runner import in_memory_orders, own_attributes
from attnspec.targets.calling import read_returned
from attnspec.targets.in_process import InProcessImplementation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.runner import Run
    from attnspec_mistakes import Mistake


def outputs_of(mistake: Mistake, run: Run, before: int = 0) -> Mapping[str, NDArray[Any]] | None:
    """Return a mistake's outputs for a run, with its inputs in the case's memory layouts; None if not computable.

    `before` counts equal earlier calls, which matter where a layout hands arrays over anew each time.
    """
    case, dtype = run.case, "float64" if run.dtype == ANY else run.dtype
    arrays = {name: to_run_dtype(array, dtype) for name, array in case.inputs.items()}
    inputs = in_memory_orders(arrays, case.memory_order)
    if mistake.in_layout:
        return _in_layout(mistake, run, inputs, before)
    try:
        with np.errstate(all="ignore"):
            returned = mistake.function(**inputs, **own_attributes(attributes_in(dtype, case.attributes)))
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return None
    answer = read_returned(returned, run.operation, given=case.inputs)
    return answer.values if isinstance(answer, Outputs) else None


def _in_layout(
    mistake: Mistake, run: Run, inputs: Mapping[str, NDArray[Any]], before: int
) -> Mapping[str, NDArray[Any]] | None:
    """Return the outputs that a mistake gives with the arguments of the run's layout, in the contract's shapes."""
    name = name_of(run.layout)
    if name is None or run.layout is None or name not in mistake.in_layout:
        return None
    from attnspec.targets.laid_out import laid_out

    holder = SimpleNamespace(**{mistake.operation: mistake.in_layout[name]}, layout=run.layout)
    implementation = laid_out(InProcessImplementation(holder, mistake.id), run.layout)
    attributes = own_attributes(run.case.attributes)
    request = Request(mistake.operation, run.dtype, inputs, attributes, conventions=run.conventions)
    for _ in range(before):
        implementation.run(request)
    answer = implementation.run(request)
    return answer.values if isinstance(answer, Outputs) else None
