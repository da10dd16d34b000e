"""Tensors as the golden files hold them: ``{"dtype", "shape", "data"}`` with a nested list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

STORED_DTYPES = ("float64", "bool", "int64")

# NumPy would turn 0.5 into True, and true into 1.0, without a word.
_KINDS = {"float64": {float, int, str}, "bool": {bool}, "int64": {int}}
_JSON_NAMES = {float: "fraction", int: "integer", str: "string", bool: "true or false"}


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
        If the data do not fill the shape, or are of another kind than the dtype says.
    """
    shape, dtype, data = tuple(tensor["shape"]), tensor["dtype"], tensor["data"]
    for kind in _kinds(data):
        if kind not in _KINDS[dtype]:
            raise ValueError(f"the dtype is {dtype}, but the data hold a JSON {_JSON_NAMES.get(kind, 'null')}")
    try:
        array = np.array(data, dtype=dtype)
    except ValueError:
        raise ValueError("the rows of the data have unequal lengths") from None
    except OverflowError:
        raise ValueError(f"a number in the data is too large for {dtype}") from None
    # A nested list cannot say what follows a length of zero.
    visible = shape[: shape.index(0) + 1] if 0 in shape else shape
    if array.shape != visible:
        raise ValueError(f"the data have the shape {list(array.shape)}, but 'shape' says {list(shape)}")
    return array.reshape(shape)


def tensor_to_json(array: NDArray[Any]) -> dict[str, Any]:
    """Write a tensor; floats of any width become float64, which holds them exactly."""
    if array.dtype.kind not in "bi":
        array = array.astype(np.float64)
    return {"data": _plain(array.tolist()), "dtype": array.dtype.name, "shape": list(array.shape)}


def _kinds(data: Any) -> set[type]:
    """Return the Python types of all entries, at any depth."""
    if not isinstance(data, list):
        return {type(data)}
    kinds: set[type] = set(map(type, data))  # pyright: ignore[reportUnknownArgumentType]
    if list in kinds:
        kinds = kinds.union(*map(_kinds, data)) - {list}  # pyright: ignore[reportUnknownArgumentType]
    return kinds


def _plain(value: Any) -> Any:
    """Replace non-finite numbers by their names, at any depth."""
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
