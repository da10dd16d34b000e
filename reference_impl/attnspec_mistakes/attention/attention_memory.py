"""What goes wrong around the numbers: inputs edited, calls remembered, memory misread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, departure
from attnspec_mistakes.memory import (
    as_it_lies_in_memory,
    read_forwards,
    remembering,
    tokens_close_together,
    without_gaps,
)
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_keys import is_boolean
from attnspec_reference.attention.attention_logits import add_distance_bias
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from attnspec_reference.precision import Array

OPERATION = "scaled_dot_product_attention"


def query_scaled_in_place(**arguments: Any) -> Attention:
    """Multiply the caller's query by the scale."""
    query = arguments["query"]
    query *= np.asarray(applied_scale(arguments.get("scale"), query.shape[-1]), dtype=query.dtype)
    arguments["scale"] = 1.0
    return scaled_dot_product_attention(**arguments)


def mask_negated_in_place(**arguments: Any) -> Attention:
    """Turn the caller's Boolean mask round, for a select that wants what is hidden."""
    mask = arguments.get("mask")
    if mask is None or not is_boolean(mask):
        return scaled_dot_product_attention(**arguments)
    np.logical_not(mask, out=mask)
    return scaled_dot_product_attention(**{**arguments, "mask": ~mask})


def padding_cleared_in_place(**arguments: Any) -> Attention:
    """Set the caller's padded values to zero."""
    lengths = arguments.get("key_lengths")
    if lengths is not None:
        for entry, length in enumerate(lengths):
            arguments["value"][entry, :, length:] = 0
    return scaled_dot_product_attention(**arguments)


class KeptBias:
    """Attention that keeps the bias of distances for slopes and shapes, and not for what moves the queries."""

    def __init__(self) -> None:
        self.kept: dict[tuple[Any, ...], Array] = {}
        self.attend = departure(scaled_dot_product_attention, add_distance_bias=self.add)

    def add(self, scores: Array, alibi_slopes: Array | None, offset: Any) -> Array:
        """Add the bias that was made for these slopes and this shape first."""
        if alibi_slopes is None:
            return scores
        place = (alibi_slopes.tobytes(), scores.shape, scores.dtype.name)
        if place not in self.kept:
            self.kept[place] = add_distance_bias(np.zeros_like(scores), alibi_slopes, offset)
        return scores + self.kept[place]

    def __call__(self, **arguments: Any) -> Attention:
        """Attend, by a bias that may be an older one."""
        return self.attend(**arguments)


def cache_written_in_place(**arguments: Any) -> Attention:
    """Write the new tokens over the caller's past, as a ring buffer does."""
    attention = scaled_dot_product_attention(**arguments)
    for past, new in (("past_key", "key"), ("past_value", "value")):
        if arguments.get(past) is not None:
            tokens = min(arguments[past].shape[2], arguments[new].shape[2])
            arguments[past][:, :, :tokens] = arguments[new][:, :, :tokens]
    return attention


def remembered(name: str) -> dict[str, Any]:
    """Say how a mistake begins that remembers an argument for all calls with inputs of the same shapes."""
    return remembering(scaled_dot_product_attention, name, "query", "key", "value")


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.query_scaled_in_place",
        clause="sdpa.inputs_unchanged",
        sentence="The scale was multiplied into the caller's query.",
        engineer="query *= scale works in place on the input buffer.",
        remedy="Multiply into a new array: query * scale.",
        function=query_scaled_in_place,
    ),
    mistake(
        id="sdpa.mask_negated_in_place",
        clause="sdpa.inputs_unchanged",
        sentence="The caller's Boolean mask was turned round.",
        engineer="The mask is negated in place for a select with the other polarity.",
        remedy="Negate into a new array: ~mask.",
        function=mask_negated_in_place,
    ),
    mistake(
        id="sdpa.padding_cleared_in_place",
        clause="sdpa.inputs_unchanged",
        sentence="The caller's padded values were set to zero.",
        engineer="The padded tail of V is zeroed in the input buffer.",
        remedy="Clear the padding in a copy.",
        function=padding_cleared_in_place,
    ),
    mistake(
        id="sdpa.cache_written_in_place",
        clause="sdpa.inputs_unchanged",
        sentence="The new keys and values were written over the caller's past.",
        engineer="The cache is updated in the input buffer instead of in the present output.",
        remedy="Write past and new tokens into new arrays.",
        function=cache_written_in_place,
    ),
    mistake(
        id="sdpa.scale_remembered",
        clause="sdpa.repeatable",
        sentence="The scale of an earlier call with the same shapes was used again.",
        engineer="The key of the kernel cache lacks the scale.",
        remedy="Let everything that a compiled kernel depends on be part of its key.",
        source="https://github.com/pytorch/pytorch/pull/184122",
        **remembered("scale"),
    ),
    mistake(
        id="sdpa.mask_remembered",
        clause="sdpa.repeatable",
        sentence="The mask of an earlier call with the same shapes was used again.",
        engineer="The mask is baked into the cached kernel, whose key holds only its shape.",
        remedy="Let everything that a compiled kernel depends on be part of its key.",
        source="https://github.com/openvinotoolkit/openvino/pull/31365",
        **remembered("mask"),
    ),
    mistake(
        id="sdpa.distances_remembered",
        clause="sdpa.repeatable",
        sentence="Distances of an earlier call were used again, with the same slopes and shapes and other lengths.",
        engineer="The ALiBi bias is cached by slopes and shape, without the lengths and the alignment.",
        remedy="Let the lengths, the past and the alignment be part of the key under which the bias is kept.",
        function=scaled_dot_product_attention,
        begin=KeptBias,
    ),
    mistake(
        id="sdpa.key_remembered",
        clause="sdpa.repeatable",
        sentence="The keys of an earlier call with the same shapes were used again.",
        engineer="A key/value buffer is cached by shape and not written again.",
        remedy="Keep nothing between calls.",
        **remembered("key"),
    ),
    mistake(
        id="sdpa.causality_remembered",
        clause="sdpa.repeatable",
        sentence="Whether attention is causal was decided by an earlier call with the same shapes.",
        engineer="The key of the kernel cache lacks the causal flag.",
        remedy="Let everything that a compiled kernel depends on be part of its key.",
        **remembered("is_causal"),
    ),
    mistake(
        id="sdpa.strides_ignored",
        clause="sdpa.memory_layout",
        sentence="Query, key and value were read in the order in which they lie in memory.",
        engineer="The kernel takes a pointer and shapes, and assumes that operands are contiguous.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(
            scaled_dot_product_attention,
            query=as_it_lies_in_memory,
            key=as_it_lies_in_memory,
            value=as_it_lies_in_memory,
        ),
        source="https://github.com/pytorch/pytorch/issues/191937",
    ),
    mistake(
        id="sdpa.mask_strides_ignored",
        clause="sdpa.memory_layout",
        sentence="The mask was read in the order in which it lies in memory.",
        engineer="The mask operand is assumed to be contiguous.",
        remedy="Use the strides of the mask, or make a contiguous copy first.",
        function=altered(scaled_dot_product_attention, mask=as_it_lies_in_memory),
        source="https://github.com/deepspeedai/DeepSpeed/pull/2285",
    ),
    mistake(
        id="sdpa.gaps_ignored",
        clause="sdpa.memory_layout",
        sentence="The numbers of a row were taken to lie side by side, and what lies between them was read.",
        engineer="The innermost stride is assumed to be 1.",
        remedy="Use the innermost stride, or make a contiguous copy first.",
        function=altered(
            scaled_dot_product_attention, query=without_gaps, key=without_gaps, value=without_gaps, mask=without_gaps
        ),
    ),
    mistake(
        id="sdpa.gaps_between_tokens",
        clause="sdpa.memory_layout",
        sentence="Tokens whose heads lie side by side were read without the gaps between them.",
        engineer="The stride of tokens is computed from heads and width, as if no other projection lay beside them.",
        remedy="Use the stride of tokens, or make a contiguous copy first.",
        function=altered(
            scaled_dot_product_attention, **dict.fromkeys(("query", "key", "value"), tokens_close_together)
        ),
    ),
    mistake(
        id="sdpa.direction_ignored",
        clause="sdpa.memory_layout",
        sentence="Arrays that run backwards through memory were read forwards.",
        engineer="Strides are taken as unsigned, or by their absolute value.",
        remedy="Use signed strides, or make a contiguous copy first.",
        function=altered(
            scaled_dot_product_attention,
            query=read_forwards,
            key=read_forwards,
            value=read_forwards,
            mask=read_forwards,
        ),
    ),
)
