"""What goes wrong in the backward pass: masks found anew, and the products of the gradients."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import (
    Backward,
    backward_with,
    changing,
    in_some,
    repeating,
    replaying,
)
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import altered
from attnspec_reference.attention.attention_logits import add_distance_bias, is_boolean
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.phases import score_every_key
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
    sum_for_keys,
)
from attnspec_reference.precision import Array, Booleans, Integers

_CHUNK = 32
"""Queries that kernels take at a time."""


OTHER_ALIGNMENT = {"top_left": "bottom_right", "bottom_right": "top_left"}


def without(*names: str) -> Backward:
    """Make a backward pass that finds the weights anew without some of the arguments."""
    unstated = {"is_causal": False}
    return repeating(lambda _: {name: unstated.get(name) for name in names})


def of_masks(kind: Callable[[Any], bool], change: Callable[[Any], Any]) -> Backward:
    """Make a backward pass that finds the weights anew with other masks of a kind."""

    def changed(given: Mapping[str, Any]) -> Mapping[str, Any]:
        mask = given["mask"]
        return {} if mask is None or not kind(mask) else {"mask": change(mask)}

    return repeating(changed)


def is_additive(mask: Any) -> bool:
    """Distinguish a mask that is added from one that selects."""
    return not is_boolean(mask)


def with_window(change: Callable[[int | None, int | None], list[int | None]]) -> Backward:
    """Make a backward pass that finds the weights anew in another window."""
    return repeating(lambda given: {} if given["window"] is None else {"window": change(*given["window"])})


def farther(side: int | None, more: int) -> int | None:
    """Move one side of a window."""
    return None if side is None else max(side + more, 0)


def slopes_negated(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise the scores by the distance."""
    slopes = given["alibi_slopes"]
    return {} if slopes is None else {"alibi_slopes": -slopes}


def distance_in_chunks(scores: Array, alibi_slopes: Array | None, offset: Integers | int) -> Array:
    """Bias each chunk of queries as if it were the first."""
    starts = range(0, max(scores.shape[-2], 1), _CHUNK)
    chunks = [add_distance_bias(scores[..., start : start + _CHUNK, :], alibi_slopes, offset) for start in starts]
    return np.concatenate(chunks, axis=-2)


def slopes_of_first_head(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give every head the first slope."""
    slopes = given["alibi_slopes"]
    return {} if slopes is None else {"alibi_slopes": np.broadcast_to(slopes[:1], slopes.shape)}


def lengths_of_first_entry(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give every batch entry the key length of the first."""
    lengths = given["key_lengths"]
    return {} if lengths is None else {"key_lengths": np.broadcast_to(lengths[:1], np.shape(lengths))}


def exchanging(first: str, second: str) -> Backward:
    """Make a backward pass that returns two gradients under each other's name."""

    @wraps(scaled_dot_product_attention_backward)
    def computed(**arguments: Any) -> AttentionGradients:
        gradients = scaled_dot_product_attention_backward(**arguments)
        return gradients._replace(**{first: getattr(gradients, second), second: getattr(gradients, first)})

    return computed


def with_transposed(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
    """Leave the scores untransposed."""
    if of_scores.shape[-2] != of_scores.shape[-1]:
        raise ValueError(
            f"the scores have shape {of_scores.shape}: only as many queries as keys let them go untransposed."
        )
    return sum_for_keys(of_scores.swapaxes(-1, -2), of_queries, attendable.swapaxes(-1, -2))


def narrow(grad_output: Array, value: Array, width: int) -> Array:
    """Compare no more features than so many."""
    return score_every_key(grad_output[..., :width], value[..., :width])


def of_key_width(**arguments: Any) -> AttentionGradients:
    """Let the gradients of the weights hear as many features of the values as a key has."""
    width = np.shape(arguments["key"])[-1]
    return backward_with(score_every_key=lambda grad_output, value: narrow(grad_output, value, width))(**arguments)


def value_gradient_as_wide_as_keys(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Return as many features as a key has."""
    width, expected = np.shape(arguments["key"])[-1], gradient.shape[-1]
    return np.pad(gradient, [(0, 0)] * 3 + [(0, max(width - expected, 0))])[..., :width]


def up_to(gradient: Array, width: int) -> Array:
    """Leave zeros in the features from one on."""
    kept: Booleans = np.less(np.arange(int(gradient.shape[-1])), width)
    return np.where(kept, gradient, 0)


def beyond_value_width_zero(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Leave zeros in the features that a value does not have."""
    return up_to(gradient, np.shape(arguments["value"])[-1])


def tokens_before_heads(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
    """Write (B, S, H, E) where (B, H, S, E) is expected, in the shape of the latter."""
    return np.swapaxes(gradient, 1, 2).reshape(gradient.shape)


def with_gradient_as_weights(_weights: Array, grad_output: Array, attendable: Booleans) -> Array:
    """Give every key of a query the same share of its gradient."""
    count = attendable.sum(axis=-1, keepdims=True)
    return sum_for_keys(attendable / np.where(count == 0, 1, count), grad_output, attendable)


def even_values(**arguments: Any) -> AttentionGradients:
    """Share out the gradient of the output evenly."""
    return in_some(
        backward_with(
            sum_for_keys=lambda of_scores, of_queries, attendable: with_gradient_as_weights(
                of_scores, of_queries, attendable
            ).astype(of_scores.dtype)
        ),
        "grad_value",
    )(**arguments)


def of_mean_loss(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
    """Divide by the number of batch entries."""
    return gradient / max(gradient.shape[0], 1)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa_backward.boolean_mask_ignored": of_masks(is_boolean, lambda _: None),
    "sdpa_backward.boolean_mask_inverted": of_masks(is_boolean, np.logical_not),
    "sdpa_backward.mask_of_first_query": of_masks(lambda _: True, lambda mask: mask[..., :1, :]),
    "sdpa_backward.mask_of_first_entry": of_masks(
        lambda _: True, lambda mask: np.reshape(mask, (-1, *mask.shape[-2:]))[0]
    ),
    "sdpa_backward.float_mask_ignored": of_masks(is_additive, lambda _: None),
    "sdpa_backward.float_mask_as_boolean": of_masks(is_additive, lambda mask: mask != -np.inf),
    "sdpa_backward.float_mask_excludes_nothing": of_masks(
        is_additive, lambda mask: np.where(mask == -np.inf, np.zeros_like(mask), mask)
    ),
    "sdpa_backward.causality_ignored": without("is_causal"),
    "sdpa_backward.always_causal": repeating(lambda _: {"is_causal": True}),
    "sdpa_backward.causality_ignored_for_keys": in_some(without("is_causal"), "grad_key", "grad_value"),
    "sdpa_backward.causality_ignored_for_queries": in_some(without("is_causal"), "grad_query"),
    "sdpa_backward.causality_without_diagonal": replaying(
        causal_mask=lambda **lengths: causal_mask(**{**lengths, "offset": lengths["offset"] - 1})
    ),
    "sdpa_backward.other_alignment": repeating(
        lambda given: {"causal_alignment": OTHER_ALIGNMENT[given["causal_alignment"]]}
    ),
    "sdpa_backward.always_top_left": replaying(
        causal_offset=lambda _alignment, queries, keys, past: past + 0 * (keys - queries)
    ),
    "sdpa_backward.window_ignored": without("window"),
    "sdpa_backward.window_ignored_for_keys": in_some(without("window"), "grad_key", "grad_value"),
    "sdpa_backward.window_sides_swapped": with_window(lambda left, right: [right, left]),
    "sdpa_backward.window_one_more": with_window(lambda left, right: [farther(left, 1), right]),
    "sdpa_backward.window_one_less_right": with_window(lambda left, right: [left, farther(right, -1)]),
    "sdpa_backward.alibi_ignored": without("alibi_slopes"),
    "sdpa_backward.alibi_negated": repeating(slopes_negated),
    "sdpa_backward.alibi_counted_in_chunk": replaying(add_distance_bias=distance_in_chunks),
    "sdpa_backward.alibi_of_first_head": repeating(slopes_of_first_head),
    "sdpa_backward.key_lengths_ignored": without("key_lengths"),
    "sdpa_backward.key_lengths_of_first_entry": repeating(lengths_of_first_entry),
    "sdpa_backward.query_lengths_ignored": without("query_lengths"),
    "sdpa_backward.nan_in_mask_excludes": of_masks(
        lambda mask: not is_boolean(mask), lambda mask: np.where(np.isnan(mask), -np.inf, mask)
    ),
    "sdpa_backward.keys_and_values_exchanged": exchanging("grad_key", "grad_value"),
    "sdpa_backward.queries_and_keys_exchanged": exchanging("grad_query", "grad_key"),
    "sdpa_backward.scores_not_transposed": backward_with(sum_for_keys=with_transposed),
    "sdpa_backward.values_shared_evenly": even_values,
    "sdpa_backward.gradient_taken_as_ones": altered(scaled_dot_product_attention_backward, grad_output=np.ones_like),
    "sdpa_backward.value_features_cut": of_key_width,
    "sdpa_backward.last_value_feature_dropped": backward_with(
        score_every_key=lambda grad_output, value: narrow(grad_output, value, max(value.shape[-1] // 2 * 2, 1))
    ),
    "sdpa_backward.values_as_wide_as_keys": changing(grad_value=value_gradient_as_wide_as_keys),
    "sdpa_backward.values_beyond_key_width": changing(
        grad_value=lambda gradient, arguments: up_to(gradient, np.shape(arguments["key"])[-1])
    ),
    "sdpa_backward.keys_beyond_value_width": changing(
        grad_query=beyond_value_width_zero, grad_key=beyond_value_width_zero
    ),
    "sdpa_backward.query_axes_exchanged": changing(grad_query=tokens_before_heads),
    "sdpa_backward.key_axes_exchanged": changing(grad_key=tokens_before_heads, grad_value=tokens_before_heads),
    "sdpa_backward.queries_halved": changing(grad_query=lambda gradient, _arguments: gradient / 2),
    "sdpa_backward.averaged_over_batch": changing(
        grad_query=of_mean_loss, grad_key=of_mean_loss, grad_value=of_mean_loss
    ),
}
