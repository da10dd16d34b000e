"""What goes wrong where states of attention are merged: their rows, weights and logarithms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.patches import (
    altered,
    cut_to_bfloat16,
    exchanging,
    in_working_precision,
    patch,
    through_float16,
)
from attnspec_reference.attention.merge_states import MergedStates, merge_states

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.mistake import Making
    from attnspec_mistakes.patches import Computation
    from attnspec_reference.precision import Array

BLOCK_OF_FEATURES, BLOCK_OF_QUERIES = 32, 16


def of_first(axis: int) -> Callable[[Array], Array]:
    """Take the first logarithm for all along an axis."""

    def repeated(logsumexp: Array) -> Array:
        if np.ndim(logsumexp) != 3 or not np.shape(logsumexp)[axis]:
            return logsumexp
        return np.broadcast_to(np.take(logsumexp, [0], axis=axis), np.shape(logsumexp)).copy()

    return repeated


def exchanged(first: int, second: int) -> Callable[[Array], Array]:
    """Take one axis for another, where they are equally long."""

    def swapped(logsumexp: Array) -> Array:
        if np.ndim(logsumexp) != 3 or np.shape(logsumexp)[first] != np.shape(logsumexp)[second]:
            return logsumexp
        return np.swapaxes(logsumexp, first, second)

    return swapped


def read_queries_first(logsumexp: Array) -> Array:
    """Read the numbers of (H, S) as if they lay as (S, H)."""
    if np.ndim(logsumexp) != 3:
        return logsumexp
    batch, heads, queries = np.shape(logsumexp)
    return np.ascontiguousarray(logsumexp).reshape(batch, queries, heads).swapaxes(1, 2)


def by_feature(output_a: Any, logsumexp_a: Any, output_b: Any, logsumexp_b: Any) -> MergedStates:
    """Lay the weights along the features, where there are as many as queries."""
    merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    if np.shape(output_a)[2] != np.shape(output_a)[3]:
        return merged
    turned = merge_states(np.swapaxes(output_a, 2, 3), logsumexp_a, np.swapaxes(output_b, 2, 3), logsumexp_b)
    return merged._replace(output=np.swapaxes(turned.output, 2, 3))


def rest_of(axis: int, block: int) -> Computation:
    """Merge what fills whole blocks, and leave the rest of the first part as it is."""

    def computation(output_a: Any, logsumexp_a: Any, output_b: Any, logsumexp_b: Any) -> MergedStates:
        merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        done = np.shape(output_a)[axis] // block * block
        rest = (slice(None),) * axis + (slice(done, None),)
        if done:
            merged.output[rest] = np.asarray(output_a)[rest]
            if axis < 3:
                merged.logsumexp[rest] = np.asarray(logsumexp_a)[rest]
        return merged

    return computation


GAP = 12.0


def stepping(**steps: Any) -> Computation:
    """Replace steps of merging."""
    return patch(merge_states, **steps)


def afterwards(change: Callable[[MergedStates, MergedStates, MergedStates], MergedStates]) -> Computation:
    """Merge rightly, and change what is returned by the two parts that came in."""

    @in_working_precision
    def computation(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
        merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        return change(merged, MergedStates(output_a, logsumexp_a), MergedStates(output_b, logsumexp_b))

    return computation


def by_logarithms(merged: MergedStates, a: MergedStates, b: MergedStates) -> MergedStates:
    """Weigh each output by its logarithm."""
    total = a.logsumexp + b.logsumexp
    share = np.where(np.isfinite(total), a.logsumexp / total, np.where(a.logsumexp == -np.inf, 0, 1))[..., np.newaxis]
    return merged._replace(output=share * a.output + (1 - share) * b.output)


def unequal_shares(merged: MergedStates, *parts: MergedStates) -> MergedStates:
    """Take powers of the distance from the merged logarithm, as it is rounded, for shares."""
    shares = [np.where(own.logsumexp == -np.inf, 0, np.exp(own.logsumexp - merged.logsumexp)) for own in parts]
    weights = [share[..., np.newaxis] for share in shares]
    taken = [np.where(weight == 0, 0, weight * own.output) for weight, own in zip(weights, parts, strict=True)]
    return merged._replace(output=taken[0] + taken[1])


def added(merged: MergedStates, *parts: MergedStates) -> MergedStates:
    """Add the outputs as they are."""
    taken = [np.where((own.logsumexp == -np.inf)[..., np.newaxis], 0, own.output) for own in parts]
    return merged._replace(output=taken[0] + taken[1])


def power_of_two(logsumexp: Array, largest: Array) -> Array:
    """Take 2 to the power."""
    return np.where(logsumexp == -np.inf, 0, np.exp2(logsumexp - largest))


def to_base_two(largest: Array, total: Array) -> Array:
    """Take a logarithm to the base 2 of the sum of the weights."""
    return largest + np.log2(total)


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


def power_of_magnitude(logsumexp: Array, largest: Array) -> Array:
    """Read every logarithm as positive."""
    return np.where(logsumexp == -np.inf, 0, np.exp(np.abs(logsumexp) - np.abs(largest)))


def weight_in_bfloat16(logsumexp: Array, largest: Array) -> Array:
    """Keep the upper 16 bits of each logarithm before it is weighed."""
    return np.where(logsumexp == -np.inf, 0, np.exp(cut_to_bfloat16(logsumexp) - cut_to_bfloat16(largest)))


LOG2_E = math.log2(math.e)


FUNCTIONS: Mapping[str, Making] = {
    "merge.first_head": altered(merge_states, logsumexp_a=of_first(1), logsumexp_b=of_first(1)),
    "merge.first_entry": altered(merge_states, logsumexp_a=of_first(0), logsumexp_b=of_first(0)),
    "merge.first_query": altered(merge_states, logsumexp_a=of_first(2), logsumexp_b=of_first(2)),
    "merge.entries_as_heads": altered(merge_states, logsumexp_a=exchanged(0, 1), logsumexp_b=exchanged(0, 1)),
    "merge.heads_as_queries": altered(merge_states, logsumexp_a=exchanged(1, 2), logsumexp_b=exchanged(1, 2)),
    "merge.logarithms_queries_first": altered(
        merge_states, logsumexp_a=read_queries_first, logsumexp_b=read_queries_first
    ),
    "merge.weights_along_features": by_feature,
    "merge.features_beyond_a_block": rest_of(3, BLOCK_OF_FEATURES),
    "merge.queries_beyond_a_block": rest_of(2, BLOCK_OF_QUERIES),
    "merge.in_powers_of_two": stepping(weigh_part=power_of_two, logarithm_of_total=to_base_two),
    "merge.weights_in_powers_of_two": stepping(weigh_part=power_of_two),
    "merge.not_normalised": stepping(average_outputs=lambda taken_a, taken_b, _total: taken_a + taken_b),
    "merge.normaliser_multiplied": stepping(
        average_outputs=lambda taken_a, taken_b, total: (taken_a + taken_b) * total[..., np.newaxis]
    ),
    "merge.epsilon_in_divisor": stepping(average_outputs=with_epsilon),
    "merge.moved_by_a_difference": moved_by_a_difference,
    "merge.heavier_alone": stepping(weigh_part=larger_alone),
    "merge.averaged": stepping(
        weigh_part=lambda logsumexp, _largest: np.where(logsumexp == -np.inf, 0, 1).astype(logsumexp.dtype)
    ),
    "merge.outputs_added": afterwards(added),
    "merge.weights_exchanged": exchanging(merge_states, ("logsumexp_a", "logsumexp_b")),
    "merge.weighed_by_logarithms": afterwards(by_logarithms),
    "merge.root_of_weights": stepping(
        weigh_part=lambda logsumexp, largest: np.where(logsumexp == -np.inf, 0, np.exp((logsumexp - largest) / 2))
    ),
    "merge.sign_of_logarithms_lost": stepping(weigh_part=power_of_magnitude),
    "merge.distance_cut": stepping(weigh_part=distance_cut),
    "merge.light_part_dropped": stepping(weigh_part=light_dropped),
    "merge.logarithms_in_bfloat16": stepping(weigh_part=weight_in_bfloat16),
    "merge.maximum_not_subtracted": stepping(
        larger_logarithm=lambda logsumexp_a, _logsumexp_b: np.zeros_like(logsumexp_a)
    ),
    "merge.first_subtracted": stepping(
        larger_logarithm=lambda logsumexp_a, logsumexp_b: np.where(logsumexp_a == -np.inf, logsumexp_b, logsumexp_a)
    ),
    "merge.second_subtracted": stepping(
        larger_logarithm=lambda logsumexp_a, logsumexp_b: np.where(logsumexp_b == -np.inf, logsumexp_a, logsumexp_b)
    ),
    "merge.maximum_of_all_rows": stepping(larger_logarithm=largest_of_all),
    "merge.shares_from_rounded_logarithm": afterwards(unequal_shares),
    "merge.through_float16": stepping(widen=through_float16),
    "merge.logarithm_in_base_two": stepping(
        logarithm_of_total=lambda largest, total: (largest + np.log(total)) * LOG2_E
    ),
    "merge.logarithm_mixed": stepping(logarithm_of_total=to_base_two),
    "merge.merged_logarithm_in_bfloat16": stepping(
        logarithm_of_total=lambda largest, total: cut_to_bfloat16(largest + np.log(total))
    ),
    "merge.logarithm_of_larger": stepping(logarithm_of_total=lambda largest, _total: largest),
    "merge.logarithm_without_larger": stepping(logarithm_of_total=lambda _largest, total: np.log(total)),
    "merge.total_not_logarithm": stepping(
        logarithm_of_total=lambda largest, total: np.where(total == 0, -np.inf, largest + total)
    ),
    "merge.logarithm_of_mean": stepping(logarithm_of_total=lambda largest, total: largest + np.log(total / 2)),
    "merge.logarithms_summed": afterwards(lambda merged, a, b: merged._replace(logsumexp=a.logsumexp + b.logsumexp)),
    "merge.logarithm_of_first": afterwards(lambda merged, a, _b: merged._replace(logsumexp=a.logsumexp)),
}
