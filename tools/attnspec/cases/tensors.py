"""Tensors as the golden files hold them: ``{"dtype", "shape", "data"}`` with a nested list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

STORED_DTYPES = ("float64", "bool", "int64")


def tensor_from_json(tensor: Mapping[str, Any]) -> NDArray[Any]:
    """Read a tensor.

    Parameters
    ----------
    tensor
        The JSON object; non-finite numbers are the strings ``"inf"``, ``"-inf"`` and ``"nan"``.

    Returns
    -------
    ndarray
        Array of the stated dtype and shape.

    Raises
    ------
    ValueError
        If the data do not fill the shape.
    """
    shape = tuple(tensor["shape"])
    array = np.array(tensor["data"], dtype=tensor["dtype"])
    if array.shape != shape:
        if array.size != math.prod(shape):
            raise ValueError(f"the data have the shape {list(array.shape)}, but 'shape' says {list(shape)}")
        array = array.reshape(shape)
    return array


def tensor_to_json(array: NDArray[Any]) -> dict[str, Any]:
    """Write a tensor; floats of any width become float64, which holds them exactly."""
    if array.dtype.kind not in "bi":
        array = array.astype(np.float64)
    return {"data": _plain(array.tolist()), "dtype": array.dtype.name, "shape": list(array.shape)}


def _plain(value: Any) -> Any:
    """Replace non-finite numbers by their names, at any depth."""
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
