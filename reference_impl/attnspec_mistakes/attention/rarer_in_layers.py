"""What goes wrong in layers more rarely than what the catalogue holds.

No case is made to notice these mistakes, and no proof counts them. Failures may be put down to them where the catalogue
has nothing that gives their numbers. Some are mistakes of scaled dot-product attention, made in every head.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from attnspec_mistakes.attention.attention_layers import unprojecting, with_heads
from attnspec_mistakes.attention.forward import (
    forward_numbers,
    forward_positions,
    forward_scores,
    forward_softmax,
    tiles_and_parts,
)
from attnspec_mistakes.attention.forward.attention_patches import attention_with
from attnspec_mistakes.attention.forward.building_blocks import dealt_out, reshaped_instead
from attnspec_mistakes.mistake import Made, Making, Mistake, mistakes_in
from attnspec_mistakes.patches import Computation, altered, by_name, defaulting, ignoring, in_working_precision, patch
from attnspec_reference.attention.attention_logits import exclude_keys
from attnspec_reference.attention.causal_mask import at_or_before, causal_mask
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.split_heads import split_heads
from attnspec_reference.precision import Array, Booleans

_PARTS = ("query", "key", "value")


def in_every_head(attention: Callable[..., Any]) -> Computation:
    """Make a multi-head attention whose heads attend as some attention does that may take keywords alone."""

    def attend(query: Array, key: Array, value: Array, mask: Any, **given: Any) -> SimpleNamespace:
        return SimpleNamespace(**by_name(attention(query=query, key=key, value=value, mask=mask, **given)))

    return with_heads(attend)  # type: ignore[arg-type]


def ways(*computations: Computation) -> Made:
    """Make a mistake in the first of several ways, and in the others."""
    return Made(computations[0], other_ways=computations[1:])


def hidden_at(number: float) -> Computation:
    """Give the scores of hidden keys a number, instead of minus infinity."""
    return with_heads(
        attention_with(exclude_keys=lambda logits, attendable: np.where(attendable, logits, logits.dtype.type(number)))
    )


def lowered_by(number: float) -> Computation:
    """Add a number to the scores of hidden keys, instead of minus infinity."""
    return with_heads(
        attention_with(
            exclude_keys=lambda logits, attendable: np.where(attendable, logits, logits + logits.dtype.type(number))
        )
    )


_SCORES = (0.0, 1e-9, -1e-9, 1e-6, -1e-6, 1e-5, 1.0, -1.0, -2.0, -5.0, -10.0, -20.0, -50.0, -100.0)
_ADDED = (-1.0, 1.0, -10.0, -1e-9, 1e-9, -1e-6, -5.0, -100.0)
_HIGH = (1e9, 1e4, 1e10, 1e6, 1e20)


def later(change: Callable[[Array], Any]) -> Computation:
    """Change the scores of later keys, instead of giving them minus infinity."""

    def attend(query: Array, key: Array, value: Array, mask: Any, **given: Any) -> Attention:
        if not given.pop("is_causal", False):
            return scaled_dot_product_attention(query, key, value, mask, **given)
        past = causal_mask(query_length=query.shape[2], key_length=key.shape[2])
        wrong = attention_with(
            exclude_keys=lambda logits, attendable: exclude_keys(np.where(past, logits, change(logits)), attendable)
        )
        return wrong(query, key, value, mask, **given)

    return with_heads(attend)


def later_at(number: float) -> Computation:
    """Give later keys a score, instead of minus infinity."""
    return later(lambda _logits: number)


def later_lowered_by(number: float) -> Computation:
    """Add a number to the scores of later keys, instead of minus infinity."""
    return later(lambda logits: logits + logits.dtype.type(number))


def with_causality_in_the_mask(wrong: Computation) -> Computation:
    """Make a mistake about masks one about causality, too, which comes as a part of the mask."""

    def computed(**arguments: Any) -> Any:
        if arguments.pop("is_causal", False):
            mask, queries, keys = arguments.get("mask"), *(np.shape(arguments[name])[1] for name in _PARTS[:2])
            past = causal_mask(query_length=queries, key_length=keys)
            if mask is None or mask.dtype == np.bool_:
                arguments["mask"] = past if mask is None else mask & past
            else:
                arguments["mask"] = np.where(past, mask, mask.dtype.type(-np.inf))
        return wrong(**arguments)

    return computed


def causal_by(offset: int) -> Computation:
    """Let a query attend to so many positions after its own."""

    def moved(query_length: int, key_length: int, own: int) -> Booleans:
        return at_or_before(query_length, key_length, own + offset)

    return with_heads(attention_with(causal_mask=patch(causal_mask, at_or_before=moved)))


def from_own_position(query_length: int, key_length: int, offset: int) -> Booleans:
    """Attend to the own position and to what comes later."""
    return ~at_or_before(query_length, key_length, offset - 1)


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


_LOW = -1e9

_HIDING: tuple[Computation, ...] = (multi_head_attention, hidden_at(_LOW), lowered_by(_LOW))
"""Layers that hide keys by minus infinity, by a low score, and by lowering scores."""


def given_masks(change: Callable[[Array, int, int], Array]) -> Made:
    """Make a mistake about masks, with and without causality in them, from what changes one for entries and heads."""

    def changing(layer: Computation) -> Computation:
        def computed(**arguments: Any) -> Any:
            mask, (entries, heads) = arguments.get("mask"), (np.shape(arguments["query"])[0], arguments["num_heads"])
            return layer(**arguments if mask is None else {**arguments, "mask": change(mask, entries, heads)})

        return computed

    layers = [changing(layer) for layer in _HIDING]
    return ways(*layers, *map(with_causality_in_the_mask, layers))


def turned_masks(turned: Callable[[Array], Array]) -> Callable[[Array, int, int], Array]:
    """Lay the masks of batch entries along batch entries and heads in another order than scores have."""

    def change(mask: Array, entries: int, heads: int) -> Array:
        is_of_entries = np.ndim(mask) == 4 and np.shape(mask)[:2] == (entries, 1)
        return turned(np.repeat(np.asarray(mask), heads, axis=1)) if is_of_entries else mask

    return change


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


def scaled_after_softmax(*, returned: bool) -> Computation:
    """Scale weights instead of scores; those that are `returned`, too, or the applied ones alone."""

    def attend(query: Array, key: Array, value: Array, mask: Any, **given: Any) -> Attention:
        changed: dict[str, Any] = {**given, "scale": 1.0}
        attention = scaled_dot_product_attention(query, key, value, mask, **changed)
        width = math.sqrt(query.shape[-1])
        weights = attention.weights / width if returned else attention.weights
        return attention._replace(output=attention.output / width, weights=weights)

    return with_heads(attend)


def without_softmax(hidden: float) -> Computation:
    """Take scores for weights, with a number for those of hidden keys."""
    return with_heads(
        attention_with(
            exclude_keys=lambda logits, attendable: np.where(attendable, logits, hidden),
            exponentiate=lambda logits, _largest: logits,
            divide_by_total=lambda exponentials, _total: exponentials,
            weigh_values=lambda weights, value, _attendable: weights @ value,
        )
    )


def over_axis(axis: int | tuple[int, int], hidden: float) -> Computation:
    """Take the softmax along other axes of (B, H, Sq, Sk), with a number for the scores of hidden keys."""
    return with_heads(
        attention_with(
            exclude_keys=lambda logits, attendable: np.where(attendable, logits, hidden),
            largest_logit=lambda logits: np.max(logits, axis=axis, keepdims=True, initial=-np.inf),
            sum_over_keys=lambda exponentials: np.sum(exponentials, axis=axis, keepdims=True),
            log_sum_exp=lambda _largest, total: total,
        )
    )


def over_another_axis(axis: int | tuple[int, int]) -> Made:
    """Make a softmax along other axes, with minus infinity for hidden keys, or with a low number."""
    return Made(over_axis(axis, -np.inf), other_ways=(over_axis(axis, -1e9),))


def zeroed_and_normalised(query: Array, key: Array, value: Array, mask: Any, **given: Any) -> Attention:
    """Take the softmax over all keys, set the weights of hidden keys to zero, and divide by what is left."""
    right = scaled_dot_product_attention(query, key, value, mask, **given)
    attention = forward_scores.without_exclusion(query, key, value, mask, **given)
    weights = np.where(right.logits == -np.inf, 0, attention.weights)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return right._replace(weights=weights, output=weights @ value)


def default_scale(formula: Callable[[int, int, int, int], float]) -> Computation:
    """Make an attention whose default scale is a formula of width, heads, and numbers of queries and keys."""

    def scale(arguments: Mapping[str, Any]) -> float:
        _, queries, width = np.shape(arguments["query"])
        return formula(width, arguments["num_heads"], queries, np.shape(arguments["key"])[1])

    return defaulting(multi_head_attention, scale=scale)


across_heads = in_every_head(forward_scores.across_heads)


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
    "multi_head.scaled_after_softmax": ways(scaled_after_softmax(returned=False), scaled_after_softmax(returned=True)),
    "multi_head.scores_of_hidden_keys_kept": ways(*map(hidden_at, _SCORES), *map(lowered_by, _ADDED)),
    "multi_head.scores_of_later_keys_kept": ways(*map(later_at, _SCORES), *map(later_lowered_by, _ADDED)),
    "multi_head.scores_of_later_keys_raised": ways(*map(later_at, _HIGH), *map(later_lowered_by, _HIGH)),
    "multi_head.scores_of_hidden_keys_raised": ways(*map(hidden_at, _HIGH), *map(lowered_by, _HIGH)),
    "multi_head.zeroed_and_normalised": with_heads(zeroed_and_normalised),
    "multi_head.causal_from_own_position": with_heads(
        attention_with(causal_mask=patch(causal_mask, at_or_before=from_own_position))
    ),
    "multi_head.causal_further_ahead": ways(*map(causal_by, (2, 3, 4))),
    "multi_head.causal_further_behind": ways(*map(causal_by, (-2, -3))),
    "multi_head.softmax_missing": ways(*map(without_softmax, (0.0, -1e9, -np.inf))),
    "multi_head.softmax_over_batch": over_another_axis(0),
    "multi_head.softmax_over_queries_and_keys": over_another_axis((-2, -1)),
    "multi_head.softmax_over_heads_and_keys": over_another_axis((1, -1)),
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
    "multi_head.attends_across_heads": ways(
        across_heads, ignoring(across_heads, "mask"), ignoring(across_heads, "mask", "is_causal")
    ),
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
    "multi_head.masks_of_other_entries": given_masks(turned_masks(entries_before_heads)),
    "multi_head.masks_of_other_heads": given_masks(turned_masks(heads_before_entries)),
    "multi_head.mask_transposed": given_masks(lambda mask, *_: np.swapaxes(mask, -1, -2)),
    "multi_head.mask_of_first_query": given_masks(lambda mask, *_: mask[..., :1, :]),
    "multi_head.mask_of_first_head": given_masks(lambda mask, *_: mask[..., :1, :, :] if mask.ndim > 2 else mask),
}

_OF_ATTENTION: Mapping[str, str] = {
    "query_and_key_swapped": "softmax.keys",
    "key_reshaped": "softmax.keys",
    "key_of_first_entry": "projections",
    "value_of_first_entry": "projections",
    "boolean_mask_added": "mask",
    "mask_skipped_with_causal": "causal",
    "zeroed_after_softmax": "weights",
    "weights_transposed": "weights",
    "weights_not_normalised": "weights",
    "total_axis_lost": "weights",
    "maximum_broadcast_from_the_right": "weights",
    "global_maximum": "weights",
    "maximum_started_at_zero": "weights",
    "epsilon_in_denominator": "weights",
    "last_key_dropped": "softmax.keys",
    "causal_where_square": "causal",
}
"""Mistakes of scaled dot-product attention that are made in every head, to the clauses that they break there."""


def _in_heads() -> tuple[Mistake, ...]:
    """Return the mistakes of attention as those of layers, under their own words."""
    made = {
        mistake.id: mistake
        for mistake in mistakes_in(forward_scores, forward_softmax, forward_positions, tiles_and_parts, forward_numbers)
    }
    return tuple(
        replace(
            made[f"sdpa.{name}"],
            id=f"multi_head.{name}",
            operation="multi_head_attention",
            clause=f"multi_head.{clause}",
            function=in_every_head(made[f"sdpa.{name}"].function),
            other_ways=(
                *map(in_every_head, made[f"sdpa.{name}"].other_ways),
                *(
                    with_causality_in_the_mask(in_every_head(made[f"sdpa.{name}"].function))
                    for _ in range(clause == "mask")
                ),
            ),
        )
        for name, clause in _OF_ATTENTION.items()
    )


MISTAKES: tuple[Mistake, ...] = (*mistakes_in(sys.modules[__name__]), *_in_heads())
