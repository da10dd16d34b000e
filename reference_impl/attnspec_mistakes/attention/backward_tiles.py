"""What goes wrong when the backward pass goes through queries and keys in tiles: tails, sums, what is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import changing, mistake
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import sum_for_keys, sum_for_queries
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans, Integers


def over_queries(reached: Callable[[int], slice]) -> Backward:
    """Make a backward pass that sums over some of the queries for the gradients of keys and values."""

    def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        queries = reached(of_scores.shape[-2])
        return sum_for_keys(of_scores[..., queries, :], of_queries[..., queries, :], attendable[..., queries, :])

    return departure(scaled_dot_product_attention_backward, sum_for_keys=sums)


def over_keys(reached: Callable[[int], slice]) -> Backward:
    """Make a backward pass that sums over some of the keys for the gradient of the queries."""

    def sums(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
        keys = reached(grad_scores.shape[-1])
        return sum_for_queries(grad_scores[..., keys], key[..., keys, :], attendable[..., keys])

    return departure(scaled_dot_product_attention_backward, sum_for_queries=sums)


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


def tiles_before_diagonal_skipped(tile: int) -> Backward:
    """Make a backward pass that begins the queries of a tile of keys at the tile of the same number."""

    def computed(**arguments: Any) -> AttentionGradients:
        if not arguments.get("is_causal"):
            return scaled_dot_product_attention_backward(**arguments)

        def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
            queries, keys = of_scores.shape[-2:]
            begun: Booleans = np.greater_equal(positions(queries)[:, np.newaxis], positions(keys) // tile * tile)
            return sum_for_keys(np.where(begun, of_scores, 0), of_queries, attendable & begun)

        return departure(scaled_dot_product_attention_backward, sum_for_keys=sums)(**arguments)

    return computed


def diagonal_tile_skipped(tile: int) -> Backward:
    """Make a causal backward pass that begins the queries of a tile of keys one tile too late."""

    def computed(**arguments: Any) -> AttentionGradients:
        if not arguments.get("is_causal"):
            return scaled_dot_product_attention_backward(**arguments)

        def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
            queries, keys = of_scores.shape[-2:]
            begun: Booleans = np.greater(positions(queries)[:, np.newaxis] // tile, positions(keys) // tile)
            return sum_for_keys(np.where(begun, of_scores, 0), of_queries, attendable & begun)

        return departure(scaled_dot_product_attention_backward, sum_for_keys=sums)(**arguments)

    return computed


def filled_with_last(tile: int) -> Backward:
    """Make a backward pass that fills the last tile of queries with copies of the last query, and sums them, too."""

    def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        queries = of_scores.shape[-2]
        if not queries:
            return sum_for_keys(of_scores, of_queries, attendable)
        rows = np.minimum(positions(-(-queries // tile) * tile), queries - 1)
        return sum_for_keys(of_scores[..., rows, :], of_queries[..., rows, :], attendable[..., rows, :])

    return departure(scaled_dot_product_attention_backward, sum_for_keys=sums)


MISTAKES = (
    *(
        mistake(
            id=f"sdpa_backward.keys_overwritten_by_{tile}",
            clause="sdpa_backward.grad_key",
            sentence=f"Queries were taken {tile} at a time; keys and values got what the last of these gave.",
            engineer=f"Each query tile of {tile} overwrites dK and dV instead of adding to them.",
            remedy="Add up what all queries give.",
            function=over_queries(last_tile(tile)),
        )
        for tile in (1, 2, 16, 64, 256)
    ),
    *(
        mistake(
            id=f"sdpa_backward.queries_overwritten_by_{tile}",
            clause="sdpa_backward.grad_query",
            sentence=f"Keys were taken {tile} at a time; the queries got what the last of these gave.",
            engineer=f"Each key tile of {tile} overwrites dQ instead of adding to it.",
            remedy="Add up what all keys give.",
            function=over_keys(last_tile(tile)),
        )
        for tile in (2, 16, 64, 256)
    ),
    *(
        mistake(
            id=f"sdpa_backward.last_queries_dropped_of_{tile}",
            clause="sdpa_backward.grad_key",
            sentence=f"Queries were taken {tile} at a time, and those left over gave nothing to keys and values.",
            engineer=f"The query loop of dK and dV runs over whole tiles of {tile}.",
            remedy="Go through all queries, the last incomplete tile included.",
            function=over_queries(whole_tiles(tile)),
        )
        for tile in (2, 16, 64, 256)
    ),
    *(
        mistake(
            id=f"sdpa_backward.last_keys_dropped_of_{tile}",
            clause="sdpa_backward.grad_query",
            sentence=f"Keys were taken {tile} at a time, and those left over gave nothing to the queries.",
            engineer=f"The key loop of dQ runs over whole tiles of {tile}.",
            remedy="Go through all keys, the last incomplete tile included.",
            function=over_keys(whole_tiles(tile)),
        )
        for tile in (2, 16, 64, 256)
    ),
    mistake(
        id="sdpa_backward.key_tail_not_written",
        clause="sdpa_backward.grad_key",
        sentence="Keys and values left over behind sixteens got zeros for gradients.",
        engineer="The grid of dK and dV over key tiles of 16 is rounded down.",
        remedy="Write the gradients of all keys and values, the last incomplete tile included.",
        function=changing(grad_key=tail_as_zeros(16), grad_value=tail_as_zeros(16)),
    ),
    mistake(
        id="sdpa_backward.query_tail_not_written",
        clause="sdpa_backward.grad_query",
        sentence="Queries left over behind sixteens got zeros for gradients.",
        engineer="The grid of dQ over query tiles of 16 is rounded down.",
        remedy="Write the gradients of all queries, the last incomplete tile included.",
        function=changing(grad_query=tail_as_zeros(16)),
    ),
    mistake(
        id="sdpa_backward.tail_filled_with_last",
        clause="sdpa_backward.grad_value",
        sentence="The last four queries were filled up with copies of the last one, which were summed, too.",
        engineer="Loads of a partial query tile of 4 are clamped to the last row and not masked.",
        remedy="Let what fills a tile add nothing.",
        function=filled_with_last(4),
    ),
    mistake(
        id="sdpa_backward.causal_tiles_from_the_top",
        clause="sdpa_backward.position",
        sentence="Queries before a tile of keys were skipped, though they stand after it from the bottom right.",
        engineer="The first query tile of a key tile is computed without the offset Sk - Sq.",
        remedy="Skip the queries whose position, not whose number, is before the keys.",
        function=tiles_before_diagonal_skipped(2),
    ),
    mistake(
        id="sdpa_backward.causal_diagonal_tile_skipped",
        clause="sdpa_backward.causal",
        sentence="Keys and values got nothing from the queries of the tile in which they stand themselves.",
        engineer="The causal query loop of dK and dV starts behind the diagonal tile of 2.",
        remedy="Start at the tile that holds the diagonal, and exclude inside it.",
        function=diagonal_tile_skipped(2),
    ),
)
"""In the order of the page."""
