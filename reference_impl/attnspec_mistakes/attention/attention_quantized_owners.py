"""What goes wrong with the scales of quantized tensors of attention: whom they belong to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.quantized_products import TENSORS
from attnspec_mistakes.departures import altered, by_name
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_scales import output_dtype_or_own
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import round_to, widen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from attnspec_mistakes.departures import Computation, Outputs
    from attnspec_reference.precision import Array

OPERATION = "scaled_dot_product_attention"


def of_first_head(scale: ArrayLike) -> Array:
    """Take the scale of the first head for all."""
    scale = np.asarray(scale)
    return scale if not scale.ndim else np.broadcast_to(scale[..., :1], scale.shape)


def of_next_head(scale: ArrayLike) -> Array:
    """Take the scale of the head that follows."""
    scale = np.asarray(scale)
    return scale if not scale.ndim else np.roll(scale, -1, axis=-1)


def of_first_entry(scale: ArrayLike) -> Array:
    """Take the scales of the first batch entry for all."""
    scale = np.asarray(scale)
    return scale if scale.ndim < 2 else np.broadcast_to(scale[:1], scale.shape)


def mean_of_all(scale: ArrayLike) -> Array:
    """Take the mean of all scales."""
    return np.asarray(np.mean(np.asarray(scale, dtype=np.float32), dtype=np.float32))


def largest_of_all(scale: ArrayLike) -> Array:
    """Take the largest of all scales."""
    return np.asarray(np.max(np.asarray(scale)))


def batch_and_heads_exchanged(scale: ArrayLike) -> Array:
    """Read scales with heads before batch entries, which shows in no shape where there are as many."""
    scale = np.asarray(scale)
    if scale.ndim < 2 or scale.shape[0] != scale.shape[1]:
        return scale
    return scale.T


def list_of_entries(**arguments: Any) -> Outputs:
    """Take a list of scales for one for each batch entry where there are as many."""
    batch = np.shape(arguments["key"])[0]
    for name in TENSORS:
        scale = arguments.get(f"{name}_scale")
        if scale is not None and np.shape(scale) == (batch,):
            arguments[f"{name}_scale"] = np.reshape(scale, (batch, 1))
    return scaled_dot_product_attention(**arguments)


def all_scales(change: Callable[[Any], Any]) -> Computation:
    """Make an attention that takes all scales in another way."""
    return altered(scaled_dot_product_attention, **{f"{name}_scale": change for name in TENSORS})


def by_query_head(scale: Array, heads: int) -> Array:
    """Take the scale of the query head's own number, as far as there is one, and the last one beyond."""
    matched = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
    places = np.minimum(np.arange(heads), matched.shape[1] - 1)
    return matched[:, places][:, :, np.newaxis, np.newaxis]


def of_query_heads(**arguments: Any) -> Outputs:
    """Repeat the heads first, and take the scales by the number of the query head."""
    heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
    given = {f"{name}_scale": arguments.pop(f"{name}_scale") for name in TENSORS if f"{name}_scale" in arguments}
    if not given:
        return scaled_dot_product_attention(**arguments)
    dtype = output_dtype_or_own(arguments["query"], arguments.pop("output_dtype", None))
    for name in ("query", "key", "past_key", "value", "past_value"):
        if arguments.get(name) is None:
            continue
        numbers = np.asarray(arguments[name])
        if name != "query":
            numbers = np.repeat(numbers, heads // max(shared, 1), axis=1)
        scale = given.get(f"{name.removeprefix('past_')}_scale")
        if scale is not None:
            numbers = widen(numbers, dtype) * by_query_head(widen(scale, dtype), heads)
        arguments[name] = numbers
    outputs = by_name(scaled_dot_product_attention(**arguments))
    return {name: round_to(dtype, array) for name, array in outputs.items()}


def scales_made_to_fit(**arguments: Any) -> Outputs:
    """Cut or repeat scales until they fit."""
    batch, shared = np.shape(arguments["key"])[:2]
    for name in TENSORS:
        scale = arguments.get(f"{name}_scale")
        if scale is not None and np.ndim(scale):
            last = np.shape(scale)[-2:] if np.ndim(scale) > 1 else np.shape(scale)
            rows = np.resize(np.reshape(scale, -1), (1, shared) if len(last) < 2 else (batch, shared))
            fits = len(np.shape(scale)) <= 2 and all(
                axis in (1, length) for axis, length in zip(np.shape(scale)[::-1], (shared, batch), strict=False)
            )
            arguments[f"{name}_scale"] = scale if fits else rows
    return scaled_dot_product_attention(**arguments)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.quantized_scale_of_next_head",
        clause="sdpa.quantized.heads",
        sentence="Each key head was given the scale of the next one.",
        engineer="The index into the scales is off by one head.",
        remedy="Give key head g scale g.",
        function=all_scales(of_next_head),
    ),
    mistake(
        id="sdpa.quantized_scale_of_first_head",
        clause="sdpa.quantized.heads",
        sentence="Every head was given the scale of the first one.",
        engineer="The scale is read at index 0 for every head, as one for the tensor.",
        remedy="Give key head g scale g.",
        function=all_scales(of_first_head),
    ),
    mistake(
        id="sdpa.quantized_scale_of_query_head",
        clause="sdpa.quantized.heads",
        sentence="Scales were taken by the number of the query head, not by that of the key head that it reads.",
        engineer="The scale is indexed by head instead of by kv_head.",
        remedy="Take the scale of key head h // (Hq / Hkv) for query head h.",
        function=of_query_heads,
    ),
    mistake(
        id="sdpa.quantized_scales_averaged",
        clause="sdpa.quantized.heads",
        sentence="One scale was taken for all heads: the mean of theirs.",
        engineer="Scales for each head are reduced to one for the tensor, as the kernel takes only that.",
        remedy="Keep a scale for each head, or say that you offer none.",
        function=all_scales(mean_of_all),
    ),
    mistake(
        id="sdpa.quantized_largest_scale",
        clause="sdpa.quantized.heads",
        sentence="One scale was taken for all heads: the largest of theirs.",
        engineer="Scales for each head are reduced by their maximum, as quantizers do, without quantizing anew.",
        remedy="Keep a scale for each head, or say that you offer none.",
        function=all_scales(largest_of_all),
    ),
    mistake(
        id="sdpa.quantized_scale_of_first_entry",
        clause="sdpa.quantized.batch",
        sentence="Every batch entry was given the scales of the first one.",
        engineer="The stride of the scales' batch axis is missing.",
        remedy="Give batch entry b its own scales.",
        function=all_scales(of_first_entry),
    ),
    mistake(
        id="sdpa.quantized_scales_transposed",
        clause="sdpa.quantized.batch",
        sentence="Scales were read with heads before batch entries.",
        engineer="The strides of the scales' two axes are exchanged.",
        remedy="The last axis of a scale counts heads, the one before it batch entries.",
        function=all_scales(batch_and_heads_exchanged),
    ),
    mistake(
        id="sdpa.quantized_scales_by_entry",
        clause="sdpa.quantized.batch",
        sentence="A list of scales was taken for one for each batch entry; it has one for each head.",
        engineer="A vector of scales broadcasts along the batch axis where the lengths agree.",
        remedy="Match axes from the right: a list belongs to the heads.",
        function=list_of_entries,
    ),
    mistake(
        id="sdpa.scale_shape_not_checked",
        clause="sdpa.rejects.scale_shape",
        sentence="Scales that fit neither heads nor batch entries were accepted.",
        engineer="The scales are indexed with clamped coordinates instead of being checked.",
        remedy="Refuse scales whose shape is not matched by (B, Hkv).",
        function=scales_made_to_fit,
    ),
)
