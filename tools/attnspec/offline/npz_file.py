"""NumPy's format npz: a zip archive, uncompressed, of one array a file.

Dtypes that NumPy lacks are written as unsigned integers of the same bits: bfloat16 as uint16, float8 as uint8.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.offline.tensor_file import TensorFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


_OF_SAME_BITS = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}


def write_npz(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the content of a file; bfloat16 is written as the uint16 of the same bits, float8 as the uint8."""
    held = {
        name: array.view(_OF_SAME_BITS[array.dtype.name]) if array.dtype.name in _OF_SAME_BITS else array
        for name, array in tensors.items()
    }
    file = io.BytesIO()
    np.savez(file, **held)  # pyright: ignore[reportArgumentType] - no tensor is called allow_pickle
    return file.getvalue()


def read_npz(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, by name; TensorFileError for another format, or Python objects in it."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile) as problem:
        raise TensorFileError(f"it is no sound npz file ({str(problem)[:100]})") from None
