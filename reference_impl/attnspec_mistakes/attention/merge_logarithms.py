"""What goes wrong in the merged logarithm."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attnspec_mistakes.attention.merge_weights import LOG2_E, in_bfloat16, stepping, to_base_two
from attnspec_mistakes.departures import in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.merge_states import MergedStates, merge_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array


def turned_into_base_two(largest: Array, total: Array) -> Array:
    """Turn the result into a logarithm to the base 2."""
    return (largest + np.log(total)) * LOG2_E


def result_in_bfloat16(largest: Array, total: Array) -> Array:
    """Keep the upper 16 bits of the merged logarithm."""
    return in_bfloat16(largest + np.log(total))


def larger_of_both(largest: Array, _total: Array) -> Array:
    """Give the larger logarithm."""
    return largest


def without_larger(_largest: Array, total: Array) -> Array:
    """Give the logarithm of the sum of the weights alone."""
    return np.log(total)


def total_added(largest: Array, total: Array) -> Array:
    """Add the sum of the weights, and not its logarithm."""
    return np.where(total == 0, -np.inf, largest + total)


def of_mean(largest: Array, total: Array) -> Array:
    """Take the logarithm of the mean of both denominators."""
    return largest + np.log(total / 2)


def relabelled(change: Callable[[MergedStates, Array, Array], MergedStates]) -> Computation:
    """Merge rightly, and change what is returned."""

    @in_working_precision
    def computation(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
        merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        return change(merged, logsumexp_a, logsumexp_b)

    return computation


def of_first(merged: MergedStates, logsumexp_a: Array, _logsumexp_b: Array) -> MergedStates:
    """Give the logarithm of the first part."""
    return merged._replace(logsumexp=logsumexp_a)


def summed(merged: MergedStates, logsumexp_a: Array, logsumexp_b: Array) -> MergedStates:
    """Add both logarithms."""
    return merged._replace(logsumexp=logsumexp_a + logsumexp_b)


mistake = partial(Mistake, operation="merge_states")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="merge.logarithm_in_base_two",
        clause="merge.logsumexp",
        sentence="The merged logarithm is one to the base 2, where both that came in are natural ones.",
        engineer="The result is multiplied by log2(e) on its way out.",
        remedy="Return a logarithm to the base of those that came in.",
        function=stepping(logarithm_of_total=turned_into_base_two),
        source="https://github.com/flashinfer-ai/flashinfer/issues/4485",
    ),
    mistake(
        id="merge.logarithm_mixed",
        clause="merge.logsumexp",
        sentence="A logarithm to the base 2 of the weights was added to a natural one.",
        engineer="log2f of the rescaled sum is added to a maximum in natural units.",
        remedy="Take the natural logarithm of the sum of the weights.",
        function=stepping(logarithm_of_total=to_base_two),
        source="https://github.com/ROCm/fleet-chiplet-megakernel/pull/8",
    ),
    mistake(
        id="merge.merged_logarithm_in_bfloat16",
        clause="merge.logsumexp",
        sentence="The merged logarithm was rounded to bfloat16.",
        engineer="The result is stored in the dtype of the outputs, which was half precision once.",
        remedy="Return the logarithm in float32 or wider.",
        function=stepping(logarithm_of_total=result_in_bfloat16),
    ),
    mistake(
        id="merge.logarithm_of_larger",
        clause="merge.logsumexp",
        sentence="The merged logarithm is the larger of both.",
        engineer="max(lse_a, lse_b) is stored; the logarithm of the rescaled sum is missing.",
        remedy="Add the logarithm of the sum of the weights.",
        function=stepping(logarithm_of_total=larger_of_both),
    ),
    mistake(
        id="merge.logarithm_without_larger",
        clause="merge.logsumexp",
        sentence="The larger logarithm was not added back.",
        engineer="log(sum) is stored without the maximum.",
        remedy="Add the larger logarithm to that of the sum.",
        function=stepping(logarithm_of_total=without_larger),
    ),
    mistake(
        id="merge.total_not_logarithm",
        clause="merge.logsumexp",
        sentence="The sum of the weights was added where its logarithm belongs.",
        engineer="The log of the rescaled sum is missing.",
        remedy="Take the logarithm of the sum of the weights.",
        function=stepping(logarithm_of_total=total_added),
    ),
    mistake(
        id="merge.logarithm_of_mean",
        clause="merge.logsumexp",
        sentence="The merged logarithm is that of the mean of both denominators.",
        engineer="The sum is divided by the number of splits.",
        remedy="Take the logarithm of the sum.",
        function=stepping(logarithm_of_total=of_mean),
    ),
    mistake(
        id="merge.logarithms_summed",
        clause="merge.logsumexp",
        sentence="The logarithms were added, which multiplies the denominators.",
        engineer="Logarithms are reduced by a plain sum.",
        remedy="Take the logarithm of the sum of their powers.",
        function=relabelled(summed),
    ),
    mistake(
        id="merge.logarithm_of_first",
        clause="merge.logsumexp",
        sentence="The logarithm of the first part was returned.",
        engineer="The merged logarithm is not written; the buffer of the first part is.",
        remedy="Return the merged logarithm.",
        function=relabelled(of_first),
    ),
)
"""What goes wrong in the merged logarithm."""
