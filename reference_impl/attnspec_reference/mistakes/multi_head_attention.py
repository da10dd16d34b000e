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
from attnspec_reference.mistakes.heads import (
    dealt_out,
    features_before_heads,
    remainder_dropped,
    reshaped_instead,
)
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


def mask_scaled_too(query: Array, key: Array, value: Array, mask: Array | None, **attributes: Any) -> Attention:
    """Add the mask to the dot products of a head and scale the sum."""
    if mask is not None and mask.dtype != np.bool_:
        mask = mask * attributes["scale"]
    return scaled_dot_product_attention(query, key, value, mask, **attributes)


def causal_skipped_with_mask(**arguments: Any) -> MultiHeadAttention:
    """Hear is_causal only without a mask."""
    if arguments.get("mask") is not None:
        arguments["is_causal"] = False
    return multi_head_attention(**arguments)


def largest_over_heads(logits: Array) -> Array:
    """Find the largest logit of each query and key over the heads."""
    return np.max(logits, axis=1, keepdims=True, initial=-np.inf)


def sum_over_heads(exponentials: Array) -> Array:
    """Sum the exponentials of each query and key over the heads."""
    return np.sum(exponentials, axis=1, keepdims=True)


def log_sum_exp_of_heads(largest: Array, total: Array) -> Array:
    """Give a logsumexp for each query and key (B, Sq, Sk)."""
    return np.squeeze(largest + np.log(total), axis=1)


@in_working_precision
def residual_added(**arguments: Any) -> MultiHeadAttention:
    """Add the query to the output."""
    attention = multi_head_attention(**arguments)
    return attention._replace(output=attention.output + arguments["query"])


def axes_added(**arguments: Any) -> MultiHeadAttention:
    """Add a batch axis where there is none, and join the first axes where there are too many."""
    for name in ("query", "key", "value"):
        array = arguments[name]
        arguments[name] = array[np.newaxis] if array.ndim == 2 else array.reshape(-1, *array.shape[-2:])
    return multi_head_attention(**arguments)


def unchecked(_width: int, _num_heads: int) -> None:
    """Accept any number of heads."""


def leftover_features_dropped(**arguments: Any) -> MultiHeadAttention:
    """Leave out the features that do not fill a head, and return zeros in their place."""
    width, heads = np.shape(arguments["query"])[-1], arguments["num_heads"]

    def combined(split: Array) -> Array:
        return np.pad(combine_heads(split), [(0, 0), (0, 0), (0, width % heads)])

    attend = departure(
        multi_head_attention, check_heads=unchecked, split_heads=remainder_dropped, combine_heads=combined
    )
    return attend(**arguments)


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="multi_head.weight_matrices_transposed",
        operation=OPERATION,
        clause="multi_head.projections",
        sentence="The weight matrices were transposed: x times W transposed.",
        engineer="The weights are read as (out, in), the linear-layer layout: x W^T.",
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
        engineer="The key GEMM is given the query weights, as after a wrong slice of packed QKV weights.",
        remedy="Multiply the keys by w_key, and add b_key.",
        function=query_projection_for_keys,
    ),
    Mistake(
        id="multi_head.keys_and_values_swapped",
        operation=OPERATION,
        clause="multi_head.projections",
        sentence="Keys and values were swapped: queries were compared with values, and keys were mixed.",
        engineer="Key and value operands, with their weights, are swapped, as after a wrong split of QKV.",
        remedy="Compare the queries with the projected keys, and mix the projected values.",
        function=exchanging(multi_head_attention, ("key", "value"), ("w_key", "w_value"), ("b_key", "b_value")),
    ),
    Mistake(
        id="multi_head.biases_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="No bias was added.",
        engineer="The bias epilogue of all projections is missing.",
        remedy="Add each bias that is given to its projection.",
        function=ignoring(multi_head_attention, "b_query", "b_key", "b_value", "b_output"),
    ),
    Mistake(
        id="multi_head.query_bias_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="The bias of the queries was not added.",
        engineer="The bias epilogue of the query projection is missing.",
        remedy="Add b_query to the projected queries.",
        function=ignoring(multi_head_attention, "b_query"),
    ),
    Mistake(
        id="multi_head.value_bias_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="The bias of the values was not added.",
        engineer="The bias epilogue of the value projection is missing.",
        remedy="Add b_value to the projected values.",
        function=ignoring(multi_head_attention, "b_value"),
    ),
    Mistake(
        id="multi_head.output_bias_dropped",
        operation=OPERATION,
        clause="multi_head.biases",
        sentence="The bias of the output was not added.",
        engineer="The bias epilogue of the output projection is missing.",
        remedy="Add b_output after the output projection.",
        function=ignoring(multi_head_attention, "b_output"),
    ),
    Mistake(
        id="multi_head.split_not_transposed",
        operation=OPERATION,
        clause="multi_head.split",
        sentence="The projections were reshaped to heads directly, which mixes up the tokens.",
        engineer="A view to (B, H, S, E) stands in for a view to (B, S, H, E) and a permute.",
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
        engineer="The channel is split as (E, H) instead of (H, E).",
        remedy="Give head h consecutive features: reshape to (batch, tokens, heads, features), in this order.",
        function=departure(multi_head_attention, split_heads=departure(split_heads, cut_features=dealt_out)),
    ),
    Mistake(
        id="multi_head.scale_missing",
        operation=OPERATION,
        clause="multi_head.scale.default",
        sentence="The scores were not scaled.",
        engineer="The softmax scale is left at 1.0.",
        remedy="Multiply the dot products by 1/sqrt(D/H), D/H being the width of a head.",
        function=scaled_by_default(one),
    ),
    Mistake(
        id="multi_head.scale_multiplied",
        operation=OPERATION,
        clause="multi_head.scale.default",
        sentence="The scores were multiplied by sqrt(D/H) instead of divided by it.",
        engineer="The scale is sqrt(d) where 1/sqrt(d) is due.",
        remedy="Divide the dot products by sqrt(D/H), D/H being the width of a head.",
        function=scaled_by_default(root_of_head_width),
        erratum="E002.scale_multiplied",
    ),
    Mistake(
        id="multi_head.scale_from_model_width",
        operation=OPERATION,
        clause="multi_head.scale.default",
        sentence="The scale was taken from the width of a token instead of that of a head.",
        engineer="The default scale is derived from the model width instead of head_dim.",
        remedy="Take the scale from the width of one head: 1/sqrt(D/H).",
        function=scaled_by_default(inverse_root_of_width),
        source="https://github.com/lucidrains/vit-pytorch/issues/65",
    ),
    Mistake(
        id="multi_head.stated_scale_ignored",
        operation=OPERATION,
        clause="multi_head.scale.explicit",
        sentence="The stated scale was ignored: the default one was applied.",
        engineer="The scale argument does not reach the kernel, which computes its own default.",
        remedy="Multiply the dot products of every head by the given scale in place of 1/sqrt(D/H).",
        function=ignoring(multi_head_attention, "scale"),
    ),
    Mistake(
        id="multi_head.mask_ignored",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="The mask was ignored.",
        engineer="The mask pointer is never read; the kernel runs its unmasked path.",
        remedy="Pass the mask on to the attention of every head.",
        function=ignoring(multi_head_attention, "mask"),
    ),
    Mistake(
        id="multi_head.mask_subtracted",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="The mask was subtracted from the scores instead of added.",
        engineer="The bias is subtracted from the logits: its sign is flipped, and -inf becomes +inf.",
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
        engineer="The select takes its branches the wrong way round: true is read as masked.",
        remedy="Keep the keys where the mask is true; nn.MultiheadAttention wants it negated.",
        function=altered(multi_head_attention, mask=attention_masks.inverted_boolean),
    ),
    Mistake(
        id="multi_head.float_mask_as_boolean",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="A float mask was read as a Boolean one: 0 hid the key, and every other number showed it.",
        engineer="The mask is cast to bool and selected on instead of being added as a bias.",
        remedy="Add a float mask to the scores; only a Boolean mask selects.",
        function=altered(multi_head_attention, mask=attention_masks.as_truth_values),
        source="https://github.com/mlverse/torch/pull/1208",
    ),
    Mistake(
        id="multi_head.mask_of_first_batch_entry",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="Every batch entry was masked by the mask of the first one.",
        engineer="The batch stride of the mask is taken as 0.",
        remedy="Let each batch entry read its own mask; only an axis of length 1 is repeated.",
        function=altered(multi_head_attention, mask=attention_masks.first_of_batch),
    ),
    Mistake(
        id="multi_head.causal_ignored",
        operation=OPERATION,
        clause="multi_head.causal",
        sentence="The attribute is_causal was ignored: queries attended to later keys.",
        engineer="The causal flag does not reach the kernel that was dispatched to.",
        remedy="With is_causal, exclude every key after the query's own position.",
        function=ignoring(multi_head_attention, "is_causal"),
        source="https://github.com/keras-team/keras/issues/23038",
    ),
    Mistake(
        id="multi_head.causal_inverted",
        operation=OPERATION,
        clause="multi_head.causal",
        sentence="Causality was inverted: queries attended to later keys only.",
        engineer="The causal comparison is inverted: col > row is kept.",
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
        engineer="The causal comparison is col < row where col <= row is due.",
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
        engineer="The reduction runs over the query axis instead of the key axis.",
        remedy="Normalise along the last axis, the keys.",
        function=with_heads(attention_softmax.OVER_QUERIES),
    ),
    Mistake(
        id="multi_head.no_maximum",
        operation=OPERATION,
        clause="multi_head.softmax.keys",
        sentence="No maximum was subtracted before the exponential, so large scores overflow and give NaN.",
        engineer="The row maximum is not subtracted before exp, which overflows.",
        remedy="Subtract from each row its largest score before taking exponentials.",
        function=with_heads(attention_softmax.WITHOUT_MAXIMUM),
        erratum="E004.no_maximum",
    ),
    Mistake(
        id="multi_head.maximum_axis_lost",
        operation=OPERATION,
        clause="multi_head.softmax.keys",
        sentence="The row maxima lost their axis, so the maximum of row j was subtracted from column j.",
        engineer="The reduced axis is dropped, so the row maxima broadcast along columns.",
        remedy="Keep the axis of the maximum (keepdims=True in NumPy).",
        function=with_heads(attention_softmax.MAXIMUM_AXIS_LOST),
        erratum="E002.maximum_axis_lost",
    ),
    Mistake(
        id="multi_head.normaliser_multiplied",
        operation=OPERATION,
        clause="multi_head.weights",
        sentence="The exponentials were multiplied by their sum instead of divided by it.",
        engineer="The accumulator is multiplied by the row sum instead of by its reciprocal.",
        remedy="Divide each row of exponentials by its sum.",
        function=with_heads(attention_softmax.NORMALISER_MULTIPLIED),
        erratum="E002.normaliser_multiplied",
    ),
    Mistake(
        id="multi_head.weights_averaged",
        operation=OPERATION,
        clause="multi_head.weights",
        sentence="The weights were averaged over the heads.",
        engineer="The probabilities are reduced over heads before they are returned.",
        remedy="Return the weights of each head: (batch, heads, queries, keys).",
        function=averaged_weights,
    ),
    Mistake(
        id="multi_head.combine_not_transposed",
        operation=OPERATION,
        clause="multi_head.combine",
        sentence="The heads were joined without first putting tokens before heads, which mixes up the tokens.",
        engineer="A view of BHSE memory stands in for the permute to BSHE before the merge.",
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
        engineer="The merge permutes to (B, S, E, H), so channels of the heads interleave.",
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
        engineer="The output GEMM is skipped.",
        remedy="Multiply the combined heads by w_output.",
        function=altered(multi_head_attention, w_output=unprojecting),
    ),
    Mistake(
        id="multi_head.output_projection_transposed",
        operation=OPERATION,
        clause="multi_head.output_projection",
        sentence="The output matrix was transposed.",
        engineer="The output GEMM reads its weight as (out, in).",
        remedy="Multiply the combined heads by w_output as it is.",
        function=altered(multi_head_attention, w_output=np.transpose),
    ),
    Mistake(
        id="multi_head.three_axes_as_batch",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="The first axis of a mask with three axes was read as the batch; it is the heads.",
        engineer="A rank-3 mask is unsqueezed at axis 1, to (B, 1, Sq, Sk), instead of at axis 0.",
        remedy="Match the axes of a mask from the right: three axes are (heads, queries, keys).",
        function=altered(multi_head_attention, mask=attention_masks.one_for_each_batch_entry),
        source="https://github.com/onnx/onnx/pull/8108",
    ),
    Mistake(
        id="multi_head.mask_scaled_too",
        operation=OPERATION,
        clause="multi_head.mask",
        sentence="The mask was added before the scale, so it was scaled, too.",
        engineer="softmax((QK + M) * scale) where softmax(QK * scale + M) is due; 0/-inf masks cannot show it.",
        remedy="Scale the dot products first, then add the mask.",
        function=with_heads(mask_scaled_too),
    ),
    Mistake(
        id="multi_head.causal_skipped_with_mask",
        operation=OPERATION,
        clause="multi_head.causal",
        sentence="Causality was dropped as soon as a mask was given.",
        engineer="The mask replaces the causal predicate instead of being intersected with it.",
        remedy="Exclude a key where the mask excludes it or where it comes later: both hold.",
        function=causal_skipped_with_mask,
        source="https://github.com/keras-team/keras/issues/23038",
    ),
    Mistake(
        id="multi_head.softmax_over_heads",
        operation=OPERATION,
        clause="multi_head.softmax.keys",
        sentence="The softmax was taken over the heads instead of the keys.",
        engineer="The reduction runs over axis 1 of (B, H, Sq, Sk).",
        remedy="Normalise along the last axis, the keys, in each head by itself.",
        function=with_heads(
            departure(
                scaled_dot_product_attention,
                largest_logit=largest_over_heads,
                sum_over_keys=sum_over_heads,
                log_sum_exp=log_sum_exp_of_heads,
            )
        ),
    ),
    Mistake(
        id="multi_head.residual_added",
        operation=OPERATION,
        clause="multi_head.output_projection",
        sentence="The query was added to the output, as the block around attention does.",
        engineer="The residual connection is fused into the output projection.",
        remedy="Return the projected heads alone; the residual belongs to the block around them.",
        function=residual_added,
    ),
    Mistake(
        id="multi_head.rank_not_checked",
        operation=OPERATION,
        clause="multi_head.rejects.rank",
        sentence="Inputs of another rank than 3 were accepted.",
        engineer="Leading axes are flattened or unsqueezed silently.",
        remedy="Refuse query, key and value of any rank but 3.",
        function=axes_added,
    ),
    Mistake(
        id="multi_head.remainder_dropped",
        operation=OPERATION,
        clause="multi_head.rejects.divisible",
        sentence="Features that are left over when they are cut into heads were dropped.",
        engineer="head_dim = width / num_heads is rounded down and not checked.",
        remedy="Refuse a number of features that is no multiple of num_heads.",
        function=leftover_features_dropped,
    ),
)
