"""What goes wrong in the scores of attention and in its masks."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_mistakes.attention.forward.attention_patches import attention_given, attention_with
from attnspec_mistakes.attention.forward.building_blocks import at_most_one_ahead, before, later
from attnspec_mistakes.attention.forward.forward_positions import of_first_entry
from attnspec_mistakes.mistake import Made, Making
from attnspec_mistakes.patches import (
    Computation,
    defaulting,
    ignoring,
    in_working_precision,
    on_calls,
    patch,
    replacing,
)
from attnspec_reference.attention.attention_logits import (
    add_distance_bias,
    attendable_by_mask,
    cap_scores,
    causal_offset,
    distances_ahead,
    exclude_keys,
    is_boolean,
    repeat_heads,
)
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.phases import applied_scale, scale_scores
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans


def scaled_by_default(formula: Callable[[float], float], argument: str, *axes: int) -> Computation:
    """Make an attention whose default scale is a formula of the product of some axis lengths."""

    def scale(arguments: Mapping[str, Any]) -> float:
        shape = np.shape(arguments[argument])
        return formula(math.prod(shape[axis] for axis in axes))

    return defaulting(scaled_dot_product_attention, scale=scale)


def inverse_root(width: float) -> float:
    """Take the right formula, of what may be the wrong number."""
    return 1.0 / math.sqrt(width)


def divided_by_scale(raw_scores: Array, scale: float) -> Array:
    """Divide by the scale."""
    with np.errstate(all="ignore"):
        return raw_scores / scale


def transposed_scores(query: Array, key: Array) -> Array:
    """Put the keys in the rows and the queries in the columns."""
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"query has shape {query.shape}, key {key.shape}: the scores can only be transposed unnoticed "
            "when there are as many queries as keys."
        )
    return key @ np.swapaxes(query, -1, -2)


def tiled_heads(shared: Array, heads: int) -> Array:
    """Repeat the row of heads as a whole: query head h reads head h modulo Hkv."""
    return np.tile(shared, (1, heads // max(shared.shape[1], 1), 1, 1))


def first_head_for_all(shared: Array, heads: int) -> Array:
    """Let every query head read the first head."""
    return np.repeat(shared[:, :1], heads, axis=1)


def by_number_of_shared_heads(shared: Array, heads: int) -> Array:
    """Divide the number of a query head by the number of key heads instead of the size of a group."""
    count = max(shared.shape[1], 1)
    return shared[:, np.arange(heads) // count % count]


def last_head_first(shared: Array, heads: int) -> Array:
    """Give the last group of query heads the first key head."""
    return np.repeat(shared[:, ::-1], heads // max(shared.shape[1], 1), axis=1)


def values_tiled(**arguments: Any) -> Attention:
    """Repeat each key head, but the row of value heads."""
    heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
    attention = scaled_dot_product_attention(**arguments)
    if heads == shared or heads % shared:
        return attention
    order = [head % shared for head in range(heads)]
    for name in ("key", "past_key"):
        if arguments.get(name) is not None:
            arguments[name] = np.repeat(arguments[name], heads // shared, axis=1)
    for name in ("value", "past_value"):
        if arguments.get(name) is not None:
            arguments[name] = arguments[name][:, order]
    return attention._replace(output=scaled_dot_product_attention(**arguments).output)


def pairs_of_features(query: Array, key: Array) -> Array:
    """Go through the features two at a time, and leave out what is left over."""
    width = max(query.shape[-1] // 2 * 2, 1)
    return query[..., :width] @ np.swapaxes(key[..., :width], -1, -2)


def as_wide_as_queries(**arguments: Any) -> Attention:
    """Return as many features as a query has."""
    attention = scaled_dot_product_attention(**arguments)
    width, expected = np.shape(arguments["query"])[-1], attention.output.shape[-1]
    padded = np.pad(attention.output, [(0, 0)] * 3 + [(0, max(width - expected, 0))])
    return attention._replace(output=padded[..., :width])


def keys_averaged(**arguments: Any) -> Attention:
    """Take the mean of the keys instead of the values."""
    arguments["value"], arguments["past_value"] = arguments["key"], arguments.get("past_key")
    return scaled_dot_product_attention(**arguments)


@in_working_precision
def across_heads(**arguments: Any) -> Attention:
    """Let the heads of a token attend to each other: tokens and heads are exchanged."""
    for name in ("query", "key", "value"):
        arguments[name] = np.swapaxes(arguments[name], 1, 2)
    attention = scaled_dot_product_attention(**arguments)
    return attention._replace(output=np.swapaxes(attention.output, 1, 2))


def capped_by(formula: Callable[[Array, float], Array]) -> Computation:
    """Make an attention whose cap has another formula; None and 0 leave the scores as they are."""
    return attention_with(cap_scores=lambda scores, softcap: formula(scores, float(softcap)) if softcap else scores)


def capped_even_by_zero(scores: Array, softcap: float | None) -> Array:
    """Cap by 0, too."""
    if softcap is None:
        return scores
    cap = np.asarray(softcap, dtype=scores.dtype)
    with np.errstate(all="ignore"):
        return cap * np.tanh(scores / cap)


def capped_elsewhere(steps_of: Callable[[float | None], dict[str, object]]) -> Computation:
    """Make an attention that caps at another step than its own."""

    @in_working_precision
    def attend(*, softcap: float | None = None, **arguments: Any) -> Attention:
        return attention_with(**steps_of(softcap))(**arguments)

    return attend


def after_bias(softcap: float | None) -> dict[str, object]:
    """Cap the scores together with their biases."""
    return {"exclude_keys": lambda logits, attendable: exclude_keys(cap_scores(logits, softcap), attendable)}


def after_exclusion(softcap: float | None) -> dict[str, object]:
    """Cap even the minus infinity of excluded keys."""
    return {"exclude_keys": lambda logits, attendable: cap_scores(exclude_keys(logits, attendable), softcap)}


@in_working_precision
def sinks_capped(**arguments: Any) -> Attention:
    """Cap the sinks, too."""
    if arguments.get("sinks") is not None:
        arguments["sinks"] = cap_scores(arguments["sinks"], arguments.get("softcap"))
    return scaled_dot_product_attention(**arguments)


def biased_by(distance: Callable[[Array], Array]) -> Computation:
    """Make an attention that takes another distance from how far a key stands ahead of a query."""

    def bias(scores: Array, alibi_slopes: Array | None, offset: Any) -> Array:
        if alibi_slopes is None:
            return scores
        query_length, key_length = scores.shape[2:]
        ahead = distances_ahead(query_length, key_length, offset).astype(scores.dtype)
        return scores - alibi_slopes[:, np.newaxis, np.newaxis] * distance(ahead)

    return attention_with(add_distance_bias=bias)


def biased_at_the_end(scores: Array, alibi_slopes: Array | None, _offset: Any) -> Array:
    """Take the distances as if the last query always stood at the last key."""
    query_length, key_length = scores.shape[2:]
    return add_distance_bias(scores, alibi_slopes, key_length - query_length)


def slopes_of_first_head(slopes: Array) -> Array:
    """Give every head the slope of the first one."""
    return np.full_like(slopes, slopes[:1].sum())


def standard_slopes(slopes: Array) -> Array:
    """Make slopes by the rule of the paper, whatever slopes are given."""
    heads = len(slopes)
    return (2.0 ** (-8.0 * np.arange(1, heads + 1) / max(heads, 1))).astype(slopes.dtype)


def slopes_of_shared_heads(**arguments: Any) -> Attention:
    """Take the slope by the number of the key head."""
    slopes = arguments.get("alibi_slopes")
    if slopes is not None:
        heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
        arguments["alibi_slopes"] = slopes[np.arange(heads) * shared // heads]
    return scaled_dot_product_attention(**arguments)


@in_working_precision
def bias_scaled_too(**arguments: Any) -> Attention:
    """Bias the dot products and scale the result."""
    if arguments.get("alibi_slopes") is not None:
        scale = applied_scale(arguments.get("scale"), np.shape(arguments["query"])[-1])
        arguments["alibi_slopes"] = arguments["alibi_slopes"] * scale
    return scaled_dot_product_attention(**arguments)


def inverted_boolean(mask: Array) -> Array:
    """Turn true and false around; a float mask has no such sense."""
    return ~mask if is_boolean(mask) else mask


def as_truth_values(mask: Array) -> Array:
    """Take any mask for a Boolean one: 0 is false, every other number is true."""
    return mask.astype(np.bool_)


def first_of_batch(mask: Array) -> Array:
    """Take the mask of the first batch entry for all."""
    return mask[:1] if mask.ndim == 4 else mask


def one_for_each_batch_entry(mask: Array) -> Array:
    """Read the first of three axes as the batch instead of the heads."""
    return mask[:, np.newaxis] if mask.ndim == 3 else mask


def beside_key_heads(**arguments: Any) -> Attention:
    """Let the batch axis of a mask fall on the key heads, where both have one length: scores have an axis of groups."""
    mask, heads, shared = arguments.get("mask"), arguments["query"].shape[1], arguments["key"].shape[1]
    if mask is not None and np.ndim(mask) == 4 and np.shape(mask)[:2] == (shared, 1) and heads > shared > 1:
        arguments["mask"] = np.asarray(mask).repeat(heads // shared, axis=0).swapaxes(0, 1)
    return scaled_dot_product_attention(**arguments)


def subtracted_mask(scores: Array, mask: ArrayLike | None) -> Array:
    """Subtract a float mask."""
    if mask is None or is_boolean(mask):
        return scores
    with np.errstate(all="ignore"):
        return scores - np.asarray(mask).astype(scores.dtype)


def attendable_by_boolean_mask(mask: ArrayLike | None, shape: tuple[int, ...]) -> Booleans:
    """Let only Boolean masks exclude: what a float mask does is left to arithmetic."""
    return attendable_by_mask(mask if mask is not None and is_boolean(mask) else None, shape)


def finite_part_added(scores: Array, mask: ArrayLike | None) -> Array:
    """Add only the finite numbers of a float mask."""
    if mask is None or is_boolean(mask):
        return scores
    numbers = np.asarray(mask).astype(scores.dtype)
    return scores + np.where(numbers == -np.inf, 0, numbers)


@in_working_precision
def mask_scaled_too(**arguments: Any) -> Attention:
    """Add the mask to the dot products and scale the sum."""
    mask = arguments.get("mask")
    if mask is not None and not is_boolean(mask):
        width = arguments["query"].shape[-1]
        arguments["mask"] = mask * applied_scale(arguments.get("scale"), width)
    return scaled_dot_product_attention(**arguments)


without_exclusion = attention_with(add_mask=finite_part_added, exclude_keys=lambda logits, _attendable: logits)


@in_working_precision
def zeroed_after_softmax(**arguments: Any) -> Attention:
    """Take the softmax over all keys, and only then set the weights of excluded keys to zero."""
    excluded = scaled_dot_product_attention(**arguments).logits == -np.inf
    attention = without_exclusion(**arguments)
    weights = np.where(excluded, 0, attention.weights)
    value = repeat_heads(attention.present_value, weights.shape[1])
    return attention._replace(weights=weights, output=weights @ value)


@in_working_precision
def summed_before_the_mask(**arguments: Any) -> Attention:
    """Sum the exponentials of all keys, no higher than 1 each, before those of excluded keys are set to zero."""
    right, attention = scaled_dot_product_attention(**arguments), without_exclusion(**arguments)
    largest = right.logits.max(axis=-1, keepdims=True, initial=-np.inf)
    exponentials = np.exp(np.minimum(attention.logits - largest, 0))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = np.where(right.logits == -np.inf, 0, exponentials / np.where(total == 0, 1, total))
    value = repeat_heads(attention.present_value, weights.shape[1])
    return attention._replace(weights=weights, output=weights @ value)


def mask_of_first_head_in_group(query: ArrayLike, key: ArrayLike, value: ArrayLike, **given: Any) -> Attention:
    """Give all heads that share a key head the mask of the first, where there is one query."""
    mask, heads, shared = given.get("mask"), np.shape(query)[1], np.shape(key)[1]
    packed = np.shape(query)[2] == 1 and mask is not None and np.ndim(mask) > 2 and np.shape(mask)[-3] == heads
    if packed and shared and heads:
        first = [head - head % (heads // shared) for head in range(heads)]
        given = {**given, "mask": np.take(np.asarray(mask), first, axis=-3)}
    return scaled_dot_product_attention(query, key, value, **given)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.query_and_key_swapped": attention_with(score_every_key=transposed_scores),
    "sdpa.scale_missing": scaled_by_default(lambda _width: 1.0, "query", -1),
    "sdpa.scale_multiplied": scaled_by_default(math.sqrt, "query", -1),
    "sdpa.scale_one_over_width": scaled_by_default(lambda width: 1.0 / width, "query", -1),
    "sdpa.scale_from_value_width": scaled_by_default(inverse_root, "value", -1),
    "sdpa.scale_from_all_heads": scaled_by_default(inverse_root, "query", 1, 3),
    "sdpa.scale_from_number_of_heads": scaled_by_default(inverse_root, "query", 1),
    "sdpa.scale_from_number_of_keys": scaled_by_default(inverse_root, "key", 2),
    "sdpa.stated_scale_ignored": ignoring(scaled_dot_product_attention, "scale"),
    "sdpa.zero_scale_as_default": attention_given(scale=lambda scale: scale or None),
    "sdpa.stated_scale_divided": on_calls(
        scaled_dot_product_attention,
        lambda given: given.get("scale") is not None,
        attention_with(scale_scores=divided_by_scale),
    ),
    "sdpa.heads_tiled": attention_with(repeat_heads=tiled_heads),
    "sdpa.first_head_for_all": attention_with(repeat_heads=first_head_for_all),
    "sdpa.negative_scale_made_positive": attention_given(scale=abs),
    "sdpa.heads_by_number_of_groups": attention_with(repeat_heads=by_number_of_shared_heads),
    "sdpa.heads_reversed": attention_with(repeat_heads=last_head_first),
    "sdpa.values_tiled": values_tiled,
    "sdpa.key_of_first_entry": attention_given(key=of_first_entry),
    "sdpa.value_of_first_entry": attention_given(value=of_first_entry),
    "sdpa.key_reshaped": attention_with(
        score_every_key=lambda query, key: query @ key.reshape(*key.shape[:2], key.shape[3], key.shape[2])
    ),
    "sdpa.odd_feature_dropped": attention_with(score_every_key=pairs_of_features),
    "sdpa.output_tokens_before_heads": replacing(
        scaled_dot_product_attention, output=lambda attention, _arguments: np.swapaxes(attention.output, 1, 2)
    ),
    "sdpa.output_as_wide_as_queries": as_wide_as_queries,
    "sdpa.keys_averaged": keys_averaged,
    "sdpa.attends_across_heads": across_heads,
    "sdpa.mask_of_first_query": attention_given(mask=lambda mask: mask[..., :1, :]),
    "sdpa.mask_transposed": attention_given(mask=lambda mask: np.swapaxes(mask, -1, -2)),
    "sdpa.softcap_ignored": ignoring(scaled_dot_product_attention, "softcap"),
    "sdpa.softcap_clipped": capped_by(lambda scores, cap: np.clip(scores, -cap, cap)),
    "sdpa.softcap_not_multiplied_back": capped_by(lambda scores, cap: np.tanh(scores / cap)),
    "sdpa.softcap_argument_undivided": capped_by(lambda scores, cap: cap * np.tanh(scores)),
    "sdpa.softcap_before_scale": capped_elsewhere(
        lambda softcap: {"scale_scores": lambda raw_scores, scale: scale_scores(cap_scores(raw_scores, softcap), scale)}
    ),
    "sdpa.softcap_after_bias": capped_elsewhere(after_bias),
    "sdpa.softcap_after_mask": capped_elsewhere(after_exclusion),
    "sdpa.softcap_zero_applied": attention_with(cap_scores=capped_even_by_zero),
    "sdpa.sinks_capped": sinks_capped,
    "sdpa.alibi_ignored": ignoring(scaled_dot_product_attention, "alibi_slopes"),
    "sdpa.alibi_sign_flipped": attention_given(alibi_slopes=np.negative),
    "sdpa.alibi_signed_distance": biased_by(np.negative),
    "sdpa.alibi_future_unbiased": biased_by(lambda ahead: np.maximum(-ahead, 0)),
    "sdpa.alibi_scaled_too": bias_scaled_too,
    "sdpa.alibi_from_row": attention_with(
        add_distance_bias=lambda scores, alibi_slopes, _offset: add_distance_bias(scores, alibi_slopes, 0)
    ),
    "sdpa.alibi_at_the_end": attention_with(add_distance_bias=biased_at_the_end),
    "sdpa.alibi_of_first_head": attention_given(alibi_slopes=slopes_of_first_head),
    "sdpa.alibi_of_shared_head": slopes_of_shared_heads,
    "sdpa.alibi_standard_slopes": attention_given(alibi_slopes=standard_slopes),
    "sdpa.mask_ignored": ignoring(scaled_dot_product_attention, "mask"),
    "sdpa.mask_subtracted": attention_with(add_mask=subtracted_mask, attendable_by_mask=attendable_by_boolean_mask),
    "sdpa.mask_scaled_too": mask_scaled_too,
    "sdpa.float_mask_as_boolean": attention_given(mask=as_truth_values),
    "sdpa.finite_mask_ignored": attention_with(add_mask=lambda scores, _mask: scores),
    "sdpa.low_mask_excludes": attention_given(
        mask=lambda mask: mask if is_boolean(mask) else np.where(mask <= -10000.0, -np.inf, mask)
    ),
    "sdpa.boolean_mask_inverted": attention_given(mask=inverted_boolean),
    "sdpa.mask_of_ones_hides": attention_given(mask=lambda mask: np.asarray(mask).astype(np.float64) * -1e9),
    "sdpa.boolean_mask_added": attention_with(
        add_mask=lambda scores, mask: scores if mask is None else scores + np.asarray(mask).astype(scores.dtype),
        attendable_by_mask=lambda mask, shape: attendable_by_mask(
            None if mask is None or is_boolean(mask) else mask, shape
        ),
    ),
    "sdpa.excluded_by_a_finite_number": attention_with(
        exclude_keys=lambda logits, attendable: np.where(attendable, logits, -10000.0)
    ),
    "sdpa.zeroed_after_softmax": Made(zeroed_after_softmax, other_ways=(summed_before_the_mask,)),
    "sdpa.mask_of_first_batch_entry": attention_given(mask=first_of_batch),
    "sdpa.mask_of_first_head": attention_given(mask=lambda mask: mask[..., :1, :, :] if mask.ndim >= 3 else mask),
    "sdpa.mask_of_entry_beside_key_heads": beside_key_heads,
    "sdpa.three_axes_as_batch": attention_given(mask=one_for_each_batch_entry),
    "sdpa.causal_ignored": ignoring(scaled_dot_product_attention, "is_causal"),
    "sdpa.causal_inverted": attention_with(causal_mask=patch(causal_mask, at_or_before=later)),
    "sdpa.causal_strict": attention_with(causal_mask=patch(causal_mask, at_or_before=before)),
    "sdpa.causal_one_ahead": attention_with(causal_mask=patch(causal_mask, at_or_before=at_most_one_ahead)),
    "sdpa.top_left_as_bottom_right": attention_with(
        causal_offset=lambda _own, *lengths: causal_offset("bottom_right", *lengths)
    ),
    "sdpa.bottom_right_as_top_left": attention_with(
        causal_offset=lambda _own, *lengths: causal_offset("top_left", *lengths)
    ),
    "sdpa.nan_in_mask_excludes": attention_given(
        mask=lambda mask: mask if is_boolean(mask) else np.where(np.isnan(mask), np.asarray(-np.inf, mask.dtype), mask)
    ),
    "sdpa.mask_of_first_head_of_a_single_query": mask_of_first_head_in_group,
}
