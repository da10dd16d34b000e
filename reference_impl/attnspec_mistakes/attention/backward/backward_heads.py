"""What goes wrong in the backward pass where gradients are summed: over shared heads, in blocks, into masks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_mistakes.attention.backward.backward_sinks import summed_to_sinks
from attnspec_mistakes.attention.forward.attention_patches import (
    Backward,
    backward_with,
    changing,
    in_some,
    repeating,
    replaying,
)
from attnspec_mistakes.attention.forward.forward_scores import (
    by_number_of_shared_heads,
    first_head_for_all,
    last_head_first,
    tiled_heads,
)
from attnspec_mistakes.attention.forward.forward_softmax import nan_in_hidden_tile
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import on_calls
from attnspec_reference.attention.attention_logits import is_boolean, repeat_heads, within_window
from attnspec_reference.attention.phases import join_sinks
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
    sum_for_keys,
    sum_for_queries,
    sum_over_group,
    sum_to_mask,
)
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
    """Include the last tile, whole or not."""
    return lambda tokens: slice(max(tokens - 1, 0) // tile * tile, None)


def whole_tiles(tile: int) -> Callable[[int], slice]:
    """Include whole tiles alone, where there are any."""
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

    patched = backward_with(sum_for_keys=sums)
    return on_calls(scaled_dot_product_attention_backward, lambda given: bool(given.get("is_causal")), patched)


def filled_with_last(tile: int) -> Backward:
    """Make a backward pass that fills the last tile of queries with copies of the last query, and sums them, too."""

    def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        queries = of_scores.shape[-2]
        if not queries:
            return sum_for_keys(of_scores, of_queries, attendable)
        rows = np.minimum(positions(-(-queries // tile) * tile), queries - 1)
        return sum_for_keys(of_scores[..., rows, :], of_queries[..., rows, :], attendable[..., rows, :])

    return backward_with(sum_for_keys=sums)


def sinks_of_first(entries: int | None, queries: int | None) -> Backward:
    """Make a backward pass that sums the gradient of a sink over the first batch entries and queries."""
    return summed_to_sinks(lambda terms: terms[:entries, :, :queries].sum(axis=(0, 2)))


def mask_of_first(entries: int | None, queries: int | None) -> Backward:
    """Make a backward pass that sums the gradient of a mask over the first batch entries and queries that share it."""

    def collect(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
        of_entries = grad_logits[:entries] if 0 in repeated else grad_logits
        return (of_entries[:, :, :queries] if 2 in repeated else of_entries).sum(axis=repeated)

    return collected(collect)


def before_hidden_block(attendable: Booleans, block: int) -> Booleans:
    """Keep the columns before the first block of which a row may attend to nothing."""
    columns: Integers = np.arange(int(attendable.shape[-1]), dtype=np.int64)
    seen = [attendable[..., start : start + block].any(axis=-1) for start in range(0, len(columns), block)]
    if not seen:
        return attendable
    return attendable & np.logical_and.accumulate(np.stack(seen, axis=-1), axis=-1)[..., columns // block]


def keys_up_to_hidden_block(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
    """Leave the loop over the keys at a block of sixteen without any."""
    reached = before_hidden_block(attendable, 16)
    return sum_for_queries(np.where(reached, grad_scores, 0), key, reached)


def queries_up_to_hidden_block(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
    """Leave the loop over the queries at a block of sixteen without any."""
    reached = before_hidden_block(attendable.swapaxes(-1, -2), 16).swapaxes(-1, -2)
    return sum_for_keys(np.where(reached, of_scores, 0), of_queries, reached)


def window_of_last_query(
    window: Sequence[int | None], query_length: int, key_length: int, offset: Integers | int
) -> Booleans:
    """Begin the keys of eight queries at the block of sixteen in which the window of the last query begins."""
    near = within_window(window, query_length, key_length, offset)
    if window[0] is None:
        return near
    rows: Integers = np.arange(query_length, dtype=np.int64)
    last = np.minimum(rows // 8 * 8 + 7, query_length - 1)[:, np.newaxis] + offset
    columns: Integers = np.arange(key_length, dtype=np.int64)
    return near & (columns >= (last - window[0]) // 16 * 16)


def sink_for_each(block: int) -> Callable[[Array, Array | None, Integers | int], Array]:
    """Let the sink join once for each block of keys."""

    def joined(logits: Array, sinks: Array | None, query_lengths: Integers | int) -> Array:
        terms = join_sinks(logits, sinks, query_lengths)
        more = 0 if sinks is None else max(-(-logits.shape[-1] // block) - 1, 0)
        return np.concatenate([terms, *[terms[..., -1:]] * more], axis=-1)

    return joined


def top_left_in_squares(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave the queries at the top where as many of them as keys are given."""
    square = np.shape(given["query"])[2] == np.shape(given["key"])[2]
    return {"causal_alignment": "top_left"} if square else {}


def aligned_by_extents(**arguments: Any) -> AttentionGradients:
    """Position the queries by how many tokens are given, not by how many count."""
    moved = np.shape(arguments["key"])[2] - np.shape(arguments["query"])[2]
    return replaying(causal_offset=lambda alignment, _queries, _keys, _past: 0 if alignment == "top_left" else moved)(
        **arguments
    )


def lengths_of_first(entries: int, name: str) -> Backward:
    """Make a backward pass that takes the lengths of the first batch entries for those that follow, too."""

    def changed(given: Mapping[str, Any]) -> Mapping[str, Any]:
        lengths = given[name]
        if lengths is None:
            return {}
        own = np.asarray(lengths)
        return {name: own[np.arange(len(own)) % entries]}

    return repeating(changed)


def whole_fours(of_heads: Array, key_heads: int) -> Array:
    """Add four heads at a time, where there are as many, and leave out what is left over."""
    grouped = in_groups(of_heads, key_heads)
    group = grouped.shape[2]
    return grouped[:, :, : group // 4 * 4 or group].sum(axis=2)


def power_of_two(of_heads: Array, key_heads: int) -> Array:
    """Add as many heads as the largest power of two that a group holds."""
    grouped = in_groups(of_heads, key_heads)
    return grouped[:, :, : 1 << (max(grouped.shape[2], 1).bit_length() - 1)].sum(axis=2)


def collected(collect: Callable[[Array, tuple[int, ...]], Array]) -> Backward:
    """Make a backward pass that does something else along the axes that the mask was repeated along."""

    def gradient(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
        if mask is None or is_boolean(mask):
            return None
        shape = np.shape(mask)
        missing = grad_logits.ndim - len(shape)
        repeated = [*range(missing), *(missing + axis for axis, length in enumerate(shape) if length == 1)]
        return collect(grad_logits, tuple(repeated)).reshape(shape)

    return backward_with(sum_to_mask=gradient)


def averaged(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Take the mean along the axes."""
    count = np.prod([grad_logits.shape[axis] for axis in repeated], initial=1)
    return grad_logits.sum(axis=repeated) / max(count, 1)


def first(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Take the first index of the axes."""
    kept = [slice(0, 1) if axis in repeated else slice(None) for axis in range(grad_logits.ndim)]
    return grad_logits[tuple(kept)].sum(axis=repeated)


def of_first_entry(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Sum within the first batch entry where the mask is repeated for all."""
    return grad_logits[:1].sum(axis=repeated) if 0 in repeated else grad_logits.sum(axis=repeated)


def last_tile_of(tile: int) -> Callable[[Array, tuple[int, ...]], Array]:
    """Take what the last tile of queries gave where the mask is repeated along queries."""

    def collect(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
        start = max(grad_logits.shape[2] - 1, 0) // tile * tile
        return (grad_logits[:, :, start:] if 2 in repeated else grad_logits).sum(axis=repeated)

    return collect


def within_group(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Leave out the second half of the heads where the mask is repeated along them."""
    return (grad_logits[:, : -(-grad_logits.shape[1] // 2)] if 1 in repeated else grad_logits).sum(axis=repeated)


def nan_where_excluded(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Subtract minus infinity from itself on the way."""
    return np.where(np.isneginf(np.asarray(arguments["mask"]).astype(float)), np.nan, gradient)


def one_where_excluded(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Give what is excluded the gradient of a query that sums to one."""
    excluded = np.isneginf(np.asarray(arguments["mask"]).astype(float))
    return np.where(excluded, -gradient.sum(axis=-1, keepdims=True) - 1, gradient)


def transposed(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
    """Put the keys into the rows and the queries into the columns, and leave the shape."""
    if mask is None or is_boolean(mask):
        return None
    return sum_to_mask(np.swapaxes(grad_logits, -1, -2).reshape(grad_logits.shape), mask)


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
    **{f"sdpa_backward.sinks_of_first_{queries}_queries": sinks_of_first(None, queries) for queries in (64, 256)},
    "sdpa_backward.sinks_of_first_32_entries": sinks_of_first(32, None),
    **{f"sdpa_backward.mask_of_first_{queries}_queries": mask_of_first(None, queries) for queries in (64, 256)},
    "sdpa_backward.mask_of_first_32_entries": mask_of_first(32, None),
    **{
        f"sdpa_backward.hidden_block_nan_of_{block}": backward_with(
            scaled_dot_product_attention=nan_in_hidden_tile(block)
        )
        for block in (16, 32, 64)
    },
    "sdpa_backward.keys_behind_hidden_block_dropped": backward_with(sum_for_queries=keys_up_to_hidden_block),
    "sdpa_backward.queries_behind_hidden_block_dropped": backward_with(sum_for_keys=queries_up_to_hidden_block),
    "sdpa_backward.window_of_last_query": replaying(within_window=window_of_last_query),
    **{
        f"sdpa_backward.sink_for_each_{block}_keys": replaying(join_sinks=sink_for_each(block))
        for block in (16, 64, 256)
    },
    "sdpa_backward.square_needs_no_alignment": repeating(top_left_in_squares),
    "sdpa_backward.aligned_by_extents": aligned_by_extents,
    **{
        f"sdpa_backward.{name}_of_first_{entries}_entries": lengths_of_first(entries, name)
        for name in ("key_lengths", "query_lengths")
        for entries in (8, 16)
    },
    "sdpa_backward.group_in_fours": summed(whole_fours, "grad_key", "grad_value"),
    "sdpa_backward.group_of_a_power_of_two": summed(power_of_two, "grad_key", "grad_value"),
    "sdpa_backward.group_of_sixteen_at_most": summed(
        lambda of_heads, key_heads: in_groups(of_heads, key_heads)[:, :, :16].sum(axis=2), "grad_key", "grad_value"
    ),
    "sdpa_backward.mask_averaged": collected(averaged),
    "sdpa_backward.mask_of_first_place": collected(first),
    "sdpa_backward.mask_of_first_entry_alone": collected(of_first_entry),
    "sdpa_backward.mask_of_half_the_heads": collected(within_group),
    "sdpa_backward.mask_of_last_queries": collected(last_tile_of(2)),
    "sdpa_backward.mask_not_summed": backward_with(
        sum_to_mask=lambda grad_logits, mask: None if mask is None or is_boolean(mask) else grad_logits
    ),
    "sdpa_backward.mask_transposed": backward_with(sum_to_mask=transposed),
    "sdpa_backward.mask_negated": changing(grad_mask=lambda gradient, _: -gradient),
    "sdpa_backward.mask_nan_where_excluded": changing(grad_mask=nan_where_excluded),
    "sdpa_backward.mask_nonzero_where_excluded": changing(grad_mask=one_where_excluded),
}
