"""What goes wrong inside the heads of multi-head attention: scale, masks, softmax, weights."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention import attention_masks, attention_softmax
from attnspec_mistakes.attention.causal_mask import before, later
from attnspec_mistakes.departures import (
    altered,
    defaulting,
    departure,
    ignoring,
    in_working_precision,
)
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

OPERATION = "multi_head_attention"


def with_heads(attention: Callable[..., Attention]) -> Computation:
    """Make a multi-head attention whose heads attend in another way."""
    return departure(multi_head_attention, scaled_dot_product_attention=attention)


def rows_as_entries(**given: Any) -> MultiHeadAttention:
    """Take the rows of a mask for batch entries where there are as many."""
    mask, entries = given.get("mask"), np.shape(given["query"])[0]
    if mask is not None and np.ndim(mask) == 2 and np.shape(mask)[0] == entries > 1:
        given = {**given, "mask": np.asarray(mask)[:, np.newaxis, np.newaxis]}
    return multi_head_attention(**given)


def padding_for_queries(**given: Any) -> MultiHeadAttention:
    """Take a mask of entries and keys for one of queries and keys where there are as many entries as queries."""
    mask, (entries, queries) = given.get("mask"), np.shape(given["query"])[:2]
    if mask is not None and np.shape(mask)[:3] == (entries, 1, 1) and np.ndim(mask) == 4 and entries == queries > 1:
        given = {**given, "mask": np.asarray(mask)[:, 0, 0]}
    return multi_head_attention(**given)


def as_truth_values_if_they_could_be(mask: Array) -> Array:
    """Take a float mask of zeros and ones alone for a Boolean one."""
    return attention_masks.as_truth_values(mask) if ((mask == 0) | (mask == 1)).all() else mask


def one_key_for_all(**given: Any) -> MultiHeadAttention:
    """Give a single key all the weight, whether the mask excludes it or not."""
    if np.shape(given["key"])[1] == 1:
        given = {**given, "mask": None}
    return multi_head_attention(**given)


def causal_for_several(**given: Any) -> MultiHeadAttention:
    """Forget causality for a single query."""
    if np.shape(given["query"])[1] == 1:
        given = {**given, "is_causal": False}
    return multi_head_attention(**given)


def partly_excluded_value_leaks(*tensors: Any, **given: Any) -> Attention:
    """Multiply every value by its weight, also by one of 0."""
    attention = scaled_dot_product_attention(*tensors, **given)
    spoilt = np.isnan(tensors[2]).any(axis=-1)[:, :, np.newaxis] & (attention.weights == 0)
    seen = np.any(attention.weights > 0, axis=-2, keepdims=True)
    output = np.where(np.any(spoilt & seen, axis=-1, keepdims=True), np.nan, attention.output)
    return attention._replace(output=output)


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


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="multi_head.scale_missing",
        clause="multi_head.scale.default",
        sentence="The scores were not scaled.",
        engineer="The softmax scale is left at 1.0.",
        remedy="Multiply the dot products by 1/sqrt(D/H), D/H being the width of a head.",
        function=scaled_by_default(one),
    ),
    mistake(
        id="multi_head.scale_multiplied",
        clause="multi_head.scale.default",
        sentence="The scores were multiplied by sqrt(D/H) instead of divided by it.",
        engineer="The scale is sqrt(d) where 1/sqrt(d) is due.",
        remedy="Divide the dot products by sqrt(D/H), D/H being the width of a head.",
        function=scaled_by_default(root_of_head_width),
        erratum="E002.scale_multiplied",
    ),
    mistake(
        id="multi_head.scale_from_model_width",
        clause="multi_head.scale.default",
        sentence="The scale was taken from the width of a token instead of that of a head.",
        engineer="The default scale is derived from the model width instead of head_dim.",
        remedy="Take the scale from the width of one head: 1/sqrt(D/H).",
        function=scaled_by_default(inverse_root_of_width),
        source="https://github.com/lucidrains/vit-pytorch/issues/65",
    ),
    mistake(
        id="multi_head.stated_scale_ignored",
        clause="multi_head.scale.explicit",
        sentence="The stated scale was ignored: the default one was applied.",
        engineer="The scale argument does not reach the kernel, which computes its own default.",
        remedy="Multiply the dot products of every head by the given scale in place of 1/sqrt(D/H).",
        function=ignoring(multi_head_attention, "scale"),
    ),
    mistake(
        id="multi_head.mask_ignored",
        clause="multi_head.mask",
        sentence="The mask was ignored.",
        engineer="The mask pointer is never read; the kernel runs its unmasked path.",
        remedy="Pass the mask on to the attention of every head.",
        function=ignoring(multi_head_attention, "mask"),
    ),
    mistake(
        id="multi_head.mask_subtracted",
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
    mistake(
        id="multi_head.boolean_mask_inverted",
        clause="multi_head.mask",
        sentence="The Boolean mask was read the wrong way round: true hid the key.",
        engineer="The select takes its branches the wrong way round: true is read as masked.",
        remedy="Keep the keys where the mask is true; nn.MultiheadAttention wants it negated.",
        function=altered(multi_head_attention, mask=attention_masks.inverted_boolean),
    ),
    mistake(
        id="multi_head.float_mask_as_boolean",
        clause="multi_head.mask",
        sentence="A float mask was read as a Boolean one: 0 hid the key, and every other number showed it.",
        engineer="The mask is cast to bool and selected on instead of being added as a bias.",
        remedy="Add a float mask to the scores; only a Boolean mask selects.",
        function=altered(multi_head_attention, mask=attention_masks.as_truth_values),
        source="https://github.com/mlverse/torch/pull/1208",
    ),
    mistake(
        id="multi_head.mask_of_first_batch_entry",
        clause="multi_head.mask",
        sentence="Every batch entry was masked by the mask of the first one.",
        engineer="The batch stride of the mask is taken as 0.",
        remedy="Let each batch entry read its own mask; only an axis of length 1 is repeated.",
        function=altered(multi_head_attention, mask=attention_masks.first_of_batch),
    ),
    mistake(
        id="multi_head.causal_ignored",
        clause="multi_head.causal",
        sentence="The attribute is_causal was ignored: queries attended to later keys.",
        engineer="The causal flag does not reach the kernel that was dispatched to.",
        remedy="With is_causal, exclude every key after the query's own position.",
        function=ignoring(multi_head_attention, "is_causal"),
        source="https://github.com/keras-team/keras/issues/23038",
    ),
    mistake(
        id="multi_head.causal_inverted",
        clause="multi_head.causal",
        sentence="Causality was inverted: queries attended to later keys only.",
        engineer="The causal comparison is inverted: col > row is kept.",
        remedy="Exclude the keys after the query's own position, and keep the others.",
        function=with_heads(
            departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=later))
        ),
        erratum="E002.causal_mask_inverted",
    ),
    mistake(
        id="multi_head.causal_strict",
        clause="multi_head.causal",
        sentence="With is_causal, a query could not attend to its own position.",
        engineer="The causal comparison is col < row where col <= row is due.",
        remedy="Keep the key at the query's own position.",
        function=with_heads(
            departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=before))
        ),
    ),
    mistake(
        id="multi_head.softmax_over_queries",
        clause="multi_head.softmax.keys",
        sentence="The softmax was taken over the queries instead of the keys: the columns of the weights sum to 1.",
        engineer="The reduction runs over the query axis instead of the key axis.",
        remedy="Normalise along the last axis, the keys.",
        function=with_heads(attention_softmax.OVER_QUERIES),
    ),
    mistake(
        id="multi_head.no_maximum",
        clause="multi_head.weights",
        sentence="No maximum was subtracted before the exponential, so large scores overflow and give NaN.",
        engineer="The row maximum is not subtracted before exp, which overflows.",
        remedy="Subtract from each row its largest score before taking exponentials.",
        function=with_heads(attention_softmax.WITHOUT_MAXIMUM),
        erratum="E004.no_maximum",
    ),
    mistake(
        id="multi_head.maximum_axis_lost",
        clause="multi_head.softmax.keys",
        sentence="The row maxima lost their axis, so the maximum of row j was subtracted from column j.",
        engineer="The reduced axis is dropped, so the row maxima broadcast along columns.",
        remedy="Keep the axis of the maximum (keepdims=True in NumPy).",
        function=with_heads(attention_softmax.MAXIMUM_AXIS_LOST),
        erratum="E002.maximum_axis_lost",
    ),
    mistake(
        id="multi_head.normaliser_multiplied",
        clause="multi_head.weights",
        sentence="The exponentials were multiplied by their sum instead of divided by it.",
        engineer="The accumulator is multiplied by the row sum instead of by its reciprocal.",
        remedy="Divide each row of exponentials by its sum.",
        function=with_heads(attention_softmax.NORMALISER_MULTIPLIED),
        erratum="E002.normaliser_multiplied",
    ),
    mistake(
        id="multi_head.weights_averaged",
        clause="multi_head.weights",
        sentence="The weights were averaged over the heads.",
        engineer="The probabilities are reduced over heads before they are returned.",
        remedy="Return the weights of each head: (batch, heads, queries, keys).",
        function=averaged_weights,
    ),
    mistake(
        id="multi_head.three_axes_as_batch",
        clause="multi_head.mask",
        sentence="The first axis of a mask with three axes was read as the batch; it is the heads.",
        engineer="A rank-3 mask is unsqueezed at axis 1, to (B, 1, Sq, Sk), instead of at axis 0.",
        remedy="Match the axes of a mask from the right: three axes are (heads, queries, keys).",
        function=altered(multi_head_attention, mask=attention_masks.one_for_each_batch_entry),
        source="https://github.com/onnx/onnx/pull/8108",
    ),
    mistake(
        id="multi_head.mask_scaled_too",
        clause="multi_head.mask",
        sentence="The mask was added before the scale, so it was scaled, too.",
        engineer="softmax((QK + M) * scale) where softmax(QK * scale + M) is due; 0/-inf masks cannot show it.",
        remedy="Scale the dot products first, then add the mask.",
        function=with_heads(mask_scaled_too),
    ),
    mistake(
        id="multi_head.causal_skipped_with_mask",
        clause="multi_head.causal",
        sentence="Causality was dropped as soon as a mask was given.",
        engineer="The mask replaces the causal predicate instead of being intersected with it.",
        remedy="Exclude a key where the mask excludes it or where it comes later: both hold.",
        function=causal_skipped_with_mask,
        source="https://github.com/keras-team/keras/issues/23038",
    ),
    mistake(
        id="multi_head.softmax_over_heads",
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
    mistake(
        id="multi_head.square_mask_as_padding",
        clause="multi_head.mask",
        sentence="A mask of rank 2 with as many rows as batch entries was read as one row for each entry.",
        engineer="mask.shape[0] == B is taken for a padding mask (B, Sk).",
        remedy="Read rank 2 as (queries, keys).",
        function=rows_as_entries,
    ),
    mistake(
        id="multi_head.zeros_and_ones_as_boolean",
        clause="multi_head.mask",
        sentence="A float mask of zeros and ones was read as truth values: 0 hid the key.",
        engineer="A mask that holds 0 and 1 alone passes for a predicate, whatever its dtype.",
        remedy="Tell a Boolean mask by its dtype, and add every float mask.",
        function=altered(multi_head_attention, mask=as_truth_values_if_they_could_be),
    ),
    mistake(
        id="multi_head.one_key_not_masked",
        clause="multi_head.mask",
        sentence="A single key got all the weight, also from queries that the mask takes it from.",
        engineer="With Sk = 1 the softmax is skipped and the probability is 1; the mask is not read.",
        remedy="Read the mask of a single key, too: who may attend to no key gets zeros.",
        function=one_key_for_all,
    ),
    mistake(
        id="multi_head.one_query_not_causal",
        clause="multi_head.causal",
        sentence="Causality was dropped for a single query.",
        engineer="With Sq = 1 is_causal is False: the token is taken for the newest.",
        remedy="Let query i attend to key j only if j is at most i.",
        function=causal_for_several,
    ),
    mistake(
        id="multi_head.excluded_nan_leaks",
        clause="multi_head.mask",
        sentence="NaN in a value reached queries that may not attend to it.",
        engineer="0 times NaN is NaN: only values that no query sees are cleared.",
        remedy="Leave an excluded value out of the sum.",
        function=with_heads(partly_excluded_value_leaks),
    ),
    mistake(
        id="multi_head.padding_mask_for_queries",
        clause="multi_head.mask",
        sentence="A mask (B, 1, 1, Sk) was taken for one of queries and keys where entries and queries are as many.",
        engineer="mask.squeeze() leaves (B, Sk), which passes for (Sq, Sk) where B == Sq.",
        remedy="Broadcast masks by their axes, and squeeze none.",
        function=padding_for_queries,
    ),
)
