"""Other ways to merge two parts of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import exchanging, in_working_precision, patch
from attnspec_reference.attention.merge_states import check_inputs, merge_states
from attnspec_reference.precision import quietly

if TYPE_CHECKING:
    from attnspec_reference.precision import Array

LOG2_E = np.float64(np.log2(np.e))


def power_of_two(logsumexp: Array, largest: Array) -> Array:
    """Take 2 to the power of a distance that is counted in powers of two."""
    scale = logsumexp.dtype.type(LOG2_E)
    return np.where(logsumexp == -np.inf, 0, np.exp2(logsumexp * scale - largest * scale))


def logarithm_by_powers_of_two(largest: Array, total: Array) -> Array:
    """Add up in powers of two, and turn the sum into a natural logarithm."""
    scale = largest.dtype.type(LOG2_E)
    return np.where(largest == -np.inf, largest, (largest * scale + np.log2(total)) / scale)


def checked(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> None:
    """Refuse what the reference refuses."""
    check_inputs(np.shape(output_a), np.shape(logsumexp_a), np.shape(output_b), np.shape(logsumexp_b))


def selected(output: Array, logsumexp: Array) -> Array:
    """Put zeros into the rows of a part without keys."""
    return np.where((logsumexp == -np.inf)[..., np.newaxis], 0, output)


def shares_of(logsumexp_a: Array, logsumexp_b: Array) -> tuple[Array, Array]:
    """Give the share of each part by the sigmoid of the distance to the other; 0 where a part has no keys."""
    neither = (logsumexp_a == -np.inf) & (logsumexp_b == -np.inf)
    distance = np.where(neither, 0, logsumexp_b - logsumexp_a)
    power = np.exp(-np.abs(distance))
    heavier, lighter = 1 / (1 + power), power / (1 + power)
    return (
        np.where(logsumexp_a == -np.inf, 0, np.where(distance > 0, lighter, heavier)),
        np.where(logsumexp_b == -np.inf, 0, np.where(distance > 0, heavier, lighter)),
    )


def logarithm_of_both(logsumexp_a: Array, logsumexp_b: Array) -> Array:
    """Add to the larger logarithm the logarithm of 1 plus the power of the distance."""
    largest, least = np.maximum(logsumexp_a, logsumexp_b), np.minimum(logsumexp_a, logsumexp_b)
    return np.where(least == -np.inf, largest, largest + np.log1p(np.exp(least - largest)))


@in_working_precision
def by_sigmoid(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> dict[str, Array]:
    """Take the share of each part, and the weighted sum."""
    checked(output_a, logsumexp_a, output_b, logsumexp_b)
    share_a, share_b = shares_of(logsumexp_a, logsumexp_b)
    taken_a = np.where(share_a[..., np.newaxis] == 0, 0, selected(output_a, logsumexp_a) * share_a[..., np.newaxis])
    taken_b = np.where(share_b[..., np.newaxis] == 0, 0, selected(output_b, logsumexp_b) * share_b[..., np.newaxis])
    return {"output": taken_a + taken_b, "logsumexp": logarithm_of_both(logsumexp_a, logsumexp_b)}


@in_working_precision
def moved_from_first(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> dict[str, Array]:
    """Move the first output towards the second by the share of the second."""
    checked(output_a, logsumexp_a, output_b, logsumexp_b)
    share = shares_of(logsumexp_a, logsumexp_b)[1]
    first, second = selected(output_a, logsumexp_a), selected(output_b, logsumexp_b)
    output = first + share[..., np.newaxis] * (second - first)
    alone = (logsumexp_b == -np.inf)[..., np.newaxis]
    return {"output": np.where(alone, first, output), "logsumexp": logarithm_of_both(logsumexp_a, logsumexp_b)}


@in_working_precision
def moved_from_heavier(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> dict[str, Array]:
    """Move the output of the heavier part towards the other by the smaller share."""
    checked(output_a, logsumexp_a, output_b, logsumexp_b)
    share_a, share_b = shares_of(logsumexp_a, logsumexp_b)
    first, second = selected(output_a, logsumexp_a), selected(output_b, logsumexp_b)
    first_is_heavier = (share_a >= share_b)[..., np.newaxis]
    heavier, lighter = np.where(first_is_heavier, first, second), np.where(first_is_heavier, second, first)
    share = np.minimum(share_a, share_b)[..., np.newaxis]
    moved = np.where(share == 0, heavier, heavier + share * (lighter - heavier))
    return {"output": moved, "logsumexp": logarithm_of_both(logsumexp_a, logsumexp_b)}


@in_working_precision
def by_merged_logarithm(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> dict[str, Array]:
    """Take the merged logarithm first, and each weight as a power of the distance from it."""
    checked(output_a, logsumexp_a, output_b, logsumexp_b)
    logsumexp = logarithm_of_both(logsumexp_a, logsumexp_b)
    below = np.where(logsumexp == -np.inf, 0, logsumexp)
    parts = ((output_a, logsumexp_a), (output_b, logsumexp_b))
    weights = [np.exp(own - below)[..., np.newaxis] for _, own in parts]
    taken = [selected(output, own) * weight for (output, own), weight in zip(parts, weights, strict=True)]
    # They sum to 1, but for the rounding of the merged logarithm.
    total = weights[0] + weights[1]
    return {"output": (taken[0] + taken[1]) / np.where(total == 0, 1, total), "logsumexp": logsumexp}


@in_working_precision
def stacked(output_a: Array, logsumexp_a: Array, output_b: Array, logsumexp_b: Array) -> dict[str, Array]:
    """Take a softmax over an axis of two, and the product of shares and outputs."""
    checked(output_a, logsumexp_a, output_b, logsumexp_b)
    logarithms = np.stack([logsumexp_a, logsumexp_b], axis=-1)
    values = np.stack([selected(output_a, logsumexp_a), selected(output_b, logsumexp_b)], axis=-2)
    largest = logarithms.max(axis=-1, keepdims=True)
    weights = np.exp(logarithms - np.where(largest == -np.inf, 0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    shares = weights / np.where(total == 0, 1, total)
    output = (shares[..., np.newaxis] * values).sum(axis=-2)
    return {"output": output, "logsumexp": (largest + np.log(total))[..., 0]}


@quietly
def row_by_row(output_a: Any, logsumexp_a: Any, output_b: Any, logsumexp_b: Any) -> dict[str, Array]:
    """Merge one query after the other, into arrays of zeros."""
    checked(output_a, logsumexp_a, output_b, logsumexp_b)
    output, logsumexp = np.zeros_like(output_a), np.zeros(np.shape(logsumexp_a), dtype=np.asarray(output_a).dtype)
    for query in range(np.shape(output_a)[2]):
        row = slice(query, query + 1)
        output[:, :, row], logsumexp[:, :, row] = merge_states(
            output_a[:, :, row], logsumexp_a[:, :, row], output_b[:, :, row], logsumexp_b[:, :, row]
        )
    return {"output": output, "logsumexp": logsumexp}


def from_second(logsumexp_a: Array, logsumexp_b: Array) -> Array:
    """Subtract the second logarithm where the first lies less than a little above it, and the larger one elsewhere."""
    near = (logsumexp_b > -np.inf) & (logsumexp_a - logsumexp_b < 8)
    return np.where(near, logsumexp_b, np.maximum(logsumexp_a, logsumexp_b))


CONTROLS: tuple[Control, ...] = (
    Control(
        id="merge.by_powers_of_two",
        operation="merge_states",
        sentence="Weights are powers of two, of logarithms that are multiplied by log2(e).",
        function=patch(merge_states, weigh_part=power_of_two, logarithm_of_total=logarithm_by_powers_of_two),
    ),
    Control(
        id="merge.by_sigmoid",
        operation="merge_states",
        sentence="The share of each part is a sigmoid of the distance between the logarithms.",
        function=by_sigmoid,
    ),
    Control(
        id="merge.by_merged_logarithm",
        operation="merge_states",
        sentence="The merged logarithm comes first, and weights are powers of the distance from it.",
        function=by_merged_logarithm,
    ),
    Control(
        id="merge.moved_from_first",
        operation="merge_states",
        sentence="The first output is moved towards the second by its share.",
        function=moved_from_first,
    ),
    Control(
        id="merge.moved_from_heavier",
        operation="merge_states",
        sentence="The output of the heavier part is moved towards the other by the smaller share.",
        function=moved_from_heavier,
    ),
    Control(
        id="merge.second_subtracted_where_near",
        operation="merge_states",
        sentence="The second logarithm is subtracted from both, unless the first is much larger.",
        function=patch(merge_states, larger_logarithm=from_second),
    ),
    Control(
        id="merge.exchanged",
        operation="merge_states",
        sentence="The second part is merged with the first.",
        function=exchanging(merge_states, ("output_a", "output_b"), ("logsumexp_a", "logsumexp_b")),
    ),
    Control(
        id="merge.stacked",
        operation="merge_states",
        sentence="Both parts lie along an axis of two, over which there is a softmax.",
        function=stacked,
    ),
    Control(
        id="merge.row_by_row",
        operation="merge_states",
        sentence="The queries are merged one by one.",
        function=row_by_row,
    ),
)
