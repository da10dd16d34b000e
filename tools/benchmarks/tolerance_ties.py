"""Rows of tied, nearly tied and cancelling terms beside their tolerance: what asked for cells and for the drift.

``python tools/benchmarks/tolerance_ties.py`` draws rows of one query, computes them in several right ways, and prints
the worst error / tolerance for each length, with the model and with two parts taken out of it; ``--write`` writes the
worst over all lengths to ``spec/studies/tolerance-ties.md``. PyTorch's flash kernel is among the ways where torch is
installed. It takes a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from study import Study, add_write_option, publish, table

from attnspec.bounds import precision_of
from attnspec.contract.dtypes import numpy_dtype, rounded_to
from attnspec.families.attention.steps.rounding_cells import Norms
from attnspec.families.lookup import family_of

Array = NDArray[Any]
Row = tuple[Array, Array]
Kernel = Callable[[Array, Array, str], Array]
OPERATION = "scaled_dot_product_attention"
MODEL = "attnspec.families.attention.tolerance.error_bound"
FEATURES = 4
LENGTHS = (16, 64, 256, 1024, 4096)
DRAWS = 16
ABOUT = """
Attention of one query over rows in which many weights are equal or nearly so, or in which one outweighs the rest, by
computations that are right: the worst error / tolerance over 16 rows of 16, 64, 256, 1024 and 4096 keys each. It asked
for two parts of the tolerance of [decision 6](../decisions/0006-tolerance.md), rounding cells and the drift of a sum of
shares. *Without* is the same model with both taken out: each weight rounded by itself, and a drift of 0.4·n; *with* is
the model. Above 1, a right computation would have failed.

- *two groups*: every second key has the same score, and the values of the groups cancel.
- *halves*: the same, with the groups one after the other.
- *within a step*: scores at most 0.002 apart under a larger one; the sign of the value goes with the score.
- *rising maximum*: equal scores; where the values change their sign, a larger score comes.
- *below the last digit*: one dominant key, and all others 14 to 19 below it (34 to 39 in float64).
- *drawn*: Gaussian scores and values, for comparison.

A *tiled* kernel goes over 64 keys at a time and rounds exponentials to the dtype before they meet the values; *at once*
does so in one tile; *unfused* stores every step in the dtype; *in order* adds up one key after the other in the dtype
itself, which float32 and float64 alone allow. Exact results are computed in the widest float of NumPy.

What is still not covered, in float32 and float64: from some 1024 keys on, strictly sequential sums of equal terms of
one sign that are followed by as many of the other (*halves*); and, from some thousand keys on, two groups of equal
scores near 100, which are each rounded alike.
"""


def _opposite(first: Array, generator: np.random.Generator) -> Array:
    """Return values of one sign for some keys, and of the other for the rest."""
    return np.where(first, 1.0, -1.0)[:, None] * generator.uniform(0.5, 1, (1, FEATURES))


def two_groups(keys: int, generator: np.random.Generator) -> Row:
    """Give every second key the same score."""
    first = np.arange(keys) % 2 == 0
    one, other = generator.uniform(-1, 1, 2)
    return np.where(first, one, other), _opposite(first, generator)


def halves(keys: int, generator: np.random.Generator) -> Row:
    """Give each half of the keys one score."""
    first = np.arange(keys) < keys // 2
    one, other = generator.uniform(-1, 1, 2)
    return np.where(first, one, other), _opposite(first, generator)


def within_a_step(keys: int, generator: np.random.Generator) -> Row:
    """Put scores so near to each other that half precision hardly tells them apart."""
    scores = generator.uniform(0, 0.002, keys)
    scores[0] = generator.uniform(0, 1)
    return scores, _opposite(scores > 0.001, generator)


def rising_maximum(keys: int, generator: np.random.Generator) -> Row:
    """Let a larger score come where the values change their sign."""
    scores = np.full(keys, generator.uniform(-1, 1))
    scores[0] = generator.uniform(1, 2)
    scores[keys // 2] = scores[0] + generator.uniform(0.1, 1)
    return scores, _opposite(np.arange(keys) < keys // 2, generator)


def below_the_last_digit(keys: int, generator: np.random.Generator, *, distance: float) -> Row:
    """Let one key dominate, and all others lie where a sum loses them."""
    scores = np.full(keys, -generator.uniform(distance, distance + 5))
    scores[0] = 0.0
    values = np.broadcast_to(generator.uniform(0.5, 4, FEATURES), (keys, FEATURES)).copy()
    values[0] = generator.uniform(0.5, 1, FEATURES)
    return scores, values


def drawn(keys: int, generator: np.random.Generator) -> Row:
    """Draw scores and values."""
    return generator.normal(size=keys), generator.normal(size=(keys, FEATURES))


def in_tiles(scores: Array, values: Array, dtype: str, *, tile: int = 64) -> Array:
    """Go over the keys in tiles, in float32; the exponentials are rounded to the dtype before they meet the values."""
    scores, values = scores.astype(np.float32), values.astype(np.float32)
    largest, total, output = np.float32(-np.inf), np.float32(0), np.zeros(FEATURES, np.float32)
    for start in range(0, scores.size, tile):
        part = scores[start : start + tile]
        larger = np.maximum(largest, part.max())
        correction, exponentials = np.exp(largest - larger), np.exp(part - larger)
        rounded = exponentials.astype(numpy_dtype(dtype)).astype(np.float32)
        total, largest = total * correction + exponentials.sum(), larger
        output = output * correction + rounded @ values[start : start + tile]
    return (output / total).astype(numpy_dtype(dtype)).astype(np.float64)


def unfused(scores: Array, values: Array, dtype: str) -> Array:
    """Store every step in the dtype."""

    def stored(numbers: Array) -> Array:
        return numbers.astype(numpy_dtype(dtype)).astype(np.float32)

    scores = stored(scores)
    exponentials = stored(np.exp(stored(scores - scores.max())))
    weights = stored(exponentials / exponentials.sum())
    return stored(weights @ values.astype(np.float32)).astype(np.float64)


def in_order(scores: Array, values: Array, dtype: str) -> Array:
    """Add up one key after the other, in the dtype."""
    scores, values = scores.astype(numpy_dtype(dtype)), values.astype(numpy_dtype(dtype))
    exponentials = np.exp(scores - scores.max())
    total, output = numpy_dtype(dtype).type(0), np.zeros(FEATURES, numpy_dtype(dtype))
    for exponential, value in zip(exponentials, values, strict=True):
        total, output = total + exponential, output + exponential * value
    return (output / total).astype(np.float64)


def flash(scores: Array, values: Array, dtype: str) -> Array:
    """Run PyTorch's flash kernel on the CPU."""
    torch: Any = import_module("torch")
    attention: Any = import_module("torch.nn.attention")
    tensors = _inputs(scores, values)
    query, key, value = (
        torch.from_numpy(tensors[name]).to(getattr(torch, dtype)) for name in ("query", "key", "value")
    )
    with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
        output = torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=1.0)
    return output.to(torch.float64).numpy()[0, 0, 0]


def exact(scores: Array, values: Array) -> Array:
    """Return the result in the widest float of NumPy."""
    exponentials = np.exp(scores.astype(np.longdouble) - scores.max())
    return (exponentials @ values.astype(np.longdouble) / exponentials.sum()).astype(np.float64)


def _inputs(scores: Array, values: Array) -> dict[str, Array]:
    """Return query, key and value of one head; the first feature of a key is its score."""
    query, key = np.zeros((1, 1, 1, FEATURES)), np.zeros((1, 1, scores.size, FEATURES))
    query[..., 0], key[0, 0, :, 0] = 1.0, scores
    return {"query": query, "key": key, "value": np.ascontiguousarray(values[None, None])}


def tolerances(scores: Array, values: Array, dtype: str, *, fused: bool) -> tuple[Array, Array]:
    """Return the tolerance without the two parts, and with them."""

    def output() -> Array:
        precision = precision_of(dtype, fused=fused)
        bound = family_of(OPERATION).tolerance(OPERATION, _inputs(scores, values), {"scale": 1.0}, precision, {})
        return bound.of("output").error[0, 0, 0]

    def even(shares: Array, terms: int, precision: Any) -> Array:
        return np.full((*shares.shape[:-1], 1), 0.4 * precision.accumulator * terms)

    def independent(shares: Array, value: Array, output: Array, spread: Array, precision: Any) -> Norms:
        del shares, value, output, precision
        return Norms(spread, spread)

    with patch(f"{MODEL}.drift_of_shares", even), patch(f"{MODEL}.coherent_norms", independent):
        without = output()
    return without, output()


class Class(NamedTuple):
    """Rows of one kind, in one dtype and grade, with the right ways to compute them."""

    name: str
    rows: Callable[[int, np.random.Generator], Row]
    dtype: str
    fused: bool
    kernels: Mapping[str, Kernel]

    def worst_of(self, name: str) -> Array:
        """Return the worst ratios of one kernel: a row for each length, without and with the two parts."""
        found_of: list[Array] = []
        for keys in LENGTHS:
            worst = np.zeros(2)
            for draw in range(DRAWS):
                generator = np.random.default_rng([draw, keys])
                scores, values = (rounded_to(part, self.dtype) for part in self.rows(keys, generator))
                error = np.abs(self.kernels[name](scores, values, self.dtype) - exact(scores, values))
                found = tolerances(scores, values, self.dtype, fused=self.fused)
                worst = np.maximum(worst, [float((error / tolerance).max()) for tolerance in found])
            found_of.append(worst)
        return np.stack(found_of)

    def label(self, name: str) -> str:
        """Return what the row of one kernel is called."""
        grade = (", fused" if self.fused else ", unfused") if self.dtype in ("float16", "bfloat16") else ""
        return f"{self.name}; {self.dtype}{grade}; {name}"


def classes() -> list[Class]:
    """Return every class."""
    torch: dict[str, Kernel] = {"torch flash": flash} if find_spec("torch") else {}
    kinds = {
        "two groups": two_groups,
        "halves": halves,
        "within a step": within_a_step,
        "rising maximum": rising_maximum,
        "drawn": drawn,
    }
    found: list[Class] = []
    for dtype in ("bfloat16", "float16"):
        for name, rows in kinds.items():
            kernels = {"tiled": in_tiles, "at once": partial(in_tiles, tile=2**20), **torch}
            found += [Class(name, rows, dtype, True, kernels), Class(name, rows, dtype, False, {"unfused": unfused})]
    for dtype, distance in (("float32", 14.0), ("float64", 34.0)):
        below = partial(below_the_last_digit, distance=distance)
        for name, rows in {"below the last digit": below, "halves": halves, "drawn": drawn}.items():
            found.append(Class(name, rows, dtype, False, {"in order": in_order, **torch}))
    return found


def measure() -> tuple[list[str], list[str]]:
    """Measure every class, and return the table of the worst, and that of every length."""
    with np.errstate(all="ignore"):
        worst = {each.label(name): each.worst_of(name) for each in classes() for name in each.kernels}
    library = [f"torch {version('torch')}.", ""] if find_spec("torch") else []
    name = "rows; dtype; computation"
    rows = [(label, *_ratios(found.max(axis=0))) for label, found in worst.items()]
    every = [(label, *(" → ".join(_ratios(each)) for each in found)) for label, found in worst.items()]
    details = table((name, *(f"{keys} keys, without → with" for keys in LENGTHS)), every)
    return [*library, *table((name, "without", "with"), rows)], [*details, ""]


def _ratios(worst: Array) -> list[str]:
    return [f"{ratio:.2f}" for ratio in worst]


def main() -> None:
    """Measure, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_write_option(parser, "tolerance-ties")
    options = parser.parse_args()
    publish(Study("Ties and cancelling terms", ABOUT, *measure()), options.write)


if __name__ == "__main__":
    main()
