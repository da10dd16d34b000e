"""What goes wrong in finding the logarithm of a row, and in going through all rows and features."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.merge_states import MergedStates, merge_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

BLOCK_OF_FEATURES, BLOCK_OF_QUERIES = 32, 16


def of_first(axis: int) -> Callable[[Array], Array]:
    """Take the first logarithm for all along an axis."""

    def repeated(logsumexp: Array) -> Array:
        if np.ndim(logsumexp) != 3 or not np.shape(logsumexp)[axis]:
            return logsumexp
        return np.broadcast_to(np.take(logsumexp, [0], axis=axis), np.shape(logsumexp)).copy()

    return repeated


def exchanged(first: int, second: int) -> Callable[[Array], Array]:
    """Take one axis for another, where they are equally long."""

    def swapped(logsumexp: Array) -> Array:
        if np.ndim(logsumexp) != 3 or np.shape(logsumexp)[first] != np.shape(logsumexp)[second]:
            return logsumexp
        return np.swapaxes(logsumexp, first, second)

    return swapped


def read_queries_first(logsumexp: Array) -> Array:
    """Read the numbers of (H, S) as if they lay as (S, H)."""
    if np.ndim(logsumexp) != 3:
        return logsumexp
    batch, heads, queries = np.shape(logsumexp)
    return np.ascontiguousarray(logsumexp).reshape(batch, queries, heads).swapaxes(1, 2)


def by_feature(output_a: Any, logsumexp_a: Any, output_b: Any, logsumexp_b: Any) -> MergedStates:
    """Lay the weights along the features, where there are as many as queries."""
    merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    if np.shape(output_a)[2] != np.shape(output_a)[3]:
        return merged
    turned = merge_states(np.swapaxes(output_a, 2, 3), logsumexp_a, np.swapaxes(output_b, 2, 3), logsumexp_b)
    return merged._replace(output=np.swapaxes(turned.output, 2, 3))


def rest_of(axis: int, block: int) -> Computation:
    """Merge what fills whole blocks, and leave the rest of the first part as it is."""

    def computation(output_a: Any, logsumexp_a: Any, output_b: Any, logsumexp_b: Any) -> MergedStates:
        merged = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        done = np.shape(output_a)[axis] // block * block
        rest = (slice(None),) * axis + (slice(done, None),)
        if done:
            merged.output[rest] = np.asarray(output_a)[rest]
            if axis < 3:
                merged.logsumexp[rest] = np.asarray(logsumexp_a)[rest]
        return merged

    return computation


mistake = partial(Mistake, operation="merge_states")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="merge.first_head",
        clause="merge.rows",
        sentence="The logarithms of the first head were used for all heads.",
        engineer="The head stride of the logarithms is 0.",
        remedy="Merge each head by its own logarithms.",
        function=altered(merge_states, logsumexp_a=of_first(1), logsumexp_b=of_first(1)),
    ),
    mistake(
        id="merge.first_entry",
        clause="merge.rows",
        sentence="The logarithms of the first batch entry were used for all.",
        engineer="The batch stride of the logarithms is 0.",
        remedy="Merge each batch entry by its own logarithms.",
        function=altered(merge_states, logsumexp_a=of_first(0), logsumexp_b=of_first(0)),
    ),
    mistake(
        id="merge.first_query",
        clause="merge.rows",
        sentence="The logarithms of the first query were used for all.",
        engineer="The logarithm is loaded once a head.",
        remedy="Merge each query by its own logarithms.",
        function=altered(merge_states, logsumexp_a=of_first(2), logsumexp_b=of_first(2)),
    ),
    mistake(
        id="merge.entries_as_heads",
        clause="merge.rows",
        sentence="Where there are as many heads as batch entries, the logarithms of one were used for the other.",
        engineer="The logarithms are indexed (H, B, S).",
        remedy="Read the logarithms as batch, heads, queries.",
        function=altered(merge_states, logsumexp_a=exchanged(0, 1), logsumexp_b=exchanged(0, 1)),
    ),
    mistake(
        id="merge.heads_as_queries",
        clause="merge.rows",
        sentence="Where there are as many heads as queries, the logarithms of one were used for the other.",
        engineer="Logarithms (S, H) are read as (H, S) where both fit.",
        remedy="Read the logarithms as batch, heads, queries.",
        function=altered(merge_states, logsumexp_a=exchanged(1, 2), logsumexp_b=exchanged(1, 2)),
    ),
    mistake(
        id="merge.logarithms_queries_first",
        clause="merge.rows",
        sentence="The logarithms were read as if queries came before heads.",
        engineer="Logarithms (B, H, S) are read with the strides of (B, S, H).",
        remedy="Read the logarithms as batch, heads, queries.",
        function=altered(merge_states, logsumexp_a=read_queries_first, logsumexp_b=read_queries_first),
        source="https://github.com/vllm-project/flash-attention/pull/87",
    ),
    mistake(
        id="merge.weights_along_features",
        clause="merge.rows",
        sentence="Where there are as many features as queries, the weights were laid along the features.",
        engineer="The weights lack a last axis, and are broadcast against the features.",
        remedy="Weigh all features of a query alike.",
        function=by_feature,
    ),
    mistake(
        id="merge.features_beyond_a_block",
        clause="merge.average",
        sentence="Features beyond the last whole block of 32 were left as the first part has them.",
        engineer="The loop over blocks of features has no tail.",
        remedy="Merge every feature.",
        function=rest_of(3, BLOCK_OF_FEATURES),
    ),
    mistake(
        id="merge.queries_beyond_a_block",
        clause="merge.average",
        sentence="Queries beyond the last whole block of 16 were left as the first part has them.",
        engineer="The grid rounds the number of blocks down.",
        remedy="Merge every query.",
        function=rest_of(2, BLOCK_OF_QUERIES),
    ),
)
"""What goes wrong in rows."""
