"""Tensor files: npz, safetensors and JSON, each written from tensors by name and read back.

npz is NumPy's: a zip archive, uncompressed, of one array a file. Dtypes that NumPy lacks are written as unsigned
integers of the same bits: bfloat16 as uint16, float8 as uint8. safetensors is written by hand, because that takes fewer
lines than to say that a package is missing. JSON is that of the process protocol: dtype, shape and a nested list. It is
read in simpler forms, too: all numbers in a row, and a list alone, without dtype and shape.
"""

import io
import json
import math
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from attnspec.process.tensors_on_the_wire import (
    WireError,
    as_list,
    as_object,
    decode_tensor,
    encode_tensor,
    is_whole,
    quoted,
)

_OF_SAME_BITS = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}

_SAFETENSORS: Mapping[str, np.dtype[Any]] = {
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
_SAFETENSORS_NAMES = {dtype.name: name for name, dtype in _SAFETENSORS.items()}
_LENGTH = struct.Struct("<Q")
_ALIGNED = 8
"""The tensors of safetensors begin at a multiple of so many bytes, so that each can be used where it lies in memory."""


class TensorFileError(ValueError):
    """A file does not follow its format; the text is the rest of a sentence about it."""


def write_npz(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the content of an npz file."""
    writable = {
        name: array.view(_OF_SAME_BITS[array.dtype.name]) if array.dtype.name in _OF_SAME_BITS else array
        for name, array in tensors.items()
    }
    file = io.BytesIO()
    np.savez(file, **writable)  # pyright: ignore[reportArgumentType] - no tensor is called allow_pickle
    return file.getvalue()


def read_npz(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file, by name; Python objects in it are refused."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile) as problem:
        raise TensorFileError(f"it is no sound npz file ({str(problem)[:100]})") from None


def write_safetensors(tensors: Mapping[str, NDArray[Any]], texts: Mapping[str, str]) -> bytes:
    """Return the content of a safetensors file: arrays of the contract's dtypes, and `texts` as its metadata."""
    header: dict[str, Any] = {"__metadata__": dict(texts)} if texts else {}
    data = b""
    for name, array in sorted(tensors.items(), key=lambda entry: (-entry[1].itemsize, entry[0])):
        content = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        offsets = [len(data), len(data) + len(content)]
        header[name] = {
            "dtype": _SAFETENSORS_NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": offsets,
        }
        data += content
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    head += b" " * (-len(head) % _ALIGNED)
    return _LENGTH.pack(len(head)) + head + data


def read_safetensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, by name."""
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
    dtype = _SAFETENSORS.get(entry["dtype"])
    if dtype is None:
        raise TensorFileError(f"{name!r} has the dtype {entry['dtype']!r}; known are {', '.join(_SAFETENSORS)}")
    shape, (start, end) = tuple(map(int, entry["shape"])), map(int, entry["data_offsets"])
    needed = math.prod(shape) * dtype.itemsize
    if not 0 <= start <= end <= len(data) or end - start != needed:
        raise TensorFileError(
            f"{name!r} of shape {list(shape)} in {entry['dtype']} has {needed} bytes; "
            f"its offsets are {start} and {end}, of {len(data)} bytes"
        )
    return np.frombuffer(data[start:end], dtype).reshape(shape)


def tensors_to_json(tensors: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return tensors as JSON types; the strings ``inf``, ``-inf`` and ``nan`` stand for numbers that JSON lacks."""
    return {name: encode_tensor(array, "list") for name, array in tensors.items()}


def read_json(content: bytes, dtype: str = "float64") -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, by name; floats of a list alone are rounded to `dtype`."""
    try:
        document = as_object(json.loads(content.decode("utf-8")))
    except (ValueError, RecursionError) as problem:
        raise TensorFileError(f"it is no JSON ({str(problem)[:100]})") from None
    if document is None:
        raise TensorFileError("it holds no JSON object of tensors by name")
    try:
        return {name: _json_tensor(tensor, dtype, name) for name, tensor in document.items()}
    except WireError as problem:
        raise TensorFileError(str(problem)) from None


def _json_tensor(document: object, dtype: str, name: str) -> NDArray[Any]:
    numbers = as_list(document)
    if numbers is not None:
        shape = _nesting(numbers)
        first = next(iter(_flattened(numbers, len(shape))), None)
        return decode_tensor(
            {"dtype": "bool" if isinstance(first, bool) else dtype, "shape": shape, "data": numbers}, "list", name
        )
    tensor = as_object(document)
    data, lengths = (None, None) if tensor is None else (as_list(tensor.get("data")), as_list(tensor.get("shape")))
    if (
        tensor is None
        or data is None
        or lengths is None
        or len(lengths) < 2
        or any(as_list(item) is not None for item in data)
    ):
        return decode_tensor(document, "list", name)
    if not all(map(is_whole, lengths)) or math.prod(lengths) != len(data):
        raise WireError(
            f"{name}: data has {len(data)} numbers in a row, and not as many as the shape {quoted(lengths)}; "
            "they may stand row by row, or nested as the shape says"
        )
    return decode_tensor({**tensor, "shape": [len(data)]}, "list", name).reshape(tuple(map(int, lengths)))


def _nesting(numbers: object) -> list[int]:
    """Return the shape that the first items of a nested list have; others may contradict it."""
    items = as_list(numbers)
    return [] if items is None else [len(items), *(_nesting(items[0]) if items else [])]


def _flattened(numbers: object, depth: int) -> list[Any]:
    items = as_list(numbers) or []
    return items if depth <= 1 or not items else _flattened(items[0], depth - 1)


READERS: Mapping[str, Callable[[bytes], dict[str, NDArray[Any]]]] = {
    "npz": read_npz,
    "safetensors": read_safetensors,
    "json": read_json,
}
"""Suffix of a tensor file to the function that reads it, which raises TensorFileError for any other content."""
