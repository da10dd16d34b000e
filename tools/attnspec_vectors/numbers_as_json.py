"""Numbers as every JSON parser reads them: decimal, in one row, three words for those that JSON lacks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnspec.contract.dtypes import RUN_DTYPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOAT = "float"
"""The dtype of an input that has the dtype under test: its numbers are exact in it."""


def number_or_word(value: float) -> float | str:
    """Return a number; of one that JSON lacks, the word that C, Go, Rust, JavaScript and Python read as a number."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def row(array: NDArray[Any]) -> list[Any]:
    """Return the numbers of an array, the last axis first to move; truth values are 0 and 1."""
    if array.dtype.kind == "b":
        return array.astype(np.int64).ravel().tolist()
    if array.dtype.kind in "iu":
        return array.ravel().tolist()
    wide = array.astype(np.float64).ravel()
    return wide.tolist() if np.isfinite(wide).all() else [number_or_word(value) for value in wide.tolist()]


def tensor(array: NDArray[Any], dtype: str = FLOAT) -> dict[str, Any]:
    """Return a tensor as an object of dtype, shape and a row of numbers."""
    return {"dtype": dtype, "shape": list(array.shape), "data": row(array)}


def attribute(value: object, dtype: str) -> object:
    """Return the value of an attribute as JSON has it; one that names the dtype under test has its name."""
    if value == RUN_DTYPE:
        return dtype
    return number_or_word(value) if isinstance(value, float) else value


def json_text(document: Mapping[str, Any]) -> str:
    """Return a document as text: an object has a line for each of its entries, a row of numbers has one."""
    return "".join(_pieces(document, "")) + "\n"


def _pieces(value: object, indent: str) -> list[str]:
    inner = f"{indent} "
    if isinstance(value, Mapping) and value:
        entries = cast("Mapping[str, object]", value).items()
        opened = [[f"{inner}{json.dumps(name)}: ", *_pieces(entry, inner)] for name, entry in entries]
        return ["{\n", *_joined(opened), f"\n{indent}}}"]
    # Rows are of one kind, so that the first item tells: most rows are long, and hold numbers.
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        items = [[inner, *_pieces(item, inner)] for item in cast("Sequence[object]", value)]
        return ["[\n", *_joined(items), f"\n{indent}]"]
    return [json.dumps(value, ensure_ascii=False, allow_nan=False)]


def _joined(parts: list[list[str]]) -> list[str]:
    return [piece for index, part in enumerate(parts) for piece in ([",\n", *part] if index else part)]
