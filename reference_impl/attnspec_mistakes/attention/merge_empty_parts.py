"""What goes wrong in merging parts without keys, and NaN in parts that have some."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, departure, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.merge_states import (
    MergedStates,
    logarithm_of_total,
    merge_states,
    take_part,
    weigh_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

LOW = -1000.0
LIGHT = 0.5


def stepping(**steps: Any) -> Computation:
    """Replace steps of merging."""
    return departure(merge_states, **steps)


def power_always(logsumexp: Array, largest: Array) -> Array:
    """Take the power of the distance, also where both logarithms are minus infinity."""
    return np.exp(logsumexp - largest)


def total_always(taken_a: Array, taken_b: Array, total: Array) -> Array:
    """Divide by the sum of the weights, also where it is 0."""
    return (taken_a + taken_b) / total[..., np.newaxis]


def weighed_always(output: Array, weight: Array, _logsumexp: Array) -> Array:
    """Multiply by the weight, also where it is 0."""
    return weight[..., np.newaxis] * output


def nan_to_zero(output: Array, weight: Array, _logsumexp: Array) -> Array:
    """Put 0 in the place of NaN and infinity, in whichever part they are."""
    return weight[..., np.newaxis] * np.where(np.isfinite(output), output, 0)


def hidden_if_light(output: Array, weight: Array, logsumexp: Array) -> Array:
    """Put 0 in the place of NaN and infinity in a part of little weight."""
    hidden = (weight < LIGHT)[..., np.newaxis] & ~np.isfinite(output)
    return np.where(hidden, 0, take_part(output, weight, logsumexp))


def plus_infinity(largest: Array, total: Array) -> Array:
    """Give plus infinity for no keys."""
    return np.where(total == 0, np.inf, logarithm_of_total(largest, total))


def finite(largest: Array, total: Array) -> Array:
    """Give a large negative number for no keys."""
    return np.where(total == 0, -1e4, logarithm_of_total(largest, total))


def zero_logarithm(largest: Array, total: Array) -> Array:
    """Give 0 for no keys."""
    return np.where(total == 0, 0, logarithm_of_total(largest, total))


def low_is_empty(logsumexp: Array, largest: Array) -> Array:
    """Take a very low logarithm for that of no keys."""
    return np.where(logsumexp < LOW, 0, weigh_part(logsumexp, largest))


def empty_is_low(logsumexp: Array) -> Array:
    """Put a large negative number in the place of minus infinity."""
    return np.where(np.isneginf(logsumexp), np.asarray(-1e4, dtype=logsumexp.dtype), logsumexp)


def zero_is_empty(logsumexp: Array, largest: Array) -> Array:
    """Take a logarithm of 0 for that of a part that was never written."""
    return np.where(logsumexp == 0, 0, weigh_part(logsumexp, largest))


def with_one_part(change: Callable[[MergedStates, Array, Array, Array, Array], MergedStates]) -> Computation:
    """Merge rightly, and change what is returned by what came in."""

    @in_working_precision
    def computation(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
        merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        return change(merged, output_a, logsumexp_a, output_b, logsumexp_b)

    return computation


def first_if_both(
    merged: MergedStates, output_a: Array, logsumexp_a: Array, _output_b: Array, logsumexp_b: Array
) -> MergedStates:
    """Give the first output where neither part has keys."""
    neither = ((logsumexp_a == -np.inf) & (logsumexp_b == -np.inf))[..., np.newaxis]
    return merged._replace(output=np.where(neither, output_a, merged.output))


def spoilt_by_one(
    merged: MergedStates, _output_a: Array, logsumexp_a: Array, _output_b: Array, logsumexp_b: Array
) -> MergedStates:
    """Give zeros where either part has no keys."""
    one = (logsumexp_a == -np.inf) | (logsumexp_b == -np.inf)
    return MergedStates(np.where(one[..., np.newaxis], 0, merged.output), np.where(one, -np.inf, merged.logsumexp))


def empty_is_half(
    merged: MergedStates, output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array
) -> MergedStates:
    """Average both outputs where one part has no keys."""
    one = ((logsumexp_a == -np.inf) ^ (logsumexp_b == -np.inf))[..., np.newaxis]
    return merged._replace(output=np.where(one, (output_a + output_b) / 2, merged.output))


def other_taken(
    merged: MergedStates, output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array
) -> MergedStates:
    """Give the output of the other part where one has no keys, whatever the logarithm of the other."""
    none_a, none_b = ((logsumexp == -np.inf)[..., np.newaxis] for logsumexp in (logsumexp_a, logsumexp_b))
    other = np.where(none_a, output_b, output_a)
    return merged._replace(output=np.where(none_a ^ none_b, other, merged.output))


def leaking(side: str) -> Computation:
    """Select one side where it has no keys, and multiply the other by 0."""

    @in_working_precision
    def computation(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
        outputs, logarithms = {"a": output_a, "b": output_b}, {"a": logsumexp_a, "b": logsumexp_b}
        merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        leaks = (logarithms[side] == -np.inf)[..., np.newaxis] & ~np.isfinite(outputs[side])
        return merged._replace(output=np.where(leaks, np.nan, merged.output))

    return computation


mistake = partial(Mistake, operation="merge_states")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="merge.both_empty_nan",
        clause="merge.empty.both",
        sentence="Where neither part has keys, the result is NaN.",
        engineer="-inf minus -inf is taken, and the sum of the weights becomes NaN.",
        remedy="Give 0 and minus infinity where both logarithms are minus infinity.",
        function=stepping(weigh_part=power_always, take_part=weighed_always),
        source="https://github.com/vllm-project/vllm/pull/27491",
    ),
    mistake(
        id="merge.divided_by_zero",
        clause="merge.empty.both",
        sentence="Where neither part has keys, 0 was divided by a sum of weights of 0.",
        engineer="The weights are guarded against NaN, the division is not.",
        remedy="Give 0 where the sum of the weights is 0.",
        function=stepping(average_outputs=total_always),
    ),
    mistake(
        id="merge.both_empty_gives_first",
        clause="merge.empty.both",
        sentence="Where neither part has keys, the first output was returned as it is.",
        engineer="The prefix is emitted when both logarithms are -inf; it is trusted to be zeros.",
        remedy="Give zeros where both logarithms are minus infinity.",
        function=with_one_part(first_if_both),
    ),
    mistake(
        id="merge.plus_infinity_for_no_keys",
        clause="merge.empty.both",
        sentence="The logarithm of no keys is plus infinity.",
        engineer="The convention of FlashAttention 2 is written, where -inf is expected.",
        remedy="Return minus infinity, or declare the convention empty_logsumexp=plus_infinity.",
        function=stepping(logarithm_of_total=plus_infinity),
        source="https://github.com/vllm-project/vllm/issues/15492",
    ),
    mistake(
        id="merge.finite_for_no_keys",
        clause="merge.empty.both",
        sentence="The logarithm of no keys is a large negative number, and not minus infinity.",
        engineer="A sentinel of -1e4 is written for rows without keys.",
        remedy="Return minus infinity where neither part has keys.",
        function=stepping(logarithm_of_total=finite),
        source="https://github.com/vllm-project/vllm/issues/49294",
    ),
    mistake(
        id="merge.zero_for_no_keys",
        clause="merge.empty.both",
        sentence="The logarithm of no keys is 0.",
        engineer="A buffer of zeros is left as it is where neither part has keys.",
        remedy="Return minus infinity where neither part has keys.",
        function=stepping(logarithm_of_total=zero_logarithm),
    ),
    mistake(
        id="merge.empty_as_low",
        clause="merge.empty.both",
        sentence="Minus infinity was replaced by a large negative number, whose part then counts.",
        engineer="The logarithms are clamped to -1e4 before they are merged.",
        remedy="Leave out a part whose logarithm is minus infinity.",
        function=altered(merge_states, logsumexp_a=empty_is_low, logsumexp_b=empty_is_low),
    ),
    mistake(
        id="merge.low_as_empty",
        clause="merge.stability",
        sentence="A very low logarithm was taken for that of a part without keys.",
        engineer="Logarithms below a sentinel mean no keys.",
        remedy="Take minus infinity alone for no keys.",
        function=stepping(weigh_part=low_is_empty),
    ),
    mistake(
        id="merge.zero_as_empty",
        clause="merge.weights",
        sentence="A logarithm of 0 was taken for that of a part without keys.",
        engineer="Logarithms are tested for truth: 0 counts as not given.",
        remedy="Weigh a part whose logarithm is 0 by 1.",
        function=stepping(weigh_part=zero_is_empty),
    ),
    mistake(
        id="merge.empty_first_leaks",
        clause="merge.empty.ignored",
        sentence="NaN and infinity of a first part without keys reach the result.",
        engineer="0 times NaN is NaN: only the second part is selected away.",
        remedy="Select where a logarithm is minus infinity, and do not multiply by 0.",
        function=leaking("a"),
    ),
    mistake(
        id="merge.empty_second_leaks",
        clause="merge.empty.ignored",
        sentence="NaN and infinity of a second part without keys reach the result.",
        engineer="0 times NaN is NaN: only the first part is selected away.",
        remedy="Select where a logarithm is minus infinity, and do not multiply by 0.",
        function=leaking("b"),
    ),
    mistake(
        id="merge.empty_parts_leak",
        clause="merge.empty.ignored",
        sentence="NaN and infinity of parts without keys reach the result.",
        engineer="Both outputs are multiplied by their weights; 0 times NaN is NaN.",
        remedy="Select where a logarithm is minus infinity, and do not multiply by 0.",
        function=stepping(take_part=weighed_always),
    ),
    mistake(
        id="merge.empty_part_spoils_row",
        clause="merge.empty.one",
        sentence="Where one part has no keys, the result says that there are no keys at all.",
        engineer="The row is skipped when either logarithm is -inf.",
        remedy="Return the other part where one has no keys.",
        function=with_one_part(spoilt_by_one),
    ),
    mistake(
        id="merge.empty_part_averaged",
        clause="merge.empty.one",
        sentence="Where one part has no keys, its zeros were averaged with the other output.",
        engineer="The fallback for a missing logarithm is the mean of both outputs.",
        remedy="Return the output of the part that has keys.",
        function=with_one_part(empty_is_half),
    ),
    mistake(
        id="merge.nonfinite_zeroed",
        clause="merge.nonfinite",
        sentence="NaN and infinity in outputs were replaced by 0, also where the part has keys.",
        engineer="nan_to_num hides what overflowed before.",
        remedy="Let NaN and infinity of a part with keys through.",
        function=stepping(take_part=nan_to_zero),
    ),
    mistake(
        id="merge.nonfinite_of_light_part_lost",
        clause="merge.nonfinite",
        sentence="NaN and infinity in the output of a lighter part were replaced by 0.",
        engineer="The correction of the lighter split is guarded by isfinite.",
        remedy="Let NaN and infinity of every part with keys through.",
        function=stepping(take_part=hidden_if_light),
    ),
    mistake(
        id="merge.nan_logarithm_beside_no_keys_ignored",
        clause="merge.nonfinite",
        sentence="Where one part has no keys, the output of the other was taken even if its logarithm is NaN.",
        engineer="A split of -inf selects the other accumulator before its lse is looked at.",
        remedy="Let a logarithm that is NaN make its row NaN, also beside a part without keys.",
        function=with_one_part(other_taken),
    ),
)
"""What goes wrong in parts without keys."""
