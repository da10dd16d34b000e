"""What goes wrong in multi-head attention: projections, biases, heads, and all that goes wrong inside a head."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_reference.causal_mask import causal_mask
from attnspec_reference.combine_heads import combine_heads
from attnspec_reference.departures import (
    altered,
    defaulting,
    departure,
    exchanging,
    ignoring,
    in_working_precision,
)
from attnspec_reference.mistakes import attention_masks, attention_softmax
from attnspec_reference.mistakes.causal_mask import before, later
from attnspec_reference.mistakes.heads import dealt_out, features_before_heads, reshaped_instead
from attnspec_reference.mistakes.mistake import Mistake
from attnspec_reference.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.split_heads import split_heads

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_reference.departures import Computation
    from attnspec_reference.precision import Array

OPERATION = "multi_head_attention"


def with_heads(attention: Callable[..., Attention]) -> Computation:
    """Make a multi-head attention whose heads attend in another way."""
    return departure(multi_head_attention, scaled_dot_product_attention=attention)


def scaled_by_default(formula: Callable[[int, int], float]) -> Computation:
    """Make an attention whose default scale is a formula of the width of a token and the number of heads."""
    return defaulting(
        multi_head_attention,
        scale=lambda arguments: formula(np.shape(arguments["query"])[-1], arguments["num_heads"]),
    )


def one(_width: int, _heads: int) -> float:
    """Leave the scores unscaled."""
    return 1.0


def root_of_head_width(width: int, heads: int) -> float:
    """Multiply by the root."""
    return math.sqrt(width // heads)


def inverse_root_of_width(width: int, _heads: int) -> float:
    """Take the width of a token for that of a head."""
    return 1.0 / math.sqrt(width)


def unprojecting(weight: Array) -> Array:
    """Put the identity in the place of a weight matrix."""
    return np.eye(weight.shape[0], dtype=weight.dtype)


def query_projection_for_keys(**arguments: Any) -> MultiHeadAttention:
    """Project the keys as if they were queries."""
    arguments["w_key"], arguments["b_key"] = arguments["w_query"], arguments.get("b_query")
    return multi_head_attention(**arguments)


@in_working_precision
def averaged_weights(**arguments: Any) -> MultiHeadAttention:
    """Average the weights over the heads."""
    attention = multi_head_attention(**arguments)
    return attention._replace(weights=np.mean(attention.weights, axis=1))


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="multi_head.weight_matrices_transposed",
        operation=OPERATION,
        clause="multi_head.projections",
        sentence="The weight matrices were transposed: x times W transposed.",
        remedy="Multiply the tokens by the weight matrices as they are (x @ W); PyTorch stores the transpose.",
        function=altered(
            multi_head_attention,
            w_query=np.transpose,
            w_key=np.transpose,
            w_value=np.transpose,
            w_output=np.transpose,
        ),
    ),
    Mistake(
        id="multi_head.query_projection_for_keys",
        operation=OPERATION,
        clause="multi_head.projections",
        sentence="The keys were projected with the weights of the queries.",
        remedy="Multiply the keys by w_key, and add b_key.",
        function=query_projection_for_keys,
    ),
    Mistake(
        id="multi_head.keys_and_values_swapped",
        operation=OPERATION,
        clause="multi_head.projections",
        sentence="Keys and values were swapped: queries were compared with values, and keys were mixed.",
        remedy="Compare the queries with the projected keys, and mix the projected values.",
        function=exchanging(multi_head_attention, ("key", "value"), ("w_key", "w_value"), ("b_key", "b_value")),
    ),
    Mistake(
        id="multi_head.biases_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="No bias was added.",
        remedy="Add each bias that is given to its projection.",
        function=ignoring(multi_head_attention, "b_query", "b_key", "b_value", "b_output"),
    ),
    Mistake(
        id="multi_head.query_bias_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="The bias of the queries was not added.",
        remedy="Add b_query to the projected queries.",
        function=ignoring(multi_head_attention, "b_query"),
    ),
    Mistake(
        id="multi_head.value_bias_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="The bias of the values was not added.",
        remedy="Add b_value to the projected values.",
        function=ignoring(multi_head_attention, "b_value"),
    ),
    Mistake(
        id="multi_head.output_bias_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="The bias of the output was not added.",
        remedy="Add b_output after the output projection.",
        function=ignoring(multi_head_attention, "b_output"),
    ),
    Mistake(
        id="multi_head.split_not_transposed",
        operation=OPERATION,
        clause="multi_head.split",
        sentence="The projections were reshaped to heads directly, which mixes up the tokens.",
        remedy="Reshape to (batch, tokens, heads, features) first, then transpose tokens and heads.",
        function=departure(
            multi_head_attention, split_heads=departure(split_heads, heads_before_tokens=reshaped_instead)
        ),
        source="https://github.com/reczoo/FuxiCTR/issues/30",
    ),
    Mistake(
        id="multi_head.split_interleaved",
        operation=OPERATION,
        clause="multi_head.split",
        sentence="The features were dealt out in turn: head h took features h, h + H and so on.",
        remedy="Give head h consecutive features: reshape to (batch, tokens, heads, features), in this order.",
        function=departure(multi_head_attention, split_heads=departure(split_heads, cut_features=dealt_out)),
    ),
    Mistake(
        id="multi_head.scale_missing",
        operation=OPERATION,
        clause="multi_head.scale.default",
        sentence="The scores were not scaled.",
        remedy="Multiply the dot products by 1/sqrt(D/H), D/H being the width of a head.",
        function=scaled_by_default(one),
    ),
    Mistake(
        id="multi_head.scale_multiplied",
        operation=OPERATION,
        clause="multi_head.scale.default",
        sentence="The scores were multiplied by sqrt(D/H) instead of divided by it.",
        remedy="Divide the dot products by sqrt(D/H), D/H being the width of a head.",
        function=scaled_by_default(root_of_head_width),
        erratum="E002.scale_multiplied",
    ),
    Mistake(
        id="multi_head.scale_from_model_width",
        operation=OPERATION,
        clause="multi_head.scale.default",
        sentence="The scale was taken from the width of a token instead of that of a head.",
        remedy="Take the scale from the width of one head: 1/sqrt(D/H).",
        function=scaled_by_default(inverse_root_of_width),
        source="https://github.com/lucidrains/vit-pytorch/issues/65",
    ),
    Mistake(
        id="multi_head.stated_scale_ignored",
        operation=OPERATION,
        clause="multi_head.scale.explicit",
        sentence="The stated scale was ignored: the default one was applied.",
        remedy="Multiply the dot products of every head by the given scale in place of 1/sqrt(D/H).",
        function=ignoring(multi_head_attention, "scale"),
    ),
    Mistake(
        id="multi_head.mask_ignored",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="The mask was ignored.",
        remedy="Pass the mask on to the attention of every head.",
        function=ignoring(multi_head_attention, "mask"),
    ),
    Mistake(
        id="multi_head.mask_subtracted",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="The mask was subtracted from the scores instead of added.",
        remedy="Add the mask: minus infinity then hides a key.",
        function=with_heads(
            departure(
                scaled_dot_product_attention,
                add_mask=attention_masks.subtracted_mask,
                attendable_by_mask=attention_masks.attendable_by_boolean_mask,
            )
        ),
        erratum="E002.mask_subtracted",
    ),
    Mistake(
        id="multi_head.boolean_mask_inverted",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="The Boolean mask was read the wrong way round: true hid the key.",
        remedy="Keep the keys where the mask is true; nn.MultiheadAttention wants it negated.",
        function=altered(multi_head_attention, mask=attention_masks.inverted_boolean),
    ),
    Mistake(
        id="multi_head.float_mask_as_boolean",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="A float mask was read as a Boolean one: 0 hid the key, and every other number showed it.",
        remedy="Add a float mask to the scores; only a Boolean mask selects.",
        function=altered(multi_head_attention, mask=attention_masks.as_truth_values),
        source="https://github.com/mlverse/torch/pull/1208",
    ),
    Mistake(
        id="multi_head.mask_of_first_batch_entry",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="Every batch entry was masked by the mask of the first one.",
        remedy="Let each batch entry read its own mask; only an axis of length 1 is repeated.",
        function=altered(multi_head_attention, mask=attention_masks.first_of_batch),
    ),
    Mistake(
        id="multi_head.causal_ignored",
        operation=OPERATION,
        clause="multi_head.causal",
        sentence="The attribute is_causal was ignored: queries attended to later keys.",
        remedy="With is_causal, exclude every key after the query's own position.",
        function=ignoring(multi_head_attention, "is_causal"),
        source="https://github.com/keras-team/keras/issues/23038",
    ),
    Mistake(
        id="multi_head.causal_inverted",
        operation=OPERATION,
        clause="multi_head.causal",
        sentence="Causality was inverted: queries attended to later keys only.",
        remedy="Exclude the keys after the query's own position, and keep the others.",
        function=with_heads(
            departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=later))
        ),
        erratum="E002.causal_mask_inverted",
    ),
    Mistake(
        id="multi_head.causal_strict",
        operation=OPERATION,
        clause="multi_head.causal",
        sentence="With is_causal, a query could not attend to its own position.",
        remedy="Keep the key at the query's own position.",
        function=with_heads(
            departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=before))
        ),
    ),
    Mistake(
        id="multi_head.softmax_over_queries",
        operation=OPERATION,
        clause="multi_head.softmax.keys",
        sentence="The softmax was taken over the queries instead of the keys: the columns of the weights sum to 1.",
        remedy="Normalise along the last axis, the keys.",
        function=with_heads(attention_softmax.OVER_QUERIES),
    ),
    Mistake(
        id="multi_head.no_maximum",
        operation=OPERATION,
        clause="multi_head.softmax.keys",
        sentence="No maximum was subtracted before the exponential, so large scores overflow and give NaN.",
        remedy="Subtract from each row its largest score before taking exponentials.",
        function=with_heads(attention_softmax.WITHOUT_MAXIMUM),
        erratum="E004.no_maximum",
    ),
    Mistake(
        id="multi_head.maximum_axis_lost",
        operation=OPERATION,
        clause="multi_head.softmax.keys",
        sentence="The row maxima lost their axis, so the maximum of row j was subtracted from column j.",
        remedy="Keep the axis of the maximum (keepdims=True in NumPy).",
        function=with_heads(attention_softmax.MAXIMUM_AXIS_LOST),
        erratum="E002.maximum_axis_lost",
    ),
    Mistake(
        id="multi_head.normaliser_multiplied",
        operation=OPERATION,
        clause="multi_head.weights",
        sentence="The exponentials were multiplied by their sum instead of divided by it.",
        remedy="Divide each row of exponentials by its sum.",
        function=with_heads(attention_softmax.NORMALISER_MULTIPLIED),
        erratum="E002.normaliser_multiplied",
    ),
    Mistake(
        id="multi_head.weights_averaged",
        operation=OPERATION,
        clause="multi_head.weights",
        sentence="The weights were averaged over the heads.",
        remedy="Return the weights of each head: (batch, heads, queries, keys).",
        function=averaged_weights,
    ),
    Mistake(
        id="multi_head.combine_not_transposed",
        operation=OPERATION,
        clause="multi_head.combine",
        sentence="The heads were joined without first putting tokens before heads, which mixes up the tokens.",
        remedy="Transpose heads and tokens first, then join the last two axes.",
        function=departure(
            multi_head_attention, combine_heads=departure(combine_heads, tokens_before_heads=reshaped_instead)
        ),
        source="https://github.com/jsbaan/transformer-from-scratch/pull/6",
    ),
    Mistake(
        id="multi_head.combine_interleaved",
        operation=OPERATION,
        clause="multi_head.combine",
        sentence="The features of the heads alternate within a token instead of standing head after head.",
        remedy="Transpose to (batch, tokens, heads, features), with the features last, before joining.",
        function=departure(
            multi_head_attention,
            combine_heads=departure(combine_heads, tokens_before_heads=features_before_heads),
        ),
    ),
    Mistake(
        id="multi_head.output_projection_missing",
        operation=OPERATION,
        clause="multi_head.output_projection",
        sentence="The output projection was left out.",
        remedy="Multiply the combined heads by w_output.",
        function=altered(multi_head_attention, w_output=unprojecting),
    ),
    Mistake(
        id="multi_head.output_projection_transposed",
        operation=OPERATION,
        clause="multi_head.output_projection",
        sentence="The output matrix was transposed.",
        remedy="Multiply the combined heads by w_output as it is.",
        function=altered(multi_head_attention, w_output=np.transpose),
    ),
)
