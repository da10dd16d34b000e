"""What goes wrong after the logits of attention: the softmax, its stability, the weighted sum."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attnspec_mistakes.departures import departure
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_softmax import exponentiate, log_sum_exp
from attnspec_reference.attention.phases import weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention"


def largest_over_queries(logits: Array) -> Array:
    """Find the largest logit of each key."""
    return np.max(logits, axis=-2, keepdims=True, initial=-np.inf)


def sum_over_queries(exponentials: Array) -> Array:
    """Sum the exponentials of each key."""
    return np.sum(exponentials, axis=-2, keepdims=True)


def log_sum_exp_of_keys(largest: Array, total: Array) -> Array:
    """Give a logsumexp for each key (B, Hq, Sk)."""
    return np.squeeze(largest + np.log(total), axis=-2)


def largest_over_all(logits: Array) -> Array:
    """Find the largest logit of each head."""
    return np.max(logits, axis=(-2, -1), keepdims=True, initial=-np.inf)


def sum_over_all(exponentials: Array) -> Array:
    """Sum the exponentials of each head."""
    return np.sum(exponentials, axis=(-2, -1), keepdims=True)


def no_maximum(logits: Array) -> Array:
    """Subtract nothing: zeros of the shape of the maxima."""
    return np.zeros((*logits.shape[:-1], 1), dtype=logits.dtype)


def largest_without_its_axis(logits: Array) -> Array:
    """Find the largest logit of each row, and lay these maxima along the keys (B, Hq, 1, Sk)."""
    if logits.shape[-2] != logits.shape[-1]:
        raise ValueError(
            f"The scores have shape {logits.shape}: without their axis the maxima of the queries only fit the "
            "keys when there are as many."
        )
    return np.max(logits, axis=-1, initial=-np.inf)[..., np.newaxis, :]


def log_sum_exp_without_axis(largest: Array, total: Array) -> Array:
    """Add each row's own maximum, which lies along the keys, back to its logarithm."""
    return log_sum_exp(np.swapaxes(largest, -1, -2), total)


def undivided(exponentials: Array, _total: Array) -> Array:
    """Leave the exponentials as they are."""
    return exponentials


def multiplied_by_total(exponentials: Array, total: Array) -> Array:
    """Multiply each row by its sum."""
    return exponentials * total


def divided_even_by_zero(exponentials: Array, total: Array) -> Array:
    """Divide a fully masked row by its sum, too: 0/0 is NaN."""
    return exponentials / total


def equal_shares_of_nothing(exponentials: Array, total: Array) -> Array:
    """Give a row without keys equal weights."""
    return np.where(total == 0, 1 / exponentials.shape[-1], exponentials / total)


def nan_if_excluded(weights: Array, value: Array, _attendable: Booleans) -> Array:
    """Weigh the values without looking which keys are excluded, so that weights of NaN show."""
    return weigh_values(weights, value)


def log_of_total(_largest: Array, total: Array) -> Array:
    """Forget that the largest logit was subtracted."""
    return np.squeeze(np.log(total), axis=-1)


def one_for_a_single_term(logits: Array, largest: Array) -> Array:
    """Give a single key that is not excluded the exponential 1, whatever its logit is."""
    return (logits != -np.inf).astype(logits.dtype) if logits.shape[-1] == 1 else exponentiate(logits, largest)


def log_to_base_two(largest: Array, total: Array) -> Array:
    """Take the logarithm to the base 2."""
    return log_sum_exp(largest, total) / math.log(2.0)


def transposed_weights(weights: Array, value: Array, _attendable: Booleans) -> Array:
    """Weigh the values by columns of the weights instead of rows."""
    if weights.shape[-2] != weights.shape[-1]:
        raise ValueError(
            f"The weights have shape {weights.shape}: they can only be transposed unnoticed when there are as "
            "many queries as keys."
        )
    return weigh_values(np.swapaxes(weights, -1, -2), value)


OVER_QUERIES = departure(
    scaled_dot_product_attention,
    largest_logit=largest_over_queries,
    sum_over_keys=sum_over_queries,
    log_sum_exp=log_sum_exp_of_keys,
)
OVER_ALL = departure(scaled_dot_product_attention, largest_logit=largest_over_all, sum_over_keys=sum_over_all)
WITHOUT_MAXIMUM = departure(scaled_dot_product_attention, largest_logit=no_maximum)
MAXIMUM_AXIS_LOST = departure(
    scaled_dot_product_attention,
    largest_logit=largest_without_its_axis,
    log_sum_exp=log_sum_exp_without_axis,
)
NORMALISER_MULTIPLIED = departure(scaled_dot_product_attention, divide_by_total=multiplied_by_total)

mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.softmax_over_queries",
        clause="sdpa.softmax.keys",
        sentence="The softmax was taken over the queries instead of the keys: the columns of the weights sum to 1.",
        engineer="The reduction runs over the query axis instead of the key axis.",
        remedy="Normalise along the last axis, the keys.",
        function=OVER_QUERIES,
        erratum="E000.softmax_axis",
    ),
    mistake(
        id="sdpa.softmax_over_all",
        clause="sdpa.softmax.keys",
        sentence="The softmax was taken over queries and keys together: the weights of a head sum to 1, not its rows.",
        engineer="Row maximum and row sum are reduced over the whole score tile.",
        remedy="Normalise each row by itself, along the last axis.",
        function=OVER_ALL,
    ),
    mistake(
        id="sdpa.no_maximum",
        clause="sdpa.softmax.stability",
        sentence="No maximum was subtracted before the exponential, so large scores overflow and give NaN.",
        engineer="The row maximum is not subtracted before exp, which overflows.",
        remedy="Subtract from each row its largest score before taking exponentials.",
        function=WITHOUT_MAXIMUM,
        erratum="E004.no_maximum",
    ),
    mistake(
        id="sdpa.global_maximum",
        clause="sdpa.softmax.stability",
        sentence="One maximum was subtracted from all rows, so a row far below it loses all its weights.",
        engineer="One maximum for the whole tile stands in for the row maxima; distant rows underflow to 0/0.",
        remedy="Subtract from each row its own largest score.",
        function=departure(scaled_dot_product_attention, largest_logit=largest_over_all),
        erratum="E000.global_maximum",
    ),
    mistake(
        id="sdpa.maximum_axis_lost",
        clause="sdpa.weights",
        sentence="The row maxima lost their axis, so the maximum of row j was subtracted from column j.",
        engineer="The reduced axis is dropped, so the row maxima broadcast along columns.",
        remedy="Keep the axis of the maximum (keepdims=True in NumPy).",
        function=MAXIMUM_AXIS_LOST,
        erratum="E002.maximum_axis_lost",
    ),
    mistake(
        id="sdpa.weights_not_normalised",
        clause="sdpa.weights",
        sentence="The exponentials were not divided by their sum, so the rows of the weights do not sum to 1.",
        engineer="The final division by the row sum is missing.",
        remedy="Divide each row of exponentials by its sum.",
        function=departure(scaled_dot_product_attention, divide_by_total=undivided),
    ),
    mistake(
        id="sdpa.normaliser_multiplied",
        clause="sdpa.weights",
        sentence="The exponentials were multiplied by their sum instead of divided by it.",
        engineer="The accumulator is multiplied by the row sum instead of by its reciprocal.",
        remedy="Divide each row of exponentials by its sum.",
        function=NORMALISER_MULTIPLIED,
        erratum="E002.normaliser_multiplied",
    ),
    mistake(
        id="sdpa.fully_masked_row_nan",
        clause="sdpa.fully_masked_row",
        sentence="A query that may attend to no key got NaN: its exponentials were divided by a sum of 0.",
        engineer="A row whose sum is 0 is divided by it: 0/0.",
        remedy="Return zeros for such a query, or declare the convention fully_masked_row=nan.",
        function=departure(
            scaled_dot_product_attention, divide_by_total=divided_even_by_zero, weigh_values=nan_if_excluded
        ),
        source="https://github.com/pytorch/pytorch/issues/103963",
    ),
    mistake(
        id="sdpa.fully_masked_row_uniform",
        clause="sdpa.fully_masked_row",
        sentence="A query that may attend to no key got the mean of all values.",
        engineer="A fully masked row falls back to equal probabilities, as with a finite sentinel.",
        remedy="Return zeros for such a query, or declare the convention fully_masked_row=uniform.",
        function=departure(scaled_dot_product_attention, divide_by_total=equal_shares_of_nothing),
        source="https://github.com/microsoft/onnxruntime/pull/28958",
    ),
    mistake(
        id="sdpa.logsumexp_without_maximum",
        clause="sdpa.logsumexp",
        sentence="The largest score was subtracted before the exponentials and not added back to the logsumexp.",
        engineer="The LSE is log(sum) without the row maximum that was subtracted.",
        remedy="Add each row's largest score to the logarithm of its sum.",
        function=departure(scaled_dot_product_attention, log_sum_exp=log_of_total),
    ),
    mistake(
        id="sdpa.logsumexp_base_two",
        clause="sdpa.logsumexp",
        sentence="The logsumexp is a logarithm to the base 2.",
        engineer="The LSE is left in base 2, as exp2 kernels accumulate it, and not multiplied by ln 2.",
        remedy="Take the natural logarithm: multiply by ln 2.",
        function=departure(scaled_dot_product_attention, log_sum_exp=log_to_base_two),
    ),
    mistake(
        id="sdpa.weights_transposed",
        clause="sdpa.output",
        sentence="The values were weighed by the columns of the weights instead of the rows.",
        engineer="The second product reads P transposed.",
        remedy="Multiply the weights by the values without transposing them.",
        function=departure(scaled_dot_product_attention, weigh_values=transposed_weights),
    ),
    mistake(
        id="sdpa.single_key_loses_nan",
        clause="sdpa.nonfinite_input",
        sentence="A single key got the weight 1, also where its score is NaN.",
        engineer="With one key the softmax is skipped: P is 1, and NaN in Q or K never reaches it.",
        remedy="Let the score of a single key take its course, too.",
        function=departure(scaled_dot_product_attention, exponentiate=one_for_a_single_term),
    ),
)
