"""Generated tensors: a generator, a seed text and a digest stand for the numbers, which are drawn when they are wanted.

The generator hashes a counter, so that any part can be drawn by itself, in any language. Its algorithm, with a few
known words, is in ``spec/generator.md``.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import FixtureError
from attnspec.contract.dtypes import numpy_dtype

BELL = "bell"

GENERATORS = (BELL,)
"""Every generator, by its id."""

_BLOCK = 1 << 16
"""Elements that are drawn together: their words fit into a processor's cache."""

_MASK = (1 << 64) - 1
_INCREMENT = 0x9E3779B97F4A7C15
_MULTIPLIERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST_SHIFT = 31
_FIELDS = (0, 16, 32, 48)
_FIELD = (1 << 16) - 1


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
        found = self._fill_and_digest(drawn.reshape(-1, self.shape[-1]))
        if found != self.sha256:
            raise FixtureError(
                f"The generator {self.generator!r} made other numbers from the seed {self.seed!r} than the file says: "
                f"their SHA-256 is {found}, not {self.sha256}. Run `attnspec check`."
            )
        return drawn

    def digest(self) -> str:
        """Return the SHA-256 of the numbers that are drawn."""
        return self._fill_and_digest(None)

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

    def _fill_and_digest(self, drawn: NDArray[Any] | None) -> str:
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


def splitmix64(state: int) -> int:
    """Return the output of the generator splitmix64 after one step from `state`."""
    mixed = (state + _INCREMENT) & _MASK
    for shift, multiplier in _MULTIPLIERS:
        mixed = ((mixed ^ (mixed >> shift)) * multiplier) & _MASK
    return mixed ^ (mixed >> _LAST_SHIFT)


def fnv1a64(text: str, digest: int = 0xCBF29CE484222325) -> int:
    """Return the 64-bit FNV-1a hash of the UTF-8 bytes of `text`, behind a text whose hash is `digest`, or alone."""
    for byte in text.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & _MASK
    return digest


def hashed_counters(base: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return the outputs of splitmix64 after one step from each of `count` states, the first of them `base + first`."""
    # Sums and products of uint64 arrays are taken modulo 2**64, as the hash wants them.
    hashed = np.arange(count, dtype=np.uint64)
    hashed += np.uint64((base + first + _INCREMENT) & _MASK)
    shifted = np.empty_like(hashed)
    for shift, multiplier in _MULTIPLIERS:
        np.right_shift(hashed, np.uint64(shift), out=shifted)
        hashed ^= shifted
        hashed *= np.uint64(multiplier)
    np.right_shift(hashed, np.uint64(_LAST_SHIFT), out=shifted)
    hashed ^= shifted
    return hashed


def bell(base: int, first: int, count: int, *, bits: int) -> NDArray[np.int64]:
    """Return sums of four fields of hashed counters, less their mean: whole numbers spread like a bell around 0.

    The counters begin at `first` and are added to the state `base`; a field is at most 14 bits wide. The numbers lie
    between plus and minus ``2 * (2**bits - 1)``.
    """
    return bell_of(hashed_counters(base, first, count), bits=bits)


def bell_of(words: NDArray[np.uint64], *, bits: int) -> NDArray[np.int64]:
    """Return what `bell` makes of 64-bit words, which are overwritten."""
    hashed = words
    shifted = np.empty_like(hashed)
    largest = (1 << bits) - 1
    hashed &= np.uint64(sum(largest << field for field in _FIELDS))
    # The fields are 16 bits apart and have room to be summed side by side.
    for shift in (32, 16):
        np.right_shift(hashed, np.uint64(shift), out=shifted)
        hashed += shifted
    hashed &= np.uint64(_FIELD)
    numbers = hashed.view(np.int64)
    numbers -= 2 * largest
    return numbers
