"""Tensors as the golden files hold them: number by number, or generated where they are many.

Written out, a tensor is ``{"dtype", "shape", "data"}`` with a nested list.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import INPUT_DTYPES, numpy_dtype, to_run_dtype

if TYPE_CHECKING:
    from attnspec.cases.generator import Generated


class Inputs(Mapping[str, "NDArray[Any]"]):
    """The inputs of a case of which some are generated: these are drawn anew, in float64, each time they are read."""

    def __init__(self, given: Mapping[str, NDArray[Any]], generated: Mapping[str, Generated]) -> None:
        self.given = given
        self.generated = generated

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an input as an array; a generated one is drawn, which takes its time and its memory."""
        return self.generated[name].whole() if name in self.generated else self.given[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        yield from self.generated
        yield from self.given

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.generated) + len(self.given)

    def __contains__(self, name: object) -> bool:
        """Return whether there is an input of that name, without drawing it."""
        return name in self.generated or name in self.given


def generated_of(inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, Generated]:
    """Return input name to `Generated`, for the inputs that are generated."""
    return inputs.generated if isinstance(inputs, Inputs) else {}


def shapes_of(inputs: Mapping[str, NDArray[Any]]) -> dict[str, tuple[int, ...]]:
    """Return input name to its shape; nothing is drawn for it."""
    if not isinstance(inputs, Inputs):
        return {name: array.shape for name, array in inputs.items()}
    shapes = {name: tensor.shape for name, tensor in inputs.generated.items()}
    return shapes | {name: array.shape for name, array in inputs.given.items()}


def in_run_dtype(inputs: Mapping[str, NDArray[Any]], dtype: str) -> dict[str, NDArray[Any]]:
    """Return fresh arrays of all inputs in a run's dtype; raise `FixtureError` if a generated one belies its digest."""
    if not isinstance(inputs, Inputs):
        return {name: to_run_dtype(array, dtype) for name, array in inputs.items()}
    drawn = {name: tensor.whole(dtype) for name, tensor in inputs.generated.items()}
    return drawn | {name: to_run_dtype(array, dtype) for name, array in inputs.given.items()}


# NumPy would turn 0.5 into True, and true into 1.0, without a word.
_KINDS = {dtype: {float, int, str} for dtype in INPUT_DTYPES} | {"bool": {bool}, "int64": {int}, "int8": {int}}
_READ_AS_THEY_ARE = ("float64", "bool", "int64")
_JSON_NAMES = {float: "fraction", int: "integer", str: "string", bool: "true or false"}


def tensor_from_json(
    tensor: Mapping[str, Any], sample: NDArray[np.int64] | None = None, *, vouched: bool = False, thinned: bool = False
) -> NDArray[Any]:
    """Read a tensor, or raise `ValueError` where its data do not fill its shape or are of another kind than its dtype.

    `sample` has the flat indices, rising, of the elements in the data (None: all): others are NaN, or 0 where the dtype
    has none; `thinned` gives the sample alone (N,). A digest may have `vouched` for the kinds of numbers.
    """
    shape, dtype, data = tuple(tensor["shape"]), tensor["dtype"], tensor["data"]
    for kind in () if vouched else _entry_types(data):
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
    return {"data": _with_named_nonfinite(data.tolist()), "dtype": name, "shape": list(array.shape)}


def _narrowed(numbers: NDArray[np.float64], dtype: str) -> NDArray[Any]:
    """Return numbers in a narrow dtype, which must hold them as they are."""
    with np.errstate(all="ignore"):
        narrow = numbers.astype(numpy_dtype(dtype))
    if not np.array_equal(narrow.astype(np.float64), numbers, equal_nan=True):
        raise ValueError(f"the data hold a number that {dtype} does not have")
    return narrow


def _check_sample(values: NDArray[Any], shape: tuple[int, ...], sample: NDArray[np.int64]) -> None:
    """Raise `ValueError` where sampled values do not fit their indices."""
    if values.shape != sample.shape:
        raise ValueError(f"the data hold {values.size} numbers, but the sample has {sample.size} indices")
    size = math.prod(shape)
    if sample.size and not (sample[0] >= 0 and sample[-1] < size and (np.diff(sample) > 0).all()):
        raise ValueError(f"the indices of the sample must rise, and lie below {size}, the size of the tensor")


def _spread(values: NDArray[Any], shape: tuple[int, ...], sample: NDArray[np.int64]) -> NDArray[Any]:
    """Return an array of the whole shape that holds sampled values at their indices."""
    whole = np.full(math.prod(shape), np.nan if values.dtype.kind == "f" else 0, dtype=values.dtype)
    whole[sample] = values
    return whole.reshape(shape)


def _entry_types(data: Any) -> set[type]:
    """Return the Python types of all entries, at any depth."""
    if not isinstance(data, list):
        return {type(data)}
    kinds: set[type] = set(map(type, data))  # pyright: ignore[reportUnknownArgumentType]
    if list in kinds:
        kinds = kinds.union(*map(_entry_types, data)) - {list}  # pyright: ignore[reportUnknownArgumentType]
    return kinds


def _with_named_nonfinite(value: Any) -> Any:
    """Replace non-finite numbers by their names, at any depth."""
    if isinstance(value, list):
        return [_with_named_nonfinite(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
