"""What goes wrong in the softmax of attention: the cap, keys in tiles, sinks."""

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import attention_given, attention_with
from attnspec_mistakes.attention.forward.forward_scores import slopes_of_first_head
from attnspec_mistakes.mistake import Made, Making, of_sizes
from attnspec_mistakes.patches import Computation, ignoring, in_working_precision, on_calls, replacing
from attnspec_reference.attention.attention_logits import exclude_keys
from attnspec_reference.attention.phases import (
    applied_scale,
    exponentiate,
    join_sinks,
    largest_logit,
    log_sum_exp,
    sum_over_keys,
    weigh_values,
)
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans, Integers


def largest_over_all(logits: Array) -> Array:
    """Find the largest logit of each head."""
    return np.max(logits, axis=(-2, -1), keepdims=True, initial=-np.inf)


def largest_without_its_axis(logits: Array) -> Array:
    """Find the largest logit of each row, and lay these maxima along the keys (B, Hq, 1, Sk)."""
    if logits.shape[-2] != logits.shape[-1]:
        raise ValueError(
            f"The scores have shape {logits.shape}: without their axis the maxima of the queries only fit the "
            "keys when there are as many."
        )
    return np.max(logits, axis=-1, initial=-np.inf)[..., np.newaxis, :]


def equal_shares_of_nothing(exponentials: Array, total: Array) -> Array:
    """Give a row without keys equal weights."""
    return np.where(total == 0, 1 / exponentials.shape[-1], exponentials / total)


def one_for_a_single_term(logits: Array, largest: Array) -> Array:
    """Give a single key that is not excluded the exponential 1, whatever its logit is."""
    return (logits != -np.inf).astype(logits.dtype) if logits.shape[-1] == 1 else exponentiate(logits, largest)


def transposed_weights(weights: Array, value: Array, _attendable: Booleans) -> Array:
    """Weigh the values by columns of the weights instead of rows."""
    if weights.shape[-2] != weights.shape[-1]:
        raise ValueError(
            f"The weights have shape {weights.shape}: they can only be transposed unnoticed when there are as "
            "many queries as keys."
        )
    return weigh_values(np.swapaxes(weights, -1, -2), value)


OVER_QUERIES = attention_with(
    largest_logit=lambda logits: np.max(logits, axis=-2, keepdims=True, initial=-np.inf),
    sum_over_keys=lambda exponentials: np.sum(exponentials, axis=-2, keepdims=True),
    log_sum_exp=lambda largest, total: np.squeeze(largest + np.log(total), axis=-2),
)


def lowest_where_excluded(logits: Array, attendable: Booleans) -> Array:
    """Give excluded keys the lowest number instead of minus infinity."""
    return np.where(attendable, logits, np.finfo(logits.dtype).min)


OVER_QUERIES_WITH_LOWEST = attention_with(
    exclude_keys=lowest_where_excluded,
    largest_logit=lambda logits: np.max(logits, axis=-2, keepdims=True, initial=-np.inf),
    sum_over_keys=lambda exponentials: np.sum(exponentials, axis=-2, keepdims=True),
    log_sum_exp=lambda largest, total: np.squeeze(largest + np.log(total), axis=-2),
)
"""The same where excluded keys get the lowest number: a key that no query may attend to is shared by all."""


def over_axis(axis: int) -> Computation:
    """Make an attention whose softmax runs along an axis of (B, Hq, Sq, P + Sk)."""
    return attention_with(
        largest_logit=lambda logits: np.max(logits, axis=axis, keepdims=True, initial=-np.inf),
        sum_over_keys=lambda exponentials: np.sum(exponentials, axis=axis, keepdims=True),
    )


OVER_ALL = attention_with(
    largest_logit=largest_over_all,
    sum_over_keys=lambda exponentials: np.sum(exponentials, axis=(-2, -1), keepdims=True),
)

WITHOUT_MAXIMUM = attention_with(largest_logit=lambda logits: np.zeros((*logits.shape[:-1], 1), dtype=logits.dtype))

MAXIMUM_AXIS_LOST = attention_with(
    largest_logit=largest_without_its_axis,
    log_sum_exp=lambda largest, total: log_sum_exp(np.swapaxes(largest, -1, -2), total),
)

WITHOUT_SINKS = ignoring(scaled_dot_product_attention, "sinks")

NORMALISER_MULTIPLIED = attention_with(divide_by_total=lambda exponentials, total: exponentials * total)


def without_last_keys(tile: int) -> Computation:
    """Make an attention that goes through whole tiles of keys only, where there are any."""

    def excluded(logits: Array, attendable: Booleans) -> Array:
        keys = logits.shape[-1]
        reached = keys // tile * tile or keys
        loaded: Booleans = np.less(np.arange(int(keys)), reached)
        return exclude_keys(logits, attendable & loaded)

    return attention_with(exclude_keys=excluded)


def zeros_in_last_tile(tile: int) -> Computation:
    """Make an attention that fills the last tile with keys whose score is 0."""

    def joined(logits: Array, sinks: Array | None, query_lengths: Integers | int) -> Array:
        terms = join_sinks(logits, sinks, query_lengths)
        return np.pad(terms, [(0, 0)] * 3 + [(0, -logits.shape[-1] % tile)])

    return attention_with(join_sinks=joined)


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


def by_largest_so_far(tile: int) -> Callable[[Array, Array], Array]:
    """Make exponentials from each of which the largest logit up to its tile was subtracted."""

    def exponentials(logits: Array, _largest: Array) -> Array:
        parts: list[Array] = []
        largest = np.full((*logits.shape[:-1], 1), -np.inf, dtype=logits.dtype)
        for start in range(0, logits.shape[-1], tile):
            part = logits[..., start : start + tile]
            largest = np.maximum(largest, largest_logit(part))
            parts.append(exponentiate(part, largest))
        return np.concatenate(parts, axis=-1) if parts else np.exp(logits)

    return exponentials


def not_rescaled(tile: int) -> Computation:
    """Make an attention that subtracts the largest logit so far, and never corrects what it summed before."""
    return attention_with(exponentiate=by_largest_so_far(tile))


def nan_in_hidden_tile(tile: int) -> Computation:
    """Make an attention that subtracts minus infinity from itself when its first tile is hidden."""

    def exponentials(logits: Array, largest: Array) -> Array:
        hidden = (logits[..., :tile] == -np.inf).all(axis=-1, keepdims=True) & (largest != -np.inf)
        return np.where(hidden, np.nan, exponentiate(logits, largest))

    return attention_with(exponentiate=exponentials)


def merged(share_of_first: Callable[[Array, Array], Array]) -> Computation:
    """Make an attention that attends to two halves of the keys apart, and merges them by their logsumexps."""

    @in_working_precision
    def attend(**arguments: Any) -> Attention:
        attention = scaled_dot_product_attention(**arguments)
        keys = attention.logits.shape[-1]
        if keys < 2 or arguments.get("sinks") is not None:
            return attention
        first: Booleans = np.less(np.arange(int(keys)), keys // 2)
        parts = [attention_with(exclude_keys=hiding(other))(**arguments) for other in (~first, first)]
        share = share_of_first(*(part.logsumexp[..., np.newaxis] for part in parts))
        share = np.where(parts[0].logsumexp[..., np.newaxis] == -np.inf, 0, share)
        share = np.where(parts[1].logsumexp[..., np.newaxis] == -np.inf, 1, share)
        return attention._replace(output=share * parts[0].output + (1 - share) * parts[1].output)

    return attend


def hiding(hidden: Booleans) -> Callable[[Array, Booleans], Array]:
    """Exclude some columns besides those that are excluded anyway."""
    return lambda logits, attendable: exclude_keys(logits, attendable & ~hidden)


def sinks_joining_elsewhere(steps_of: Callable[[Array], dict[str, object]]) -> Computation:
    """Make an attention in which the sinks (Hq, 1, 1) act at another step than their own."""

    @in_working_precision
    def attend(*, sinks: Array | None = None, **arguments: Any) -> Attention:
        if sinks is None:
            return scaled_dot_product_attention(**arguments)
        return attention_with(**steps_of(sinks[:, np.newaxis, np.newaxis]))(**arguments)

    return attend


def on_first_key(sinks: Array) -> dict[str, object]:
    """Add the sink to the logit of the first key."""

    def excluded(logits: Array, attendable: Booleans) -> Array:
        first: Booleans = np.equal(np.arange(int(logits.shape[-1])), 0)
        return exclude_keys(logits + np.where(first, sinks, 0), attendable)

    return {"exclude_keys": excluded}


def sinks_of_shared_heads(**arguments: Any) -> Attention:
    """Take the sink by the number of the key head."""
    sinks = arguments.get("sinks")
    if sinks is not None:
        heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
        arguments["sinks"] = sinks[np.arange(heads) * shared // heads]
    return scaled_dot_product_attention(**arguments)


@in_working_precision
def sinks_scaled(**arguments: Any) -> Attention:
    """Scale the sinks, too."""
    if arguments.get("sinks") is not None:
        scale = applied_scale(arguments.get("scale"), np.shape(arguments["query"])[-1])
        arguments["sinks"] = arguments["sinks"] * scale
    return scaled_dot_product_attention(**arguments)


def masked_with_the_keys(logits: Array, sinks: Array | None, query_lengths: Integers | int) -> Array:
    """Leave the sink out of rows whose keys are all excluded."""
    terms = join_sinks(logits, sinks, query_lengths)
    return np.where((logits == -np.inf).all(axis=-1, keepdims=True), -np.inf, terms)


def maximum_of_first_keys(terms: Array) -> Array:
    """Find the largest of the first sixteen logits; where all of these are excluded, of all."""
    first, of_all = largest_logit(terms[..., :16]), largest_logit(terms)
    return np.where(first == -np.inf, of_all, first)


@in_working_precision
def value_tiles_not_rescaled(**arguments: Any) -> Attention:
    """Sum the values behind the first 64 features by the largest logit so far, in tiles of sixteen keys."""
    right = scaled_dot_product_attention(**arguments)
    behind = right.output[..., 64:].astype(right.output.dtype)
    if not behind.size:
        return right
    wrong = cast("Attention", not_rescaled(16)(**arguments))
    return right._replace(output=np.concatenate([right.output[..., :64], wrong.output[..., 64:]], axis=-1))


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.softmax_over_queries": Made(OVER_QUERIES, other_ways=(OVER_QUERIES_WITH_LOWEST,)),
    "sdpa.softmax_over_all": OVER_ALL,
    "sdpa.softmax_over_batch": over_axis(0),
    "sdpa.softmax_over_heads": over_axis(1),
    "sdpa.no_maximum": WITHOUT_MAXIMUM,
    "sdpa.global_maximum": attention_with(largest_logit=largest_over_all),
    "sdpa.maximum_axis_lost": MAXIMUM_AXIS_LOST,
    "sdpa.maximum_broadcast_from_the_right": attention_with(
        largest_logit=lambda logits: np.max(logits, axis=-1, initial=-np.inf),
        log_sum_exp=lambda largest, total: largest + np.log(total[..., 0]),
    ),
    "sdpa.total_axis_lost": attention_with(
        sum_over_keys=lambda exponentials: np.sum(exponentials, axis=-1),
        log_sum_exp=lambda largest, total: largest[..., 0] + np.log(total),
    ),
    "sdpa.weights_not_normalised": attention_with(divide_by_total=lambda exponentials, _total: exponentials),
    "sdpa.normaliser_multiplied": NORMALISER_MULTIPLIED,
    "sdpa.fully_masked_row_nan": attention_with(
        divide_by_total=lambda exponentials, total: exponentials / total,
        weigh_values=lambda weights, value, _attendable: weigh_values(weights, value),
    ),
    "sdpa.fully_masked_row_uniform": attention_with(divide_by_total=equal_shares_of_nothing),
    "sdpa.logsumexp_without_maximum": attention_with(
        log_sum_exp=lambda _largest, total: np.squeeze(np.log(total), axis=-1)
    ),
    "sdpa.logsumexp_base_two": attention_with(
        log_sum_exp=lambda largest, total: log_sum_exp(largest, total) / math.log(2.0)
    ),
    "sdpa.weights_transposed": attention_with(weigh_values=transposed_weights),
    "sdpa.single_key_loses_nan": attention_with(exponentiate=one_for_a_single_term),
    **{f"sdpa.last_keys_dropped_of_{tile}": without_last_keys(tile) for tile in (8, 16, 32)},
    "sdpa.last_tile_filled_with_zeros": of_sizes(zeros_in_last_tile, 32, 4, 8, 16, 64, 128),
    "sdpa.last_queries_dropped": of_sizes(without_last_queries, 16, 4, 8, 32, 64),
    "sdpa.tiles_not_rescaled": of_sizes(not_rescaled, 16, 2, 4, 8, 32, 64, 128),
    "sdpa.maximum_started_at_zero": attention_with(
        largest_logit=lambda logits: np.max(logits, axis=-1, keepdims=True, initial=0.0)
    ),
    "sdpa.hidden_tile_nan": of_sizes(nan_in_hidden_tile, 4, 2, 8, 16, 32),
    "sdpa.halves_averaged": merged(lambda first, _second: np.full_like(first, 0.5)),
    "sdpa.halves_merged_to_base_two": merged(lambda first, second: 1 / (1 + np.exp2(second - first))),
    "sdpa.sinks_ignored": WITHOUT_SINKS,
    "sdpa.sink_of_first_head": attention_given(sinks=slopes_of_first_head),
    "sdpa.sink_of_shared_head": sinks_of_shared_heads,
    "sdpa.sinks_scaled": sinks_scaled,
    "sdpa.sink_on_first_key": sinks_joining_elsewhere(on_first_key),
    "sdpa.sink_not_exponentiated": sinks_joining_elsewhere(
        lambda sinks: {"sum_over_keys": lambda exponentials: sum_over_keys(exponentials) + sinks}
    ),
    "sdpa.sink_not_shifted": sinks_joining_elsewhere(
        lambda sinks: {"sum_over_keys": lambda exponentials: sum_over_keys(exponentials) + np.exp(sinks)}
    ),
    "sdpa.sink_missing_in_weights": replacing(
        scaled_dot_product_attention, weights=lambda _right, given: WITHOUT_SINKS(**given).weights
    ),
    "sdpa.sink_missing_in_logsumexp": replacing(
        scaled_dot_product_attention, logsumexp=lambda _right, given: WITHOUT_SINKS(**given).logsumexp
    ),
    "sdpa.sink_masked_with_the_keys": attention_with(join_sinks=masked_with_the_keys),
    "sdpa.sink_maximum_from_zero": on_calls(
        scaled_dot_product_attention,
        lambda given: given.get("sinks") is not None,
        attention_with(largest_logit=lambda terms: np.maximum(largest_logit(terms), 0)),
    ),
    "sdpa.maximum_of_first_keys": attention_with(largest_logit=maximum_of_first_keys),
    "sdpa.value_tiles_not_rescaled": value_tiles_not_rescaled,
}
