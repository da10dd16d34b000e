"""Tensors of the process protocol: ``{"dtype": ..., "shape": [...], "data": ...}``; the spec is ``spec/protocol.md``.

``data`` has two encodings: ``list`` (a nested list of numbers) can be written by hand in any language, ``base64`` (the
bytes, row by row, little-endian) keeps every bit. Reading is strict, and each fault is said in one sentence.
"""

import binascii
import json
import math
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import QUANTIZED_DTYPES, numpy_dtype

Encoding = Literal["list", "base64"]

ENCODINGS: tuple[Encoding, ...] = ("list", "base64")
"""The encodings, the default first."""

DTYPES = ("float64", "float32", "float16", "bfloat16", "bool", "int64", "int32", *QUANTIZED_DTYPES)
"""Each dtype of the protocol."""

_WHOLE = ("int64", "int32", "int8")

NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""The words for the floats that JSON has no number for."""

MOST_AXES = 32

MOST_ELEMENTS = 2**26
"""No line that is read holds more elements, and no axis of an empty tensor is longer."""

_QUOTING = json.JSONEncoder(ensure_ascii=False)


class WireError(ValueError):
    """A message or a tensor does not follow the protocol; the text is one sentence that says how."""


def quoted(value: object, length: int = 60) -> str:
    """Write a JSON value for a message, cut to a readable length."""
    pieces: list[str] = []
    written = 0
    # Piece by piece, so that no more is written of a large value than is shown.
    for piece in _pieces(value[: length + 1] if isinstance(value, str) else value):
        pieces.append(piece)
        written += len(piece)
        if written > length:
            return f"{''.join(pieces)[:length]}..."
    return "".join(pieces)


def _pieces(value: object) -> Iterator[str]:
    try:
        yield from _QUOTING.iterencode(value)
    except ValueError:  # a whole number of more digits than Python writes
        yield "a number of too many digits"


def is_whole(value: object) -> bool:
    """Return whether a JSON value is a whole number, as JSON Schema has it: 7 and 7.0 are the same."""
    return type(value) is int or (type(value) is float and value.is_integer())


def as_list(value: object) -> list[Any] | None:
    """Give a JSON list as one, and None for anything else."""
    return value if isinstance(value, list) else None  # pyright: ignore[reportUnknownVariableType]


def as_object(value: object) -> dict[str, Any] | None:
    """Give a JSON object as one, and None for anything else."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def encode_tensor(array: NDArray[Any], encoding: Encoding) -> dict[str, Any]:
    """Write an array of any shape as a JSON tensor; WireError if its dtype is none of `DTYPES`."""
    dtype = _name_of(array.dtype)
    if dtype not in DTYPES:
        raise WireError(f"dtype {dtype} cannot be sent; the protocol has {', '.join(DTYPES)}")
    if encoding == "base64":
        data = binascii.b2a_base64(_bytes_in(_between_here_and_little_endian(array)), newline=False).decode("ascii")
    else:
        data = _nested_list(array, dtype)
    return {"dtype": dtype, "shape": list(array.shape), "data": data}


@cache
def _name_of(dtype: np.dtype[Any]) -> str:
    # NumPy puts the name together anew each time, which takes longer than to write a small tensor.
    return dtype.name


def _between_here_and_little_endian(array: NDArray[Any]) -> NDArray[Any]:
    """Swap the bytes of each element where this machine, or the array, has the largest first."""
    is_big = array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big")
    return array.byteswap() if is_big else array


def _bytes_in(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array, which are not copied where they lie in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _nested_list(array: NDArray[Any], dtype: str) -> Any:
    if dtype == "bool" or dtype in _WHOLE:
        return array.tolist()
    # A float64 holds every value of the narrower dtypes, so that no digit is lost on the way.
    numbers = array.astype(np.float64)
    finite = np.isfinite(numbers)
    if finite.all():
        return numbers.tolist()
    words = numbers.astype(object)
    words[~finite] = [word_for(number) for number in numbers[~finite].tolist()]
    return words.tolist()


def word_for(number: float) -> float | str:
    """Give a finite number as it is, and the word of the protocol for one that JSON cannot write."""
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def decode_tensor(document: object, encoding: Encoding, where: str) -> NDArray[Any]:
    """Read a tensor of the protocol as a writable array; numbers of a list are rounded to the stated dtype.

    `where` names the tensor in messages: ``outputs.weights``. Raises WireError if anything does not follow the
    protocol.
    """
    tensor = as_object(document)
    if tensor is None:
        raise WireError(f"{where} must be an object with dtype, shape and data, not {quoted(document)}")
    check_fields(tensor, where, required=("dtype", "shape", "data"))
    dtype, shape = tensor["dtype"], _shape(tensor["shape"], where)
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise WireError(f"{where}: dtype must be one of {', '.join(DTYPES)}, not {quoted(dtype)}")
    if encoding == "base64":
        numbers = _from_base64(tensor["data"], dtype, shape, where)
    else:
        numbers = _from_list(tensor["data"], dtype, shape, where)
    return numbers.reshape(shape)


def check_fields(
    document: Mapping[str, Any], where: str, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    """Raise :class:`WireError` for a field that is missing or that the protocol does not have."""
    if len(document) == len(required) and all(map(document.__contains__, required)):
        return
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
    if lengths is None or len(lengths) > MOST_AXES:
        raise _no_shape(shape, where)
    elements = 1
    for length in lengths:
        if (type(length) is not int and not is_whole(length)) or length < 0:
            raise _no_shape(shape, where)
        # An empty axis counts as one: a tensor of no elements is no licence for axes of any length.
        elements *= length or 1
    if elements > MOST_ELEMENTS:
        raise WireError(f"{where}: shape {quoted(shape)} is too large; a tensor has at most {MOST_ELEMENTS} elements")
    return tuple(map(int, lengths))


def _no_shape(shape: object, where: str) -> WireError:
    return WireError(f"{where}: shape must be a list of whole numbers such as [2, 3], not {quoted(shape)}")


def _from_base64(data: object, dtype: str, shape: tuple[int, ...], where: str) -> NDArray[Any]:
    if not isinstance(data, str):
        raise WireError(
            f"{where}: data must be a base64 string, because the program declared the encoding base64, "
            f"not {quoted(data)}"
        )
    content = bytearray(_bytes_of(data, where))
    kind = numpy_dtype(dtype)
    needed = math.prod(shape) * kind.itemsize
    if len(content) != needed:
        raise WireError(
            f"{where}: {dtype} of shape {quoted(list(shape))} has {needed} bytes, but data has {len(content)}"
        )
    if dtype == "bool" and max(content, default=0) > 1:
        raise WireError(f"{where}: a bool is the byte 0 or 1, not {max(content)}")
    return _between_here_and_little_endian(np.frombuffer(content, kind))


def _bytes_of(data: str, where: str) -> bytes:
    try:
        # Characters that are no base64 are skipped, and leave fewer bytes than expected. To have Python be strict
        # would take half as long again.
        content = binascii.a2b_base64(data)
        if len(data) == (len(content) + 2) // 3 * 4:
            return content
    except ValueError:
        pass
    raise WireError(f"{where}: data is no valid base64: {quoted(data)}")


def _from_list(data: object, dtype: str, shape: tuple[int, ...], where: str) -> NDArray[Any]:
    items: list[Any] = [data]
    for length in shape:
        if set(map(type, items)) - {list} or set(map(len, items)) - {length}:
            raise _not_nested(items, length, shape, where)
        items = list(chain.from_iterable(items))
    if dtype != "bool" and dtype not in _WHOLE:
        return _floats(items, dtype, where)
    kind, word = (bool, "true or false") if dtype == "bool" else (int, "whole numbers")
    _check_kinds(items, (kind,), word, dtype, where)
    try:
        return np.array(items, dtype=numpy_dtype(dtype))
    except OverflowError:
        raise WireError(f"{where}: a number does not fit {dtype}") from None


def _not_nested(items: list[Any], length: int, shape: tuple[int, ...], where: str) -> WireError:
    rows = map(as_list, items)
    wrong = next(item for item, row in zip(items, rows, strict=True) if row is None or len(row) != length)
    return WireError(
        f"{where}: data must be a list nested as shape {quoted(list(shape))} says, "
        f"but it has {quoted(wrong)} where {length} items belong"
    )


def _check_kinds(items: list[Any], kinds: tuple[type, ...], word: str, dtype: str, where: str) -> None:
    if set(map(type, items)).difference(kinds):
        stranger = next(item for item in items if type(item) not in kinds)
        raise WireError(f"{where}: the data of {dtype} are {word}, not {quoted(stranger)}")


@cache
def _has_infinity(dtype: str) -> bool:
    return bool(np.isinf(np.array(np.inf).astype(numpy_dtype(dtype)).astype(np.float64)))


def _floats(items: list[Any], dtype: str, where: str) -> NDArray[Any]:
    words = [index for index, item in enumerate(items) if type(item) is str] if str in set(map(type, items)) else []
    numbers = items.copy() if words else items
    for index in words:
        numbers[index] = NON_FINITE.get(items[index], items[index])
    _check_kinds(numbers, (float, int), 'numbers, "inf", "-inf" or "nan"', "a float", where)
    try:
        wide = np.array(numbers, dtype=np.float64)
    except OverflowError:
        raise WireError(f"{where}: a number does not fit float64") from None
    infinite = np.isinf(wide)
    # Python reads 1e999 as an infinity; only the word means one.
    if infinite.any() and any(type(items[index]) is float for index in np.flatnonzero(infinite)):
        raise WireError(f"{where}: a number does not fit float64")
    if dtype == "float64":
        return wide
    with np.errstate(over="ignore", under="ignore"):
        narrow = wide.astype(numpy_dtype(dtype))
    # float8_e4m3fn has no infinity: what is too large for it becomes NaN, and so does an infinity.
    lost = (
        ~np.isfinite(narrow.astype(np.float64)) & ~(infinite if _has_infinity(dtype) else np.False_) & ~np.isnan(wide)
    )
    if lost.any():
        raise WireError(
            f'{where}: {float(wide[lost][0])!r} does not fit {dtype}; an infinity is written "inf" or "-inf"'
        )
    return narrow
