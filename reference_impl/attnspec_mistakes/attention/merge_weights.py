"""What goes wrong in weighing two parts: bases, maxima, shares, averages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.attention.merge_states import MergedStates, merge_states

if TYPE_CHECKING:
    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

GAP = 12.0


def stepping(**steps: Any) -> Computation:
    """Replace steps of merging."""
    return departure(merge_states, **steps)


def power_of_two(logsumexp: Array, largest: Array) -> Array:
    """Take 2 to the power."""
    return np.where(logsumexp == -np.inf, 0, np.exp2(logsumexp - largest))


def to_base_two(largest: Array, total: Array) -> Array:
    """Take a logarithm to the base 2 of the sum of the weights."""
    return largest + np.log2(total)


def not_divided(taken_a: Array, taken_b: Array, _total: Array) -> Array:
    """Leave out the division."""
    return taken_a + taken_b


def multiplied(taken_a: Array, taken_b: Array, total: Array) -> Array:
    """Multiply by the sum of the weights."""
    return (taken_a + taken_b) * total[..., np.newaxis]


def with_epsilon(taken_a: Array, taken_b: Array, total: Array) -> Array:
    """Add a small number to the divisor."""
    return (taken_a + taken_b) / (total + total.dtype.type(1e-5))[..., np.newaxis]


def moved_by_a_difference(**arguments: Any) -> MergedStates:
    """Go from the second output to the first by the share of the first, in the dtype of the outputs."""
    merged = merge_states(**arguments)
    first, second = (np.asarray(arguments[f"output_{side}"]) for side in "ab")
    none = np.logical_or(*(np.equal(arguments[f"logsumexp_{side}"], -np.inf) for side in "ab"))
    with np.errstate(all="ignore"):
        share = np.exp(np.subtract(arguments["logsumexp_a"], merged.logsumexp, dtype=np.float64)).astype(first.dtype)
        moved = second + share[..., np.newaxis] * (first - second)
    return merged._replace(output=np.where(none[..., np.newaxis], merged.output, moved).astype(first.dtype))


def larger_alone(logsumexp: Array, largest: Array) -> Array:
    """Give all weight to the heavier part."""
    return np.where((logsumexp == largest) & (logsumexp != -np.inf), 1, 0).astype(logsumexp.dtype)


def alike(logsumexp: Array, _largest: Array) -> Array:
    """Give every part with keys the same weight."""
    return np.where(logsumexp == -np.inf, 0, 1).astype(logsumexp.dtype)


def not_shifted(logsumexp_a: Array, _logsumexp_b: Array) -> Array:
    """Subtract nothing."""
    return np.zeros_like(logsumexp_a)


def first_always(logsumexp_a: Array, logsumexp_b: Array) -> Array:
    """Subtract the first logarithm, whichever is larger."""
    return np.where(logsumexp_a == -np.inf, logsumexp_b, logsumexp_a)


def second_always(logsumexp_a: Array, logsumexp_b: Array) -> Array:
    """Subtract the second logarithm, whichever is larger."""
    return np.where(logsumexp_b == -np.inf, logsumexp_a, logsumexp_b)


def largest_of_all(logsumexp_a: Array, logsumexp_b: Array) -> Array:
    """Subtract the largest logarithm of all rows."""
    larger = np.maximum(logsumexp_a, logsumexp_b)
    largest = larger.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.where(larger == -np.inf, larger, largest)


def distance_cut(logsumexp: Array, largest: Array) -> Array:
    """Let no part lie further below the other than so much."""
    return np.where(logsumexp == -np.inf, 0, np.exp(np.maximum(logsumexp - largest, -GAP)))


def light_dropped(logsumexp: Array, largest: Array) -> Array:
    """Leave out a part whose weight is below a thousandth."""
    weight = np.exp(logsumexp - largest)
    return np.where((logsumexp == -np.inf) | (weight < 1e-3), 0, weight)


def root_of_power(logsumexp: Array, largest: Array) -> Array:
    """Take the root of each weight."""
    return np.where(logsumexp == -np.inf, 0, np.exp((logsumexp - largest) / 2))


def power_of_magnitude(logsumexp: Array, largest: Array) -> Array:
    """Read every logarithm as positive."""
    return np.where(logsumexp == -np.inf, 0, np.exp(np.abs(logsumexp) - np.abs(largest)))


def in_bfloat16(logsumexp: Array) -> Array:
    """Keep the upper 16 bits of a float32."""
    bits = logsumexp.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(logsumexp.dtype)


def weight_in_bfloat16(logsumexp: Array, largest: Array) -> Array:
    """Keep the upper 16 bits of each logarithm before it is weighed."""
    return np.where(logsumexp == -np.inf, 0, np.exp(in_bfloat16(logsumexp) - in_bfloat16(largest)))


def parts_exchanged(output_a: Any, logsumexp_a: Any, output_b: Any, logsumexp_b: Any) -> MergedStates:
    """Weigh each output by the logarithm of the other part."""
    return merge_states(output_a, logsumexp_b, output_b, logsumexp_a)


@in_working_precision
def by_logarithms(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Weigh each output by its logarithm."""
    merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    total = logsumexp_a + logsumexp_b
    share = np.where(np.isfinite(total), logsumexp_a / total, np.where(logsumexp_a == -np.inf, 0, 1))[..., np.newaxis]
    return merged._replace(output=share * output_a + (1 - share) * output_b)


@in_working_precision
def unequal_shares(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Take powers of the distance from the merged logarithm, as it is rounded, for shares."""
    merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    shares = [
        np.where(own == -np.inf, 0, np.exp(own - merged.logsumexp))[..., np.newaxis]
        for own in (logsumexp_a, logsumexp_b)
    ]
    taken = [
        np.where(share == 0, 0, share * output) for share, output in zip(shares, (output_a, output_b), strict=True)
    ]
    return merged._replace(output=taken[0] + taken[1])


@in_working_precision
def added(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Add the outputs as they are."""
    merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    taken = [
        np.where((own == -np.inf)[..., np.newaxis], 0, output)
        for own, output in ((logsumexp_a, output_a), (logsumexp_b, output_b))
    ]
    return merged._replace(output=taken[0] + taken[1])


mistake = partial(Mistake, operation="merge_states")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="merge.in_powers_of_two",
        clause="merge.weights",
        sentence="Natural logarithms were read as logarithms to the base 2, in the weights and in the result.",
        engineer="exp2 and log2 stand where exp and log belong; the inputs were not multiplied by log2(e).",
        remedy="Take powers of e, or declare the convention logsumexp_base=2.",
        function=stepping(weigh_part=power_of_two, logarithm_of_total=to_base_two),
        source="https://github.com/sgl-project/sglang/issues/40903",
    ),
    mistake(
        id="merge.weights_in_powers_of_two",
        clause="merge.weights",
        sentence="The weights are powers of 2 of natural logarithms.",
        engineer="exp2f is called without the factor log2(e).",
        remedy="Take e to the power of each distance, or 2 to the power of log2(e) times it.",
        function=stepping(weigh_part=power_of_two),
        source="https://github.com/vllm-project/vllm/pull/28840",
    ),
    mistake(
        id="merge.not_normalised",
        clause="merge.average",
        sentence="The weighed outputs were not divided by the sum of the weights.",
        engineer="The normaliser is missing after both accumulators are rescaled.",
        remedy="Divide by the sum of both weights.",
        function=stepping(average_outputs=not_divided),
    ),
    mistake(
        id="merge.normaliser_multiplied",
        clause="merge.average",
        sentence="The weighed outputs were multiplied by the sum of the weights.",
        engineer="The reciprocal of the normaliser is taken twice.",
        remedy="Divide by the sum of both weights.",
        function=stepping(average_outputs=multiplied),
    ),
    mistake(
        id="merge.epsilon_in_divisor",
        clause="merge.average",
        sentence="A small number was added to the sum of the weights, so the shares do not sum to 1.",
        engineer="The division is guarded by adding an epsilon.",
        remedy="Divide by the sum itself, and treat a row without keys apart.",
        function=stepping(average_outputs=with_epsilon),
    ),
    mistake(
        id="merge.moved_by_a_difference",
        clause="merge.stability",
        sentence="The second output was moved towards the first by a share of their difference, which overflows.",
        engineer="lerp(b, a, share) is taken in the dtype of the outputs.",
        remedy="Weigh each output by its share, and add them.",
        function=moved_by_a_difference,
        shows_in=("float16",),
    ),
    mistake(
        id="merge.heavier_alone",
        clause="merge.average",
        sentence="The output of the heavier part was returned, and the other left out.",
        engineer="argmax over the parts replaces the rescaled sum.",
        remedy="Average both outputs by their weights.",
        function=stepping(weigh_part=larger_alone),
    ),
    mistake(
        id="merge.averaged",
        clause="merge.weights",
        sentence="Both outputs count alike, whatever their logarithms say.",
        engineer="The mean over splits is taken; the logarithms are not read.",
        remedy="Weigh each output by e to the power of its logarithm.",
        function=stepping(weigh_part=alike),
    ),
    mistake(
        id="merge.outputs_added",
        clause="merge.average",
        sentence="The outputs were added as they are.",
        engineer="Partial outputs are reduced by a plain sum.",
        remedy="Average the outputs by their weights.",
        function=added,
    ),
    mistake(
        id="merge.weights_exchanged",
        clause="merge.weights",
        sentence="Each output was weighed by the logarithm of the other part.",
        engineer="The scales of prefix and suffix are swapped.",
        remedy="Weigh each output by its own logarithm.",
        function=parts_exchanged,
    ),
    mistake(
        id="merge.weighed_by_logarithms",
        clause="merge.weights",
        sentence="The outputs were weighed by the logarithms themselves, and not by their powers.",
        engineer="The exponential is missing from the weights.",
        remedy="Take e to the power of each logarithm.",
        function=by_logarithms,
    ),
    mistake(
        id="merge.root_of_weights",
        clause="merge.weights",
        sentence="The weights are the roots of what they should be.",
        engineer="Half of the distance enters the exponential.",
        remedy="Take e to the power of the whole distance.",
        function=stepping(weigh_part=root_of_power),
    ),
    mistake(
        id="merge.sign_of_logarithms_lost",
        clause="merge.weights",
        sentence="Negative logarithms were read as positive ones.",
        engineer="The absolute value of the logarithms enters the exponential.",
        remedy="Keep the sign of each logarithm.",
        function=stepping(weigh_part=power_of_magnitude),
    ),
    mistake(
        id="merge.distance_cut",
        clause="merge.weights",
        sentence="The distance between the logarithms was cut at 12, so a light part weighs too much.",
        engineer="The exponent is clamped against underflow.",
        remedy="Let the weight of a light part become as small as it is.",
        function=stepping(weigh_part=distance_cut),
    ),
    mistake(
        id="merge.light_part_dropped",
        clause="merge.weights",
        sentence="A part whose weight is below a thousandth was left out.",
        engineer="Splits below a threshold are skipped.",
        remedy="Count every part that has keys.",
        function=stepping(weigh_part=light_dropped),
    ),
    mistake(
        id="merge.logarithms_in_bfloat16",
        clause="merge.weights",
        sentence="The logarithms were rounded to bfloat16 before the weights were taken.",
        engineer="The logarithms of the parts are stored in half precision between two kernels.",
        remedy="Keep the logarithms in float32 or wider.",
        function=stepping(weigh_part=weight_in_bfloat16),
    ),
    mistake(
        id="merge.maximum_not_subtracted",
        clause="merge.stability",
        sentence="Nothing was subtracted from the logarithms, so that powers of large ones overflow.",
        engineer="exp is taken of the raw logarithms.",
        remedy="Subtract the larger logarithm of each row before taking powers.",
        function=stepping(larger_logarithm=not_shifted),
    ),
    mistake(
        id="merge.first_subtracted",
        clause="merge.stability",
        sentence="The first logarithm was subtracted, so that the power of a much larger second one overflows.",
        engineer="The running maximum is never updated by the second part.",
        remedy="Subtract the larger logarithm of each row.",
        function=stepping(larger_logarithm=first_always),
        source="https://github.com/paiml/aprender/issues/2753",
    ),
    mistake(
        id="merge.second_subtracted",
        clause="merge.stability",
        sentence="The second logarithm was subtracted, so that the power of a much larger first one overflows.",
        engineer="The new maximum overwrites the old one, whichever is larger.",
        remedy="Subtract the larger logarithm of each row.",
        function=stepping(larger_logarithm=second_always),
    ),
    mistake(
        id="merge.maximum_of_all_rows",
        clause="merge.stability",
        sentence="The largest logarithm of all queries was subtracted, so that rows far below it lose their weights.",
        engineer="The maximum is reduced over the tile instead of the row.",
        remedy="Subtract the larger logarithm of each row.",
        function=stepping(larger_logarithm=largest_of_all),
    ),
    mistake(
        id="merge.shares_from_rounded_logarithm",
        clause="merge.stability",
        sentence="Shares were powers of the distance from the rounded merged logarithm, and do not sum to 1.",
        engineer="The scales are exp(lse_i - lse) with a large lse, and are not divided by their sum.",
        remedy="Divide by the sum of the weights, or take distances from the larger logarithm.",
        function=unequal_shares,
    ),
    widened_through_float16("merge", "merge_states", "merge.average", stepping(widen=through_float16)),
)
"""What goes wrong in the weights."""
