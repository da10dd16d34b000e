"""What goes wrong in absorbed latent attention: its scale, shared tokens, the width of its values, rows of heads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.latents.latent_patches import (
    allowing,
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
from attnspec_mistakes.patches import altered, ignoring, in_single_precision, patch, replacing
from attnspec_reference.attention.absorbed_latent_attention import (
    AbsorbedLatentAttention,
    absorbed_latent_attention,
    join_rotated_tokens,
)
from attnspec_reference.attention.latent_attention import join_rotated_queries
from attnspec_reference.precision import Array, Integers


def scaled_by_width(**arguments: Any) -> AbsorbedLatentAttention:
    """Take the scale from the widths of latents and rotated keys."""
    width = np.shape(arguments["query_latent"])[-1] + np.shape(arguments["query_rotary"])[-1]
    arguments["scale"] = 1.0 / math.sqrt(width)
    return absorbed_latent_attention(**arguments)


def scaled_twice(**arguments: Any) -> AbsorbedLatentAttention:
    """Multiply by the scale in the query, and again in the scores."""
    return absorbed_latent_attention(**{**arguments, "scale": arguments["scale"] ** 2})


def rotary_not_scaled(query_latent: Any, query_rotary: Any, *, scale: float, **others: Any) -> AbsorbedLatentAttention:
    """Scale the dot products of latents alone."""
    rotary = np.asarray(query_rotary)
    rotary = (rotary / scale).astype(rotary.dtype) if scale else rotary
    return absorbed_latent_attention(query_latent, rotary, scale=scale, **others)


def without_rotary(latent: Array, key_rotary: Array) -> Array:
    """Put zeros for the rotated keys."""
    return join_rotated_tokens(latent, np.zeros_like(key_rotary))


def rotary_of_next_token(latent: Array, key_rotary: Array) -> Array:
    """Put the rotated key of the next token behind each latent."""
    return join_rotated_tokens(latent, np.roll(key_rotary, -1, axis=1))


def rotary_before_latents(content: Array, rotary: Array) -> Array:
    """Put the rotated features of a query before the others."""
    return join_rotated_queries(rotary, content)


def rotary_query_of_first_head(content: Array, rotary: Array) -> Array:
    """Take the rotated query of the first head for all."""
    return join_rotated_queries(content, np.broadcast_to(rotary[:, :1], rotary.shape))


def whole_key_as_value(**arguments: Any) -> AbsorbedLatentAttention:
    """Take a token with its rotated key for its value: C + Dr features."""
    attention = absorbed_latent_attention(**arguments)
    rotated = np.asarray(arguments["key_rotary"])[:, np.newaxis].astype(attention.weights.dtype)
    weighed = (attention.weights @ rotated).astype(attention.output_latent.dtype)
    return attention._replace(output_latent=np.concatenate([attention.output_latent, weighed], axis=-1))


def last_features_as_value(**arguments: Any) -> AbsorbedLatentAttention:
    """Take the last C features of a token for its value, its rotated key among them."""
    attention = absorbed_latent_attention(**arguments)
    tokens = join_rotated_tokens(np.asarray(arguments["latent"]), np.asarray(arguments["key_rotary"]))
    width = attention.output_latent.shape[-1]
    values = tokens[..., tokens.shape[-1] - width :][:, np.newaxis].astype(attention.weights.dtype)
    weighed = np.where(
        attention.weights[..., np.newaxis] > 0, attention.weights[..., np.newaxis] * values[:, :, np.newaxis], 0
    )
    return attention._replace(output_latent=weighed.sum(axis=-2).astype(attention.output_latent.dtype))


def causal_over_rows(**arguments: Any) -> AbsorbedLatentAttention:
    """Count the rows of all heads of a query as queries of their own: row i * H + h stands at that position."""
    if not arguments.get("is_causal"):
        return absorbed_latent_attention(**arguments)
    batch, heads, queries, _ = np.shape(arguments["query_latent"])
    keys = np.shape(arguments["latent"])[1]
    bottom = arguments.get("causal_alignment") == "bottom_right"
    of_queries: Integers = np.arange(int(queries), dtype=np.int64) * int(heads)
    row = of_queries + np.arange(int(heads))[:, np.newaxis] + (keys - queries * heads if bottom else 0)
    allowed = np.broadcast_to(np.less_equal(np.arange(int(keys)), row[..., np.newaxis]), (batch, heads, queries, keys))
    arguments |= {"mask": allowing(arguments.get("mask"), allowed), "is_causal": False}
    return absorbed_latent_attention(**arguments)


def with_maximum_rescaled(right: AbsorbedLatentAttention, given: Mapping[str, Any]) -> Array:
    """Add the largest logit back as if the scale were that of the widths."""
    width = np.shape(given["query_latent"])[-1] + np.shape(given["query_rotary"])[-1]
    largest = np.max(right.logits, axis=-1, initial=-np.inf)
    scale = given["scale"] if given["scale"] else 1.0
    rescaled = largest / (scale * math.sqrt(width))
    return np.where(np.isfinite(largest), right.logsumexp - largest + rescaled, right.logsumexp).astype(
        right.logsumexp.dtype
    )


FUNCTIONS: Mapping[str, Making] = {
    "absorbed.scale_ignored": scaled_by_width,
    "absorbed.scale_missing": altered(absorbed_latent_attention, scale=lambda _: 1.0),
    "absorbed.scaled_twice": scaled_twice,
    "absorbed.rotary_not_scaled": rotary_not_scaled,
    "absorbed.rotary_dropped": patch(absorbed_latent_attention, join_rotated_tokens=without_rotary),
    "absorbed.rotary_of_next_token": patch(absorbed_latent_attention, join_rotated_tokens=rotary_of_next_token),
    "absorbed.rotary_before_latents": patch(absorbed_latent_attention, join_rotated_queries=rotary_before_latents),
    "absorbed.rotary_query_of_first_head": patch(
        absorbed_latent_attention, join_rotated_queries=rotary_query_of_first_head
    ),
    "absorbed.values_with_rotary": whole_key_as_value,
    "absorbed.values_from_the_end": last_features_as_value,
    "absorbed.tokens_of_first_entry": altered(
        absorbed_latent_attention, latent=of_first_entry, key_rotary=of_first_entry
    ),
    "absorbed.kept_in_float16": altered(absorbed_latent_attention, latent=kept_in_float16, key_rotary=kept_in_float16),
    "absorbed.mask_ignored": ignoring(absorbed_latent_attention, "mask"),
    "absorbed.mask_cut_in_front": mask_cut_in_front(absorbed_latent_attention),
    "absorbed.causal_ignored": ignoring(absorbed_latent_attention, "is_causal"),
    "absorbed.one_query_sees_all": one_query_sees_all(absorbed_latent_attention),
    "absorbed.bottom_right_as_top_left": ignoring(absorbed_latent_attention, "causal_alignment"),
    "absorbed.causal_over_rows_of_heads": causal_over_rows,
    "absorbed.key_lengths_ignored": ignoring(absorbed_latent_attention, "key_lengths"),
    "absorbed.key_lengths_of_first_entry": altered(absorbed_latent_attention, key_lengths=of_first_entry),
    "absorbed.softmax_over_queries": patch(
        absorbed_latent_attention, scaled_dot_product_attention=with_scores_over_queries
    ),
    "absorbed.empty_block_counts": patch(absorbed_latent_attention, scaled_dot_product_attention=with_empty_blocks),
    "absorbed.exponentials_overflow": attending(absorbed_latent_attention, largest_logit=nothing_subtracted),
    "absorbed.excluded_nan_leaks": attending(absorbed_latent_attention, weigh_values=weighed_with_all),
    "absorbed.nan_as_zero": altered(absorbed_latent_attention, latent=np.nan_to_num, key_rotary=np.nan_to_num),
    "absorbed.fully_masked_takes_first": attending(absorbed_latent_attention, divide_by_total=first_where_empty),
    "absorbed.no_tokens_nan": replacing(
        absorbed_latent_attention, output_latent=lambda right, given: nan_without_tokens(right.output_latent, given)
    ),
    "absorbed.computed_in_single_precision": in_single_precision(absorbed_latent_attention),
    "absorbed.output_not_narrowed": replacing(
        absorbed_latent_attention, output_latent=lambda right, _: not_narrowed(right.output_latent)
    ),
    "absorbed.weights_transposed": replacing(
        absorbed_latent_attention, weights=lambda right, _: right.weights.swapaxes(-1, -2)
    ),
    "absorbed.logsumexp_without_maximum": replacing(
        absorbed_latent_attention,
        logsumexp=lambda right, _: right.logsumexp - np.max(right.logits, axis=-1, initial=-1e4),
    ),
    "absorbed.logsumexp_of_another_scale": replacing(absorbed_latent_attention, logsumexp=with_maximum_rescaled),
    "absorbed.query_scaled_in_place": overwriting(
        absorbed_latent_attention,
        "query_latent",
        lambda arguments, _: np.asarray(arguments["query_latent"]) * np.asarray(arguments["scale"] + 0.5),
    ),
    "absorbed.strides_ignored": altered(
        absorbed_latent_attention,
        **dict.fromkeys(("query_latent", "query_rotary", "latent", "key_rotary"), as_it_lies_in_memory),
    ),
    "absorbed.scale_remembered": remembering(absorbed_latent_attention, "scale", "query_latent", "latent"),
    "absorbed.tokens_repeated": tokens_repeated(absorbed_latent_attention, "query_latent"),
    "absorbed.tokens_cut": tokens_cut(absorbed_latent_attention),
    "absorbed.tokens_viewed": tokens_viewed(absorbed_latent_attention),
    "absorbed.features_cut": features_cut(
        tokens_cut(absorbed_latent_attention), ("query_latent", "latent"), ("query_rotary", "key_rotary")
    ),
}
