"""What goes wrong in what attention is built of: softmax, causal masks, splitting and combining heads."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, ignoring, in_working_precision, named_output, patch, through_float16
from attnspec_reference.attention.causal_mask import at_or_before, causal_mask
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.attention.split_heads import split_heads
from attnspec_reference.precision import Array, Booleans, result_dtype


def softmax_with(**steps: object) -> Computation:
    """Make a softmax with some of the reference's steps replaced."""
    return named_output(patch(softmax, **steps))


def mask_with(**steps: object) -> Computation:
    """Make a causal mask with some of the reference's steps replaced."""
    return named_output(patch(causal_mask, **steps))


def over(axis_of: Callable[[Any], int | None]) -> Computation:
    """Make a softmax along the axis that comes of the one that is requested."""
    return named_output(lambda x, axis=-1: softmax(x, axis=axis_of(axis)))


def equal_by_the_last_axis(x: Any, *, axis: int | None = -1) -> Array:
    """Give numbers that are all equal the share of one along the last axis."""
    weights, numbers = softmax(x, axis=axis), np.asarray(x)
    if not numbers.size or not numbers.ndim or not (numbers == numbers.flat[0]).all():
        return weights
    return np.full_like(weights, 1.0 / numbers.shape[-1])


def unshifted(x: Array, _amount: Array) -> Array:
    """Subtract nothing."""
    return x


def largest_of_all(x: Array, _axis: int | None) -> Array:
    """Find one maximum for the whole array."""
    return np.max(x, initial=-np.inf)


def divided_by_sums_without_their_axis(exponentials: Array, axis: int | None) -> Array:
    """Divide by sums that have lost their axis, where that gives as many numbers."""
    divided = exponentials / np.sum(exponentials, axis=axis)
    if divided.shape != exponentials.shape:
        raise ValueError(f"Without their axis the sums make {divided.shape} of {exponentials.shape}.")
    return divided


def largest_without_its_axis(x: Array, axis: int | None) -> Array:
    """Find the largest number along the axis, and lose that axis."""
    if axis is not None and len(set(x.shape)) > 1:
        raise ValueError(f"x has shape {x.shape}; without its axis the maximum only fits axes of equal length.")
    return np.max(x, axis=axis)


def divided_by_a_little_more(exponentials: Array, axis: int | None) -> Array:
    """Add 1e-6 to the sum."""
    total = np.sum(exponentials, axis=axis, keepdims=True)
    return exponentials / (total + np.asarray(1e-6, dtype=exponentials.dtype))


def logarithms(*, x: Array, axis: int | None = -1) -> Array:
    """Give the logarithms of the weights."""
    distances = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return distances - np.log(np.sum(np.exp(distances), axis=axis, keepdims=True))


def summed_in_half_precision(x: Any, *, axis: int | None = -1) -> Array:
    """Round the running sums of half precision to half precision."""
    dtype = result_dtype(x)
    if dtype.itemsize > 2:
        return softmax(x, axis=axis)

    def divided(exponentials: Array, axis: int | None) -> Array:
        along = exponentials.reshape(-1) if axis is None else exponentials
        sums = np.add.accumulate(along.astype(dtype), axis=-1 if axis is None else axis)
        total = np.take(sums, [-1], axis=-1 if axis is None else axis)
        return exponentials / total.astype(exponentials.dtype)

    return patch(softmax, divide_by_sum=divided)(x, axis=axis)


def later(query_length: int, key_length: int, offset: int) -> Booleans:
    """Attend to what comes later, and to nothing else."""
    return ~at_or_before(query_length, key_length, offset)


def before(query_length: int, key_length: int, offset: int) -> Booleans:
    """Leave the own position out."""
    return at_or_before(query_length, key_length, offset - 1)


def at_most_one_ahead(query_length: int, key_length: int, offset: int) -> Booleans:
    """Let in one position too many."""
    return at_or_before(query_length, key_length, offset + 1)


def all_for_a_single_query(query_length: int, key_length: int, offset: int) -> Booleans:
    """Let a single query attend to every key."""
    if query_length == 1:
        return np.ones((1, key_length), dtype=np.bool_)
    return at_or_before(query_length, key_length, offset)


def in_a_byte(query_length: int, key_length: int, offset: int) -> Booleans:
    """Hold positions in a signed byte where both lengths fit into one, whatever is added to them."""
    if max(query_length, key_length) > np.iinfo(np.int8).max:
        return at_or_before(query_length, key_length, offset)
    queries = (np.arange(query_length) + offset).astype(np.int8)
    return np.arange(key_length) <= queries[:, np.newaxis]


def written_as(kept: float, hidden: float, attendable: Booleans) -> Array:
    """Write numbers for keys that may be attended, and for those that may not."""
    return np.where(attendable, kept, hidden)


def marking_what_is_hidden(**arguments: Any) -> Array:
    """Mean by true that a key is masked."""
    mask = causal_mask(**arguments)
    return ~mask if mask.dtype == np.bool_ else mask


def reshaped_instead(x: Array) -> Array:
    """Give the second and the third axis each other's length, and leave the numbers where they lie."""
    first, second, third, fourth = x.shape
    return x.reshape(first, third, second, fourth)


def dealt_out(x: Array, num_heads: int) -> Array:
    """Deal the features out to the heads one by one, like cards."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, width // num_heads, num_heads).swapaxes(-1, -2)


def features_before_heads(x: Array) -> Array:
    """Turn (B, H, S, E) into (B, S, E, H), so that the heads alternate within a token."""
    return x.transpose(0, 2, 3, 1)


def remainder_dropped(x: Array, *, num_heads: int) -> Array:
    """Leave out the features that do not fill a head."""
    return split_heads(x[..., : x.shape[-1] // num_heads * num_heads], num_heads=num_heads)


FUNCTIONS: Mapping[str, Making] = {
    "softmax.first_axis_always": over(lambda _axis: 0),
    "softmax.whole_array_by_default": named_output(partial(softmax, axis=None)),
    "softmax.whole_array_always": over(lambda _axis: None),
    "softmax.last_axis_always": over(lambda _axis: -1),
    "softmax.opposite_axis": over(lambda axis: None if axis is None else -1 - axis),
    "softmax.equal_numbers_by_last_axis": named_output(equal_by_the_last_axis),
    "softmax.null_axis_as_last": over(lambda axis: -1 if axis is None else axis),
    "softmax.no_maximum": softmax_with(subtract=unshifted),
    "softmax.global_maximum": softmax_with(largest=largest_of_all),
    "softmax.maximum_axis_lost": softmax_with(largest=largest_without_its_axis),
    "softmax.total_axis_lost": softmax_with(divide_by_sum=divided_by_sums_without_their_axis),
    "softmax.not_normalised": softmax_with(divide_by_sum=lambda exponentials, _axis: exponentials),
    "softmax.normaliser_multiplied": softmax_with(
        divide_by_sum=lambda exponentials, axis: exponentials * np.sum(exponentials, axis=axis, keepdims=True)
    ),
    "softmax.epsilon_in_denominator": softmax_with(divide_by_sum=divided_by_a_little_more),
    "softmax.powers_of_two": softmax_with(subtract=lambda x, amount: (x - amount) * math.log(2.0)),
    "softmax.logarithm_returned": in_working_precision(logarithms),
    "softmax.maximum_started_at_zero": softmax_with(
        largest=lambda x, axis: np.max(x, axis=axis, keepdims=True, initial=0.0)
    ),
    "softmax.summed_in_half_precision": named_output(summed_in_half_precision),
    "softmax.base_two_before_maximum": softmax_with(
        subtract=lambda x, amount: (x * math.log2(math.e) - amount * math.log2(math.e)) * math.log(2.0)
    ),
    "softmax.maximum_started_at_lowest_float32": softmax_with(
        largest=lambda x, axis: np.max(x, axis=axis, keepdims=True, initial=float(np.finfo(np.float32).min))
    ),
    "softmax.through_float16": softmax_with(widen=through_float16),
    "causal_mask.inverted": mask_with(at_or_before=later),
    "causal_mask.upper_triangle": mask_with(
        at_or_before=lambda query_length, key_length, offset: ~at_or_before(query_length, key_length, offset - 1)
    ),
    "causal_mask.own_position_excluded": mask_with(at_or_before=before),
    "causal_mask.next_position_included": mask_with(at_or_before=at_most_one_ahead),
    "causal_mask.offset_ignored": named_output(ignoring(causal_mask, "offset")),
    "causal_mask.single_query_sees_all": mask_with(at_or_before=all_for_a_single_query),
    "causal_mask.positions_in_a_byte": mask_with(at_or_before=in_a_byte),
    "causal_mask.always_square": named_output(ignoring(causal_mask, "key_length")),
    "causal_mask.true_means_masked": named_output(marking_what_is_hidden),
    "causal_mask.additive_ignored": named_output(ignoring(causal_mask, "additive")),
    "causal_mask.kept_value_four": mask_with(as_additive=partial(written_as, 4.0, -np.inf)),
    "causal_mask.kept_value_one": mask_with(as_additive=partial(written_as, 1.0, -np.inf)),
    "causal_mask.finite_number": mask_with(as_additive=partial(written_as, 0.0, -1000000000.0)),
    "split_heads.not_transposed": named_output(patch(split_heads, heads_before_tokens=reshaped_instead)),
    "split_heads.interleaved": named_output(patch(split_heads, cut_features=dealt_out)),
    "split_heads.tokens_before_heads": named_output(patch(split_heads, heads_before_tokens=lambda x: x)),
    "combine_heads.not_transposed": named_output(patch(combine_heads, tokens_before_heads=reshaped_instead)),
    "combine_heads.interleaved": named_output(patch(combine_heads, tokens_before_heads=features_before_heads)),
    "combine_heads.summed": in_working_precision(lambda *, x: np.sum(x, axis=1)),
    "split_heads.remainder_dropped": named_output(remainder_dropped),
}
