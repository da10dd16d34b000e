"""What goes wrong with blocks of a fixed size: rows of which a block holds nothing, what counts once, what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_tiles import nan_in_hidden_tile
from attnspec_mistakes.attention.backward_departures import mistake, repeating
from attnspec_mistakes.attention.backward_heads import in_groups, summed
from attnspec_mistakes.attention.backward_mask_gradients import collected
from attnspec_mistakes.attention.backward_masks import replaying
from attnspec_mistakes.attention.backward_sinks import of_sinks, shares
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import sum_for_keys, sum_for_queries
from attnspec_reference.attention.attention_keys import within_window
from attnspec_reference.attention.attention_softmax import join_sinks
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans, Integers


def sinks_of_first(entries: int | None, queries: int | None) -> Backward:
    """Make a backward pass that sums the gradient of a sink over the first batch entries and queries."""

    def summed_first(sinks: Array, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
        of_each = -np.where(answered, shares(sinks, logsumexp) * subtracted, 0)
        return of_each[:entries, :, :queries].sum(axis=(0, 2))

    return of_sinks(summed_first)


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
    """Place the queries by how many tokens are given, not by how many count."""
    moved = np.shape(arguments["key"])[2] - np.shape(arguments["query"])[2]

    def offset(alignment: str, _queries: Any, _keys: Any, _past: int) -> int:
        return 0 if alignment == "top_left" else moved

    return replaying(causal_offset=offset)(**arguments)


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


def sixteen_at_most(of_heads: Array, key_heads: int) -> Array:
    """Add sixteen heads at most."""
    return in_groups(of_heads, key_heads)[:, :, :16].sum(axis=2)


MISTAKES = (
    *(
        mistake(
            id=f"sdpa_backward.sinks_of_first_{queries}_queries",
            clause="sdpa_backward.grad_sinks",
            sentence=f"The gradient of a sink heard the first {queries} queries of each sequence alone.",
            engineer=f"A block of {queries} threads sums dSink, one query a thread, without a loop.",
            remedy="Sum over all queries, however many there are.",
            function=sinks_of_first(None, queries),
        )
        for queries in (64, 256)
    ),
    mistake(
        id="sdpa_backward.sinks_of_first_32_entries",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of a sink heard the first 32 batch entries alone.",
        engineer="One warp reduces dSink over the batch, one entry a lane.",
        remedy="Sum over all batch entries, however many there are.",
        function=sinks_of_first(32, None),
    ),
    *(
        mistake(
            id=f"sdpa_backward.mask_of_first_{queries}_queries",
            clause="sdpa_backward.grad_mask.broadcast",
            sentence=f"The gradient of a mask that all queries share heard the first {queries} of them alone.",
            engineer=f"dBias of a broadcast row is reduced within the first query block of {queries}.",
            remedy="Sum over all queries that share a row of the mask.",
            function=mask_of_first(None, queries),
        )
        for queries in (64, 256)
    ),
    mistake(
        id="sdpa_backward.mask_of_first_32_entries",
        clause="sdpa_backward.grad_mask.broadcast",
        sentence="The gradient of a mask that all batch entries share heard the first 32 of them alone.",
        engineer="One warp reduces dBias over the batch, one entry a lane.",
        remedy="Sum over all batch entries that share the mask.",
        function=mask_of_first(32, None),
    ),
    *(
        mistake(
            id=f"sdpa_backward.hidden_block_nan_of_{block}",
            clause="sdpa_backward.recomputed",
            sentence=f"A query whose first {block} keys are all excluded got NaN, although it may attend to others.",
            engineer=f"The online softmax subtracts -inf from -inf after a fully masked first tile of {block}.",
            remedy="Where the maximum so far is minus infinity, subtract nothing.",
            function=departure(
                scaled_dot_product_attention_backward, scaled_dot_product_attention=nan_in_hidden_tile(block)
            ),
        )
        for block in (16, 32, 64)
    ),
    mistake(
        id="sdpa_backward.keys_behind_hidden_block_dropped",
        clause="sdpa_backward.grad_query",
        sentence="Keys behind sixteen that a query may not attend to gave nothing to its gradient.",
        engineer="The key loop of dQ breaks at a fully masked tile instead of going on to the next.",
        remedy="Skip a block without keys, and go on.",
        function=departure(scaled_dot_product_attention_backward, sum_for_queries=keys_up_to_hidden_block),
    ),
    mistake(
        id="sdpa_backward.queries_behind_hidden_block_dropped",
        clause="sdpa_backward.grad_key",
        sentence="Queries behind sixteen that may not attend to a key gave nothing to its gradient and its value's.",
        engineer="The query loop of dK and dV breaks at a fully masked tile instead of going on to the next.",
        remedy="Skip a block of queries that do not hear the key, and go on.",
        function=departure(scaled_dot_product_attention_backward, sum_for_keys=queries_up_to_hidden_block),
    ),
    mistake(
        id="sdpa_backward.window_of_last_query",
        clause="sdpa_backward.window",
        sentence="Eight queries began at the keys with which the window of the last of them begins.",
        engineer="The first key tile of a query tile comes from the tile's last row instead of its first.",
        remedy="Begin where the window of the first query begins, and exclude inside the block.",
        function=replaying(within_window=window_of_last_query),
    ),
    *(
        mistake(
            id=f"sdpa_backward.sink_for_each_{block}_keys",
            clause="sdpa_backward.sinks",
            sentence=f"Keys were taken {block} at a time, and the sink joined the softmax once for each time.",
            engineer=f"Every split of {block} keys adds exp(sink) to its denominator before the splits are merged.",
            remedy="Let the sink join the softmax once.",
            function=replaying(join_sinks=sink_for_each(block)),
        )
        for block in (16, 64, 256)
    ),
    mistake(
        id="sdpa_backward.square_needs_no_alignment",
        clause="sdpa_backward.position",
        sentence="Where as many queries as keys were given, bottom-right was taken for top-left, whatever the lengths.",
        engineer="The bottom-right offset is computed under `if seqlen_q != seqlen_k`.",
        remedy="Place the queries by L - N, the numbers that count.",
        function=repeating(top_left_in_squares),
    ),
    mistake(
        id="sdpa_backward.aligned_by_extents",
        clause="sdpa_backward.position",
        sentence="From the bottom right, queries were placed by how many tokens are given, not by how many count.",
        engineer="The offset is max_seqlen_k - max_seqlen_q in the backward kernel.",
        remedy="Place the queries by L - N, the numbers that count.",
        function=aligned_by_extents,
    ),
    *(
        mistake(
            id=f"sdpa_backward.{name}_of_first_{entries}_entries",
            clause=f"sdpa_backward.{name}",
            sentence=f"The {name.replace('_', ' ')} of the first {entries} batch entries served for all others, too.",
            engineer=f"{name} lie in a table of {entries} that is indexed modulo its size.",
            remedy="Read the length of the batch entry.",
            function=lengths_of_first(entries, name),
        )
        for name in ("key_lengths", "query_lengths")
        for entries in (8, 16)
    ),
    mistake(
        id="sdpa_backward.group_in_fours",
        clause="sdpa_backward.heads.grouped",
        sentence="Query heads of a group were added four at a time, and those left over were forgotten.",
        engineer="The reduction over a group is unrolled by 4 without a tail.",
        remedy="Sum over all query heads of the group.",
        function=summed(whole_fours, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.group_of_a_power_of_two",
        clause="sdpa_backward.heads.grouped",
        sentence="From each group, as many query heads were added as a power of two holds.",
        engineer="A tree reduction over a group rounds its size down to a power of two.",
        remedy="Sum over all query heads of the group.",
        function=summed(power_of_two, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.group_of_sixteen_at_most",
        clause="sdpa_backward.heads.grouped",
        sentence="From groups of more than sixteen query heads, sixteen were added up.",
        engineer="Query heads of a group are packed into one tile of 16 rows.",
        remedy="Sum over all query heads of the group, in as many tiles as they need.",
        function=summed(sixteen_at_most, "grad_key", "grad_value"),
    ),
)
"""In the order of what is counted: queries, keys, lengths, batch entries, heads."""
