"""Tensors of a golden case, inputs and certified outputs together, as pictures show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.files import GOLDEN_FOLDER
from attnspec.cases.reading import read_case, read_index

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tensors(case_id: str) -> dict[str, NDArray[Any]]:
    """Return inputs and expected outputs of a case by name, in float64 or as truth values."""
    case = read_case(GOLDEN_FOLDER, case_id, read_index(GOLDEN_FOLDER)[case_id])
    expected = case.expected or {}
    return {name: np.asarray(array) for name, array in {**case.inputs, **next(iter(expected.values()))}.items()}
