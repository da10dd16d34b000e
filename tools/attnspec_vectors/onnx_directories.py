"""ONNX backend test directories: a model and ``test_data_set_0/*.pb`` for each case that an operator of ONNX expresses.

onnx's own backend runner reads them. It has one tolerance for all elements of a test: the largest of the case, and the
error of rounding what is expected to the dtype of the output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.base.errors import Unsupported
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import numpy_dtype
from attnspec.grading.one_rule import bounded_outputs
from attnspec.offline import why_not_exported
from attnspec.runner import Resolved, inputs_in_c_order, planned_runs
from attnspec.targets import Declaration
from attnspec.tensors.libraries import import_library

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.cases import Suite
    from attnspec.grading import Run

DATA_SET = "test_data_set_0"


class Directory(NamedTuple):
    """One test: its name, model, inputs and outputs in the model's order, and the tolerance of all elements."""

    name: str
    model: bytes
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    tolerance: float


class _Captured(Exception):  # noqa: N818 - no failure: it hands a model and its inputs over
    def __init__(self, model: bytes, inputs: Mapping[str, NDArray[Any]]) -> None:
        super().__init__()
        self.model, self.inputs = model, inputs


def write_directories(suite: Suite, folder: Path) -> int:
    """Write the tests of a suite into a folder, and return how many there are."""
    helper = import_library("onnx.numpy_helper", adapter="onnx")
    count = 0
    for directory in onnx_directories(suite):
        data = folder / directory.name / DATA_SET
        data.mkdir(parents=True)
        (data.parent / "model.onnx").write_bytes(directory.model)
        (data.parent / "data.json").write_text(json.dumps({"rtol": 0.0, "atol": directory.tolerance}), encoding="ascii")
        for kind, arrays in (("input", directory.inputs), ("output", directory.outputs)):
            for index, (name, array) in enumerate(arrays.items()):
                (data / f"{kind}_{index}.pb").write_bytes(helper.from_array(array, name).SerializeToString())
        count += 1
    return count


def onnx_directories(suite: Suite) -> Iterator[Directory]:
    """Give a test for each case and dtype that an operator of ONNX expresses, under the conventions of ONNX."""
    from attnspec_adapters.onnx import adapter

    offered = [name for name in OPERATIONS if hasattr(adapter, name)]
    declaration = Declaration("", None, "", tuple(offered), adapter.dtypes, adapter.conventions)
    resolved = Resolved(declaration.conventions)
    for case in suite.cases.values():
        if case.operation in offered:
            for run in planned_runs(case, adapter.dtypes, declaration, resolved):
                if why_not_exported(run) is None and (directory := _directory(run)) is not None:
                    yield directory


def _directory(run: Run) -> Directory | None:
    """Return the test of a run; None where no model, or no tolerance for all elements, says what is expected."""
    captured = _capture(run)
    if captured is None:
        return None
    loaded = import_library("onnx", adapter="onnx").load_from_string(captured.model)
    bounds = bounded_outputs(run)
    # Of an operation with one output, the model has a name of its own for it.
    expected = {"output": bounds[run.operation.gives[0].name], **bounds}
    known = [value for value in loaded.graph.output if value.name in expected]
    del loaded.graph.output[:]
    loaded.graph.output.extend(known)
    outputs: dict[str, NDArray[Any]] = {}
    tolerance = 0.0
    for value in known:
        name, bounded = value.name, expected[value.name]
        with np.errstate(all="ignore"):
            outputs[name] = bounded.expected.astype(numpy_dtype(run.dtype))
            error = np.abs(outputs[name].astype(np.float64) - bounded.expected)
        rounding = np.where(np.isfinite(bounded.expected), error, 0.0)
        if bounded.expected.size:
            tolerance = max(tolerance, float((bounded.tolerance + rounding).max()))
    if len(captured.inputs) == 1:
        # An operator that has an axis gets a whole array as one row.
        (given,) = captured.inputs.values()
        outputs = {name: array.reshape(given.shape) for name, array in outputs.items()}
    if not np.isfinite(tolerance):
        return None
    inputs = {value.name: captured.inputs[value.name] for value in loaded.graph.input}
    return Directory(
        f"test_{run.case.id.replace('/', '_')}_{run.dtype}", loaded.SerializeToString(), inputs, outputs, tolerance
    )


def _capture(run: Run) -> _Captured | None:
    """Return the model and the inputs by which the adapter of ONNX would answer a run; None where it would not."""
    from attnspec_adapters.onnx_models import functions_by

    def hand_over(model: bytes, inputs: Mapping[str, NDArray[Any]]) -> Any:
        raise _Captured(model, inputs)

    function = functions_by(hand_over).get(run.operation.name)
    if function is None:
        return None
    taken = signature(function).parameters
    arguments = run.operation.beside_defaults({**inputs_in_c_order(run), **run.attributes}, taken)
    if not arguments.keys() <= taken.keys():
        return None
    try:
        function(**arguments)
    except _Captured as captured:
        return captured
    except (Unsupported, ValueError):
        return None
    return None
