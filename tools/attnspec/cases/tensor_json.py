"""Tensors as the golden files hold them: number by number, or by generator, seed and digest where they are many.

Written out, a tensor is ``{"dtype", "shape", "data"}`` with a nested list. A generated one is drawn when it is wanted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.base.errors import FixtureError
from attnspec.cases.generator import bell, fnv1a64, splitmix64
from attnspec.contract.dtypes import INPUT_DTYPES, numpy_dtype, to_run_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BELL = "bell"
GENERATORS = (BELL,)
"""Every generator, by its id."""

_BLOCK = 1 << 16
"""Elements that are drawn together: their words fit into a processor's cache."""


class Rise(NamedTuple):
    """First feature of a token: the number of its step, of so many tokens, less that of the last step, times a unit."""

    tokens: int
    unit: float


class Generated(NamedTuple):
    """A tensor (..., tokens, features) that a generator draws from a seed text, row by row of its last axis.

    Fields of `bits` bits are summed, and multiplied by `unit`; `first` or `rise` replaces the first feature of every
    token. `sha256` is over the elements in float32, little-endian, in C order; empty where it is not known yet.
    """

    generator: str
    seed: str
    shape: tuple[int, ...]
    bits: int
    unit: float
    first: float | None = None
    rise: Rise | None = None
    sha256: str = ""

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    def rows(self, start: int, stop: int, dtype: str = "float64") -> NDArray[Any]:
        """Draw some tokens (stop - start, features), counted over all leading axes, without a look at the digest."""
        width = self.shape[-1]
        drawn = np.empty((stop - start, width), numpy_dtype(dtype))
        many = max(1, _BLOCK // max(width, 1))
        for begin in range(start, stop, many):
            end = min(begin + many, stop)
            drawn[begin - start : end - start] = self._block(begin, end)
        return drawn

    def whole(self, dtype: str = "float64") -> NDArray[Any]:
        """Draw the whole tensor; raise `FixtureError` where the digest shows that the generator fails here."""
        if not self.sha256:
            return self.rows(0, self.size // max(self.shape[-1], 1), dtype).reshape(self.shape)
        drawn = np.empty(self.shape, numpy_dtype(dtype))
        found = self._filled(drawn.reshape(-1, self.shape[-1]))
        if found != self.sha256:
            raise FixtureError(
                f"The generator {self.generator!r} made other numbers from the seed {self.seed!r} than the file says: "
                f"their SHA-256 is {found}, not {self.sha256}. Run `attnspec check`."
            )
        return drawn

    def digest(self) -> str:
        """Return the SHA-256 of the numbers that are drawn."""
        return self._filled(None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that stands for the tensor in a file."""
        parameters: dict[str, Any] = {"bits": self.bits, "unit": self.unit}
        if self.first is not None:
            parameters["first"] = self.first
        if self.rise is not None:
            parameters["rise"] = {"tokens": self.rise.tokens, "unit": self.rise.unit}
        return {
            "dtype": "float64",
            "generator": self.generator,
            "parameters": parameters,
            "seed": self.seed,
            "sha256": self.sha256,
            "shape": list(self.shape),
        }

    def _filled(self, drawn: NDArray[Any] | None) -> str:
        """Draw all tokens into an array, if there is one, and return their digest."""
        width = self.shape[-1]
        many, rows = max(1, _BLOCK // max(width, 1)), self.size // max(width, 1)
        digest = hashlib.sha256()
        for begin in range(0, rows, many):
            block = self._block(begin, min(begin + many, rows))
            digest.update(block.astype("<f4", copy=False).tobytes())
            if drawn is not None:
                drawn[begin : begin + block.shape[0]] = block
        return digest.hexdigest()

    def _block(self, start: int, stop: int) -> NDArray[np.float32]:
        width = self.shape[-1]
        base = splitmix64(fnv1a64(self.seed))
        numbers = bell(base, start * width, (stop - start) * width, bits=self.bits)
        block = np.multiply(numbers, self.unit, dtype=np.float64).astype(np.float32).reshape(stop - start, width)
        if self.first is not None:
            block[:, 0] = self.first
        if self.rise is not None:
            tokens = self.shape[-2]
            steps = np.arange(start, stop) % tokens // self.rise.tokens - (tokens - 1) // self.rise.tokens
            block[:, 0] = steps * self.rise.unit
        return block


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


def generated_from_json(tensor: Mapping[str, Any]) -> Generated:
    """Read a generated tensor from the JSON that stands for it; raise `ValueError` if there is no such generator."""
    if tensor["generator"] not in GENERATORS:
        raise ValueError(f"there is no generator {tensor['generator']!r}; there are {', '.join(GENERATORS)}")
    parameters = tensor["parameters"]
    rise = parameters.get("rise")
    return Generated(
        tensor["generator"],
        tensor["seed"],
        tuple(tensor["shape"]),
        parameters["bits"],
        parameters["unit"],
        parameters.get("first"),
        None if rise is None else Rise(rise["tokens"], rise["unit"]),
        tensor["sha256"],
    )


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
