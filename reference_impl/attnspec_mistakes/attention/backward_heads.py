"""What goes wrong with heads on the way back: sums over a group, which head belongs to which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_mistakes.attention.attention_layout import by_number_of_shared_heads, last_head_first
from attnspec_mistakes.attention.attention_scores import first_head_for_all, tiled_heads
from attnspec_mistakes.attention.backward_departures import in_some, mistake
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import sum_over_group
from attnspec_reference.attention.attention_logits import repeat_heads
from attnspec_reference.attention.scaled_dot_product_attention_backward import scaled_dot_product_attention_backward

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array


def in_groups(of_heads: Array, key_heads: int) -> Array:
    """Return (B, Hkv, G, Sk, E)."""
    batch, heads, *rest = of_heads.shape
    return of_heads.reshape(batch, key_heads, heads // max(key_heads, 1), *rest)


def first_of_group(of_heads: Array, key_heads: int) -> Array:
    """Take what the first head of each group gives."""
    return in_groups(of_heads, key_heads)[:, :, :1].sum(axis=2)


def last_of_group(of_heads: Array, key_heads: int) -> Array:
    """Take what the last head of each group gives."""
    return in_groups(of_heads, key_heads)[:, :, -1:].sum(axis=2)


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


def pairs_alone(of_heads: Array, key_heads: int) -> Array:
    """Add up two heads at most."""
    return in_groups(of_heads, key_heads)[:, :, :2].sum(axis=2)


def summed(sum_heads: Callable[[Array, int], Array], *names: str) -> Backward:
    """Make a backward pass that sums over groups in another way, in some of the gradients."""
    return in_some(departure(scaled_dot_product_attention_backward, sum_over_group=sum_heads), *names)


def of_other_entry(shared: Array, heads: int) -> Array:
    """Read the keys and values of the batch entry before."""
    return repeat_heads(np.roll(shared, 1, axis=0), heads)


MISTAKES = (
    mistake(
        id="sdpa_backward.group_first_head",
        clause="sdpa_backward.heads.grouped",
        sentence="Keys and values got the gradients that the first query head of their group gives.",
        engineer="dK and dV are written by the first query head of each group alone.",
        remedy="Sum over all query heads that share a key and value head.",
        function=summed(first_of_group, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.group_last_head",
        clause="sdpa_backward.heads.grouped",
        sentence="Keys and values got the gradients that the last query head of their group gives.",
        engineer="Each query head of a group overwrites dK and dV instead of adding to them.",
        remedy="Sum over all query heads that share a key and value head.",
        function=summed(last_of_group, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.group_averaged",
        clause="sdpa_backward.heads.grouped",
        sentence="The gradients of keys and values are means over the query heads of a group, not sums.",
        engineer="dK and dV are reduced with mean over the group.",
        remedy="Sum over the query heads that share a key and value head, and divide by nothing.",
        function=summed(mean_of_group, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.group_averaged_for_values",
        clause="sdpa_backward.heads.grouped",
        sentence="The gradient of the values is a mean over the heads of a group; that of the keys is a sum.",
        engineer="dV is reduced with mean over the group.",
        remedy="Sum over the query heads that share a value head.",
        function=summed(mean_of_group, "grad_value"),
    ),
    mistake(
        id="sdpa_backward.group_first_head_for_keys",
        clause="sdpa_backward.heads.grouped",
        sentence="The gradient of the keys came from the first head of each group; that of the values is a sum.",
        engineer="dK is written by the first query head of each group alone.",
        remedy="Sum over the query heads that share a key head.",
        function=summed(first_of_group, "grad_key"),
    ),
    mistake(
        id="sdpa_backward.group_of_two_at_most",
        clause="sdpa_backward.heads.grouped",
        sentence="From groups of more than two query heads, only two were added up.",
        engineer="The reduction over a group is unrolled for a ratio of 2.",
        remedy="Sum over as many query heads as share a key and value head.",
        function=summed(pairs_alone, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.groups_tiled",
        clause="sdpa_backward.heads.grouped",
        sentence="What query head h gives was added to key and value head h modulo Hkv.",
        engineer="dK and dV are reduced over a (group, Hkv) view of the heads instead of (Hkv, group).",
        remedy="Query head h belongs to key and value head h // (Hq / Hkv).",
        function=summed(tiled_groups, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.all_heads_summed",
        clause="sdpa_backward.heads.grouped",
        sentence="Every key and value head got the sum over all query heads, not over its own group.",
        engineer="dK and dV are accumulated without the key head's offset.",
        remedy="Sum over the query heads of the group alone.",
        function=summed(sum_of_all, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.batch_summed",
        clause="sdpa_backward.grad_key",
        sentence="Keys and values of every batch entry got the sum over all entries.",
        engineer="dK and dV are accumulated without the batch entry's offset.",
        remedy="Keep the gradients of different batch entries apart.",
        function=summed(sum_over_batch, "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.heads_tiled",
        clause="sdpa_backward.heads.grouped",
        sentence="On the way back, query head h read the key and value head h modulo Hkv.",
        engineer="The backward kernel maps kv_head = head % num_kv_heads.",
        remedy="Let query head h read key and value head h // (Hq / Hkv).",
        function=departure(scaled_dot_product_attention_backward, repeat_heads=tiled_heads),
    ),
    mistake(
        id="sdpa_backward.heads_by_number_of_groups",
        clause="sdpa_backward.heads.grouped",
        sentence="On the way back, the number of a head was divided by that of key heads, not by the size of a group.",
        engineer="kv_head = head / num_kv_heads, which is right only where that equals the group size.",
        remedy="Let query head h read key and value head h // (Hq / Hkv).",
        function=departure(scaled_dot_product_attention_backward, repeat_heads=by_number_of_shared_heads),
        source="https://github.com/XunhaoLai/native-sparse-attention-triton/issues/27",
    ),
    mistake(
        id="sdpa_backward.first_head_for_all",
        clause="sdpa_backward.heads.grouped",
        sentence="On the way back, every query head read the first key and value head.",
        engineer="The head stride of K and V is 0 in the backward kernel.",
        remedy="Let query head h read key and value head h // (Hq / Hkv).",
        function=departure(scaled_dot_product_attention_backward, repeat_heads=first_head_for_all),
    ),
    mistake(
        id="sdpa_backward.heads_reversed",
        clause="sdpa_backward.heads.grouped",
        sentence="On the way back, the first query heads read the last key and value head.",
        engineer="The backward grid walks the heads in the other direction than the loads.",
        remedy="Let query head h read key and value head h // (Hq / Hkv).",
        function=departure(scaled_dot_product_attention_backward, repeat_heads=last_head_first),
    ),
    mistake(
        id="sdpa_backward.other_entry",
        clause="sdpa_backward.grad_weights",
        sentence="On the way back, each batch entry read the keys and values of the one before.",
        engineer="The batch offset of K and V is off by one in the backward kernel.",
        remedy="Read keys and values of the query's own batch entry.",
        function=departure(scaled_dot_product_attention_backward, repeat_heads=of_other_entry),
    ),
)
"""In the order of the page."""
