"""What goes wrong around merged states: parts without keys, laws, memory, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.merged_weights import afterwards, stepping
from attnspec_mistakes.misread_memory import (
    as_it_lies_in_memory,
    overwriting,
    read_forwards,
    remembering,
    tokens_close_together,
    without_gaps,
)
from attnspec_mistakes.patches import altered, in_working_precision
from attnspec_reference.attention.merge_states import (
    MergedStates,
    logarithm_of_total,
    merge_states,
    take_part,
    weigh_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.mistake import Making
    from attnspec_reference.precision import Array, Booleans

LOW = -1000.0

LIGHT = 0.5


def weighed_always(output: Array, weight: Array, _logsumexp: Array) -> Array:
    """Multiply by the weight, also where it is 0."""
    return weight[..., np.newaxis] * output


def is_empty(part: MergedStates) -> Booleans:
    """Tell the rows of a part that have no keys (B, H, S, 1)."""
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
    """Put 0 in the place of NaN and infinity in a part of little weight."""
    hidden = (weight < LIGHT)[..., np.newaxis] & ~np.isfinite(output)
    return np.where(hidden, 0, take_part(output, weight, logsumexp))


def empty_is_low(logsumexp: Array) -> Array:
    """Put a large negative number in the place of minus infinity."""
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
    cut = {
        name: np.asarray(array)[tuple(slice(length) for length in shape[: np.ndim(array)])]
        for name, array in arguments.items()
    }
    return merge_states(**cut)


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
