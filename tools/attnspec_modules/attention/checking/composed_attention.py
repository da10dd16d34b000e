"""Attention of a layer as the reference has it, put together from its operations, with one thing done otherwise or not.

Tokens and matrices are such that every usual mistake shows: lengths, heads and features all differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import numpy_dtype
from attnspec_modules.attention.layer import Call
from attnspec_modules.attention.layer_reading import BIASES, MATRICES, Reading, Rotation
from attnspec_modules.attention.rotating import angles_of
from attnspec_reference import apply_rotary, scaled_dot_product_attention

Array = NDArray[Any]
Heads = Mapping[str, Array]
"""Queries, keys and values under ``query``, ``key`` and ``value``, each (B, H, S, E)."""

Turn = Callable[[Heads], Heads]
Share = Callable[[Array, Array, int], tuple[Array, Array]]

TOKENS = 7
_BATCH, _HEADS, _KV_HEADS, _HEAD_WIDTH = 2, 6, 2, 8

_SEED = 20_261_129
"""Any: the numbers only have to be unlike each other."""

_SPREAD = 1.3
"""Times what leaves projections as large as tokens: weights are then neither even nor all at one key."""

_ALIKE = 1e-4
"""Distance of outputs that are alike, as a share of the largest number: float32 inside is off by less, mistakes by
much more."""


class Sample(NamedTuple):
    """Tokens (B, S, D) and weights with which a layer is called, and the numbers of its heads."""

    tokens: Array
    weights: Mapping[str, Array]
    heads: int
    kv_heads: int
    is_causal: bool

    @property
    def call(self) -> Call:
        """The call of a layer with these tokens alone."""
        return Call(self.tokens, self.tokens, self.tokens, None, self.is_causal)


def sample_of(reading: Reading, *, grouped: bool = False, dtype: str | None = None) -> Sample:
    """Return tokens and weights for a layer; `grouped` has several heads of queries share one of keys."""
    heads = _HEADS if reading.has_heads else 1
    kv_heads = _KV_HEADS if grouped else heads
    width, numbers = heads * _HEAD_WIDTH, numpy_dtype(dtype or reading.dtypes[0])
    rng = np.random.default_rng(_SEED)
    tokens = rng.normal(size=(1 if reading.forward.rank == 2 else _BATCH, TOKENS, width)).astype(numbers)
    weights: dict[str, Array] = {}
    for matrix, bias in zip(MATRICES, BIASES, strict=True):
        made = kv_heads * _HEAD_WIDTH if matrix in ("w_key", "w_value") else width
        weights[matrix] = (rng.normal(size=(width, made)) * _SPREAD / np.sqrt(width)).astype(numbers)
        if bias in reading.tensors:
            weights[bias] = rng.normal(size=made).astype(numbers)
    return Sample(tokens, weights, heads, kv_heads, reading.causality == "built in")


def projected(sample: Sample) -> Heads:
    """Return queries, keys and values of all tokens, by head."""
    return {
        "query": _by_head(sample, "query", sample.heads),
        "key": _by_head(sample, "key", sample.kv_heads),
        "value": _by_head(sample, "value", sample.kv_heads),
    }


def _by_head(sample: Sample, name: str, heads: int) -> Array:
    made = _wide(sample.tokens) @ _wide(sample.weights[f"w_{name}"])
    if f"b_{name}" in sample.weights:
        made = made + _wide(sample.weights[f"b_{name}"])
    return made.reshape(*made.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def shared_by_neighbours(keys: Array, values: Array, heads: int) -> tuple[Array, Array]:
    """Return keys and values (B, H, S, E) of every head of queries, where neighbours share one."""
    repeats = heads // keys.shape[1]
    return np.repeat(keys, repeats, axis=1), np.repeat(values, repeats, axis=1)


def composed(sample: Sample, turn: Turn | None = None, share: Share = shared_by_neighbours) -> Array:
    """Return the output (B, S, D) of attention whose heads are turned and shared so."""
    heads = projected(sample) if turn is None else turn(projected(sample))
    keys, values = share(heads["key"], heads["value"], sample.heads)
    context = scaled_dot_product_attention(heads["query"], keys, values, is_causal=sample.is_causal).output
    return mixed(sample, context)


def mixed(sample: Sample, context: Array) -> Array:
    """Return the output (B, S, D) of what the heads (B, H, S, E) found."""
    batch, _, tokens, _ = context.shape
    output = context.transpose(0, 2, 1, 3).reshape(batch, tokens, -1) @ _wide(sample.weights["w_output"])
    return output + _wide(sample.weights["b_output"]) if "b_output" in sample.weights else output


def rotated(array: Array, rotation: Rotation, positions: range) -> Array:
    """Return heads (B, H, S, E) that are rotated by the positions of their tokens."""
    angles = np.broadcast_to(
        angles_of(positions, array.shape[-1], rotation), (array.shape[0], len(positions), array.shape[-1] // 2)
    )
    turned = angles[..., : int(rotation.share * array.shape[-1] / 2)]
    return apply_rotary(array, np.cos(turned), np.sin(turned), pairing=rotation.pairing)


def rotated_as_they_should(rotation: Rotation | None) -> Turn:
    """Return what rotates queries and keys, where there is a rotation."""

    def turn(heads: Heads) -> Heads:
        if rotation is None:
            return heads
        positions = range(heads["query"].shape[2])
        return {**heads, **{name: rotated(heads[name], rotation, positions) for name in ("query", "key")}}

    return turn


def are_alike(one: Array, other: Array) -> bool:
    """Return whether two outputs are the same but for roundings."""
    if one.shape != other.shape:
        return False
    size = float(np.max(np.abs(other), initial=0.0))
    return bool(np.allclose(_wide(one), _wide(other), rtol=0.0, atol=_ALIKE * size))


def difference(got: Array, expected: Array) -> str:
    """Return the element of an output that is furthest off, in words."""
    if got.shape != expected.shape:
        return f"the output has the shape {got.shape}; expected {expected.shape}"
    errors = np.nan_to_num(np.abs(_wide(got) - expected), nan=np.inf)
    index = np.unravel_index(int(errors.argmax()), errors.shape)
    where = ", ".join(map(str, index))
    return f"output[{where}] is {float(got[index]):.6g}; expected {float(expected[index]):.6g}"


def _wide(array: Array) -> NDArray[np.float64]:
    return array.astype(np.float64)
