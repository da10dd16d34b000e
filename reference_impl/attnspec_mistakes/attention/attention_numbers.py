"""What goes wrong in the numbers of attention: precision, epsilons, sentinels, NaN, rows without keys."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import by_name, departure
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.attention.attention_softmax import divide_by_total, exponentiate, largest_logit, log_sum_exp
from attnspec_reference.attention.phases import score_every_key, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import result_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from attnspec_mistakes.departures import Computation, Outputs
    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention"
HALF_PRECISION = ("float16", "bfloat16")


def cut_to_bfloat16(array: Array) -> Array:
    """Cut off the last 16 bits of float32, which leaves what bfloat16 holds."""
    bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(array.dtype)


def scores_in_bfloat16(query: Array, key: Array) -> Array:
    """Store the dot products in bfloat16."""
    return cut_to_bfloat16(score_every_key(query, key))


def scores_in_float16(query: Array, key: Array) -> Array:
    """Store the dot products in float16, before they are scaled."""
    return score_every_key(query, key).astype(np.float16).astype(query.dtype)


def weights_in_bfloat16(weights: Array, value: Array, attendable: Booleans) -> Array:
    """Store the weights in bfloat16 before they meet the values."""
    return weigh_values(cut_to_bfloat16(weights), value, attendable)


def approximated(logits: Array, largest: Array) -> Array:
    """Take the power of 1 + x / 65536 for the exponential: off by some 1e-5."""
    shift = np.where(largest == -np.inf, 0, largest)
    return np.maximum(1 + (logits - shift) / 65536, 0) ** 65536


def shifted_by_ten(logits: Array) -> Array:
    """Subtract 10 from every logit, however large."""
    return np.full((*logits.shape[:-1], 1), 10, dtype=logits.dtype)


def divided_by_a_little_more(exponentials: Array, total: Array) -> Array:
    """Add 1e-6 to the sum, lest it be 0."""
    return exponentials / (total + np.asarray(1e-6, dtype=total.dtype))


def a_billion_below(logits: Array, attendable: Booleans) -> Array:
    """Put -1e9 in the place of minus infinity where something else may be attended to."""
    hidden = np.where(attendable.any(axis=-1, keepdims=True), -1e9, -np.inf)
    return np.where(attendable, logits, hidden)


def excluded_by_adding(logits: Array, attendable: Booleans) -> Array:
    """Add minus infinity to what is excluded: NaN and plus infinity survive it."""
    with np.errstate(all="ignore"):
        return logits + np.where(attendable, 0, -np.inf)


def weighed_with_excluded(weights: Array, value: Array, _attendable: Booleans) -> Array:
    """Multiply excluded values by their weight of 0, too."""
    with np.errstate(all="ignore"):
        return weights @ value


def nan_to_zero(weights: Array, value: Array, attendable: Booleans) -> Array:
    """Replace every NaN of the output by 0."""
    output = weigh_values(weights, value, attendable)
    return np.where(np.isnan(output), 0, output)


def finite_scores(query: Array, key: Array) -> Array:
    """Replace NaN by 0 and infinities by large numbers in the scores."""
    return np.nan_to_num(score_every_key(query, key))


def in_single_precision(**arguments: Any) -> Outputs:
    """Compute float64 in float32."""
    dtype = result_dtype(arguments["query"])
    narrowed = {
        name: value.astype(np.float32) if getattr(value, "dtype", None) == np.float64 else value
        for name, value in arguments.items()
    }
    with np.errstate(all="ignore"):
        outputs = by_name(scaled_dot_product_attention(**narrowed))
    return {name: output.astype(dtype) if dtype == np.float64 else output for name, output in outputs.items()}


def returned_in(dtype: DTypeLike) -> Computation:
    """Make an attention whose output always has one dtype."""

    def attend(**arguments: Any) -> Attention:
        attention = scaled_dot_product_attention(**arguments)
        return attention._replace(output=attention.output.astype(dtype))

    return attend


def output_not_narrowed(**arguments: Any) -> Attention:
    """Return the output of half precision in float32, in which it was computed."""
    attention = scaled_dot_product_attention(**arguments)
    narrow = attention.output.dtype.itemsize < 4
    return attention._replace(output=attention.output.astype(np.float32)) if narrow else attention


def summed_in_half_precision(**arguments: Any) -> Attention:
    """Round the running sums of half precision to half precision."""
    dtype = result_dtype(arguments["query"])
    if dtype.itemsize > 2:
        return scaled_dot_product_attention(**arguments)

    def total(exponentials: Array) -> Array:
        so_far = np.zeros((*exponentials.shape[:-1], 1), dtype=dtype)
        for key in range(exponentials.shape[-1]):
            so_far = (so_far.astype(np.float32) + exponentials[..., key : key + 1]).astype(dtype)
        return so_far.astype(np.float32)

    return departure(scaled_dot_product_attention, sum_over_keys=total)(**arguments)


def nan_without_keys(**arguments: Any) -> Attention:
    """Take the mean of no values at all for NaN."""
    attention = scaled_dot_product_attention(**arguments)
    if attention.logits.shape[-1]:
        return attention
    return attention._replace(output=np.full_like(attention.output, np.nan))


def largest_of_some(logits: Array) -> Array:
    """Find the largest logit where there is one."""
    return np.max(logits, axis=-1, keepdims=True)


def with_log_sum_exp(formula: Callable[[Array, Array], Array]) -> Computation:
    """Make an attention with another logsumexp."""
    return departure(scaled_dot_product_attention, log_sum_exp=formula)


def plus_infinity_if_empty(largest: Array, total: Array) -> Array:
    """Give plus infinity for a query without keys."""
    logsumexp = log_sum_exp(largest, total)
    return np.where(logsumexp == -np.inf, np.inf, logsumexp)


def zero_if_empty(largest: Array, total: Array) -> Array:
    """Give 0 for a query without keys."""
    logsumexp = log_sum_exp(largest, total)
    return np.where(logsumexp == -np.inf, 0, logsumexp)


def logsumexp_before_exclusion(**arguments: Any) -> Attention:
    """Take the logsumexp over all scores, excluded keys and biases or not."""
    attention = scaled_dot_product_attention(**arguments)
    largest = largest_logit(attention.scores)
    total = np.sum(exponentiate(attention.scores, largest), axis=-1, keepdims=True)
    return attention._replace(logsumexp=log_sum_exp(largest, total).astype(attention.logsumexp.dtype))


def weights_before_exclusion(**arguments: Any) -> Attention:
    """Return weights as they would be if nothing were excluded or added."""
    attention = scaled_dot_product_attention(**arguments)
    exponentials = exponentiate(attention.scores, largest_logit(attention.scores))
    weights = divide_by_total(exponentials, np.sum(exponentials, axis=-1, keepdims=True))
    return attention._replace(weights=weights.astype(attention.weights.dtype))


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.epsilon_in_denominator",
        clause="sdpa.weights",
        sentence="A small number was added to the sum, so the weights sum to a little less than 1.",
        engineer="1e-6 is added to the row sum as a guard against division by 0.",
        remedy="Divide by the sum itself; treat a row without keys by selection.",
        function=departure(scaled_dot_product_attention, divide_by_total=divided_by_a_little_more),
    ),
    mistake(
        id="sdpa.exponential_approximated",
        clause="sdpa.weights",
        sentence="The exponential is only approximate: it is off by one part in 100000.",
        engineer="exp is a fast approximation with a relative error of about 1e-5.",
        remedy="Use an exponential that is right to the last bits of its dtype.",
        function=departure(scaled_dot_product_attention, exponentiate=approximated),
        source="https://github.com/tenstorrent/tt-metal/pull/13990",
    ),
    mistake(
        id="sdpa.fixed_shift_of_ten",
        clause="sdpa.softmax.stability",
        sentence="10 was subtracted from every score instead of the largest one, so large scores overflow.",
        engineer="A constant stands in for the row maximum.",
        remedy="Subtract from each row its largest score.",
        function=departure(scaled_dot_product_attention, largest_logit=shifted_by_ten),
        source="https://github.com/HabanaAI/vllm-fork/issues/275",
    ),
    mistake(
        id="sdpa.excluded_by_a_billion",
        clause="sdpa.mask.boolean",
        sentence="Excluded keys got the score -1e9, which scores of that size can lie below.",
        engineer="The mask fill is the finite sentinel -1e9; fully masked rows are zeroed, others can leak.",
        remedy="Set the scores of excluded keys to minus infinity.",
        function=departure(scaled_dot_product_attention, exclude_keys=a_billion_below),
        source="https://github.com/flashinfer-ai/flashinfer/issues/4267",
    ),
    mistake(
        id="sdpa.scores_in_bfloat16",
        clause="sdpa.scores",
        sentence="The scores were stored in bfloat16, which keeps three digits.",
        engineer="The score tile is written back in bfloat16 between the two products.",
        remedy="Keep the scores in the dtype of the inputs, or in float32 for half precision.",
        function=departure(scaled_dot_product_attention, score_every_key=scores_in_bfloat16),
    ),
    mistake(
        id="sdpa.scores_in_float16",
        clause="sdpa.precision.accumulation",
        sentence="The dot products were stored in float16 before they were scaled, and overflow beyond 65504.",
        engineer="QK is accumulated or stored in half precision, and scaled afterwards.",
        remedy="Keep the dot products in float32 at least.",
        function=departure(scaled_dot_product_attention, score_every_key=scores_in_float16),
        source="https://github.com/philipturner/metal-flash-attention/issues/8",
    ),
    mistake(
        id="sdpa.weights_in_bfloat16",
        clause="sdpa.output",
        sentence="The weights were stored in bfloat16 before they were multiplied by the values.",
        engineer="P is cast to bfloat16 for the second product, although the inputs are wider.",
        remedy="Keep the weights in the dtype of the inputs, or in float32 for half precision.",
        function=departure(scaled_dot_product_attention, weigh_values=weights_in_bfloat16),
        source="https://github.com/Dao-AILab/flash-attention/pull/2721",
    ),
    mistake(
        id="sdpa.computed_in_float32",
        clause="sdpa.precision.accumulation",
        sentence="float64 inputs were computed in float32.",
        engineer="The float64 path casts to float32 and back.",
        remedy="Compute float64 in float64, or declare the convention accumulation=float32.",
        function=in_single_precision,
        shows_in=("float64",),
        source="https://github.com/tinygrad/tinygrad/pull/5100",
    ),
    mistake(
        id="sdpa.summed_in_half_precision",
        clause="sdpa.precision.accumulation",
        sentence="The sum of the exponentials was kept in half precision, where it soon stops growing.",
        engineer="The row sum is accumulated in half precision and sticks at 2048 (float16) or 256 (bfloat16).",
        remedy="Accumulate sums in float32.",
        function=summed_in_half_precision,
        shows_in=HALF_PRECISION,
        source="https://github.com/tenstorrent/tt-metal/issues/20986",
    ),
    mistake(
        id="sdpa.output_in_float64",
        clause="sdpa.precision.dtype",
        sentence="The output is float64, whatever dtype the query has.",
        engineer="A float64 scalar (np.sqrt) promotes the result, or the output is allocated in the default dtype.",
        remedy="Return the output in the dtype of the query.",
        function=returned_in(np.float64),
        shows_in=("float32", *HALF_PRECISION),
        source="https://github.com/tinygrad/tinygrad/pull/5100",
    ),
    mistake(
        id="sdpa.output_not_narrowed",
        clause="sdpa.precision.dtype",
        sentence="The output of half precision is float32.",
        engineer="The float32 accumulator is returned without the cast to the dtype of the query.",
        remedy="Round the output to the dtype of the query.",
        function=output_not_narrowed,
        shows_in=HALF_PRECISION,
        source="https://github.com/microsoft/onnxscript/pull/2445",
    ),
    mistake(
        id="sdpa.nan_suppressed",
        clause="sdpa.nonfinite_input",
        sentence="A NaN that belongs in the output was replaced by 0.",
        engineer="nan_to_num on the output, meant for rows without keys, hides NaN inputs.",
        remedy="Zero the rows that may attend to no key, and only these, by selection.",
        function=departure(scaled_dot_product_attention, weigh_values=nan_to_zero),
        source="https://github.com/intel/torch-xpu-ops/pull/5022",
    ),
    mistake(
        id="sdpa.scores_made_finite",
        clause="sdpa.nonfinite_input",
        sentence="NaN and infinity were replaced by numbers in the scores.",
        engineer="nan_to_num, or a clamp, on QK.",
        remedy="Let NaN and infinity take their course.",
        function=departure(scaled_dot_product_attention, score_every_key=finite_scores),
    ),
    mistake(
        id="sdpa.excluded_value_leaks",
        clause="sdpa.masked_nonfinite",
        sentence="A NaN in an excluded value reached the output: 0 times NaN is NaN.",
        engineer="Excluded values are multiplied by a probability of 0 instead of being selected away.",
        remedy="Leave excluded values out of the sum, or declare the convention masked_nonfinite=propagates.",
        function=departure(scaled_dot_product_attention, weigh_values=weighed_with_excluded),
        source="https://github.com/pytorch/pytorch/issues/101967",
    ),
    mistake(
        id="sdpa.excluded_key_leaks",
        clause="sdpa.masked_nonfinite",
        sentence="A NaN in an excluded key reached the output: adding minus infinity does not remove it.",
        engineer="Keys are excluded by adding -inf instead of by a select.",
        remedy="Set the scores of excluded keys to minus infinity instead of adding it.",
        function=departure(scaled_dot_product_attention, exclude_keys=excluded_by_adding),
        source="https://github.com/pytorch/xla/pull/9219",
    ),
    mistake(
        id="sdpa.no_keys_nan",
        clause="sdpa.no_keys",
        sentence="Without any key the output is NaN.",
        engineer="Sk == 0 falls through to 0/0.",
        remedy="Return zeros, or declare the convention no_keys=nan.",
        function=nan_without_keys,
        source="https://github.com/HabanaAI/vllm-fork/pull/318",
    ),
    mistake(
        id="sdpa.no_keys_crash",
        clause="sdpa.no_keys",
        sentence="Without any key it stops: there is no largest score to find.",
        engineer="The reduction over keys has no identity, so Sk == 0 raises.",
        remedy="Start the maximum at minus infinity, or declare the convention no_keys=refuse.",
        function=departure(scaled_dot_product_attention, largest_logit=largest_of_some),
        source="https://github.com/Dao-AILab/flash-attention/pull/2470",
    ),
    mistake(
        id="sdpa.logsumexp_plus_infinity",
        clause="sdpa.logsumexp.fully_masked_row",
        sentence="The logsumexp of a query that may attend to no key is plus infinity.",
        engineer="The LSE of a fully masked row is stored as +inf, as FlashAttention 2 does for its backward pass.",
        remedy="Return minus infinity, or declare the convention empty_logsumexp=plus_infinity.",
        function=with_log_sum_exp(plus_infinity_if_empty),
    ),
    mistake(
        id="sdpa.logsumexp_zero_if_empty",
        clause="sdpa.logsumexp.fully_masked_row",
        sentence="The logsumexp of a query that may attend to no key is 0.",
        engineer="The LSE buffer is zero-initialised and a fully masked row exits early.",
        remedy="Return minus infinity, the logarithm of an empty sum.",
        function=with_log_sum_exp(zero_if_empty),
    ),
    mistake(
        id="sdpa.logsumexp_is_maximum",
        clause="sdpa.logsumexp",
        sentence="The logsumexp is the largest score alone.",
        engineer="The row maximum is stored as LSE; log(sum) is not added.",
        remedy="Add the logarithm of the sum to the largest score.",
        function=with_log_sum_exp(lambda largest, total: np.where(total == 0, -np.inf, largest)[..., 0]),
        source="https://github.com/vllm-project/flash-attention/pull/34",
    ),
    mistake(
        id="sdpa.logsumexp_before_exclusion",
        clause="sdpa.logsumexp",
        sentence="The logsumexp was taken over all keys, the excluded ones too.",
        engineer="The LSE is reduced over raw scores, before bias and mask.",
        remedy="Take the logsumexp of the logits that the softmax sees.",
        function=logsumexp_before_exclusion,
    ),
    mistake(
        id="sdpa.weights_before_exclusion",
        clause="sdpa.weights",
        sentence="The weights that were returned ignore masks and biases, but the output is right.",
        engineer="The returned probabilities are recomputed from raw scores.",
        remedy="Return the weights that the values were multiplied by.",
        function=weights_before_exclusion,
        source="https://github.com/pytorch/pytorch/issues/160064",
    ),
    widened_through_float16(
        "sdpa", OPERATION, "sdpa.precision.accumulation", departure(scaled_dot_product_attention, widen=through_float16)
    ),
)
