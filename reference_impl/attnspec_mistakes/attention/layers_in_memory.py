"""What goes wrong around the numbers of every other operation than scaled dot-product attention."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import (
    as_it_lies_in_memory,
    entries_close_together,
    overwriting,
    remembering,
    tokens_close_together,
)
from attnspec_mistakes.mistake import Made, Making
from attnspec_mistakes.patches import Outputs, altered, named_output
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.context_vector import context_vector
from attnspec_reference.attention.multi_head_attention import multi_head_attention
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.single_head_attention import single_head_attention
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.attention.split_heads import split_heads
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
        lengths = (query_length, key_length or query_length, *sorted(others.items()))
        if lengths not in self.kept:
            self.kept[lengths] = causal_mask(query_length=query_length, key_length=key_length, **others)
        return {"output": np.array(self.kept[lengths])}


def output_over_input(arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Lay the numbers of the output where those of the input were."""
    return outputs["output"].reshape(arguments["x"].shape)


def query_weights_scaled(arguments: Mapping[str, Any], _outputs: Mapping[str, Array]) -> Array:
    """Multiply the weight matrix of the queries by the scale."""
    weights: Array = arguments["w_query"]
    return weights * np.asarray(applied_scale(arguments.get("scale"), weights.shape[-1]), dtype=weights.dtype)


FUNCTIONS: Mapping[str, Making] = {
    "softmax.written_in_place": overwriting(named_output(softmax), "x", output_over_input),
    "softmax.strides_ignored": altered(named_output(softmax), x=as_it_lies_in_memory),
    "softmax.column_major_axes_exchanged": named_output(transpose_worked_on),
    "softmax.axis_remembered": remembering(named_output(softmax), "axis", "x"),
    "causal_mask.offset_remembered": remembering(
        named_output(causal_mask), "offset", "query_length", "key_length", "additive"
    ),
    "causal_mask.no_keys_kept_as_square": Made(named_output(causal_mask), begin=KeptUnderLengths),
    "split_heads.moved_in_place": overwriting(named_output(split_heads), "x", output_over_input),
    "split_heads.strides_ignored": altered(named_output(split_heads), x=as_it_lies_in_memory),
    "split_heads.batch_stride_assumed": altered(named_output(split_heads), x=entries_close_together),
    "split_heads.number_remembered": remembering(named_output(split_heads), "num_heads", "x"),
    "combine_heads.moved_in_place": overwriting(named_output(combine_heads), "x", output_over_input),
    "combine_heads.strides_ignored": altered(named_output(combine_heads), x=as_it_lies_in_memory),
    "combine_heads.gaps_between_tokens": altered(named_output(combine_heads), x=tokens_close_together),
    "combine_heads.heads_remembered": remembering(named_output(combine_heads), "x"),
    "single_head.query_weights_scaled_in_place": overwriting(single_head_attention, "w_query", query_weights_scaled),
    "single_head.strides_ignored": altered(single_head_attention, x=as_it_lies_in_memory),
    "single_head.scale_remembered": remembering(single_head_attention, "scale", "x", *WEIGHT_MATRICES),
    "multi_head.output_added_in_place": overwriting(
        multi_head_attention, "query", lambda arguments, outputs: arguments["query"] + outputs["output"]
    ),
    "multi_head.weight_strides_ignored": altered(
        multi_head_attention, **dict.fromkeys(WEIGHT_MATRICES, as_it_lies_in_memory)
    ),
    "multi_head.key_weights_remembered": remembering(multi_head_attention, "w_key", "query", "key"),
    "context_vector.states_weighted_in_place": overwriting(
        context_vector,
        "encoder_states",
        lambda arguments, outputs: arguments["encoder_states"] * outputs["weights"][:, np.newaxis],
    ),
    "context_vector.strides_ignored": altered(context_vector, encoder_states=as_it_lies_in_memory),
    "context_vector.states_remembered": remembering(context_vector, "encoder_states", "decoder_state"),
}
