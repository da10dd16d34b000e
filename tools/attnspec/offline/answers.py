"""Answer of a program to an exported case, in a file of any of the formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from attnspec.offline.json_file import read_json
from attnspec.offline.manifest import file_of
from attnspec.offline.npz_file import read_npz
from attnspec.offline.safetensors_file import read_safetensors
from attnspec.offline.tensor_file import TensorFileError
from attnspec.targets import Declined, Malformed, Outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from attnspec.grading import Run

_READERS: Mapping[str, Callable[[bytes], dict[str, NDArray[Any]]]] = {
    "npz": read_npz,
    "safetensors": read_safetensors,
    "json": read_json,
}
_ANSWER = "out"


def answer_files(folder: Path, case_id: str, dtype: str) -> list[Path]:
    """Return the files that answer a case in a dtype: none, or one, or too many."""
    stem = file_of(case_id, dtype)
    places = (folder / f"{stem}.{_ANSWER}.{tensors}" for tensors in _READERS)
    return [path for path in places if path.is_file()]


def read_answer(folder: Path, run: Run) -> Outputs | Declined | Malformed:
    """Read the answer to a run from the folders of the export.

    `Declined` where there is none, `Malformed` with a sentence about a file that cannot be read.
    """
    files = answer_files(folder, run.case.id, run.dtype)
    if not files:
        return Declined("no answer")
    if len(files) > 1:
        return Malformed(f"there are two answers: {files[0].name} and {files[1].name}")
    (path,) = files
    try:
        tensors = _READERS[path.suffix[1:]](path.read_bytes())
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
    for name, array in tensors.items():
        if array.dtype.kind not in "bifuV" or (array.dtype.kind == "V" and array.dtype.itemsize != 2):
            return Malformed(f"{path.name}: {name!r} holds {array.dtype}, which are no numbers")
    return Outputs({name: _with_bfloat16(array, run.dtype) for name, array in tensors.items()})


def _with_bfloat16(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return bfloat16 where a format lacks it and holds its bits, as uint16, or as NumPy writes what it cannot name."""
    is_bits = array.dtype.kind == "V" or (array.dtype == np.uint16 and dtype == "bfloat16")
    return array.view(ml_dtypes.bfloat16) if is_bits and array.dtype.name != "bfloat16" else array
