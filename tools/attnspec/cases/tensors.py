"""Tensors as the golden files hold them: ``{"dtype", "shape", "data"}`` with a nested list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import INPUT_DTYPES, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# NumPy would turn 0.5 into True, and true into 1.0, without a word.
_KINDS = {dtype: {float, int, str} for dtype in INPUT_DTYPES} | {"bool": {bool}, "int64": {int}, "int8": {int}}
_READ_AS_THEY_ARE = ("float64", "bool", "int64")
_JSON_NAMES = {float: "fraction", int: "integer", str: "string", bool: "true or false"}


def tensor_from_json(
    tensor: Mapping[str, Any], sample: NDArray[np.int64] | None = None, *, vouched: bool = False, thinned: bool = False
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
    thinned
        Whether the sampled elements alone are wanted, because the whole tensor would fill the memory.

    Returns
    -------
    ndarray
        Array of the stated dtype and shape. Elements outside a sample are NaN, or 0 where the dtype has none. Of a
        thinned tensor, the sampled elements (N,).

    Raises
    ------
    ValueError
        If the data do not fill the shape, are of another kind than the dtype says, or hold a number that it lacks.
    """
    shape, dtype, data = tuple(tensor["shape"]), tensor["dtype"], tensor["data"]
    for kind in () if vouched else _kinds(data):
        if kind not in _KINDS[dtype]:
            raise ValueError(f"the dtype is {dtype}, but the data hold a JSON {_JSON_NAMES.get(kind, 'null')}")
    try:
        array = np.array(data, dtype=dtype if dtype in _READ_AS_THEY_ARE else np.float64)
    except ValueError:
        raise ValueError("the rows of the data have unequal lengths") from None
    except OverflowError:
        raise ValueError(f"a number in the data is too large for {dtype}") from None
    if dtype not in _READ_AS_THEY_ARE:
        array = _narrowed(array, dtype)
    if sample is not None:
        _check_sample(array, shape, sample)
        return array if thinned else _spread(array, shape, sample)
    if array.shape == shape:
        return array
    # A nested list cannot say what follows a length of zero.
    if 0 not in shape or array.shape != shape[: shape.index(0) + 1]:
        raise ValueError(f"the data have the shape {list(array.shape)}, but 'shape' says {list(shape)}")
    return array.reshape(shape)


def tensor_to_json(array: NDArray[Any], sample: Sequence[int] | None = None) -> dict[str, Any]:
    """Write a tensor, or of its data only a sample; floats that no case holds as they are become float64."""
    name = array.dtype.name
    if name not in INPUT_DTYPES and array.dtype.kind not in "bi":
        name = "float64"
    if name not in _READ_AS_THEY_ARE and array.dtype.kind not in "bi":
        array = array.astype(np.float64)
    data = array if sample is None else np.take(array, sample)
    return {"data": _plain(data.tolist()), "dtype": name, "shape": list(array.shape)}


def _narrowed(numbers: NDArray[np.float64], dtype: str) -> NDArray[Any]:
    """Return numbers in a narrow dtype, which must hold them as they are."""
    with np.errstate(all="ignore"):
        narrow = numbers.astype(numpy_dtype(dtype))
    if not np.array_equal(narrow.astype(np.float64), numbers, equal_nan=True):
        raise ValueError(f"the data hold a number that {dtype} does not have")
    return narrow


def _check_sample(values: NDArray[Any], shape: tuple[int, ...], sample: NDArray[np.int64]) -> None:
    """Raise `ValueError` where sampled values do not fit their places."""
    if values.shape != sample.shape:
        raise ValueError(f"the data hold {values.size} numbers, but the sample has {sample.size} indices")
    size = math.prod(shape)
    if sample.size and not (sample[0] >= 0 and sample[-1] < size and (np.diff(sample) > 0).all()):
        raise ValueError(f"the indices of the sample must rise, and lie below {size}, the size of the tensor")


def _spread(values: NDArray[Any], shape: tuple[int, ...], sample: NDArray[np.int64]) -> NDArray[Any]:
    """Return an array of the whole shape that holds sampled values in their places."""
    whole = np.full(math.prod(shape), np.nan if values.dtype.kind == "f" else 0, dtype=values.dtype)
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
