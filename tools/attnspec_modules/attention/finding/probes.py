"""Probes of a layer with weights of our own: what its output depends on, where the usual mistakes do not show.

A token alone, or a head alone, looks the same with another scale, another softmax axis and other ways of cutting heads.
So do the probes decide how a layer is to be read, and never whether it is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.layer import Call, Grown, LayerRunner
from attnspec_modules.attention.layer_reading import MATRICES
from attnspec_modules.libraries.kinds import attributes_of

_SEED = 20_260_101
"""Any: the numbers only have to be unlike each other."""

_PROPORTIONAL = 1e-3
"""Share of a result that may be something else: half precision is off by less, other features by much more."""


def token_alone(
    runner: LayerRunner,
    heads: int,
    width: int,
    dtype: str,
    *,
    apart: bool = False,
    count: int = 1,
    made_by: str = "w_value",
) -> float:
    """Return how far the output of one token is from a multiple of x W_v W_o, as a share of it.

    With `apart`, query and key are other tokens than the value. Of `count` equal tokens, one that sees any is compared.
    `made_by` is the matrix in place of W_v; where it is another one, W_v is unlike it.
    """
    rng = np.random.default_rng(_SEED)
    query, key, x = (rng.normal(size=(1, 1, width)).astype(dtype).repeat(count, axis=1) for _ in range(3))
    query, key = (query, key) if apart else (x, x)
    w_value, w_output = (rng.normal(size=(width, width)).astype(dtype) for _ in range(2))
    weights = {"w_value": w_value[::-1], made_by: w_value, "w_output": w_output}
    expected = x[0, 0] @ w_value @ w_output
    output, _ = runner.run(Call(query, key, x), weights, heads, {})
    rows = np.asarray(output, np.float64).reshape(count, -1)
    return min(_distance(row, np.asarray(expected, np.float64)) for row in rows)


def _distance(got: NDArray[Any], expected: NDArray[Any]) -> float:
    if got.shape != expected.shape or not np.isfinite(got).all():
        return np.inf
    factor = float(got @ expected) / float(expected @ expected)
    if abs(factor) < _PROPORTIONAL:
        return np.inf
    return float(np.linalg.norm(got - factor * expected) / np.linalg.norm(factor * expected))


def is_proportional(distance: float) -> bool:
    """Return whether a distance is one of rounding alone."""
    return distance < _PROPORTIONAL


def first_is_query(runner: LayerRunner, dtype: str, width: int = 8) -> bool | None:
    """Return whether what the reading takes for the query is it, and not the key; None where that cannot be seen.

    The second token's query is zero, so that it shares its weight evenly; were it a key, it would not.
    """
    tokens = np.zeros((1, 2, width))
    tokens[0, 0, 0] = tokens[0, 1, 1] = tokens[0, :, 2] = 1
    w_query, w_key, w_value = np.zeros((3, width, width))
    w_query[0, :] = w_key[2, :] = 1.5
    w_value[0, 0] = w_value[1, 1] = 1
    weights = {"w_query": w_query, "w_key": w_key, "w_value": w_value, "w_output": np.eye(width)}
    output = output_of(runner, tokens, weights, 1, dtype, {})
    if output is None:
        return None
    row = output[0, 1, :2]
    if abs(row.sum() - 1) > _PROPORTIONAL:
        return None
    return bool(abs(row[0] - row[1]) < _PROPORTIONAL)


def remembers(runner: LayerRunner, width: int = 8) -> bool | None:
    """Return whether a later token that comes by itself sees an earlier one; None where nothing is kept at all."""
    one = np.random.default_rng(_SEED).normal(size=(1, 2, width))
    other = one.copy()
    other[0, 0] += 1
    weights = {name: np.eye(width, dtype="float32") for name in ("w_query", "w_key", "w_value", "w_output")}
    found: list[Grown] = []
    for tokens in (one.astype("float32"), other.astype("float32")):
        call = Call(tokens, tokens, tokens, None, is_causal=True)
        try:
            found.append(runner.run_in_parts(call, weights, 1, [(0, 1), (1, 2)]))
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None
    changes = not np.array_equal(found[0].output[0, 1], found[1].output[0, 1])
    return changes if changes or found[0].keeps else None


_ROUNDED = 1e-10, 1e-6
"""Errors of a factor between them are those of float32: float64 is nearer, and another factor further away."""


def is_inside_float32(runner: LayerRunner, width: int = 8) -> bool:
    """Return whether float64 is computed in float32 inside, as the factor of the scores shows.

    It is measured at two distances between scores; it may be any factor, right or not, but must be the same twice.
    """
    tokens, far = np.eye(3, width)[np.newaxis], (0.5, 0.75)
    w_query, w_key, w_value = np.zeros((3, width, width))
    w_query[2, 0] = 1.0
    w_key[1, 0], w_key[2, 0] = far
    w_value[range(3), range(3)] = 1
    weights = {"w_query": w_query, "w_key": w_key, "w_value": w_value, "w_output": np.eye(width)}
    output = output_of(runner, tokens, weights, 1, "float64", {})
    if output is None or not (output[0, 2, :3] > 0).all():
        return False
    factors = [float(np.log(output[0, 2, key] / output[0, 2, 0])) / far[key - 1] for key in (1, 2)]
    if not all(factors):
        return False
    nearest = min((1 / np.sqrt(width), 1.0, 1 / width), key=lambda factor: abs(factors[0] / factor - 1))
    errors = abs(factors[0] / factors[1] - 1), abs(factors[0] / nearest - 1)
    return any(_ROUNDED[0] < error < _ROUNDED[1] for error in errors)


def shares(
    runner: LayerRunner,
    dtype: str,
    raw: Mapping[str, Any],
    *,
    batch: int = 1,
    keys: int = 5,
    width: int = 8,
    heads: int = 1,
) -> NDArray[Any] | None:
    """Return the share (B, Sq, Sk) of each key in each query of a layer with one head, whose scores are all alike.

    None where the call raises. The values are unit vectors, so that the output shows the shares themselves.
    """
    batch = 1 if runner.reading.forward.rank == 2 else batch
    tokens = np.zeros((batch, keys, width))
    tokens[:, range(keys), range(keys)] = 1
    tokens[..., width - 1] = 1
    w_query, w_key, w_value = np.zeros((3, width, width))
    w_query[width - 1, 0] = w_key[width - 1, 0] = 1.0
    w_value[range(keys), range(keys)] = 1
    weights = {"w_query": w_query, "w_key": w_key, "w_value": w_value, "w_output": np.eye(width)}
    output = output_of(runner, tokens, weights, heads, dtype, raw)
    return None if output is None else output[..., :keys]


def output_of(
    runner: LayerRunner,
    tokens: NDArray[Any],
    weights: Mapping[str, NDArray[Any]],
    heads: int,
    dtype: str,
    raw: Mapping[str, Any] | None,
) -> NDArray[Any] | None:
    """Return the output of a layer of one sequence, in float64; None where the call raises, or it has another shape."""
    given = tokens.astype(dtype)
    kept = {name: array.astype(dtype) for name, array in weights.items()}
    output = runner.tried(Call(given, given, given), kept, heads, raw)
    if output is None:
        return None
    output = np.asarray(output, np.float64)
    return output if output.shape == tokens.shape else None


_RATE = 0.5
"""Any that leaves out some of 48 weights with near certainty."""

_MANY = 16


def rate_seen(runner: LayerRunner, heads: int, width: int) -> float | None:
    """Return the rate of dropout with which a layer is seen to draw in evaluation; None where it is not.

    It is 0 where it draws though it is made without dropout.
    """
    if _draws(runner, heads, width):
        return 0.0
    if not runner.library.evaluates:
        return None
    dropping = LayerRunner(runner.layer_class, runner.library, replace(runner.reading, dropout=_RATE))
    return _RATE if _draws(dropping, heads, width) else None


def _draws(runner: LayerRunner, heads: int, width: int) -> bool:
    """Return whether two calls with the same tokens give different numbers."""
    rng = np.random.default_rng(_SEED)
    tokens = rng.normal(size=(1, _MANY, width)).astype("float32")
    weights = {name: rng.normal(size=(width, width)).astype("float32") for name in MATRICES}
    is_causal = runner.reading.causality == "built in"
    call = Call(tokens, tokens, tokens, None, is_causal)
    one, other = (runner.tried(call, weights, heads, {}) for _ in range(2))
    return one is not None and other is not None and not np.array_equal(one, other, equal_nan=True)


def keeps_a_triangle(layer: Any, length: int) -> bool:
    """Return whether a layer keeps a mask of causality for so many tokens, be it used or not."""
    tables = [value for _, value in layer.named_buffers()] if hasattr(layer, "named_buffers") else []
    for table in (*tables, *(value for value in attributes_of(layer).values() if hasattr(value, "shape"))):
        if len(table.shape) > 1 and table.shape[-1] == table.shape[-2] >= length:
            square = np.asarray(table).reshape(-1, table.shape[-2], table.shape[-1])[0] != 0
            if square.any() and np.triu(square, 1).any() != np.tril(square, -1).any():
                return True
    return False
