"""Golden files as plain JSON, read without the harness: what a second computation of their values begins with."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

_GOLDEN = Path(__file__).parents[3] / "golden"
_DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@cache
def documents():
    """Every file with expected values whose inputs stand in it: others generate them."""
    paths = sorted(path for path in _GOLDEN.rglob("*.json") if path.parent != _GOLDEN)
    read = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [document for document in read if "expected" in document and _is_stated(document)]


def _is_stated(document) -> bool:
    return all("data" in stored for stored in document["inputs"].values())


def tensor(stored):
    """The array that a file holds."""
    dtype = stored["dtype"]
    read = np.array(stored["data"], dtype=dtype if dtype in ("bool", "int64") else np.float64)
    return read.astype(getattr(ml_dtypes, dtype, dtype)).reshape(stored["shape"])


def rounded_to(array, dtype: str):
    """A float64 array as an implementation of that dtype gets it; any other as it is."""
    if array.dtype != np.float64 or dtype in ("all", "float64"):
        return array
    with np.errstate(over="ignore"):
        return array.astype(_DTYPES[dtype]).astype(np.float64)
