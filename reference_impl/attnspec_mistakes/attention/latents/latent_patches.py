"""Patches of attention inside latent attention, in either form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.patches import ignoring_where, patch
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans

TOKEN_AXES = 3
"""Batch, tokens and features: latents have no axis of heads."""

KEYS_OF_A_BLOCK = 16
"""The fewest keys that kernels take at a time."""

HALF_PRECISION = 2
"""Bytes of a number."""


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


def with_empty_blocks(*tensors: Any, **given: Any) -> Attention:
    """Attend to sixteen keys at a time, and take 0 for the logarithm of a block in which nothing is attended."""
    attention = scaled_dot_product_attention(*tensors, **given)
    logits = attention.logits
    blocks = range(0, logits.shape[-1], KEYS_OF_A_BLOCK)
    empty = [np.all(logits[..., block : block + KEYS_OF_A_BLOCK] == -np.inf, axis=-1) for block in blocks]
    dead = attention.logsumexp == -np.inf
    total = np.logaddexp(attention.logsumexp, np.log(np.where(dead, 0, np.sum(empty, axis=0))))
    share = np.where(dead, 1, np.exp(attention.logsumexp - np.where(dead, 0, total)))[..., np.newaxis]
    changed = {"output": attention.output * share, "weights": attention.weights * share, "logsumexp": total}
    return attention._replace(**{name: array.astype(attention.output.dtype) for name, array in changed.items()})


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


def tokens_viewed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take all axes between batch and features for tokens, as many as latents and rotated keys both have."""

    def attend(**arguments: Any) -> Any:
        for name in ("latent", "key_rotary"):
            tokens = np.asarray(arguments[name])
            arguments[name] = tokens.reshape(len(tokens), -1, tokens.shape[-1])
        return tokens_cut(function)(**arguments)

    return attend


def features_cut(function: Callable[..., Any], *pairs: tuple[str, str]) -> Callable[..., Any]:
    """Cut the features of each pair of tensors to as many as both have."""

    def attend(**arguments: Any) -> Any:
        for pair in pairs:
            width = min(np.shape(arguments[name])[-1] for name in pair)
            arguments |= {name: np.asarray(arguments[name])[..., :width] for name in pair}
        return function(**arguments)

    return attend


def mask_cut_in_front(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out the tokens behind the longest sequence, and as many columns at the beginning of the mask."""

    def attend(**arguments: Any) -> Any:
        mask, lengths = arguments.get("mask"), arguments.get("key_lengths")
        if mask is not None and lengths is not None:
            beyond = np.shape(arguments["latent"])[1] - int(np.max(lengths, initial=0))
            arguments["mask"] = np.roll(mask, -beyond, axis=-1)
        return function(**arguments)

    return attend


def one_query_sees_all(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave causality out where there is one query."""
    return ignoring_where(function, lambda arguments: np.shape(arguments["query_rotary"])[2] == 1, "is_causal")


def kept_in_float16(tokens: Any) -> Array:
    """Keep tokens of half precision in float16, and read them in their own dtype again."""
    given = np.asarray(tokens)
    return given.astype(np.float16).astype(given.dtype) if given.dtype.itemsize == HALF_PRECISION else given


def not_narrowed(output: Array) -> Array:
    """Leave an output of half precision in float32."""
    return output.astype(np.float32) if output.dtype.itemsize == HALF_PRECISION else output


def nan_without_tokens(output: Array, arguments: Mapping[str, Any]) -> Array:
    """Make the output NaN in batch entries without any token."""
    tokens = sum(np.shape(arguments[name])[1] for name in ("latent", "past_latent") if arguments.get(name) is not None)
    lengths = np.asarray(arguments.get("key_lengths", [tokens] * len(output)))
    return np.where(lengths[:, np.newaxis, np.newaxis, np.newaxis] == 0, np.asarray(np.nan, output.dtype), output)
