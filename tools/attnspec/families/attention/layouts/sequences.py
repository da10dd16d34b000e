"""Sequences of a batch one by one, with which the layouts of serving begin, or why they cannot be separated.

A sequence has as many queries and keys as count in its batch entry; a past stands before the new keys.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import QUANTIZED_DTYPES
from attnspec.families.attention.layouts.memory_order import can_be_kept, strided_like

if TYPE_CHECKING:
    from attnspec.contract.arrangement import Circumstances
    from attnspec.families.record import Arrays, Marks

OPERATION = "scaled_dot_product_attention"

_TOKENS = ("query", "key", "value", "past_key", "past_value")
_BY_POSITION = ("is_causal", "window")
"""Attributes that ask where a query stands; slopes do as well."""
_ALIGNMENT, _TOP_LEFT, _BOTTOM_RIGHT = "causal_alignment", "top_left", "bottom_right"
_CALLERS = "any"
"""The choice of the convention under which the caller states the alignment."""


class Sequences(NamedTuple):
    """A batch, sequence by sequence: keys (Hkv, L, E), values (Hkv, L, Ev), past ones first, and lengths (B,).

    `attributes` are those of the call to the implementation.
    """

    keys: tuple[NDArray[Any], ...]
    values: tuple[NDArray[Any], ...]
    query_lengths: NDArray[np.int64]
    key_lengths: NDArray[np.int64]
    attributes: Mapping[str, Any]


def sequences_of(
    inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances, repacked: Sequence[str]
) -> Sequences | str:
    """Return the sequences of a request, or in words why it has none; only inputs in `repacked` are changed."""
    problem = _quantized(inputs) or _shapes_apart(inputs) or _mask_apart(inputs) or _memory_lost(inputs, repacked)
    if problem is not None:
        return problem
    past = 0 if "past_key" not in inputs else inputs["past_key"].shape[2]
    batch, queries, new = len(inputs["query"]), inputs["query"].shape[2], inputs["key"].shape[2]
    lengths = {
        name: inputs[name].astype(np.int64) if name in inputs else np.full(batch, tokens, dtype=np.int64)
        for name, tokens in (("query_lengths", queries), ("key_lengths", past + new))
    }
    aligned = _attributes_keeping_positions(inputs, attributes, circumstances, past=past, squared=queries == new)
    if isinstance(aligned, str):
        return aligned
    keys, values = (
        tuple(entry[:, :length] for entry, length in zip(_with_past(inputs, name), lengths["key_lengths"], strict=True))
        for name in ("key", "value")
    )
    return Sequences(keys, values, lengths["query_lengths"], lengths["key_lengths"], aligned)


def entered_by_other_sequences(inputs: Arrays) -> Marks:
    """Return, by output name, elements that NaN and infinity of other sequences enter where all weigh all values.

    A key reaches everything of a query from which it is excluded; a value reaches its own feature.
    """
    if set(_TOKENS[:3]) - inputs.keys() or _shapes_apart(inputs) is not None or _quantized(inputs) is not None:
        return {}
    query, key, value = inputs["query"], _with_past(inputs, "key"), _with_past(inputs, "value")
    lengths = inputs.get("key_lengths", np.full(len(key), key.shape[2]))
    counted: NDArray[np.bool_] = np.arange(int(key.shape[2])) < lengths[:, np.newaxis]
    keys, values = (~np.isfinite(tokens) & counted[:, np.newaxis, :, np.newaxis] for tokens in (key, value))
    by_keys, by_values = _of_other_entries(np.any(keys, axis=(2, 3))), _of_other_entries(np.any(values, axis=2))
    if not key.shape[1] or not (by_keys.any() or by_values.any()):
        return {}
    rows, features = (np.repeat(each, query.shape[1] // key.shape[1], axis=1) for each in (by_keys, by_values))
    entered = np.logical_or(rows[..., np.newaxis], features)[:, :, np.newaxis]
    return {
        "output": np.broadcast_to(entered, (*query.shape[:3], value.shape[3])),
        "logsumexp": np.broadcast_to(rows[..., np.newaxis], query.shape[:3]),
    }


def _of_other_entries(found: Any) -> NDArray[np.bool_]:
    """Return for each batch entry what is found in any other."""
    return np.greater(np.sum(found, axis=0) - found, 0)


def pseudorandom_number(inputs: Arrays, attributes: Mapping[str, Any]) -> int:
    """Return a number that is the same for equal shapes and attributes, on every machine and in every dtype."""
    shapes = sorted((name, array.shape) for name, array in inputs.items())
    return zlib.crc32(repr((shapes, sorted(attributes.items()))).encode())


def strided_like_inputs(
    made: Arrays, made_from: Mapping[str, tuple[str, ...]], inputs: Arrays, swapped: tuple[int, int]
) -> dict[str, NDArray[Any]]:
    """Return arguments of a layout, fresh in C order, in the memory layouts of the inputs that each was made from.

    `made_from` names those inputs by argument; `swapped` is that of :func:`~.memory_order.strided_like`.
    """
    return {
        name: strided_like(
            tuple(inputs[source] for source in made_from[name] if source in inputs), array, swapped=swapped
        )
        for name, array in made.items()
    }


def wrong_outputs(outputs: Arrays, leading: tuple[int, ...], width: int, result: str = "output") -> str | None:
    """Return in words which output is none of the layout's, or has another shape; None where all are right.

    `logsumexp` has the shape `leading`, and the `result` one more axis of length `width`.
    """
    shapes = {result: (*leading, width), "logsumexp": leading}
    for name, array in outputs.items():
        if name not in shapes:
            return f"there is no output {name!r}; the outputs are {', '.join(shapes)}"
        if array.shape != shapes[name]:
            return f"{name} has the shape {array.shape}; expected {shapes[name]}"
    return None


def _with_past(inputs: Arrays, name: str) -> NDArray[Any]:
    past = inputs.get(f"past_{name}")
    return inputs[name] if past is None else np.concatenate([past, inputs[name]], axis=2)


def _quantized(inputs: Arrays) -> str | None:
    """Return in words that tensors are quantized: their scales may belong to batch entries, which are taken apart."""
    names = [name for name in _TOKENS if name in inputs and inputs[name].dtype.name in QUANTIZED_DTYPES]
    return f"{names[0]} is quantized" if names else None


def _shapes_apart(inputs: Arrays) -> str | None:
    """Return in words why tensors do not fit each other well enough to find sequences; it would be lost."""
    for name in _TOKENS:
        if name in inputs and inputs[name].ndim != 4:
            return f"{name} has another rank than 4"
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    if not len(query) == len(key) == len(value) or key.shape[2] != value.shape[2]:
        return "query, key and value differ in batch size or tokens"
    return _past_apart(inputs) or _lengths_apart(inputs)


def _past_apart(inputs: Arrays) -> str | None:
    """Return in words why a past does not stand before what it is given with."""
    if ("past_key" in inputs) != ("past_value" in inputs):
        return "only one of past_key and past_value is given"
    if "past_key" not in inputs:
        return None
    for name in ("key", "value"):
        past, new = inputs[f"past_{name}"].shape, inputs[name].shape
        if (*past[:2], past[3]) != (*new[:2], new[3]):
            return f"past_{name} differs in more than its tokens from what it stands before"
    if inputs["past_key"].shape[2] != inputs["past_value"].shape[2]:
        return "past_key and past_value have different numbers of tokens"
    return None


def _lengths_apart(inputs: Arrays) -> str | None:
    """Return in words why lengths are none of these sequences."""
    for name, tensor in (("query_lengths", "query"), ("key_lengths", "key")):
        if name not in inputs:
            continue
        lengths, (batch, _, tokens, _) = inputs[name], inputs[tensor].shape
        if "past_key" in inputs:
            return f"{name} and past_key are both given"
        if lengths.shape != (batch,) or lengths.dtype.kind not in "iu":
            return f"{name} is not a whole number for each batch entry"
        if np.any((lengths < 0) | (lengths > tokens)):
            return f"{name} has a length that no sequence has"
    return None


def _mask_apart(inputs: Arrays) -> str | None:
    """Return in words why a mask cannot be handed over as it is, to a layout that knows heads and keys alone."""
    mask = inputs.get("mask")
    if mask is None:
        return None
    if not 2 <= mask.ndim <= 4 or mask.shape[-2] != 1 or (mask.ndim == 4 and len(mask) != 1):
        return "the mask has an axis of batch entries or of queries"
    if mask.shape[-1] != _with_past(inputs, "key").shape[2]:
        return "the mask has another number of columns than there are keys"
    return None


def _memory_lost(inputs: Arrays, repacked: Sequence[str]) -> str | None:
    """Return in words which input lies in memory as no other array can: what the case is about would be lost."""
    for name in (name for name in repacked if name in inputs):
        if not can_be_kept(inputs[name]):
            return f"how {name} lies in memory would be lost"
        if any(other is inputs[name] for another, other in inputs.items() if another != name):
            return f"that {name} is one array with another input would be lost"
    return None


def _attributes_keeping_positions(
    inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances, *, past: int, squared: bool
) -> Mapping[str, Any] | str:
    """Return the attributes that keep the positions of queries, though their past is no longer separate."""
    by_position = any(attributes.get(name) for name in _BY_POSITION) or "alibi_slopes" in inputs
    choice = circumstances.conventions.get(_ALIGNMENT, _CALLERS)
    alignment = attributes.get(_ALIGNMENT, _TOP_LEFT) if choice == _CALLERS else choice
    if not past or not by_position or alignment == _BOTTOM_RIGHT:
        return attributes
    if not squared:
        return "queries that are aligned at the top left stand apart from their past, which is one with the keys here"
    if choice == _TOP_LEFT:
        return "a past is a part of the keys here, and asks for an alignment at the bottom right"
    return {**attributes, _ALIGNMENT: _BOTTOM_RIGHT}
