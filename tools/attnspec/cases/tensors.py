"""Tensors as the golden files hold them: ``{"dtype", "shape", "data"}`` with a nested list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

STORED_DTYPES = ("float64", "bool", "int64")

# NumPy would turn 0.5 into True, and true into 1.0, without a word.
_KINDS = {"float64": {float, int, str}, "bool": {bool}, "int64": {int}}
_JSON_NAMES = {float: "fraction", int: "integer", str: "string", bool: "true or false"}


def tensor_from_json(
    tensor: Mapping[str, Any], sample: NDArray[np.int64] | None = None, *, vouched: bool = False
) -> NDArray[Any]:
    """Read a tensor.

    Parameters
    ----------
    tensor
        The JSON object; non-finite numbers are the strings ``"inf"``, ``"-inf"`` and ``"nan"``.
    sample
        Flat indices, rising, of the elements that the data hold, in their order; all elements if None.
    vouched
        Whether a digest vouches for the file, so that the kinds of its numbers need not be looked at.

    Returns
    -------
    ndarray
        Array of the stated dtype and shape. Elements outside a sample are NaN, or 0 where the dtype has none.

    Raises
    ------
    ValueError
        If the data do not fill the shape, or are of another kind than the dtype says.
    """
    shape, dtype, data = tuple(tensor["shape"]), tensor["dtype"], tensor["data"]
    for kind in () if vouched else _kinds(data):
        if kind not in _KINDS[dtype]:
            raise ValueError(f"the dtype is {dtype}, but the data hold a JSON {_JSON_NAMES.get(kind, 'null')}")
    try:
        array = np.array(data, dtype=dtype)
    except ValueError:
        raise ValueError("the rows of the data have unequal lengths") from None
    except OverflowError:
        raise ValueError(f"a number in the data is too large for {dtype}") from None
    if sample is not None:
        return _spread(array, shape, sample)
    if array.shape == shape:
        return array
    # A nested list cannot say what follows a length of zero.
    if 0 not in shape or array.shape != shape[: shape.index(0) + 1]:
        raise ValueError(f"the data have the shape {list(array.shape)}, but 'shape' says {list(shape)}")
    return array.reshape(shape)


def tensor_to_json(array: NDArray[Any], sample: Sequence[int] | None = None) -> dict[str, Any]:
    """Write a tensor, or of its data only a sample; floats of any width become float64, which holds them exactly."""
    if array.dtype.kind not in "bi":
        array = array.astype(np.float64)
    data = array if sample is None else np.take(array, sample)
    return {"data": _plain(data.tolist()), "dtype": array.dtype.name, "shape": list(array.shape)}


def _spread(values: NDArray[Any], shape: tuple[int, ...], sample: NDArray[np.int64]) -> NDArray[Any]:
    """Return an array of the whole shape that holds sampled values in their places."""
    if values.shape != sample.shape:
        raise ValueError(f"the data hold {values.size} numbers, but the sample has {sample.size} indices")
    size = math.prod(shape)
    if sample.size and not (sample[0] >= 0 and sample[-1] < size and (np.diff(sample) > 0).all()):
        raise ValueError(f"the indices of the sample must rise, and lie below {size}, the size of the tensor")
    whole = np.full(size, np.nan if values.dtype.kind == "f" else 0, dtype=values.dtype)
    whole[sample] = values
    return whole.reshape(shape)


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
