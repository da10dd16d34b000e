"""What goes wrong when the laws of merging are broken: order, grouping, what the whole gives, and the shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_mistakes.departures import in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.merge_states import MergedStates, merge_states

if TYPE_CHECKING:
    from attnspec_reference.precision import Array

_ALIKE = 1.5
"""Logarithms that lie nearer to each other than this are taken for equal ones."""


@in_working_precision
def first_as_heavier(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Cut the second logarithm at the first one."""
    cut = np.where(logsumexp_a == -np.inf, logsumexp_b, np.minimum(logsumexp_a, logsumexp_b))
    return merge_states(output_a, logsumexp_a, output_b, cut)


@in_working_precision
def alike_as_equal(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Take logarithms that are nearly equal for equal ones."""
    alike = np.abs(np.where(np.isfinite(logsumexp_a), logsumexp_a, np.inf) - logsumexp_b) < _ALIKE
    return merge_states(output_a, logsumexp_a, output_b, np.where(alike, logsumexp_a, logsumexp_b))


@in_working_precision
def sink_in_each_merge(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Merge a sink of 0 with what is merged already."""
    merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    return merge_states(merged.output, merged.logsumexp, np.zeros_like(output_a), np.zeros_like(logsumexp_a))


@in_working_precision
def logarithm_with_an_axis(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Leave the logarithm an axis of length 1 where the outputs have features."""
    merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    return merged._replace(logsumexp=merged.logsumexp[..., np.newaxis])


MISTAKES = (
    Mistake(
        id="merge.first_as_heavier",
        clause="merge.commutative",
        sentence="The first part was taken for the heavier one, so that a heavier second part weighs no more than it.",
        engineer="The running maximum starts from the first state and is never updated; the other weight is clamped.",
        remedy="Take the larger logarithm of both, whichever part it belongs to.",
        operation="merge_states",
        function=first_as_heavier,
    ),
    Mistake(
        id="merge.alike_as_equal",
        clause="merge.associative",
        sentence="Parts whose logarithms lie near each other were averaged, so that the grouping of parts shows.",
        engineer="A fast path takes the plain mean where the two logsumexp differ by less than a threshold.",
        remedy="Weigh each part by its logarithm, however near both lie.",
        operation="merge_states",
        function=alike_as_equal,
    ),
    Mistake(
        id="merge.sink_in_each_merge",
        clause="merge.split",
        sentence="A sink of 0 joined the denominator in each merge, though it belongs to one part.",
        engineer="Softmax-off-by-one is applied in the combine kernel as well as in the splits.",
        remedy="Count a sink in exactly one part, and nothing in the merge.",
        operation="merge_states",
        function=sink_in_each_merge,
    ),
    Mistake(
        id="merge.logarithm_with_an_axis",
        clause="merge.shape",
        sentence="The merged logarithm kept an axis of length 1.",
        engineer="The logsumexp is returned as (B, H, S, 1), as it broadcasts against the output.",
        remedy="Give a number for each row: (B, H, S).",
        operation="merge_states",
        function=logarithm_with_an_axis,
    ),
)
