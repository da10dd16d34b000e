"""What goes wrong more rarely around the heads: projections and whose tokens they are of, biases, heads, and scales."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.attention_layers import unprojecting
from attnspec_mistakes.attention.forward.building_blocks import dealt_out, reshaped_instead
from attnspec_mistakes.mistake import Made, Making, Mistake, mistakes_in
from attnspec_mistakes.patches import Computation, altered, defaulting, ignoring, in_working_precision, patch
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.attention.split_heads import split_heads
from attnspec_reference.precision import Array

_PARTS = ("query", "key", "value")


def ways(*computations: Computation) -> Made:
    """Make a mistake in the first of several ways, and in the others."""
    return Made(computations[0], other_ways=computations[1:])


def projected_by(**others: str) -> Computation:
    """Project some tokens with the matrix and the bias of others, all named by what they make."""

    def computed(**arguments: Any) -> MultiHeadAttention:
        given = {kind + name: arguments.get(kind + name) for name in (*_PARTS, "output") for kind in ("w_", "b_")}
        for name, other in others.items():
            for kind in ("w_", "b_"):
                arguments[kind + name] = given[kind + other]
        return multi_head_attention(**arguments)

    return computed


def of_tokens(**others: str) -> Computation:
    """Take some tokens for others."""

    def computed(**arguments: Any) -> MultiHeadAttention:
        given = {name: arguments[name] for name in _PARTS}
        return multi_head_attention(**{**arguments, **{name: given[other] for name, other in others.items()}})

    return computed


def unprojected(name: str) -> Computation:
    """Leave one projection out, with its bias."""
    return ignoring(altered(multi_head_attention, **{f"w_{name}": unprojecting}), f"b_{name}")


def without_biases(*names: str) -> Computation:
    """Leave some biases out."""
    return ignoring(multi_head_attention, *(f"b_{name}" for name in names))


def split_in_some(wrong: Callable[[Array], Array], step: str, *names: str) -> Computation:
    """Split some of query, key and value wrongly, and the others rightly."""
    wrongly = patch(split_heads, **{step: wrong})

    def computed(**arguments: Any) -> MultiHeadAttention:
        order = iter(_PARTS)

        def split(x: Array, num_heads: int) -> Array:
            return (wrongly if next(order) in names else split_heads)(x, num_heads=num_heads)

        return patch(multi_head_attention, split_heads=split)(**arguments)

    return computed


def in_some_splits(wrong: Callable[..., Array], step: str) -> Made:
    """Make a mistake in splitting that not all of query, key and value have."""
    ways = [split_in_some(wrong, step, *names) for names in (("query",), ("key",), ("value",), _PARTS[:2], _PARTS[1:])]
    return Made(ways[0], other_ways=tuple(ways[1:]))


def heads_before_entries(x: Array) -> Array:
    """Read (B, H, ...), of which both axes are one, as (H, B, ...), and turn it."""
    return x.reshape(x.shape[1], x.shape[0], *x.shape[2:]).swapaxes(0, 1)


def entries_before_heads(x: Array) -> Array:
    """Turn (B, H, ...) to (H, B, ...), and read it as (B, H, ...)."""
    return x.swapaxes(0, 1).reshape(x.shape)


def folded_otherwise(turned: Callable[[Array], Array]) -> Computation:
    """Unfold batch entries and heads in another order than they were folded in."""
    return patch(multi_head_attention, combine_heads=lambda heads: combine_heads(turned(heads)))


def split_otherwise(turned: Callable[[Array], Array]) -> Computation:
    """Fold batch entries and heads in another order than they are unfolded in."""
    return patch(multi_head_attention, split_heads=lambda x, num_heads: turned(split_heads(x, num_heads=num_heads)))


def as_one_head(scale: Callable[[int, int], float]) -> Computation:
    """Attend with all features of a token at once, whatever the number of heads is."""

    def computed(**arguments: Any) -> MultiHeadAttention:
        width, heads = np.shape(arguments["query"])[-1], arguments["num_heads"]
        stated = arguments.get("scale")
        chosen = scale(width, heads) if stated is None else stated
        changed: dict[str, Any] = {**arguments, "num_heads": 1, "scale": chosen}
        return multi_head_attention(**changed)

    return computed


def projected_twice(**arguments: Any) -> MultiHeadAttention:
    """Apply the output projection to its own result."""
    attention = multi_head_attention(**arguments)
    matrix, bias = arguments["w_output"], arguments.get("b_output")
    again = attention.output @ matrix
    return attention._replace(output=again if bias is None else again + bias)


def default_scale(formula: Callable[[int, int, int, int], float]) -> Computation:
    """Make an attention whose default scale is a formula of width, heads, and numbers of queries and keys."""

    def scale(arguments: Mapping[str, Any]) -> float:
        _, queries, width = np.shape(arguments["query"])
        return formula(width, arguments["num_heads"], queries, np.shape(arguments["key"])[1])

    return defaulting(multi_head_attention, scale=scale)


FUNCTIONS: Mapping[str, Making] = {
    "multi_head.scale_one_over_width": default_scale(lambda width, heads, *_: heads / width),
    "multi_head.scale_one_over_model_width": default_scale(lambda width, *_: 1 / width),
    "multi_head.scale_from_number_of_heads": ways(
        default_scale(lambda _width, heads, *_: 1 / math.sqrt(heads)),
        default_scale(lambda _width, heads, *_: 1 / heads),
    ),
    "multi_head.scale_from_number_of_tokens": ways(
        default_scale(lambda _width, _heads, _queries, keys: 1 / math.sqrt(keys)),
        default_scale(lambda _width, _heads, queries, _keys: 1 / math.sqrt(queries)),
        default_scale(lambda _width, _heads, _queries, keys: 1 / keys),
    ),
    "multi_head.scale_multiplied_by_width": default_scale(lambda width, heads, *_: width / heads),
    "multi_head.scale_multiplied_by_model_width": ways(
        default_scale(lambda width, *_: math.sqrt(width)), default_scale(lambda width, *_: width)
    ),
    "multi_head.scale_squared_width": ways(
        default_scale(lambda width, heads, *_: (heads / width) ** 2), default_scale(lambda width, *_: width**-2)
    ),
    "multi_head.scale_fourth_root": ways(
        default_scale(lambda width, heads, *_: (heads / width) ** 0.25), default_scale(lambda width, *_: width**-0.25)
    ),
    "multi_head.key_projection_for_values": projected_by(value="key"),
    "multi_head.query_projection_for_values": projected_by(value="query"),
    "multi_head.value_projection_for_keys": projected_by(key="value"),
    "multi_head.key_projection_for_queries": projected_by(query="key"),
    "multi_head.value_projection_for_queries": projected_by(query="value"),
    "multi_head.keys_by_value_and_values_by_key": projected_by(key="value", value="key"),
    "multi_head.queries_by_value_and_values_by_query": projected_by(query="value", value="query"),
    "multi_head.projections_rotated": ways(
        projected_by(query="key", key="value", value="query"), projected_by(query="value", key="query", value="key")
    ),
    "multi_head.one_projection_for_all": ways(
        projected_by(key="query", value="query"),
        projected_by(query="key", value="key"),
        projected_by(query="value", key="value"),
    ),
    "multi_head.output_projection_of_values": ways(
        projected_by(output="value"), projected_by(output="query"), projected_by(output="key")
    ),
    "multi_head.values_by_output_projection": projected_by(value="output"),
    "multi_head.output_projected_twice": in_working_precision(projected_twice),
    "multi_head.value_not_projected": ways(unprojected("value"), altered(multi_head_attention, w_value=unprojecting)),
    "multi_head.key_not_projected": unprojected("key"),
    "multi_head.query_not_projected": unprojected("query"),
    "multi_head.nothing_projected": altered(
        without_biases(*_PARTS), w_query=unprojecting, w_key=unprojecting, w_value=unprojecting
    ),
    "multi_head.input_biases_dropped": without_biases(*_PARTS),
    "multi_head.keys_of_query_tokens": of_tokens(key="query"),
    "multi_head.values_of_query_tokens": of_tokens(value="query"),
    "multi_head.keys_and_values_of_query_tokens": of_tokens(key="query", value="query"),
    "multi_head.queries_of_key_tokens": of_tokens(query="key"),
    "multi_head.values_of_key_tokens": of_tokens(value="key"),
    "multi_head.keys_of_value_tokens": of_tokens(key="value"),
    "multi_head.split_not_transposed_in_some": in_some_splits(reshaped_instead, "heads_before_tokens"),
    "multi_head.split_interleaved_in_some": in_some_splits(dealt_out, "cut_features"),
    "multi_head.heads_not_split": ways(
        as_one_head(lambda width, _heads: 1 / math.sqrt(width)),
        as_one_head(lambda width, heads: math.sqrt(heads / width)),
    ),
    "multi_head.heads_reversed": patch(multi_head_attention, combine_heads=lambda x: combine_heads(x[:, ::-1])),
    "multi_head.heads_averaged": patch(
        multi_head_attention,
        combine_heads=lambda x: combine_heads(np.broadcast_to(x.mean(axis=1, keepdims=True), x.shape)),
    ),
    "multi_head.entries_and_heads_mixed": ways(
        folded_otherwise(heads_before_entries),
        folded_otherwise(entries_before_heads),
        split_otherwise(heads_before_entries),
        split_otherwise(entries_before_heads),
    ),
}

MISTAKES: tuple[Mistake, ...] = mistakes_in(sys.modules[__name__])
