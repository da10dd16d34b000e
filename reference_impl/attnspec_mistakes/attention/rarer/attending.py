"""What goes wrong more rarely where heads attend: scores that are left to hidden keys, masks, softmax, causality."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from attnspec_mistakes.attention.attention_layers import with_heads
from attnspec_mistakes.attention.forward import (
    forward_numbers,
    forward_positions,
    forward_scores,
    forward_softmax,
    tiles_and_parts,
)
from attnspec_mistakes.attention.forward.attention_patches import attention_with
from attnspec_mistakes.attention.rarer.projecting import entries_before_heads, heads_before_entries, ways
from attnspec_mistakes.mistake import Made, Making, Mistake, mistakes_in
from attnspec_mistakes.patches import Computation, by_name, ignoring, patch
from attnspec_reference.attention.attention_logits import exclude_keys
from attnspec_reference.attention.causal_mask import at_or_before, causal_mask
from attnspec_reference.attention.multi_head_attention import multi_head_attention
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans


def in_every_head(attention: Callable[..., Any]) -> Computation:
    """Make a multi-head attention whose heads attend as some attention does that may take keywords alone."""

    def attend(query: Array, key: Array, value: Array, mask: Any, **given: Any) -> SimpleNamespace:
        return SimpleNamespace(**by_name(attention(query=query, key=key, value=value, mask=mask, **given)))

    return with_heads(attend)  # type: ignore[arg-type]


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
            mask, queries, keys = arguments.get("mask"), *(np.shape(arguments[name])[1] for name in ("query", "key"))
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


def transposed(mask: Array) -> Array:
    """Turn queries and keys, where there are as many of both or one row stands for all queries."""
    turned = np.swapaxes(np.asarray(mask), -1, -2)
    return turned.repeat(turned.shape[-2], axis=-1) if turned.shape[-1] == 1 else turned


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


across_heads = in_every_head(forward_scores.across_heads)


FUNCTIONS: Mapping[str, Making] = {
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
    "multi_head.attends_across_heads": ways(
        across_heads, ignoring(across_heads, "mask"), ignoring(across_heads, "mask", "is_causal")
    ),
    "multi_head.masks_of_other_entries": given_masks(turned_masks(entries_before_heads)),
    "multi_head.masks_of_other_heads": given_masks(turned_masks(heads_before_entries)),
    "multi_head.mask_transposed": given_masks(lambda mask, *_: transposed(mask)),
    "multi_head.padding_mask_over_queries": given_masks(
        lambda mask, *_: transposed(mask) if np.shape(mask)[-2] == 1 else mask
    ),
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
