"""A right scaled dot-product attention in NumPy, every step of which can be replaced.

It computes in the dtype of its inputs, float64 or float32.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Attention = Callable[..., dict[str, Array]]
OUTPUTS = ("output", "weights", "logsumexp", "scores", "logits", "present_key", "present_value")


def numbers_to(count: int) -> Array:
    """Return 0, 1, 2, ..., count - 1."""
    return np.arange(count)


@dataclass(frozen=True)
class Call:
    """The arguments of one call, the past prepended to key and value."""

    query: Array
    key: Array
    value: Array
    mask: Array | None
    past: int
    lengths: tuple[Array, Array]
    """The keys and the queries that count in each batch entry."""
    is_causal: bool
    bottom_right: bool
    scale: float | None
    softcap: float
    window: tuple[int | None, int | None]

    @property
    def query_numbers(self) -> Array:
        """The number i of each query, (Sq, 1)."""
        return numbers_to(self.query.shape[2])[:, None]

    @property
    def bias(self) -> Array:
        """What the mask adds to the scores, 0 if it is Boolean."""
        return np.zeros(1, self.query.dtype) if self.mask is None or self.mask.dtype == bool else self.mask


def key_head(query_heads: int, key_heads: int) -> Array:
    """Return the head that each query head reads."""
    return numbers_to(query_heads) // (query_heads // key_heads)


def scale(call: Call) -> float:
    """Return the factor of the dot products."""
    return 1 / math.sqrt(call.query.shape[3]) if call.scale is None else call.scale


def cap(call: Call, scores: Array) -> Array:
    """Bound the scores by the softcap."""
    return call.softcap * np.tanh(scores / call.softcap) if call.softcap else scores


def position(call: Call) -> Array:
    """Return the position of each query, (B, Sq, 1)."""
    keys, queries = call.lengths
    offset = keys - queries if call.bottom_right else np.full(len(keys), call.past)
    return call.query_numbers + offset[:, None, None]


def distance(_call: Call, positions: Array, keys: Array) -> Array:
    """Return how far each key is from each query, (B, Sq, P + Sk)."""
    return np.abs(positions - keys)


def add_mask(call: Call, logits: Array) -> Array:
    """Add a float mask."""
    return logits + call.bias


def causal(_call: Call, positions: Array, keys: Array) -> Array:
    """Return which keys causality leaves to each query."""
    return keys <= positions


def within(call: Call, positions: Array, keys: Array) -> Array:
    """Return which keys the window leaves to each query."""
    left, right = call.window
    allowed = np.full(np.broadcast_shapes(positions.shape, keys.shape), fill_value=True)
    if left is not None:
        allowed &= keys >= positions - left
    if right is not None:
        allowed &= keys <= positions + right
    return allowed


def exclude(logits: Array, allowed: Array) -> tuple[Array, Array]:
    """Return the logits, minus infinity at the keys that are excluded, and which keys are not."""
    return np.where(allowed, logits, -np.inf), allowed


def same(array: Array) -> Array:
    """Leave an array as it is."""
    return array


def normalise(logits: Array, sink: Array | None, total_of: Callable[[Array], Array] = same) -> tuple[Array, Array]:
    """Return the weights, and the logsumexp with a last axis of length 1; sinks are (Hq, 1, 1)."""
    top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    top = top if sink is None else np.maximum(top, sink)
    top = np.where(top == -np.inf, 0, top)
    exponentials = np.exp(logits - top)
    total = exponentials.sum(axis=-1, keepdims=True)
    total = total_of(total if sink is None else total + np.exp(sink - top))
    return exponentials / np.where(total == 0, 1, total), top + np.log(total)


@dataclass(frozen=True)
class Steps:
    """The steps of attention; `at` changes an array as it is read or as soon as it is computed."""

    at: Mapping[str, Callable[[Array], Array]] = field(default_factory=dict[str, Callable[[Array], Array]])
    key_head: Callable[[int, int], Array] = key_head
    value_head: Callable[[int, int], Array] = key_head
    scale: Callable[[Call], float] = scale
    cap: Callable[[Call, Array], Array] = cap
    position: Callable[[Call], Array] = position
    distance: Callable[[Call, Array, Array], Array] = distance
    add_mask: Callable[[Call, Array], Array] = add_mask
    causal: Callable[[Call, Array, Array], Array] = causal
    within: Callable[[Call, Array, Array], Array] = within
    exclude: Callable[[Array, Array], tuple[Array, Array]] = exclude
    normalise: Callable[[Array, Array | None], tuple[Array, Array]] = normalise


def attend(steps: Steps, call: Call, sinks: Array | None, slopes: Array | None) -> dict[str, Array]:
    """Return all outputs."""

    def at(step: str, array: Array) -> Array:
        return steps.at.get(step, same)(array)

    heads, shared = call.query.shape[1], call.key.shape[1]
    query = at("query", call.query)
    key = at("key", call.key)[:, steps.key_head(heads, shared)]
    value = call.value[:, steps.value_head(heads, shared)]
    scores = at("scores", query @ key.swapaxes(-1, -2) * query.dtype.type(steps.scale(call)))
    positions, keys = steps.position(call), numbers_to(key.shape[2])

    logits = steps.cap(call, scores)
    if slopes is not None:
        far = steps.distance(call, positions, keys).astype(query.dtype)
        logits = logits - at("slopes", slopes)[:, None, None] * far[:, None]
    logits = steps.add_mask(call, logits)

    allowed: Array = (keys < call.lengths[0][:, None, None]) & steps.within(call, positions, keys)
    if call.is_causal:
        allowed = allowed & steps.causal(call, positions, keys)
    unmasked = call.mask if call.mask is not None and call.mask.dtype == bool else call.bias != -np.inf
    logits, allowed = steps.exclude(logits, allowed[:, None] & unmasked)

    sink = None if sinks is None else at("sinks", sinks)[:, None, None]
    weights, logsumexp = steps.normalise(logits, sink)
    weights = at("weights", np.where(allowed, weights, 0))
    # An excluded value that is no number must not be multiplied, not even by 0.
    if np.isfinite(value).all():
        output = weights @ value
    else:
        output = np.where(allowed[..., None], weights[..., None] * value[:, :, None], 0).sum(axis=-2)
    computed = (output, weights, logsumexp[..., 0], scores, logits, call.key, call.value)
    return dict(zip(OUTPUTS, computed, strict=True))


def prepend(past: Array | None, new: Array) -> Array:
    """Return past and new tokens; a past of another batch, heads or width is refused."""
    past = new[:, :, :0] if past is None else past
    if past.ndim != 4 or past[:, :, :0].shape != new[:, :, :0].shape:
        raise ValueError("the past does not fit")
    return np.concatenate([past, new], axis=2)


def count(given: Array | None, most: int, otherwise: int, batch: int) -> Array:
    """Return how many tokens of each batch entry count."""
    if given is None:
        return np.full(batch, otherwise)
    if given.shape != (batch,) or np.any((given < 0) | (given > most)):
        raise ValueError("the lengths do not fit")
    return given.astype(np.int64)


def check(query: Array, key: Array, value: Array, mask: Array | None, keys: int) -> None:
    """Refuse what does not fit together; `keys` is P + Sk."""
    if any(array.ndim != 4 for array in (query, key, value)):
        raise ValueError("query, key and value have four axes")
    if query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3] or query.shape[1] % key.shape[1]:
        raise ValueError("query and key do not fit together")
    if key.shape[:3] != value.shape[:3]:
        raise ValueError("key and value do not fit together")
    if mask is not None:
        extents = (*query.shape[:3], keys)
        if mask.ndim < 2 or mask.shape[-1] != keys or np.broadcast_shapes(mask.shape, extents) != extents:
            raise ValueError("the mask does not fit")


def attention(steps: Steps, names: Sequence[str] = OUTPUTS) -> Attention:
    """Return the attention of these steps, which gives the outputs that are named."""

    def scaled_dot_product_attention(
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None = None,
        past_key: Array | None = None,
        past_value: Array | None = None,
        key_lengths: Array | None = None,
        query_lengths: Array | None = None,
        sinks: Array | None = None,
        alibi_slopes: Array | None = None,
        is_causal: bool = False,
        causal_alignment: str = "top_left",
        scale: float | None = None,
        softcap: float | None = None,
        window: Sequence[int | None] | None = None,
    ) -> dict[str, Array]:
        past = 0 if past_key is None else past_key.shape[2]
        check(query, key, value, mask, past + key.shape[2] if key.ndim == 4 else 0)
        mask = None if mask is None else steps.at.get("mask", same)(mask)
        (batch, _, queries, _), new = query.shape, key.shape[2]
        left, right = (None, None) if window is None else window
        call = Call(
            query=query,
            key=prepend(past_key, key),
            value=prepend(past_value, value),
            mask=mask if mask is None or mask.dtype == bool else mask.astype(query.dtype),
            past=past,
            lengths=(count(key_lengths, new, past + new, batch), count(query_lengths, queries, queries, batch)),
            is_causal=is_causal,
            bottom_right=causal_alignment == "bottom_right",
            scale=scale,
            softcap=float(softcap or 0),
            window=(left, right),
        )
        if call.key.shape[2] != call.value.shape[2]:
            raise ValueError("past keys and values do not fit together")
        with np.errstate(all="ignore"):
            outputs = attend(steps, call, sinks, alibi_slopes)
        return {name: outputs[name].astype(query.dtype) for name in names}

    return scaled_dot_product_attention
