"""Other orders in which the sums of a backward pass may go: tiles, atomics, one query at a time, head by head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import patch
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
    sum_attended,
    sum_for_keys,
    sum_for_queries,
)
from attnspec_reference.precision import result_dtype, round_to

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attnspec_mistakes.patches import Computation
    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention_backward"

_SCHEDULER = np.random.default_rng(33)
"""Decides who comes first, as a device does: two calls with the same inputs add in different orders."""


def tiles_of(length: int, tile: int) -> Iterable[slice]:
    """Cut an axis into tiles, the last of which may be smaller."""
    return (slice(start, start + tile) for start in range(0, length, tile))


def over_tiles_of_keys(tile: int) -> Computation:
    """Make a backward pass whose outer loop goes over tiles of keys: it adds to the gradient of the queries."""

    def for_queries(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
        total = np.zeros((*grad_scores.shape[:-1], key.shape[-1]), dtype=grad_scores.dtype)
        for keys in tiles_of(key.shape[-2], tile):
            total = total + sum_for_queries(grad_scores[..., keys], key[..., keys, :], attendable[..., keys])
        return total

    def of_rows(products: Array, attendable: Booleans) -> Array:
        total = np.zeros(products.shape[:-1], dtype=products.dtype)
        for keys in tiles_of(products.shape[-1], tile):
            total = total + sum_attended(products[..., keys], attendable[..., keys])
        return total

    return patch(scaled_dot_product_attention_backward, sum_for_queries=for_queries, sum_attended=of_rows)


def over_tiles_of_queries(tile: int) -> Computation:
    """Make a backward pass whose outer loop goes over tiles of queries: it adds to the gradients of keys and values."""

    def for_keys(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        *leading, queries, keys = of_scores.shape
        total = np.zeros((*leading, keys, of_queries.shape[-1]), dtype=of_scores.dtype)
        for rows in tiles_of(queries, tile):
            total = total + sum_for_keys(of_scores[..., rows, :], of_queries[..., rows, :], attendable[..., rows, :])
        return total

    return patch(scaled_dot_product_attention_backward, sum_for_keys=for_keys)


def in_any_order(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
    """Add what each query gives as soon as it is ready."""
    *leading, queries, keys = of_scores.shape
    total = np.zeros((*leading, keys, of_queries.shape[-1]), dtype=of_scores.dtype)
    for query in _SCHEDULER.permutation(queries):
        row = slice(query, query + 1)
        total = total + sum_for_keys(of_scores[..., row, :], of_queries[..., row, :], attendable[..., row, :])
    return total


def queries_in_any_order(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
    """Add what each key gives as soon as it is ready."""
    total = np.zeros((*grad_scores.shape[:-1], key.shape[-1]), dtype=grad_scores.dtype)
    for key_index in _SCHEDULER.permutation(key.shape[-2]):
        column = slice(key_index, key_index + 1)
        total = total + sum_for_queries(grad_scores[..., column], key[..., column, :], attendable[..., column])
    return total


def by_einsum(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
    """Sum products, of which those that are excluded are selected away one by one."""
    products = of_scores[..., np.newaxis] * of_queries[..., np.newaxis, :]
    return np.einsum("bhqke->bhke", np.where(attendable[..., np.newaxis], products, 0))


def queries_by_einsum(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
    """Sum products, of which those that are excluded are selected away one by one."""
    products = grad_scores[..., np.newaxis] * key[..., np.newaxis, :, :]
    return np.einsum("bhqke->bhqe", np.where(attendable[..., np.newaxis], products, 0))


def heads_rounded_first(**arguments: Any) -> AttentionGradients:
    """Round what each query head gives before the sum over a group, as who stores it does."""
    dtype = result_dtype(arguments["query"])

    def sums(of_heads: Array, key_heads: int) -> Array:
        batch, heads, *rest = of_heads.shape
        rounded = round_to(dtype, of_heads).astype(of_heads.dtype)
        grouped = rounded.reshape(batch, key_heads, heads // max(key_heads, 1), *rest)
        total = np.zeros((batch, key_heads, *rest), dtype=of_heads.dtype)
        for head in range(grouped.shape[2]):
            total = total + grouped[:, :, head]
        return total

    return patch(scaled_dot_product_attention_backward, sum_over_group=sums)(**arguments)


def control(name: str, sentence: str, function: Computation) -> Control:
    """Return a control of this operation."""
    return Control(f"sdpa_backward.{name}", OPERATION, sentence, function)


CONTROLS: tuple[Control, ...] = (
    *(
        control(
            f"tiles_of_{tile}_keys",
            f"Keys are taken {tile} at a time: each tile adds to delta and to the gradient of the queries.",
            over_tiles_of_keys(tile),
        )
        for tile in (1, 8)
    ),
    *(
        control(
            f"tiles_of_{tile}_queries",
            f"Queries are taken {tile} at a time: each tile adds to the gradients of keys and values.",
            over_tiles_of_queries(tile),
        )
        for tile in (1, 8)
    ),
    control(
        "added_in_any_order",
        "What queries and keys give is added in an order that differs from call to call, as atomics do.",
        patch(scaled_dot_product_attention_backward, sum_for_keys=in_any_order, sum_for_queries=queries_in_any_order),
    ),
    control(
        "by_einsum",
        "Every product is made by itself, excluded ones are selected away, and the rest is summed by einsum.",
        patch(scaled_dot_product_attention_backward, sum_for_keys=by_einsum, sum_for_queries=queries_by_einsum),
    ),
    control(
        "heads_rounded_first",
        "What each query head gives is rounded before the heads of a group are added up.",
        heads_rounded_first,
    ),
)
