"""Patches of attention inside latent attention, in either form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attnspec_mistakes.patches import patch
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans

TOKEN_AXES = 3
"""Batch, tokens and features: latents have no axis of heads."""


def attending(function: Callable[..., Any], **replaced: object) -> Callable[..., Any]:
    """Patch steps of the attention that a form of latent attention does inside."""
    return patch(function, scaled_dot_product_attention=patch(scaled_dot_product_attention, **replaced))


def of_first_entry(tokens: Any) -> Array:
    """Take the tokens of the first batch entry for all."""
    return np.broadcast_to(np.asarray(tokens)[:1], np.shape(tokens))


def allowing(mask: Any, allowed: Booleans) -> Array:
    """Let a mask exclude what is not allowed, too; None excludes nothing."""
    if mask is None:
        return allowed
    given = np.asarray(mask)
    return np.asarray(allowed & given if given.dtype == np.bool_ else np.where(allowed, given, -np.inf))


def over_queries(exponentials: Array) -> Array:
    """Sum each column, over the queries."""
    return np.broadcast_to(exponentials.sum(axis=-2, keepdims=True), exponentials.shape)


def over_columns(exponentials: Array, total: Array) -> Array:
    """Divide each column by its sum."""
    return exponentials / np.where(total == 0, 1, total)


def with_scores_over_queries(*tensors: Any, **given: Any) -> Attention:
    """Attend with a softmax over the queries."""
    attention = scaled_dot_product_attention(*tensors, **given)
    logits = attention.logits
    largest = logits.max(axis=(-1, -2), keepdims=True, initial=-np.inf)
    exponentials = np.exp(logits - np.where(largest == -np.inf, 0, largest))
    weights = over_columns(exponentials, over_queries(exponentials))
    past, value = given.get("past_value"), tensors[2]
    values = value if past is None else np.concatenate([past, value], axis=-2)
    values = np.repeat(values, logits.shape[1] // max(values.shape[1], 1), axis=1)
    rounded = {"weights": weights, "output": weights @ values}
    return attention._replace(**{name: array.astype(attention.output.dtype) for name, array in rounded.items()})


def nothing_subtracted(logits: Array) -> Array:
    """Take 0 for the largest logit of each row."""
    return np.zeros((*logits.shape[:-1], 1), dtype=logits.dtype)


def weighed_with_all(weights: Array, value: Array, _attendable: Any = None) -> Array:
    """Multiply every value by its weight, also where that is 0."""
    return weights @ value


def first_where_empty(exponentials: Array, total: Array) -> Array:
    """Give the first key the whole weight where none may be attended."""
    first = np.zeros_like(exponentials)
    first[..., :1] = 1
    return np.where(total == 0, first, exponentials / np.where(total == 0, 1, total))


def tokens_repeated(function: Callable[..., Any], query: str) -> Callable[..., Any]:
    """Repeat tokens of one entry for the whole batch, and take the first head of tokens that have some."""

    def attend(**arguments: Any) -> Any:
        batch = np.shape(arguments[query])[0]
        for name in ("latent", "key_rotary"):
            tokens = np.asarray(arguments[name])
            tokens = tokens[:, 0] if tokens.ndim > TOKEN_AXES else tokens
            arguments[name] = np.repeat(tokens, batch, axis=0) if len(tokens) == 1 else tokens
        return function(**arguments)

    return attend


def tokens_cut(function: Callable[..., Any]) -> Callable[..., Any]:
    """Cut latents and rotated keys to as many tokens as both have, and lengths to as many as there are."""

    def attend(**arguments: Any) -> Any:
        tokens = min(np.shape(arguments[name])[1] for name in ("latent", "key_rotary"))
        for name in ("latent", "key_rotary"):
            arguments[name] = np.asarray(arguments[name])[:, :tokens]
        if arguments.get("key_lengths") is not None:
            arguments["key_lengths"] = np.minimum(arguments["key_lengths"], tokens)
        return function(**arguments)

    return attend
