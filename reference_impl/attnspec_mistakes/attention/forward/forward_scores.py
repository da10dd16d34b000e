"""What goes wrong in the scores of attention: scale, products, heads, the order of axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_departures import attention_given, attention_with
from attnspec_mistakes.attention.forward.forward_positions import of_first_entry
from attnspec_mistakes.patches import defaulting, ignoring, in_working_precision, replacing
from attnspec_reference.attention.phases import scale_scores
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.mistake import Making
    from attnspec_mistakes.patches import Computation
    from attnspec_reference.precision import Array


def scaled_by_default(formula: Callable[[float], float], argument: str, *axes: int) -> Computation:
    """Make an attention whose default scale is a formula of the product of some axis lengths."""

    def scale(arguments: Mapping[str, Any]) -> float:
        shape = np.shape(arguments[argument])
        return formula(math.prod(shape[axis] for axis in axes))

    return defaulting(scaled_dot_product_attention, scale=scale)


def inverse_root(width: float) -> float:
    """Take the right formula, of what may be the wrong number."""
    return 1.0 / math.sqrt(width)


def divided_by_scale(raw_scores: Array, scale: float) -> Array:
    """Divide by the scale."""
    with np.errstate(all="ignore"):
        return raw_scores / scale


def transposed_scores(query: Array, key: Array) -> Array:
    """Put the keys in the rows and the queries in the columns."""
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"query has shape {query.shape}, key {key.shape}: the scores can only be transposed unnoticed "
            "when there are as many queries as keys."
        )
    return key @ np.swapaxes(query, -1, -2)


def tiled_heads(shared: Array, heads: int) -> Array:
    """Repeat the row of heads as a whole: query head h reads head h modulo Hkv."""
    return np.tile(shared, (1, heads // max(shared.shape[1], 1), 1, 1))


def first_head_for_all(shared: Array, heads: int) -> Array:
    """Let every query head read the first head."""
    return np.repeat(shared[:, :1], heads, axis=1)


def by_number_of_shared_heads(shared: Array, heads: int) -> Array:
    """Divide the number of a query head by the number of key heads instead of the size of a group."""
    count = max(shared.shape[1], 1)
    return shared[:, np.arange(heads) // count % count]


def last_head_first(shared: Array, heads: int) -> Array:
    """Give the last group of query heads the first key head."""
    return np.repeat(shared[:, ::-1], heads // max(shared.shape[1], 1), axis=1)


def values_tiled(**arguments: Any) -> Attention:
    """Repeat each key head, but the row of value heads."""
    heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
    attention = scaled_dot_product_attention(**arguments)
    if heads == shared or heads % shared:
        return attention
    order = [head % shared for head in range(heads)]
    for name in ("key", "past_key"):
        if arguments.get(name) is not None:
            arguments[name] = np.repeat(arguments[name], heads // shared, axis=1)
    for name in ("value", "past_value"):
        if arguments.get(name) is not None:
            arguments[name] = arguments[name][:, order]
    return attention._replace(output=scaled_dot_product_attention(**arguments).output)


def pairs_of_features(query: Array, key: Array) -> Array:
    """Go through the features two at a time, and leave out what is left over."""
    width = max(query.shape[-1] // 2 * 2, 1)
    return query[..., :width] @ np.swapaxes(key[..., :width], -1, -2)


def as_wide_as_queries(**arguments: Any) -> Attention:
    """Return as many features as a query has."""
    attention = scaled_dot_product_attention(**arguments)
    width, expected = np.shape(arguments["query"])[-1], attention.output.shape[-1]
    padded = np.pad(attention.output, [(0, 0)] * 3 + [(0, max(width - expected, 0))])
    return attention._replace(output=padded[..., :width])


def keys_averaged(**arguments: Any) -> Attention:
    """Take the mean of the keys instead of the values."""
    arguments["value"], arguments["past_value"] = arguments["key"], arguments.get("past_key")
    return scaled_dot_product_attention(**arguments)


@in_working_precision
def across_heads(**arguments: Any) -> Attention:
    """Let the heads of a token attend to each other: tokens and heads change places."""
    for name in ("query", "key", "value"):
        arguments[name] = np.swapaxes(arguments[name], 1, 2)
    attention = scaled_dot_product_attention(**arguments)
    return attention._replace(output=np.swapaxes(attention.output, 1, 2))


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.query_and_key_swapped": attention_with(score_every_key=transposed_scores),
    "sdpa.scale_missing": scaled_by_default(lambda _width: 1.0, "query", -1),
    "sdpa.scale_multiplied": scaled_by_default(math.sqrt, "query", -1),
    "sdpa.scale_one_over_width": scaled_by_default(lambda width: 1.0 / width, "query", -1),
    "sdpa.scale_from_value_width": scaled_by_default(inverse_root, "value", -1),
    "sdpa.scale_from_all_heads": scaled_by_default(inverse_root, "query", 1, 3),
    "sdpa.scale_from_number_of_heads": scaled_by_default(inverse_root, "query", 1),
    "sdpa.scale_from_number_of_keys": scaled_by_default(inverse_root, "key", 2),
    "sdpa.stated_scale_ignored": ignoring(scaled_dot_product_attention, "scale"),
    "sdpa.zero_scale_as_default": attention_given(scale=lambda scale: scale or None),
    "sdpa.stated_scale_divided": lambda **arguments: attention_with(
        scale_scores=(divided_by_scale if (arguments.get("scale") is not None) else scale_scores)
    )(**arguments),
    "sdpa.heads_tiled": attention_with(repeat_heads=tiled_heads),
    "sdpa.first_head_for_all": attention_with(repeat_heads=first_head_for_all),
    "sdpa.negative_scale_made_positive": attention_given(scale=abs),
    "sdpa.heads_by_number_of_groups": attention_with(repeat_heads=by_number_of_shared_heads),
    "sdpa.heads_reversed": attention_with(repeat_heads=last_head_first),
    "sdpa.values_tiled": values_tiled,
    "sdpa.key_of_first_entry": attention_given(key=of_first_entry),
    "sdpa.value_of_first_entry": attention_given(value=of_first_entry),
    "sdpa.key_reshaped": attention_with(
        score_every_key=lambda query, key: query @ key.reshape(*key.shape[:2], key.shape[3], key.shape[2])
    ),
    "sdpa.odd_feature_dropped": attention_with(score_every_key=pairs_of_features),
    "sdpa.output_tokens_before_heads": replacing(
        scaled_dot_product_attention, output=lambda attention, _arguments: np.swapaxes(attention.output, 1, 2)
    ),
    "sdpa.output_as_wide_as_queries": as_wide_as_queries,
    "sdpa.keys_averaged": keys_averaged,
    "sdpa.attends_across_heads": across_heads,
    "sdpa.mask_of_first_query": attention_given(mask=lambda mask: mask[..., :1, :]),
    "sdpa.mask_transposed": attention_given(mask=lambda mask: np.swapaxes(mask, -1, -2)),
}
