"""The format safetensors: the length of a header, the header in JSON, then the bytes of each tensor.

It is written here by hand, because that takes fewer lines than to say that a package is missing.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from attnspec.offline.tensor_file import TensorFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_DTYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "BOOL": np.dtype("bool"),
    "U8": np.dtype("uint8"),
    "I8": np.dtype("int8"),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}
_NAMES = {dtype.name: name for name, dtype in _DTYPES.items()}
_LENGTH = struct.Struct("<Q")
_ALIGNED = 8
"""The tensors begin at a multiple of so many bytes, so that each can be used where it lies in memory."""


def write_safetensors(tensors: Mapping[str, NDArray[Any]], texts: Mapping[str, str]) -> bytes:
    """Return the content of a file: arrays of the contract's dtypes, and `texts` as the metadata of the format."""
    header: dict[str, Any] = {"__metadata__": dict(texts)} if texts else {}
    data = b""
    for name, array in sorted(tensors.items(), key=lambda entry: (-entry[1].itemsize, entry[0])):
        content = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": _NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": offsets}
        data += content
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    head += b" " * (-len(head) % _ALIGNED)
    return _LENGTH.pack(len(head)) + head + data


def read_safetensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, by name; TensorFileError if it does not follow the format."""
    if len(content) < _LENGTH.size:
        raise TensorFileError("it is too short to begin with the length of a header")
    (length,) = _LENGTH.unpack_from(content)
    begin = _LENGTH.size + length
    if begin > len(content):
        raise TensorFileError(f"its header should have {length} bytes, and the whole file has {len(content)}")
    try:
        header = json.loads(content[_LENGTH.size : begin].decode("utf-8"))
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        return {name: _tensor(name, entry, memoryview(content)[begin:]) for name, entry in entries.items()}
    except TensorFileError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise TensorFileError(f"its header cannot be read ({type(problem).__name__}: {str(problem)[:100]})") from None


def _tensor(name: str, entry: Mapping[str, Any], data: memoryview) -> NDArray[Any]:
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise TensorFileError(f"{name!r} has the dtype {entry['dtype']!r}; known are {', '.join(_DTYPES)}")
    shape, (start, end) = tuple(map(int, entry["shape"])), map(int, entry["data_offsets"])
    needed = math.prod(shape) * dtype.itemsize
    if not 0 <= start <= end <= len(data) or end - start != needed:
        raise TensorFileError(
            f"{name!r} of shape {list(shape)} in {entry['dtype']} has {needed} bytes; "
            f"its offsets are {start} and {end}, of {len(data)} bytes"
        )
    return np.frombuffer(data[start:end], dtype).reshape(shape)
