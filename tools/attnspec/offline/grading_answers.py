"""Grading of answers that lie in files, each of any of the formats."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Suite
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.grading import Run, Values, grade
from attnspec.offline.exporting import why_not_exported
from attnspec.offline.manifest import Manifest, file_stem
from attnspec.offline.tensor_files import READERS, TensorFileError, read_json
from attnspec.runner import Key, Resolved, Result, offered_part, planned_runs
from attnspec.runner.systematic import with_pulls
from attnspec.targets import Declaration, Declined, Malformed, Outputs


def answer_files(folder: Path, case_id: str, dtype: str) -> list[Path]:
    """Return the files that answer a case in a dtype: none, or one, or too many."""
    paths = (folder / f"{file_stem(case_id, dtype)}.out.{suffix}" for suffix in READERS)
    return [path for path in paths if path.is_file()]


def read_answer_file(folder: Path, run: Run) -> Outputs | Declined | Malformed:
    """Read the answer to a run: `Declined` where there is none, `Malformed` about a file that cannot be read."""
    files = answer_files(folder, run.case.id, run.dtype)
    if not files:
        return Declined("no answer")
    if len(files) > 1:
        return Malformed(f"there are two answers: {files[0].name} and {files[1].name}")
    (path,) = files
    try:
        content = path.read_bytes()
        is_json = path.suffix == ".json"
        tensors = read_json(content, run.dtype) if is_json and run.dtype != ANY else READERS[path.suffix[1:]](content)
    except OSError as error:
        return Malformed(f"{path.name} cannot be read: {error.strerror}")
    except TensorFileError as problem:
        return Malformed(f"{path.name}: {problem}")
    known = run.operation.outputs
    for name in tensors:
        if name not in known:
            return Malformed(f"{path.name} holds {name!r}, which is no output; the outputs are {', '.join(known)}")
    for name in run.operation.required(run.case.inputs):
        if name not in tensors:
            return Malformed(f"{path.name} lacks {name!r}, which is expected")
    whole = isinstance(run.expected, Values) and not run.expected.thinned
    expected: Mapping[str, NDArray[Any]] = run.expected.outputs if isinstance(run.expected, Values) and whole else {}
    for name, array in tensors.items():
        shape: tuple[int, ...] = expected[name].shape if name in expected else array.shape
        if array.ndim == 1 and len(shape) > 1:
            if array.size != math.prod(shape):
                return Malformed(
                    f"{path.name}: {name!r} has {array.size} numbers in a row; expected are {math.prod(shape)}, "
                    f"row by row, or nested as the shape {list(shape)} says"
                )
            tensors[name] = array.reshape(shape)
        if array.dtype.kind not in "bifuV" or (array.dtype.kind == "V" and array.dtype.itemsize != 2):
            return Malformed(f"{path.name}: {name!r} holds {array.dtype}, which are no numbers")
    return Outputs({name: _with_bfloat16(array, run.dtype) for name, array in tensors.items()})


def _with_bfloat16(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return bfloat16 where a format lacks it and holds its bits, as uint16, or as NumPy writes what it cannot name."""
    is_bits = array.dtype.kind == "V" or (array.dtype == np.uint16 and dtype == "bfloat16")
    return array.view(ml_dtypes.bfloat16) if is_bits and array.dtype.name != "bfloat16" else array


def declaration_of_answers(manifest: Manifest, folder: Path, *, name: str, adapter: str) -> Declaration:
    """Return a declaration of the operations with an answer, of all if there is no answer; `name` is for reports."""
    entries = [entry for entry in manifest.cases if answer_files(folder, entry.case, entry.dtype)]
    operations = {entry.operation for entry in entries or manifest.cases}
    dtypes = {entry.dtype for entry in manifest.cases}
    return Declaration(
        name=name,
        version=None,
        adapter=adapter,
        operations=tuple(operation for operation in OPERATIONS if operation in operations),
        dtypes=tuple(dtype for dtype in FLOAT_DTYPES if dtype in dtypes),
        conventions=manifest.conventions,
    )


def graded_answers(suite: Suite, manifest: Manifest, declaration: Declaration, folder: Path) -> tuple[Result, ...]:
    """Return a result for each exported (case, dtype) of the suite, and for each that was left out of the export."""
    known: set[Key] = {(entry.case, entry.dtype) for entry in (*manifest.cases, *manifest.left_out)}
    resolved = Resolved(declaration.conventions)
    results: list[Result] = []
    for case in offered_part(suite, declaration.operations).suite.cases.values():
        dtypes = [dtype for dtype in case.runs if (case.id, dtype) in known or dtype == ANY]
        for run in planned_runs(case, dtypes, declaration, resolved):
            reason = why_not_exported(run)
            answer = read_answer_file(folder, run) if reason is None else Declined(f"not exported: {reason}")
            got = answer.values if isinstance(answer, Outputs) else None
            results.append(Result(run, grade(run, answer), 0.0, got, numbers_alone=True))
    return with_pulls(results)
