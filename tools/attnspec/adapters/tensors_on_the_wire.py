"""Tensors as the process protocol writes them: ``{"dtype": ..., "shape": [...], "data": ...}``.

Two encodings of ``data`` exist, because two wishes do: ``list`` (a nested list of numbers) can be written
by hand in any language, ``base64`` (the bytes, row by row, little-endian) keeps every bit. Reading is
strict, and whatever is wrong is said in one sentence. The spec is ``spec/protocol.md``.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from attnspec.dtypes import numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Encoding = Literal["list", "base64"]

ENCODINGS: tuple[Encoding, ...] = ("list", "base64")
"""The encodings, the default first."""

BYTES_OF = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "bool": "u1",
    "int64": "<i8",
}
"""Each dtype of the protocol, and the NumPy dtype of its little-endian bytes."""

NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""The words for the floats that JSON has no number for."""

MOST_AXES = 32


class WireError(ValueError):
    """A message or a tensor does not follow the protocol; the text is one sentence that says how."""


def quoted(value: object, length: int = 60) -> str:
    """Write a JSON value for a message, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= length else f"{text[:length]}..."


def as_list(value: object) -> list[Any] | None:
    """Give a JSON list as one, and None for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def as_object(value: object) -> dict[str, Any] | None:
    """Give a JSON object as one, and None for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def encode_tensor(array: NDArray[Any], encoding: Encoding) -> dict[str, Any]:
    """Write an array as a tensor of the protocol.

    Parameters
    ----------
    array
        Any shape; float64, float32, float16, bfloat16 (ml_dtypes), bool or int64.
    encoding
        ``list`` or ``base64``.

    Returns
    -------
    dict
        ``dtype``, ``shape`` and ``data``, ready for JSON.

    Raises
    ------
    WireError
        If the protocol has no such dtype.
    """
    dtype = array.dtype.name
    if dtype not in BYTES_OF:
        raise WireError(f"dtype {dtype} cannot be sent; the protocol has {', '.join(BYTES_OF)}")
    if encoding == "base64":
        numbers = np.ascontiguousarray(array)
        if dtype == "bfloat16":
            numbers = numbers.view(np.uint16)
        data = base64.b64encode(numbers.astype(BYTES_OF[dtype]).tobytes()).decode("ascii")
    else:
        data = _nested_list(array)
    return {"dtype": dtype, "shape": list(array.shape), "data": data}


def _nested_list(array: NDArray[Any]) -> Any:
    if array.dtype.name in ("bool", "int64"):
        return array.tolist()
    # A float64 holds every value of the narrower dtypes, so that no digit is lost on the way.
    numbers = array.astype(np.float64)
    return numbers.tolist() if np.isfinite(numbers).all() else _with_words(numbers.tolist())


def _with_words(data: Any) -> Any:
    if isinstance(data, list):
        return [_with_words(item) for item in cast("list[Any]", data)]
    return word_for(data)


def word_for(number: float) -> float | str:
    """Give a finite number as it is, and the word of the protocol for one that JSON cannot write."""
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def decode_tensor(document: object, encoding: Encoding, where: str) -> NDArray[Any]:
    """Read a tensor of the protocol.

    Parameters
    ----------
    document
        What the JSON held.
    encoding
        The encoding that ``data`` must have.
    where
        What the tensor is, for messages: ``outputs.weights``.

    Returns
    -------
    NDArray
        A writable array of the stated dtype and shape. Numbers of a list are rounded to the dtype.

    Raises
    ------
    WireError
        If anything about the tensor does not follow the protocol.
    """
    tensor = as_object(document)
    if tensor is None:
        raise WireError(f"{where} must be an object with dtype, shape and data, not {quoted(document)}")
    check_fields(tensor, where, required=("dtype", "shape", "data"))
    dtype, shape = tensor["dtype"], _shape(tensor["shape"], where)
    if not isinstance(dtype, str) or dtype not in BYTES_OF:
        raise WireError(f"{where}: dtype must be one of {', '.join(BYTES_OF)}, not {quoted(dtype)}")
    if encoding == "base64":
        numbers = _from_base64(tensor["data"], dtype, shape, where)
    else:
        numbers = _from_list(tensor["data"], dtype, shape, where)
    try:
        return numbers.reshape(shape)
    except ValueError:  # only an empty tensor with an absurd other axis comes here
        raise WireError(f"{where}: shape {quoted(list(shape))} is too large") from None


def check_fields(
    document: Mapping[str, Any], where: str, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    """Raise :class:`WireError` for a field that is missing or that the protocol does not have."""
    for name in required:
        if name not in document:
            raise WireError(f"{where} has no field {quoted(name)}")
    for name in document:
        if name not in required and name not in optional:
            raise WireError(
                f"{where} has a field {quoted(name)}, which the protocol does not have "
                f"(it has {', '.join((*required, *optional))})"
            )


def _shape(shape: object, where: str) -> tuple[int, ...]:
    lengths = as_list(shape)
    if (
        lengths is None
        or len(lengths) > MOST_AXES
        or not all(type(length) is int and length >= 0 for length in lengths)
    ):
        raise WireError(f"{where}: shape must be a list of whole numbers such as [2, 3], not {quoted(shape)}")
    return tuple(lengths)


def _from_base64(data: object, dtype: str, shape: tuple[int, ...], where: str) -> NDArray[Any]:
    if not isinstance(data, str):
        raise WireError(
            f"{where}: data must be a base64 string, because the program declared the encoding base64, "
            f"not {quoted(data)}"
        )
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise WireError(f"{where}: data is no valid base64: {quoted(data)}") from None
    storage = np.dtype(BYTES_OF[dtype])
    needed = math.prod(shape) * storage.itemsize
    if len(content) != needed:
        raise WireError(
            f"{where}: {dtype} of shape {quoted(list(shape))} has {needed} bytes, but data has {len(content)}"
        )
    numbers = np.frombuffer(content, storage)
    if dtype == "bool":
        if numbers.size and int(numbers.max()) > 1:
            raise WireError(f"{where}: a bool is the byte 0 or 1, not {int(numbers.max())}")
        return numbers.astype(np.bool_)
    # frombuffer is read-only and keeps the byte order of the wire; the copy is writable and native.
    numbers = numbers.astype(storage.newbyteorder("="))
    return numbers.view(numpy_dtype("bfloat16")) if dtype == "bfloat16" else numbers


def _from_list(data: object, dtype: str, shape: tuple[int, ...], where: str) -> NDArray[Any]:
    items: list[Any] = [data]
    for length in shape:
        for item in items:
            row = as_list(item)
            if row is None or len(row) != length:
                raise WireError(
                    f"{where}: data must be a list nested as shape {quoted(list(shape))} says, "
                    f"but it has {quoted(item)} where {length} items belong"
                )
        items = list(chain.from_iterable(items))
    kinds = set(map(type, items))
    if dtype in ("bool", "int64"):
        kind, word = (bool, "true or false") if dtype == "bool" else (int, "whole numbers")
        for stranger in kinds - {kind}:
            example = next(item for item in items if type(item) is stranger)
            raise WireError(f"{where}: the data of {dtype} are {word}, not {quoted(example)}")
        try:
            return np.array(items, dtype=numpy_dtype(dtype))
        except OverflowError:
            raise WireError(f"{where}: a number does not fit int64") from None
    return _floats(items, dtype, where)


def _floats(items: list[Any], dtype: str, where: str) -> NDArray[Any]:
    try:
        numbers = [item if type(item) is float else _float(item, where) for item in items]
    except OverflowError:
        raise WireError(f"{where}: a number does not fit float64") from None
    wide = np.array(numbers, dtype=np.float64)
    # Python reads 1e999 as an infinity; only the word means one.
    if any(type(items[index]) is float for index in np.flatnonzero(np.isinf(wide))):
        raise WireError(f"{where}: a number does not fit float64")
    with np.errstate(over="ignore", under="ignore"):
        narrow = wide.astype(numpy_dtype(dtype))
    lost = np.isinf(narrow.astype(np.float64)) & np.isfinite(wide)
    if lost.any():
        raise WireError(
            f'{where}: {float(wide[lost][0])!r} does not fit {dtype}; an infinity is written "inf" or "-inf"'
        )
    return narrow


def _float(item: object, where: str) -> float:
    if type(item) is int:
        return float(item)
    if isinstance(item, str) and item in NON_FINITE:
        return NON_FINITE[item]
    raise WireError(f'{where}: the data of a float are numbers, "inf", "-inf" or "nan", not {quoted(item)}')
