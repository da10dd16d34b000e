"""What goes wrong where states of attention are merged: rows, weights, logarithms; parts without keys, memory."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import (
    as_it_lies_in_memory,
    overwriting,
    read_forwards,
    remembering,
    tokens_close_together,
    without_gaps,
)
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import (
    Computation,
    altered,
    cut_to_bfloat16,
    exchanging,
    in_working_precision,
    patch,
    through_float16,
)
from attnspec_reference.attention.merge_states import (
    MergedStates,
    logarithm_of_total,
    merge_states,
    take_part,
    weigh_part,
)
from attnspec_reference.precision import Array, Booleans

BLOCK_OF_FEATURES, BLOCK_OF_QUERIES = 32, 16
GAP = 12.0
LOG2_E = math.log2(math.e)


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


LOW = -1000.0

LIGHT = 0.5


def weighed_always(output: Array, weight: Array, _logsumexp: Array) -> Array:
    """Multiply by the weight, also where it is 0."""
    return weight[..., np.newaxis] * output


def is_empty(part: MergedStates) -> Booleans:
    """Find the rows of a part that have no keys (B, H, S, 1)."""
    return (part.logsumexp == -np.inf)[..., np.newaxis]


def leaking(merged: MergedStates, part: MergedStates) -> MergedStates:
    """Multiply a part by 0 where it has no keys."""
    return merged._replace(output=np.where(is_empty(part) & ~np.isfinite(part.output), np.nan, merged.output))


def spoilt_by_one(merged: MergedStates, a: MergedStates, b: MergedStates) -> MergedStates:
    """Give zeros where either part has no keys."""
    one = is_empty(a) | is_empty(b)
    return MergedStates(np.where(one, 0, merged.output), np.where(one[..., 0], -np.inf, merged.logsumexp))


@in_working_precision
def alike_as_equal(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> MergedStates:
    """Take logarithms that are nearly equal for equal ones."""
    alike = np.abs(np.where(np.isfinite(logsumexp_a), logsumexp_a, np.inf) - logsumexp_b) < _ALIKE
    return merge_states(output_a, logsumexp_a, output_b, np.where(alike, logsumexp_a, logsumexp_b))


def first_as_heavier(_merged: MergedStates, a: MergedStates, b: MergedStates) -> MergedStates:
    """Cut the second logarithm at the first one."""
    cut = np.where(a.logsumexp == -np.inf, b.logsumexp, np.minimum(a.logsumexp, b.logsumexp))
    return merge_states(*a, b.output, cut)


def hidden_if_light(output: Array, weight: Array, logsumexp: Array) -> Array:
    """Put 0 for NaN and infinity in a part of little weight."""
    hidden = (weight < LIGHT)[..., np.newaxis] & ~np.isfinite(output)
    return np.where(hidden, 0, take_part(output, weight, logsumexp))


def empty_is_low(logsumexp: Array) -> Array:
    """Put a large negative number for minus infinity."""
    return np.where(np.isneginf(logsumexp), np.asarray(-1e4, dtype=logsumexp.dtype), logsumexp)


_ALIKE = 1.5
"""Logarithms that lie nearer to each other than this are taken for equal ones."""

NAMES = ("output_a", "logsumexp_a", "output_b", "logsumexp_b")


def repeated_by_broadcasting(**arguments: Any) -> MergedStates:
    """Leave every shape to the rules of broadcasting."""
    rows = np.broadcast_shapes(*(np.shape(arguments[f"logsumexp_{side}"]) for side in "ab"))
    whole = np.broadcast_shapes(*(np.shape(arguments[f"output_{side}"]) for side in "ab"), (*rows, 1))
    shapes = {name: whole if name.startswith("output") else whole[:-1] for name in NAMES}
    return merge_states(**{name: np.broadcast_to(arguments[name], shape) for name, shape in shapes.items()})


def axes_filled_in(**arguments: Any) -> MergedStates:
    """Put axes of length 1 where some are missing, and drop them from logarithms that have too many."""
    filled: dict[str, Any] = {}
    for name in NAMES:
        array, rank = np.asarray(arguments[name]), 4 if name.startswith("output") else 3
        if array.ndim == rank + 1 and array.shape[-1] == 1:
            array = array[..., 0]
        filled[name] = array[(np.newaxis,) * (rank - array.ndim)]
    rows = filled["output_a"].shape[:-1]
    logarithms = {name: np.broadcast_to(filled[name], rows) for name in ("logsumexp_a", "logsumexp_b")}
    return merge_states(**{**filled, **logarithms})


def cut_to_first(**arguments: Any) -> MergedStates:
    """Take as much of everything as the first output has."""
    shape = np.shape(arguments["output_a"])
    arrays = {name: np.asarray(array) for name, array in arguments.items()}
    return merge_states(**{name: array[tuple(map(slice, shape[: array.ndim]))] for name, array in arrays.items()})


def made_to_fit(name: str, like: str, axes: int) -> Callable[..., MergedStates]:
    """Lay as many numbers as are due out in the shape that is due, whatever order they are in."""

    def reshaped(**arguments: Any) -> MergedStates:
        for side in "ab":
            given, due = np.asarray(arguments[f"{name}_{side}"]), np.shape(arguments[like])[:axes]
            if given.shape != due and given.size == np.prod(due):
                arguments[f"{name}_{side}"] = given.reshape(due)
        return merge_states(**arguments)

    return reshaped


def fitted(name: str, like: str, *axes: int) -> Callable[..., MergedStates]:
    """Make a merge that repeats or cuts some axes of an input until they are as long as those of another."""

    def merge(**arguments: Any) -> MergedStates:
        array: Array = np.asarray(arguments[name])
        due = np.shape(arguments[like])
        for axis in axes:
            if axis < min(array.ndim, len(due)):
                array = array.take(np.minimum(np.arange(int(due[axis])), array.shape[axis] - 1), axis=axis)
        return merge_states(**{**arguments, name: array})

    return merge


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
    "merge.base_two_as_natural": stepping(
        weigh_part=lambda own, largest: np.where(own == -np.inf, 0, np.exp((own - largest) * LOG2_E))
    ),
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
    "merge.second_weighs_one": afterwards(
        lambda _, a, b: merge_states(
            *a, b.output, np.where(is_empty(b)[..., 0], -np.inf, np.maximum(a.logsumexp, b.logsumexp))
        )
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
    "merge.both_empty_nan": stepping(
        weigh_part=lambda logsumexp, largest: np.exp(logsumexp - largest), take_part=weighed_always
    ),
    "merge.divided_by_zero": stepping(
        average_outputs=lambda taken_a, taken_b, total: (taken_a + taken_b) / total[..., np.newaxis]
    ),
    "merge.both_empty_gives_first": afterwards(
        lambda merged, a, b: merged._replace(output=np.where(is_empty(a) & is_empty(b), a.output, merged.output))
    ),
    "merge.plus_infinity_for_no_keys": stepping(
        logarithm_of_total=lambda largest, total: np.where(total == 0, np.inf, logarithm_of_total(largest, total))
    ),
    "merge.finite_for_no_keys": stepping(
        logarithm_of_total=lambda largest, total: np.where(total == 0, -10000.0, logarithm_of_total(largest, total))
    ),
    "merge.zero_for_no_keys": stepping(
        logarithm_of_total=lambda largest, total: np.where(total == 0, 0, logarithm_of_total(largest, total))
    ),
    "merge.empty_as_low": altered(merge_states, logsumexp_a=empty_is_low, logsumexp_b=empty_is_low),
    "merge.low_as_empty": stepping(
        weigh_part=lambda logsumexp, largest: np.where(logsumexp < LOW, 0, weigh_part(logsumexp, largest))
    ),
    "merge.zero_as_empty": stepping(
        weigh_part=lambda logsumexp, largest: np.where(logsumexp == 0, 0, weigh_part(logsumexp, largest))
    ),
    "merge.empty_first_leaks": afterwards(lambda merged, a, _b: leaking(merged, a)),
    "merge.empty_second_leaks": afterwards(lambda merged, _a, b: leaking(merged, b)),
    "merge.empty_parts_leak": stepping(take_part=weighed_always),
    "merge.empty_part_spoils_row": afterwards(spoilt_by_one),
    "merge.empty_part_averaged": afterwards(
        lambda merged, a, b: merged._replace(
            output=np.where(is_empty(a) ^ is_empty(b), (a.output + b.output) / 2, merged.output)
        )
    ),
    "merge.nonfinite_zeroed": stepping(
        take_part=lambda output, weight, _logsumexp: weight[..., np.newaxis] * np.where(np.isfinite(output), output, 0)
    ),
    "merge.nonfinite_of_light_part_lost": stepping(take_part=hidden_if_light),
    "merge.first_as_heavier": afterwards(first_as_heavier),
    "merge.alike_as_equal": alike_as_equal,
    "merge.sink_in_each_merge": afterwards(
        lambda merged, a, _b: merge_states(*merged, np.zeros_like(a.output), np.zeros_like(a.logsumexp))
    ),
    "merge.logarithm_with_an_axis": afterwards(
        lambda merged, _a, _b: merged._replace(logsumexp=merged.logsumexp[..., np.newaxis])
    ),
    "merge.written_over_first": overwriting(merge_states, "output_a", lambda _arguments, outputs: outputs["output"]),
    "merge.logarithm_written_over_first": overwriting(
        merge_states, "logsumexp_a", lambda _arguments, outputs: outputs["logsumexp"]
    ),
    "merge.second_cleared": overwriting(
        merge_states, "output_b", lambda arguments, _outputs: np.zeros_like(arguments["output_b"])
    ),
    "merge.strides_ignored": altered(merge_states, output_a=as_it_lies_in_memory, output_b=as_it_lies_in_memory),
    "merge.strides_of_logarithms_ignored": altered(
        merge_states, logsumexp_a=as_it_lies_in_memory, logsumexp_b=as_it_lies_in_memory
    ),
    "merge.gaps_ignored": altered(merge_states, **dict.fromkeys(NAMES, without_gaps)),
    "merge.gaps_between_tokens": altered(
        merge_states, **dict.fromkeys(("output_a", "output_b"), tokens_close_together)
    ),
    "merge.read_forwards": altered(merge_states, **dict.fromkeys(NAMES, read_forwards)),
    "merge.logarithm_remembered": remembering(merge_states, "logsumexp_b", "output_a"),
    "merge.output_remembered": remembering(merge_states, "output_a", "logsumexp_b"),
    "merge.parts_repeated": repeated_by_broadcasting,
    "merge.axes_filled_in": axes_filled_in,
    "merge.cut_to_first": cut_to_first,
    "merge.logarithms_reshaped": made_to_fit("logsumexp", "output_a", 3),
    "merge.outputs_reshaped": made_to_fit("output", "output_a", 4),
    **{
        f"merge.{side}_logarithm_unchecked": fitted(name, "output_a", 0, 1, 2)
        for side, name in (("first", "logsumexp_a"), ("second", "logsumexp_b"))
    },
    **{
        f"merge.{side}_output_unchecked": fitted(name, other, 0, 1, 2, 3)
        for side, name, other in (("first", "output_a", "output_b"), ("second", "output_b", "output_a"))
    },
}
