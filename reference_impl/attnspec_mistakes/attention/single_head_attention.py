"""What goes wrong in single-head attention: projections, scale, softmax, the last products."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_scores import transposed_scores
from attnspec_mistakes.attention.softmax import largest_of_all, unshifted
from attnspec_mistakes.departures import altered, defaulting, departure, exchanging, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.attention.single_head_attention import SingleHeadAttention, single_head_attention
from attnspec_reference.attention.softmax import softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

OPERATION = "single_head_attention"


def scaled_by_default(formula: Callable[[float], float], argument: str, axis: int) -> Computation:
    """Make an attention whose default scale is a formula of the length of some axis."""
    return defaulting(single_head_attention, scale=lambda arguments: formula(np.shape(arguments[argument])[axis]))


def inverse_root(width: float) -> float:
    """Take the right formula, of what may be the wrong number."""
    return 1.0 / math.sqrt(width)


def one(_width: float) -> float:
    """Leave the scores unscaled."""
    return 1.0


def over_queries(scores: Array, *, axis: int) -> Array:  # noqa: ARG001 - the mistake is to ignore it
    """Normalise the columns, after subtracting one maximum from all scores."""
    return departure(softmax, largest=largest_of_all)(scores, axis=0)


def over_all(scores: Array, *, axis: int) -> Array:  # noqa: ARG001 - the mistake is to ignore it
    """Normalise all scores together."""
    return softmax(scores, axis=None)


def left_out(scores: Array, *, axis: int) -> Array:  # noqa: ARG001 - the mistake is to ignore it
    """Take the scores themselves for weights."""
    return scores


def not_projected(leaves: Callable[[Any, Any], bool]) -> Computation:
    """Make an attention that forgets the output matrix in some calls, by tokens and matrix."""

    def attend(**given: Any) -> SingleHeadAttention:
        w_output = given.get("w_output")
        if w_output is not None and leaves(given["x"], w_output):
            given = {**given, "w_output": None}
        return single_head_attention(**given)

    return attend


def summed_out_weights(weights: Array, value: Array) -> Array:
    """Multiply each token's own value by the sum of its row of weights."""
    return np.sum(weights, axis=-1, keepdims=True) * value


def unprojecting(weight: Array) -> Array:
    """Put the identity in the place of a weight matrix."""
    return np.eye(weight.shape[0], dtype=weight.dtype)


def weights_over_scores(**arguments: Any) -> SingleHeadAttention:
    """Write the weights over the scores."""
    attention = single_head_attention(**arguments)
    return attention._replace(scores=attention.weights)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="single_head.weight_matrices_transposed",
        clause="single_head.projections",
        sentence="The weight matrices were transposed: x times W transposed.",
        engineer="The weights are read as (out, in), the linear-layer layout: x W^T.",
        remedy="Multiply the tokens by the weight matrices as they are: x @ W.",
        function=altered(
            single_head_attention,
            w_query=np.transpose,
            w_key=np.transpose,
            w_value=np.transpose,
            w_output=np.transpose,
        ),
    ),
    mistake(
        id="single_head.query_and_key_weights_swapped",
        clause="single_head.projections",
        sentence="The matrices w_query and w_key were swapped: keys asked and queries answered.",
        engineer="Query and key weights are swapped, so the scores come out transposed.",
        remedy="Multiply the tokens by w_query to get the queries, and by w_key to get the keys.",
        function=exchanging(single_head_attention, ("w_query", "w_key")),
    ),
    mistake(
        id="single_head.value_not_projected",
        clause="single_head.projections",
        sentence="The tokens themselves were mixed instead of their values.",
        engineer="The value GEMM is skipped: the inputs themselves are mixed.",
        remedy="Multiply the tokens by w_value before mixing them.",
        function=altered(single_head_attention, w_value=unprojecting),
    ),
    mistake(
        id="single_head.scores_transposed",
        clause="single_head.scores",
        sentence="The scores are transposed: their rows are keys and their columns are queries.",
        engineer="The operands of the first product are swapped: it gives K Q^T instead of Q K^T.",
        remedy="Multiply query by the transposed key, to get a row of scores for each query.",
        function=departure(single_head_attention, score_every_key=transposed_scores),
    ),
    mistake(
        id="single_head.weights_overwrite_scores",
        clause="single_head.scores",
        sentence="The scores that were returned are the weights: the softmax was written over them.",
        engineer="Scores and probabilities share one buffer, which is returned as both.",
        remedy="Keep the scores in an array of their own.",
        function=weights_over_scores,
        erratum="E001.weights_overwrite_scores",
    ),
    mistake(
        id="single_head.scale_missing",
        clause="single_head.scale.default",
        sentence="The scores were not scaled.",
        engineer="The softmax scale is left at 1.0.",
        remedy="Multiply the dot products by 1/sqrt(d_k), d_k being the width of the queries.",
        function=scaled_by_default(one, "w_query", 1),
        erratum="E001.scores_unscaled",
    ),
    mistake(
        id="single_head.scale_multiplied",
        clause="single_head.scale.default",
        sentence="The scores were multiplied by sqrt(d_k) instead of divided by it.",
        engineer="The scale is sqrt(d) where 1/sqrt(d) is due.",
        remedy="Divide the dot products by sqrt(d_k), d_k being the width of the queries.",
        function=scaled_by_default(math.sqrt, "w_query", 1),
        erratum="E002.scale_multiplied",
    ),
    mistake(
        id="single_head.scale_from_model_width",
        clause="single_head.scale.default",
        sentence="The scale was taken from the width of the tokens instead of that of the queries.",
        engineer="The default scale is derived from the model width instead of head_dim.",
        remedy="Take the scale from the number of columns of w_query: 1/sqrt(d_k).",
        function=scaled_by_default(inverse_root, "x", 1),
        source="https://github.com/karpathy/ng-video-lecture/pull/6",
    ),
    mistake(
        id="single_head.scale_from_number_of_tokens",
        clause="single_head.scale.default",
        sentence="The scale was taken from the number of tokens instead of the width of the queries.",
        engineer="The default scale is derived from the sequence length instead of the width.",
        remedy="Take the scale from the number of columns of w_query: 1/sqrt(d_k).",
        function=scaled_by_default(inverse_root, "x", 0),
    ),
    mistake(
        id="single_head.stated_scale_ignored",
        clause="single_head.scale.explicit",
        sentence="The stated scale was ignored: the default one was applied.",
        engineer="The scale argument does not reach the kernel, which computes its own default.",
        remedy="Multiply the dot products by the given scale in place of 1/sqrt(d_k); 1 leaves them unscaled.",
        function=ignoring(single_head_attention, "scale"),
    ),
    mistake(
        id="single_head.softmax_over_queries",
        clause="single_head.softmax.keys",
        sentence="The softmax was taken over the queries instead of the keys: the columns of the weights sum to 1.",
        engineer="The reduction runs over the query axis instead of the key axis.",
        remedy="Normalise along the last axis, the keys.",
        function=departure(single_head_attention, softmax=over_queries),
        erratum="E000.softmax_axis",
    ),
    mistake(
        id="single_head.softmax_over_all",
        clause="single_head.softmax.keys",
        sentence="The softmax was taken over queries and keys together: all weights sum to 1, not each row.",
        engineer="Row maximum and row sum are reduced over the whole score tile.",
        remedy="Normalise each row by itself, along the last axis.",
        function=departure(single_head_attention, softmax=over_all),
    ),
    mistake(
        id="single_head.softmax_missing",
        clause="single_head.softmax.keys",
        sentence="The scores were used as weights, without a softmax.",
        engineer="Scaled scores are fed to the weighted sum without a softmax.",
        remedy="Take the softmax of each row of scores before weighing the values.",
        function=departure(single_head_attention, softmax=left_out),
        erratum="E001.step_6_heading",
    ),
    mistake(
        id="single_head.no_maximum",
        clause="single_head.softmax.keys",
        sentence="No maximum was subtracted before the exponential, so large scores overflow and give NaN.",
        engineer="The row maximum is not subtracted before exp, which overflows.",
        remedy="Subtract from each row its largest score before taking exponentials.",
        function=departure(single_head_attention, softmax=departure(softmax, subtract=unshifted)),
        erratum="E004.no_maximum",
    ),
    mistake(
        id="single_head.weights_summed_out",
        clause="single_head.output",
        sentence="Each row of weights was summed before it met the values, so every token kept its own value.",
        engineer="The contraction sums the key index out of the weights alone (nm,nd->nd).",
        remedy="Let the key index occur in both factors ('nm,md->nd'), or write weights @ value.",
        function=departure(single_head_attention, weigh_values=summed_out_weights),
        erratum="E000.einsum_sums_out_weights",
    ),
    mistake(
        id="single_head.output_projection_missing",
        clause="single_head.output_projection",
        sentence="The output projection was left out.",
        engineer="The output GEMM is skipped.",
        remedy="Multiply the mixed values by w_output.",
        function=ignoring(single_head_attention, "w_output"),
    ),
    mistake(
        id="single_head.output_projection_transposed",
        clause="single_head.output_projection",
        sentence="The output matrix was transposed.",
        engineer="The output GEMM reads its weight as (out, in).",
        remedy="Multiply the mixed values by w_output as it is.",
        function=altered(single_head_attention, w_output=np.transpose),
    ),
    mistake(
        id="single_head.one_token_not_projected",
        clause="single_head.output_projection",
        sentence="A single token left before the output projection.",
        engineer="With S = 1 the value is returned at once, for nothing is mixed.",
        remedy="Multiply by w_output whatever the number of tokens.",
        function=not_projected(lambda x, _: np.shape(x)[0] == 1),
    ),
    mistake(
        id="single_head.zero_output_matrix_ignored",
        clause="single_head.output_projection",
        sentence="An output matrix of zeros was taken for none.",
        engineer="The test is w_output.any() where w_output is not None is due.",
        remedy="Multiply by w_output whatever it holds.",
        function=not_projected(lambda _, w_output: not np.any(w_output)),
    ),
    widened_through_float16(
        "single_head", OPERATION, "single_head.projections", departure(single_head_attention, widen=through_float16)
    ),
)
