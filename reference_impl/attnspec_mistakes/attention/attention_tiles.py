"""What goes wrong when attention goes through its keys in tiles: tails, running maxima, merged parts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_logits import exclude_keys
from attnspec_reference.attention.attention_softmax import exponentiate, join_sinks, largest_logit
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array, Booleans, Integers

OPERATION = "scaled_dot_product_attention"


def without_last_keys(tile: int) -> Computation:
    """Make an attention that goes through whole tiles of keys only, where there are any."""

    def excluded(logits: Array, attendable: Booleans) -> Array:
        keys = logits.shape[-1]
        reached = keys // tile * tile or keys
        loaded: Booleans = np.less(np.arange(int(keys)), reached)
        return exclude_keys(logits, attendable & loaded)

    return departure(scaled_dot_product_attention, exclude_keys=excluded)


def zeros_in_last_tile(tile: int) -> Computation:
    """Make an attention that fills the last tile with keys whose score is 0."""

    def joined(logits: Array, sinks: Array | None, query_lengths: Integers | int) -> Array:
        terms = join_sinks(logits, sinks, query_lengths)
        return np.pad(terms, [(0, 0)] * 3 + [(0, -logits.shape[-1] % tile)])

    return departure(scaled_dot_product_attention, join_sinks=joined)


def without_last_queries(tile: int) -> Computation:
    """Make an attention that leaves out the queries behind the last whole tile, where there are any."""

    def attend(**arguments: Any) -> Attention:
        attention = scaled_dot_product_attention(**arguments)
        queries = attention.output.shape[2]
        reached = queries // tile * tile or queries
        output = np.array(attention.output)
        output[:, :, reached:] = 0
        return attention._replace(output=output)

    return attend


def not_rescaled(tile: int) -> Computation:
    """Make an attention that subtracts the largest logit so far, and never corrects what it summed before."""

    def exponentials(logits: Array, _largest: Array) -> Array:
        parts: list[Array] = []
        largest = np.full((*logits.shape[:-1], 1), -np.inf, dtype=logits.dtype)
        for start in range(0, logits.shape[-1], tile):
            part = logits[..., start : start + tile]
            largest = np.maximum(largest, largest_logit(part))
            parts.append(exponentiate(part, largest))
        return np.concatenate(parts, axis=-1) if parts else np.exp(logits)

    return departure(scaled_dot_product_attention, exponentiate=exponentials)


def started_at_zero(logits: Array) -> Array:
    """Find the largest of the logits and 0."""
    return np.max(logits, axis=-1, keepdims=True, initial=0.0)


def nan_in_hidden_tile(tile: int) -> Computation:
    """Make an attention that subtracts minus infinity from itself when its first tile is hidden."""

    def exponentials(logits: Array, largest: Array) -> Array:
        hidden = (logits[..., :tile] == -np.inf).all(axis=-1, keepdims=True) & (largest != -np.inf)
        return np.where(hidden, np.nan, exponentiate(logits, largest))

    return departure(scaled_dot_product_attention, exponentiate=exponentials)


def merged(share_of_first: Callable[[Array, Array], Array]) -> Computation:
    """Make an attention that attends to two halves of the keys apart, and merges them by their logsumexps."""

    @in_working_precision
    def attend(**arguments: Any) -> Attention:
        attention = scaled_dot_product_attention(**arguments)
        keys = attention.logits.shape[-1]
        if keys < 2 or arguments.get("sinks") is not None:
            return attention
        first: Booleans = np.less(np.arange(int(keys)), keys // 2)
        parts = [
            departure(scaled_dot_product_attention, exclude_keys=hiding(other))(**arguments)
            for other in (~first, first)
        ]
        share = share_of_first(*(part.logsumexp[..., np.newaxis] for part in parts))
        share = np.where(parts[0].logsumexp[..., np.newaxis] == -np.inf, 0, share)
        share = np.where(parts[1].logsumexp[..., np.newaxis] == -np.inf, 1, share)
        return attention._replace(output=share * parts[0].output + (1 - share) * parts[1].output)

    return attend


def hiding(hidden: Booleans) -> Callable[[Array, Booleans], Array]:
    """Exclude some columns besides those that are excluded anyway."""
    return lambda logits, attendable: exclude_keys(logits, attendable & ~hidden)


def equal_shares(first: Array, _second: Array) -> Array:
    """Give each half the same share."""
    return np.full_like(first, 0.5)


def shares_to_base_two(first: Array, second: Array) -> Array:
    """Take the logsumexps for logarithms to the base 2."""
    return 1 / (1 + np.exp2(second - first))


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    *(
        Mistake(
            id=f"sdpa.last_keys_dropped_of_{tile}",
            operation=OPERATION,
            clause="sdpa.softmax.keys",
            sentence=f"Keys were taken {tile} at a time, and those left over at the end were forgotten.",
            engineer=f"The key loop runs over whole tiles of {tile}; the tail is never loaded.",
            remedy="Go through all keys, the last incomplete tile included.",
            function=without_last_keys(tile),
            source="https://github.com/thu-ml/SageAttention/pull/377",
        )
        for tile in (8, 16, 32)
    ),
    mistake(
        id="sdpa.last_tile_filled_with_zeros",
        clause="sdpa.weights",
        sentence="The last tile of keys was filled up with zeros, and these took part in the softmax.",
        engineer="Sk is padded to a multiple of 32 with zero logits that enter the row sum.",
        remedy="Set the scores of the filling to minus infinity.",
        function=zeros_in_last_tile(32),
        source="https://github.com/tenstorrent/tt-metal/issues/54833",
    ),
    mistake(
        id="sdpa.last_queries_dropped",
        clause="sdpa.output",
        sentence="Queries were taken 16 at a time, and those left over at the end got no output.",
        engineer="The grid over query tiles is rounded down, so the tail rows are never written.",
        remedy="Answer all queries, the last incomplete tile included.",
        function=without_last_queries(16),
        source="https://github.com/triton-lang/triton/issues/2059",
    ),
    mistake(
        id="sdpa.tiles_not_rescaled",
        clause="sdpa.weights",
        sentence="When a larger score came, what had been summed before it was not corrected.",
        engineer="Online softmax without the factor exp(old_max - new_max): tiles of 16 keep different maxima.",
        remedy="Multiply sum and output so far by exp(old maximum - new maximum).",
        function=not_rescaled(16),
        source="https://github.com/paiml/aprender/issues/2753",
    ),
    mistake(
        id="sdpa.maximum_started_at_zero",
        clause="sdpa.softmax.stability",
        sentence="The largest score was looked for from 0 up, so a row of very negative scores vanishes.",
        engineer="The running maximum is initialised to 0 instead of -inf: rows far below underflow to 0/0.",
        remedy="Start the maximum at minus infinity.",
        function=departure(scaled_dot_product_attention, largest_logit=started_at_zero),
        source="https://github.com/Dao-AILab/flash-attention/pull/2083",
    ),
    mistake(
        id="sdpa.hidden_tile_nan",
        clause="sdpa.weights",
        sentence="A query whose first keys are all excluded got NaN, although it may attend to later ones.",
        engineer="The running maximum is still -inf after a fully masked tile: exp(-inf - -inf).",
        remedy="Where the maximum so far is minus infinity, subtract nothing.",
        function=nan_in_hidden_tile(4),
        source="https://github.com/Dao-AILab/flash-attention/pull/1948",
    ),
    mistake(
        id="sdpa.halves_averaged",
        clause="sdpa.output",
        sentence="The keys were attended to in two halves, and the mean of the two results was taken.",
        engineer="Split-KV partials are merged by their mean instead of by exp(lse - lse_max).",
        remedy="Weigh each half by the exponential of its logsumexp.",
        function=merged(equal_shares),
    ),
    mistake(
        id="sdpa.halves_merged_to_base_two",
        clause="sdpa.output",
        sentence="The keys were attended to in two halves, and these were weighed to the base 2 instead of e.",
        engineer="Split-KV partials with natural LSE are merged with exp2.",
        remedy="Weigh each half by the exponential, to the base e, of its logsumexp.",
        function=merged(shares_to_base_two),
        source="https://github.com/vllm-project/vllm/pull/28840",
    ),
)
