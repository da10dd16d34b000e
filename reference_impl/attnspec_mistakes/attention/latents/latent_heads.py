"""What goes wrong in latent attention: the scale, the rotated parts, the matrices of heads, caches of latents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.latents.latent_patches import (
    attending,
    features_cut,
    first_where_empty,
    kept_in_float16,
    mask_cut_in_front,
    nan_without_tokens,
    not_narrowed,
    nothing_subtracted,
    of_first_entry,
    one_query_sees_all,
    tokens_cut,
    tokens_repeated,
    tokens_viewed,
    weighed_with_all,
    with_empty_blocks,
    with_scores_over_queries,
)
from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, remembering
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import (
    Computation,
    altered,
    defaulting,
    exchanging,
    ignoring,
    in_single_precision,
    patch,
    replacing,
)
from attnspec_reference.attention.latent_attention import (
    LatentAttention,
    join_rotated_keys,
    join_rotated_queries,
    latent_attention,
    past_and_new,
    prepend_tokens,
    scale_of_joined,
)
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import Array


def scaled_by(formula: Callable[[Mapping[str, Any]], float]) -> Computation:
    """Make a latent attention whose default scale is a formula of its arguments."""
    return defaulting(latent_attention, scale=formula)


def width_of(arguments: Mapping[str, Any], *names: str) -> int:
    """Count the features of some tensors together."""
    return sum(int(np.shape(arguments[name])[-1]) for name in names)


def magnitude_of(arguments: Mapping[str, Any]) -> float:
    """Return the magnitude, which is 1 where it is not stated."""
    return float(arguments.get("magnitude", 1.0))


def by_magnitude(power: float) -> Computation:
    """Make a latent attention whose default scale has another power of the magnitude."""
    return scaled_by(
        lambda given: magnitude_of(given) ** power / math.sqrt(width_of(given, "query_content", "query_rotary"))
    )


def rotary_not_scaled(query: Array, key: Array, *others: Any, scale: float, **given: Any) -> Any:
    """Undo the scale in the last feature of a query, of those that are rotated."""
    last = np.ones(query.shape[-1], dtype=query.dtype)
    last[-1] = 1.0 / scale if scale else 1.0
    return scaled_dot_product_attention(query * last, key, *others, scale=scale, **given)


def magnified_rotation(query_rotary: Any, *, magnitude: float = 1.0, **others: Any) -> LatentAttention:
    """Multiply the rotated queries by the squared magnitude, beside the scale."""
    rotary = np.asarray(query_rotary)
    return latent_attention(query_rotary=(rotary * magnitude**2).astype(rotary.dtype), magnitude=magnitude, **others)


def rows_of_heads(rotated: Array, heads: int) -> Array:
    """Repeat each token for all heads, and then take the rows for heads after heads: (B, H, S, Dr)."""
    batch, tokens, width = rotated.shape
    return np.repeat(rotated, heads, axis=1).reshape(batch, heads, tokens, width)


def turned_for_each_head(rotated: Array, heads: int) -> Array:
    """Rotate the tokens by one for each head, as if each had its own rotated key."""
    return np.stack([np.roll(rotated, head, axis=1) for head in range(heads)], axis=1)


def keys_with(rotated_of: Callable[[Array, int], Array]) -> Callable[[Array, Array], Array]:
    """Make a way to join keys and rotated keys, whose rotated keys differ from head to head."""
    return lambda key, rotated: np.concatenate([key, rotated_of(rotated, key.shape[1])], axis=-1)


def first_head(matrices: Array) -> Array:
    """Take the first matrix for every head."""
    return np.broadcast_to(np.asarray(matrices)[:1], np.shape(matrices))


def next_head(matrices: Array) -> Array:
    """Take the matrix of the next head."""
    return np.roll(np.asarray(matrices), -1, axis=0)


def read_transposed(matrices: Array) -> Array:
    """Read the memory of each matrix as that of its transpose."""
    heads, rows, columns = np.shape(matrices)
    return np.ascontiguousarray(matrices).reshape(heads, columns, rows).swapaxes(-1, -2)


def read_heads_last(matrices: Array) -> Array:
    """Read the memory as rows of all heads side by side, as one matrix of all heads has them."""
    heads, rows, columns = np.shape(matrices)
    return np.ascontiguousarray(matrices).reshape(rows, heads, columns).swapaxes(0, 1)


def normalised(latent: Array) -> Array:
    """Divide each latent by the root of its mean square."""
    wide = np.asarray(latent).astype(np.float64)
    root = np.sqrt(np.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    return (wide / root).astype(np.asarray(latent).dtype)


def through_next_matrices(tokens: Array, w_value: Array) -> Array:
    """Multiply the latents by the matrices of the next head."""
    return tokens[:, np.newaxis] @ next_head(w_value)


def new_before_past(past: Any, new: Any) -> Array:
    """Put the new tokens before the past."""
    return prepend_tokens(None if past is None else new, new if past is None else past)


def rotated_past_as_zeros(**arguments: Any) -> LatentAttention:
    """Keep the latents of the past, and not their rotated keys."""
    if arguments.get("past_key_rotary") is not None:
        arguments["past_key_rotary"] = np.zeros_like(arguments["past_key_rotary"])
    return latent_attention(**arguments)


def without_past(**arguments: Any) -> LatentAttention:
    """Attend to the new tokens alone, at whatever positions they have by themselves."""
    past = arguments.pop("past_latent", None)
    arguments.pop("past_key_rotary", None)
    if past is not None and arguments.get("mask") is not None:
        arguments["mask"] = np.asarray(arguments["mask"])[..., np.shape(past)[1] :]
    return latent_attention(**arguments)


def positions_from_zero(tokens: Array, _past_length: int) -> tuple[Array | None, Array]:
    """Take past and new tokens for new ones, so that the first query stands at the first of them."""
    return past_and_new(tokens, 0)


def content_first(content: Array, rotary: Array) -> Array:
    """Put the rotated features of a query before the others."""
    return join_rotated_queries(rotary, content)


def rotary_of_first_head(content: Array, rotary: Array) -> Array:
    """Take the rotated query of the first head for all."""
    return join_rotated_queries(content, np.broadcast_to(rotary[:, :1], rotary.shape))


def without_rotary(key: Array, rotated: Array) -> Array:
    """Put zeros for the rotated keys."""
    return join_rotated_keys(key, np.zeros_like(rotated))


def without_last_rotary(key: Array, rotated: Array) -> Array:
    """Leave out the last rotated feature of a key."""
    return join_rotated_keys(key, np.where(np.arange(rotated.shape[-1]) == rotated.shape[-1] - 1, 0, rotated))


def averaged(latents: Array, like: Array) -> Array:
    """Average latents over all tokens, in the shape and dtype of what is right."""
    mean = np.sum(latents, axis=1) / max(latents.shape[1], 1)
    return np.broadcast_to(mean[:, np.newaxis, np.newaxis], like.shape).astype(like.dtype)


def for_two_heads(matrices: Array) -> Array:
    """Repeat a single matrix for two heads."""
    return np.repeat(matrices, 2, axis=0) if len(matrices) == 1 else matrices


TOKENS = ("latent", "key_rotary")

FUNCTIONS: Mapping[str, Making] = {
    "latent.scale_from_latent_width": scaled_by(
        lambda given: magnitude_of(given) ** 2 / math.sqrt(width_of(given, "latent", "query_rotary"))
    ),
    "latent.scale_from_content_width": scaled_by(
        lambda given: magnitude_of(given) ** 2 / math.sqrt(max(width_of(given, "query_content"), 1))
    ),
    "latent.scale_from_value_width": scaled_by(
        lambda given: magnitude_of(given) ** 2 / math.sqrt(max(width_of(given, "w_value"), 1))
    ),
    "latent.scale_missing": scaled_by(lambda given: magnitude_of(given) ** 2),
    "latent.stated_scale_ignored": ignoring(latent_attention, "scale"),
    "latent.scale_inverted": scaled_by(
        lambda given: magnitude_of(given) ** 2 * math.sqrt(width_of(given, "query_content", "query_rotary"))
    ),
    "latent.rotary_not_scaled": patch(latent_attention, scaled_dot_product_attention=rotary_not_scaled),
    "latent.magnitude_ignored": by_magnitude(0),
    "latent.magnitude_not_squared": by_magnitude(1),
    "latent.magnitude_beside_stated_scale": patch(
        latent_attention,
        scale_of_joined=lambda scale, magnitude, content, rotary: (
            scale_of_joined(None, magnitude, content, rotary) if scale is None else scale * magnitude**2
        ),
    ),
    "latent.magnitude_on_rotary_part": magnified_rotation,
    "latent.rotary_dropped": patch(latent_attention, join_rotated_keys=without_rotary),
    "latent.last_rotary_feature_dropped": patch(latent_attention, join_rotated_keys=without_last_rotary),
    "latent.rotary_reshaped_to_heads": patch(latent_attention, join_rotated_keys=keys_with(rows_of_heads)),
    "latent.rotary_of_each_head": patch(latent_attention, join_rotated_keys=keys_with(turned_for_each_head)),
    "latent.rotary_query_of_first_head": patch(latent_attention, join_rotated_queries=rotary_of_first_head),
    "latent.rotary_before_content": patch(latent_attention, join_rotated_queries=content_first),
    "latent.key_matrix_of_first_head": altered(latent_attention, w_key=first_head),
    "latent.key_matrix_of_next_head": altered(latent_attention, w_key=next_head),
    "latent.key_matrix_transposed": altered(latent_attention, w_key=read_transposed),
    "latent.key_matrices_side_by_side": altered(latent_attention, w_key=read_heads_last),
    "latent.value_matrix_of_first_head": altered(latent_attention, w_value=first_head),
    "latent.value_matrix_of_next_head": patch(latent_attention, make_values=through_next_matrices),
    "latent.value_matrix_transposed": altered(latent_attention, w_value=read_transposed),
    "latent.matrices_exchanged": exchanging(latent_attention, ("w_key", "w_value")),
    "latent.normalised_again": altered(latent_attention, latent=normalised, past_latent=normalised),
    "latent.past_ignored": without_past,
    "latent.past_appended": patch(latent_attention, prepend_tokens=new_before_past),
    "latent.rotated_past_lost": rotated_past_as_zeros,
    "latent.past_position_ignored": patch(latent_attention, past_and_new=positions_from_zero),
    "latent.past_of_first_entry": altered(latent_attention, past_latent=of_first_entry, past_key_rotary=of_first_entry),
    "latent.present_without_past": replacing(
        latent_attention,
        present_latent=lambda _, given: np.array(given["latent"]),
        present_key_rotary=lambda _, given: np.array(given["key_rotary"]),
    ),
    "latent.present_normalised": replacing(
        latent_attention, present_latent=lambda right, _: normalised(right.present_latent)
    ),
    "latent.tokens_of_first_entry": altered(latent_attention, latent=of_first_entry, key_rotary=of_first_entry),
    "latent.kept_in_float16": altered(
        latent_attention,
        **dict.fromkeys(("latent", "key_rotary", "past_latent", "past_key_rotary"), kept_in_float16),
    ),
    "latent.latents_averaged": replacing(
        latent_attention,
        output_latent=lambda right, _: averaged(right.present_latent, right.output_latent),
    ),
    "latent.mask_ignored": ignoring(latent_attention, "mask"),
    "latent.mask_cut_in_front": mask_cut_in_front(latent_attention),
    "latent.causal_ignored": ignoring(latent_attention, "is_causal"),
    "latent.one_query_sees_all": one_query_sees_all(latent_attention),
    "latent.bottom_right_as_top_left": ignoring(latent_attention, "causal_alignment"),
    "latent.key_lengths_ignored": ignoring(latent_attention, "key_lengths"),
    "latent.softmax_over_queries": patch(latent_attention, scaled_dot_product_attention=with_scores_over_queries),
    "latent.empty_block_counts": patch(latent_attention, scaled_dot_product_attention=with_empty_blocks),
    "latent.exponentials_overflow": attending(latent_attention, largest_logit=nothing_subtracted),
    "latent.excluded_nan_leaks": attending(latent_attention, weigh_values=weighed_with_all),
    "latent.nan_as_zero": altered(latent_attention, **dict.fromkeys((*TOKENS, "past_latent"), np.nan_to_num)),
    "latent.fully_masked_takes_first": attending(latent_attention, divide_by_total=first_where_empty),
    "latent.no_tokens_nan": replacing(
        latent_attention, output=lambda right, given: nan_without_tokens(right.output, given)
    ),
    "latent.computed_in_single_precision": in_single_precision(latent_attention),
    "latent.output_not_narrowed": replacing(latent_attention, output=lambda right, _: not_narrowed(right.output)),
    "latent.weights_transposed": replacing(latent_attention, weights=lambda right, _: right.weights.swapaxes(-1, -2)),
    "latent.logsumexp_without_maximum": replacing(
        latent_attention, logsumexp=lambda right, _: right.logsumexp - np.max(right.logits, axis=-1, initial=-1e4)
    ),
    "latent.key_matrix_scaled_in_place": overwriting(
        latent_attention, "w_key", lambda arguments, _: np.asarray(arguments["w_key"]) * 0.5
    ),
    "latent.strides_ignored": altered(
        latent_attention,
        **dict.fromkeys(
            ("query_content", "query_rotary", *TOKENS, "w_key", "w_value", "past_latent"), as_it_lies_in_memory
        ),
    ),
    "latent.key_matrices_remembered": remembering(latent_attention, "w_key", "query_content", "latent"),
    "latent.scale_remembered": remembering(latent_attention, "scale", "query_content", "latent"),
    "latent.tokens_repeated": tokens_repeated(latent_attention, "query_content"),
    "latent.tokens_cut": tokens_cut(latent_attention),
    "latent.tokens_viewed": tokens_viewed(latent_attention),
    "latent.features_cut": features_cut(tokens_cut(latent_attention), ("query_rotary", "key_rotary")),
    "latent.matrices_repeated": altered(latent_attention, w_key=for_two_heads, w_value=for_two_heads),
}
