"""What goes wrong around the numbers of every other operation than scaled dot-product attention."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, named_output
from attnspec_mistakes.memory import (
    as_it_lies_in_memory,
    entries_close_together,
    overwriting,
    remembering,
    tokens_close_together,
)
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.context_vector import context_vector
from attnspec_reference.attention.multi_head_attention import multi_head_attention
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.single_head_attention import single_head_attention
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.attention.split_heads import split_heads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_mistakes.departures import Outputs
    from attnspec_reference.precision import Array

WEIGHT_MATRICES = ("w_query", "w_key", "w_value", "w_output")


def transpose_worked_on(x: Any, *, axis: int | None = -1) -> Array:
    """Work on the transpose of a column-major array, and exchange the axes 0 and -1 alone for it."""
    numbers = np.asarray(x)
    if numbers.flags.c_contiguous or not numbers.flags.f_contiguous:
        return softmax(numbers, axis=axis)
    exchanged: dict[int | None, int] = {0: -1, -1: 0}
    return softmax(numbers.T, axis=exchanged.get(axis, axis)).T


class KeptUnderLengths:
    """Causal masks that are kept, under lengths of which a key length of 0 is taken for none."""

    def __init__(self) -> None:
        self.kept: dict[tuple[Any, ...], Array] = {}

    def __call__(self, *, query_length: int, key_length: int | None = None, **others: Any) -> Outputs:
        """Give the mask that was made for these lengths first."""
        place = (query_length, key_length or query_length, *sorted(others.items()))
        if place not in self.kept:
            self.kept[place] = causal_mask(query_length=query_length, key_length=key_length, **others)
        return {"output": np.array(self.kept[place])}


def output_in_its_place(arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Lay the numbers of the output where those of the input were."""
    return outputs["output"].reshape(arguments["x"].shape)


def query_weights_scaled(arguments: Mapping[str, Any], _outputs: Mapping[str, Array]) -> Array:
    """Multiply the weight matrix of the queries by the scale."""
    weights: Array = arguments["w_query"]
    return weights * np.asarray(applied_scale(arguments.get("scale"), weights.shape[-1]), dtype=weights.dtype)


def output_added(arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Add the output to the query, as a residual connection does."""
    return arguments["query"] + outputs["output"]


def states_weighted(arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Multiply every encoder state by its weight."""
    return arguments["encoder_states"] * outputs["weights"][:, np.newaxis]


of_softmax = partial(Mistake, operation="softmax")
of_splitting = partial(Mistake, operation="split_heads")
of_combining = partial(Mistake, operation="combine_heads")
of_single_head = partial(Mistake, operation="single_head_attention")
of_multi_head = partial(Mistake, operation="multi_head_attention")
of_context = partial(Mistake, operation="context_vector")

OF_TABLES: tuple[Mistake, ...] = (
    of_softmax(
        id="softmax.written_in_place",
        clause="softmax.inputs_unchanged",
        sentence="The weights were written over the caller's numbers.",
        engineer="The kernel runs in place on the input buffer.",
        remedy="Write the weights into a new array.",
        function=overwriting(named_output(softmax), "x", output_in_its_place),
    ),
    of_softmax(
        id="softmax.strides_ignored",
        clause="softmax.memory_layout",
        sentence="The numbers were read in the order in which they lie in memory.",
        engineer="The kernel takes a pointer and a shape, and assumes that the input is contiguous.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(named_output(softmax), x=as_it_lies_in_memory),
    ),
    of_softmax(
        id="softmax.column_major_axes_exchanged",
        clause="softmax.memory_layout",
        sentence="Of an array that lies column by column the transpose was worked on, along the wrong axis.",
        engineer="For a column-major input the kernel runs on x.T, and only the axes 0 and -1 are mapped onto it.",
        remedy="Count the axis of the transpose from the other end: -1 - axis.",
        function=named_output(transpose_worked_on),
    ),
    of_softmax(
        id="softmax.axis_remembered",
        clause="softmax.repeatable",
        sentence="The axis of an earlier call with the same shape was used again.",
        engineer="The key of the kernel cache lacks the axis.",
        remedy="Let everything that a compiled kernel depends on be part of its key.",
        **remembering(named_output(softmax), "axis", "x"),
    ),
    Mistake(
        operation="causal_mask",
        id="causal_mask.offset_remembered",
        clause="causal_mask.repeatable",
        sentence="The mask of an earlier call with the same lengths was used again, whatever the offset.",
        engineer="Masks are cached by query and key length; the offset is not part of the key.",
        remedy="Let everything that the mask depends on be part of the key.",
        **remembering(named_output(causal_mask), "offset", "query_length", "key_length", "additive"),
    ),
    Mistake(
        operation="causal_mask",
        id="causal_mask.no_keys_kept_as_square",
        clause="causal_mask.repeatable",
        sentence="A mask without keys and the square one stood for one another, whichever was asked for first.",
        engineer="Masks are cached under `key_length or query_length`, where 0 is false.",
        remedy="Ask whether a key length is given, not whether it is true: 0 is a length.",
        function=named_output(causal_mask),
        begin=KeptUnderLengths,
    ),
)
"""What goes wrong around softmax and causal masks."""

OF_HEADS: tuple[Mistake, ...] = (
    of_splitting(
        id="split_heads.moved_in_place",
        clause="split_heads.inputs_unchanged",
        sentence="The heads were laid out within the caller's array.",
        engineer="The transposition runs in place on the input buffer.",
        remedy="Return a view or a new array, and leave the numbers of the input where they are.",
        function=overwriting(named_output(split_heads), "x", output_in_its_place),
    ),
    of_splitting(
        id="split_heads.strides_ignored",
        clause="split_heads.memory_layout",
        sentence="The tokens were read in the order in which they lie in memory.",
        engineer="The view is made from the pointer and the shape, as if the input were contiguous.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(named_output(split_heads), x=as_it_lies_in_memory),
    ),
    of_splitting(
        id="split_heads.batch_stride_assumed",
        clause="split_heads.memory_layout",
        sentence="The batch entries were taken to follow one another, although there are further tokens between them.",
        engineer="Dense rows pass for a contiguous input: the batch stride is S * H * E, whatever it says.",
        remedy="Use the stride of every axis, or make a contiguous copy first.",
        function=altered(named_output(split_heads), x=entries_close_together),
    ),
    of_splitting(
        id="split_heads.number_remembered",
        clause="split_heads.repeatable",
        sentence="The number of heads of an earlier call with the same shape was used again.",
        engineer="The plan of the transposition is cached by the shape of its input alone.",
        remedy="Let the number of heads be part of the key.",
        **remembering(named_output(split_heads), "num_heads", "x"),
    ),
    of_combining(
        id="combine_heads.moved_in_place",
        clause="combine_heads.inputs_unchanged",
        sentence="The tokens were laid out within the caller's array.",
        engineer="The transposition runs in place on the input buffer.",
        remedy="Return a new array, and leave the numbers of the input where they are.",
        function=overwriting(named_output(combine_heads), "x", output_in_its_place),
    ),
    of_combining(
        id="combine_heads.strides_ignored",
        clause="combine_heads.memory_layout",
        sentence="The heads were read in the order in which they lie in memory.",
        engineer="The kernel takes a pointer and a shape, and assumes that the input is contiguous.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(named_output(combine_heads), x=as_it_lies_in_memory),
    ),
    of_combining(
        id="combine_heads.gaps_between_tokens",
        clause="combine_heads.memory_layout",
        sentence="Tokens whose heads lie side by side were read without the gaps between them.",
        engineer="The copy is left out where heads are innermost already, whatever the stride of tokens.",
        remedy="Use the stride of tokens, or make a contiguous copy first.",
        function=altered(named_output(combine_heads), x=tokens_close_together),
    ),
    of_combining(
        id="combine_heads.heads_remembered",
        clause="combine_heads.repeatable",
        sentence="The heads of an earlier call with the same shape were joined again.",
        engineer="The staging buffer is cached by shape and not written again.",
        remedy="Keep nothing between calls.",
        **remembering(named_output(combine_heads), "x"),
    ),
)
"""What goes wrong around splitting and combining heads."""

OF_LAYERS: tuple[Mistake, ...] = (
    of_single_head(
        id="single_head.query_weights_scaled_in_place",
        clause="single_head.inputs_unchanged",
        sentence="The scale was multiplied into the caller's weight matrix of the queries.",
        engineer="The scale is folded into W_q in the caller's buffer, once more on every call.",
        remedy="Multiply the scores by the scale, or a copy of the matrix.",
        function=overwriting(single_head_attention, "w_query", query_weights_scaled),
    ),
    of_single_head(
        id="single_head.strides_ignored",
        clause="single_head.memory_layout",
        sentence="The tokens were read in the order in which they lie in memory.",
        engineer="The leading dimension of the operand is taken from its shape, not from its strides.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(single_head_attention, x=as_it_lies_in_memory),
    ),
    of_single_head(
        id="single_head.scale_remembered",
        clause="single_head.repeatable",
        sentence="The scale of an earlier call with the same shapes was used again.",
        engineer="The key of the kernel cache lacks the scale.",
        remedy="Let everything that a compiled kernel depends on be part of its key.",
        **remembering(single_head_attention, "scale", "x", *WEIGHT_MATRICES),
    ),
    of_multi_head(
        id="multi_head.output_added_in_place",
        clause="multi_head.inputs_unchanged",
        sentence="The output was added to the caller's query.",
        engineer="The residual connection is fused into the layer and runs in place.",
        remedy="Leave the query as it is; who wants the sum adds it up.",
        function=overwriting(multi_head_attention, "query", output_added),
    ),
    of_multi_head(
        id="multi_head.weight_strides_ignored",
        clause="multi_head.memory_layout",
        sentence="The weight matrices were read in the order in which they lie in memory.",
        engineer="A transposed view of W is passed on by its pointer, without its strides.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(multi_head_attention, **dict.fromkeys(WEIGHT_MATRICES, as_it_lies_in_memory)),
    ),
    of_multi_head(
        id="multi_head.key_weights_remembered",
        clause="multi_head.repeatable",
        sentence="The weight matrix of the keys was that of an earlier call with the same shapes.",
        engineer="Packed projection weights are cached by shape and not packed again.",
        remedy="Pack the weights again when they are others.",
        **remembering(multi_head_attention, "w_key", "query", "key"),
    ),
    of_context(
        id="context_vector.states_weighted_in_place",
        clause="context_vector.inputs_unchanged",
        sentence="The weights were multiplied into the caller's encoder states.",
        engineer="encoder_states *= weights works in place on the input buffer.",
        remedy="Multiply into a new array: weights * encoder_states.",
        function=overwriting(context_vector, "encoder_states", states_weighted),
    ),
    of_context(
        id="context_vector.strides_ignored",
        clause="context_vector.memory_layout",
        sentence="The encoder states were read in the order in which they lie in memory.",
        engineer="The kernel takes a pointer and a shape, and assumes that operands are contiguous.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(context_vector, encoder_states=as_it_lies_in_memory),
    ),
    of_context(
        id="context_vector.states_remembered",
        clause="context_vector.repeatable",
        sentence="The encoder states of an earlier call with the same shapes were used again.",
        engineer="The states of the encoder are cached by shape, as if there were one text for all steps.",
        remedy="Keep nothing between calls.",
        **remembering(context_vector, "encoder_states", "decoder_state"),
    ),
)
"""What goes wrong around the attentions that have weight matrices, and around context vectors."""

MISTAKES: tuple[Mistake, ...] = (*OF_TABLES, *OF_HEADS, *OF_LAYERS)
