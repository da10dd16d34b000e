"""What goes wrong in multi-head attention around the heads: projections, biases, splitting, combining, refusals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.heads import (
    dealt_out,
    features_before_heads,
    remainder_dropped,
    reshaped_instead,
)
from attnspec_mistakes.departures import (
    altered,
    departure,
    exchanging,
    ignoring,
    in_working_precision,
)
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.attention.split_heads import split_heads

if TYPE_CHECKING:
    from attnspec_reference.precision import Array

OPERATION = "multi_head_attention"


def unprojecting(weight: Array) -> Array:
    """Put the identity in the place of a weight matrix."""
    return np.eye(weight.shape[0], dtype=weight.dtype)


def query_projection_for_keys(**arguments: Any) -> MultiHeadAttention:
    """Project the keys as if they were queries."""
    arguments["w_key"], arguments["b_key"] = arguments["w_query"], arguments.get("b_query")
    return multi_head_attention(**arguments)


@in_working_precision
def residual_added(**arguments: Any) -> MultiHeadAttention:
    """Add the query to the output."""
    attention = multi_head_attention(**arguments)
    return attention._replace(output=attention.output + arguments["query"])


def nothing_without_keys(**arguments: Any) -> MultiHeadAttention:
    """Return zeros at once where there are no keys at all."""
    attention = multi_head_attention(**arguments)
    return attention if np.shape(arguments["key"])[1] else attention._replace(output=np.zeros_like(attention.output))


def axes_added(**arguments: Any) -> MultiHeadAttention:
    """Add a batch axis where there is none, and join the first axes where there are too many."""
    for name in ("query", "key", "value"):
        array = arguments[name]
        arguments[name] = array[np.newaxis] if array.ndim == 2 else array.reshape(-1, *array.shape[-2:])
    return multi_head_attention(**arguments)


def unchecked(_width: int, _num_heads: int) -> None:
    """Accept any number of heads."""


def cut_where_all_numbers_fit(x: Array, num_heads: int) -> Array:
    """Cut into heads by a reshape that leaves the number of tokens open."""
    return np.swapaxes(np.reshape(x, (x.shape[0], -1, num_heads, x.shape[2] // num_heads)), 1, 2)


def checked_by_a_reshape(**arguments: Any) -> MultiHeadAttention:
    """Leave it to a reshape to refuse numbers of heads, which looks at all numbers together."""
    if arguments["num_heads"] > np.shape(arguments["query"])[-1]:
        return multi_head_attention(**arguments)
    shape: tuple[int, ...] = np.shape(arguments["query"])

    def combined(split: Array) -> Array:
        return np.swapaxes(split, 1, 2).reshape(shape)

    attend = departure(
        multi_head_attention,
        check_heads=unchecked,
        split_heads=cut_where_all_numbers_fit,
        combine_heads=combined,
    )
    return attend(**arguments)


def leftover_features_dropped(**arguments: Any) -> MultiHeadAttention:
    """Leave out the features that do not fill a head, and return zeros in their place."""
    width, heads = np.shape(arguments["query"])[-1], arguments["num_heads"]

    def combined(split: Array) -> Array:
        return np.pad(combine_heads(split), [(0, 0), (0, 0), (0, width % heads)])

    attend = departure(
        multi_head_attention, check_heads=unchecked, split_heads=remainder_dropped, combine_heads=combined
    )
    return attend(**arguments)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="multi_head.weight_matrices_transposed",
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
    mistake(
        id="multi_head.query_projection_for_keys",
        clause="multi_head.projections",
        sentence="The keys were projected with the weights of the queries.",
        engineer="The key GEMM is given the query weights, as after a wrong slice of packed QKV weights.",
        remedy="Multiply the keys by w_key, and add b_key.",
        function=query_projection_for_keys,
    ),
    mistake(
        id="multi_head.keys_and_values_swapped",
        clause="multi_head.projections",
        sentence="Keys and values were swapped: queries were compared with values, and keys were mixed.",
        engineer="Key and value operands, with their weights, are swapped, as after a wrong split of QKV.",
        remedy="Compare the queries with the projected keys, and mix the projected values.",
        function=exchanging(multi_head_attention, ("key", "value"), ("w_key", "w_value"), ("b_key", "b_value")),
    ),
    mistake(
        id="multi_head.biases_dropped",
        clause="multi_head.biases",
        sentence="No bias was added.",
        engineer="The bias epilogue of all projections is missing.",
        remedy="Add each bias that is given to its projection.",
        function=ignoring(multi_head_attention, "b_query", "b_key", "b_value", "b_output"),
    ),
    mistake(
        id="multi_head.query_bias_dropped",
        clause="multi_head.biases",
        sentence="The bias of the queries was not added.",
        engineer="The bias epilogue of the query projection is missing.",
        remedy="Add b_query to the projected queries.",
        function=ignoring(multi_head_attention, "b_query"),
    ),
    mistake(
        id="multi_head.value_bias_dropped",
        clause="multi_head.biases",
        sentence="The bias of the values was not added.",
        engineer="The bias epilogue of the value projection is missing.",
        remedy="Add b_value to the projected values.",
        function=ignoring(multi_head_attention, "b_value"),
    ),
    mistake(
        id="multi_head.output_bias_dropped",
        clause="multi_head.biases",
        sentence="The bias of the output was not added.",
        engineer="The bias epilogue of the output projection is missing.",
        remedy="Add b_output after the output projection.",
        function=ignoring(multi_head_attention, "b_output"),
    ),
    mistake(
        id="multi_head.output_bias_dropped_without_keys",
        clause="multi_head.output_projection",
        sentence="Where there are no keys at all, zeros were returned before the bias of the output was added.",
        engineer="An early return for empty keys leaves the epilogue out.",
        remedy="Project the zeros, too: without keys the output is b_output.",
        function=nothing_without_keys,
    ),
    mistake(
        id="multi_head.split_not_transposed",
        clause="multi_head.split",
        sentence="The projections were reshaped to heads directly, which mixes up the tokens.",
        engineer="A view to (B, H, S, E) stands in for a view to (B, S, H, E) and a permute.",
        remedy="Reshape to (batch, tokens, heads, features) first, then transpose tokens and heads.",
        function=departure(
            multi_head_attention, split_heads=departure(split_heads, heads_before_tokens=reshaped_instead)
        ),
        source="https://github.com/reczoo/FuxiCTR/issues/30",
    ),
    mistake(
        id="multi_head.split_interleaved",
        clause="multi_head.split",
        sentence="The features were dealt out in turn: head h took features h, h + H and so on.",
        engineer="The channel is split as (E, H) instead of (H, E).",
        remedy="Give head h consecutive features: reshape to (batch, tokens, heads, features), in this order.",
        function=departure(multi_head_attention, split_heads=departure(split_heads, cut_features=dealt_out)),
    ),
    mistake(
        id="multi_head.combine_not_transposed",
        clause="multi_head.combine",
        sentence="The heads were joined without first putting tokens before heads, which mixes up the tokens.",
        engineer="A view of BHSE memory stands in for the permute to BSHE before the merge.",
        remedy="Transpose heads and tokens first, then join the last two axes.",
        function=departure(
            multi_head_attention, combine_heads=departure(combine_heads, tokens_before_heads=reshaped_instead)
        ),
        source="https://github.com/jsbaan/transformer-from-scratch/pull/6",
    ),
    mistake(
        id="multi_head.combine_interleaved",
        clause="multi_head.combine",
        sentence="The features of the heads alternate within a token instead of standing head after head.",
        engineer="The merge permutes to (B, S, E, H), so channels of the heads interleave.",
        remedy="Transpose to (batch, tokens, heads, features), with the features last, before joining.",
        function=departure(
            multi_head_attention,
            combine_heads=departure(combine_heads, tokens_before_heads=features_before_heads),
        ),
    ),
    mistake(
        id="multi_head.output_projection_missing",
        clause="multi_head.output_projection",
        sentence="The output projection was left out.",
        engineer="The output GEMM is skipped.",
        remedy="Multiply the combined heads by w_output.",
        function=altered(multi_head_attention, w_output=unprojecting),
    ),
    mistake(
        id="multi_head.output_projection_transposed",
        clause="multi_head.output_projection",
        sentence="The output matrix was transposed.",
        engineer="The output GEMM reads its weight as (out, in).",
        remedy="Multiply the combined heads by w_output as it is.",
        function=altered(multi_head_attention, w_output=np.transpose),
    ),
    mistake(
        id="multi_head.residual_added",
        clause="multi_head.output_projection",
        sentence="The query was added to the output, as the block around attention does.",
        engineer="The residual connection is fused into the output projection.",
        remedy="Return the projected heads alone; the residual belongs to the block around them.",
        function=residual_added,
    ),
    mistake(
        id="multi_head.rank_not_checked",
        clause="multi_head.rejects.rank",
        sentence="Inputs of another rank than 3 were accepted.",
        engineer="Leading axes are flattened or unsqueezed silently.",
        remedy="Refuse query, key and value of any rank but 3.",
        function=axes_added,
    ),
    mistake(
        id="multi_head.remainder_dropped",
        clause="multi_head.rejects.divisible",
        sentence="Features that are left over when they are cut into heads were dropped.",
        engineer="head_dim = width / num_heads is rounded down and not checked.",
        remedy="Refuse a number of features that is no multiple of num_heads.",
        function=leftover_features_dropped,
    ),
    mistake(
        id="multi_head.checked_by_a_reshape",
        clause="multi_head.rejects.divisible",
        sentence="Heads that do not divide the features were accepted, since all numbers of all tokens divide.",
        engineer="view(B, -1, H, D // H) moves features over to more tokens where H does not divide D.",
        remedy="Refuse a number of features that is no multiple of num_heads, before anything is reshaped.",
        function=checked_by_a_reshape,
    ),
    widened_through_float16(
        "multi_head", OPERATION, "multi_head.projections", departure(multi_head_attention, widen=through_float16)
    ),
)
