"""What goes wrong in the backward pass with shared heads, and with tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_departures import backward_with, changing, in_some
from attnspec_mistakes.attention.forward.forward_scores import (
    by_number_of_shared_heads,
    first_head_for_all,
    last_head_first,
    tiled_heads,
)
from attnspec_mistakes.patches import on_calls
from attnspec_reference.attention.attention_logits import repeat_heads
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    scaled_dot_product_attention_backward,
    sum_for_keys,
    sum_for_queries,
    sum_over_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.attention.forward.attention_departures import Backward
    from attnspec_mistakes.mistake import Making
    from attnspec_reference.precision import Array, Booleans, Integers


def in_groups(of_heads: Array, key_heads: int) -> Array:
    """Return (B, Hkv, G, Sk, E)."""
    batch, heads, *rest = of_heads.shape
    return of_heads.reshape(batch, key_heads, heads // max(key_heads, 1), *rest)


def first_of_group(of_heads: Array, key_heads: int) -> Array:
    """Take what the first head of each group gives."""
    return in_groups(of_heads, key_heads)[:, :, :1].sum(axis=2)


def mean_of_group(of_heads: Array, key_heads: int) -> Array:
    """Divide the sum by the number of heads in a group."""
    grouped = in_groups(of_heads, key_heads)
    return grouped.sum(axis=2) / max(grouped.shape[2], 1)


def tiled_groups(of_heads: Array, key_heads: int) -> Array:
    """Add head h to the key head h modulo Hkv."""
    batch, heads, *rest = of_heads.shape
    return of_heads.reshape(batch, heads // max(key_heads, 1), key_heads, *rest).sum(axis=1)


def sum_of_all(of_heads: Array, key_heads: int) -> Array:
    """Give every key head what all heads give."""
    grouped = sum_over_group(of_heads, key_heads)
    return np.broadcast_to(grouped.sum(axis=1, keepdims=True), grouped.shape)


def sum_over_batch(of_heads: Array, key_heads: int) -> Array:
    """Give every batch entry what all entries give."""
    grouped = sum_over_group(of_heads, key_heads)
    return np.broadcast_to(grouped.sum(axis=0, keepdims=True), grouped.shape)


def summed(sum_heads: Callable[[Array, int], Array], *names: str) -> Backward:
    """Make a backward pass that sums over groups in another way, in some of the gradients."""
    return in_some(backward_with(sum_over_group=sum_heads), *names)


def over_queries(reached: Callable[[int], slice]) -> Backward:
    """Make a backward pass that sums over some of the queries for the gradients of keys and values."""

    def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        queries = reached(of_scores.shape[-2])
        return sum_for_keys(of_scores[..., queries, :], of_queries[..., queries, :], attendable[..., queries, :])

    return backward_with(sum_for_keys=sums)


def over_keys(reached: Callable[[int], slice]) -> Backward:
    """Make a backward pass that sums over some of the keys for the gradient of the queries."""

    def sums(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
        keys = reached(grad_scores.shape[-1])
        return sum_for_queries(grad_scores[..., keys], key[..., keys, :], attendable[..., keys])

    return backward_with(sum_for_queries=sums)


def last_tile(tile: int) -> Callable[[int], slice]:
    """Reach the last tile, whole or not."""
    return lambda tokens: slice(max(tokens - 1, 0) // tile * tile, None)


def whole_tiles(tile: int) -> Callable[[int], slice]:
    """Reach whole tiles alone, where there are any."""
    return lambda tokens: slice(tokens // tile * tile or tokens)


def tail_as_zeros(tile: int) -> Callable[[Array, Mapping[str, Any]], Array]:
    """Leave zeros behind the last whole tile of tokens, where there is one."""

    def cleared(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
        tokens = gradient.shape[2]
        written: Booleans = np.less(np.arange(int(tokens)), tokens // tile * tile or tokens)
        return np.where(written[:, np.newaxis], gradient, 0)

    return cleared


def positions(tokens: int) -> Integers:
    """Return the numbers of tokens."""
    return np.arange(tokens, dtype=np.int64)


def causal_begun(begun: Callable[[Integers, Integers], Booleans]) -> Backward:
    """Make a causal backward pass that sums what a query gives to a key where that is said to have begun."""

    def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        queries, keys = (positions(tokens) for tokens in of_scores.shape[-2:])
        summed = begun(queries[:, np.newaxis], keys)
        return sum_for_keys(np.where(summed, of_scores, 0), of_queries, attendable & summed)

    departed = backward_with(sum_for_keys=sums)
    return on_calls(scaled_dot_product_attention_backward, lambda given: bool(given.get("is_causal")), departed)


def filled_with_last(tile: int) -> Backward:
    """Make a backward pass that fills the last tile of queries with copies of the last query, and sums them, too."""

    def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        queries = of_scores.shape[-2]
        if not queries:
            return sum_for_keys(of_scores, of_queries, attendable)
        rows = np.minimum(positions(-(-queries // tile) * tile), queries - 1)
        return sum_for_keys(of_scores[..., rows, :], of_queries[..., rows, :], attendable[..., rows, :])

    return backward_with(sum_for_keys=sums)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa_backward.group_first_head": summed(first_of_group, "grad_key", "grad_value"),
    "sdpa_backward.group_last_head": summed(
        lambda of_heads, key_heads: in_groups(of_heads, key_heads)[:, :, -1:].sum(axis=2), "grad_key", "grad_value"
    ),
    "sdpa_backward.group_averaged": summed(mean_of_group, "grad_key", "grad_value"),
    "sdpa_backward.group_averaged_for_values": summed(mean_of_group, "grad_value"),
    "sdpa_backward.group_first_head_for_keys": summed(first_of_group, "grad_key"),
    "sdpa_backward.group_of_two_at_most": summed(
        lambda of_heads, key_heads: in_groups(of_heads, key_heads)[:, :, :2].sum(axis=2), "grad_key", "grad_value"
    ),
    "sdpa_backward.groups_tiled": summed(tiled_groups, "grad_key", "grad_value"),
    "sdpa_backward.all_heads_summed": summed(sum_of_all, "grad_key", "grad_value"),
    "sdpa_backward.batch_summed": summed(sum_over_batch, "grad_key", "grad_value"),
    "sdpa_backward.heads_tiled": backward_with(repeat_heads=tiled_heads),
    "sdpa_backward.heads_by_number_of_groups": backward_with(repeat_heads=by_number_of_shared_heads),
    "sdpa_backward.first_head_for_all": backward_with(repeat_heads=first_head_for_all),
    "sdpa_backward.heads_reversed": backward_with(repeat_heads=last_head_first),
    "sdpa_backward.other_entry": backward_with(
        repeat_heads=lambda shared, heads: repeat_heads(np.roll(shared, 1, axis=0), heads)
    ),
    **{f"sdpa_backward.keys_overwritten_by_{tile}": over_queries(last_tile(tile)) for tile in (1, 2, 16, 64, 256)},
    **{f"sdpa_backward.queries_overwritten_by_{tile}": over_keys(last_tile(tile)) for tile in (2, 16, 64, 256)},
    **{f"sdpa_backward.last_queries_dropped_of_{tile}": over_queries(whole_tiles(tile)) for tile in (2, 16, 64, 256)},
    **{f"sdpa_backward.last_keys_dropped_of_{tile}": over_keys(whole_tiles(tile)) for tile in (2, 16, 64, 256)},
    "sdpa_backward.key_tail_not_written": changing(grad_key=tail_as_zeros(16), grad_value=tail_as_zeros(16)),
    "sdpa_backward.query_tail_not_written": changing(grad_query=tail_as_zeros(16)),
    "sdpa_backward.tail_filled_with_last": filled_with_last(4),
    "sdpa_backward.causal_tiles_from_the_top": causal_begun(lambda queries, keys: queries >= keys // 2 * 2),
    "sdpa_backward.causal_diagonal_tile_skipped": causal_begun(lambda queries, keys: queries // 2 > keys // 2),
}
