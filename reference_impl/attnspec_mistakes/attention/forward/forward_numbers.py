"""What goes wrong in the numbers of attention and in the memory that holds them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import attention_given, attention_with
from attnspec_mistakes.misread_memory import (
    as_it_lies_in_memory,
    read_forwards,
    remembering,
    tokens_close_together,
    without_gaps,
)
from attnspec_mistakes.mistake import Made, Making
from attnspec_mistakes.patches import Computation, cut_to_bfloat16, in_single_precision, replacing, through_float16
from attnspec_reference.attention.attention_logits import add_distance_bias, is_boolean
from attnspec_reference.attention.phases import (
    applied_scale,
    divide_by_total,
    exponentiate,
    largest_logit,
    log_sum_exp,
    score_every_key,
    weigh_values,
)
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans, result_dtype


def a_billion_below(logits: Array, attendable: Booleans) -> Array:
    """Put -1e9 for minus infinity where something else may be attended to."""
    hidden = np.where(attendable.any(axis=-1, keepdims=True), -1e9, -np.inf)
    return np.where(attendable, logits, hidden)


def nan_to_zero(weights: Array, value: Array, attendable: Booleans) -> Array:
    """Replace every NaN of the output by 0."""
    output = weigh_values(weights, value, attendable)
    return np.where(np.isnan(output), 0, output)


def output_not_narrowed(**arguments: Any) -> Attention:
    """Return the output of half precision in float32, in which it was computed."""
    attention = scaled_dot_product_attention(**arguments)
    narrow = attention.output.dtype.itemsize < 4
    return attention._replace(output=attention.output.astype(np.float32)) if narrow else attention


def summed_in_half_precision(**arguments: Any) -> Attention:
    """Round the running sums of half precision to half precision."""
    dtype = result_dtype(arguments["query"])
    if dtype.itemsize > 2:
        return scaled_dot_product_attention(**arguments)

    def total(exponentials: Array) -> Array:
        so_far = np.zeros((*exponentials.shape[:-1], 1), dtype=dtype)
        for key in range(exponentials.shape[-1]):
            so_far = (so_far.astype(np.float32) + exponentials[..., key : key + 1]).astype(dtype)
        return so_far.astype(np.float32)

    return attention_with(sum_over_keys=total)(**arguments)


def nan_without_keys(**arguments: Any) -> Attention:
    """Take the mean of no values at all for NaN."""
    attention = scaled_dot_product_attention(**arguments)
    if attention.logits.shape[-1]:
        return attention
    return attention._replace(output=np.full_like(attention.output, np.nan))


def with_log_sum_exp(formula: Callable[[Array, Array], Array]) -> Computation:
    """Make an attention with another logsumexp."""
    return attention_with(log_sum_exp=formula)


def plus_infinity_if_empty(largest: Array, total: Array) -> Array:
    """Give plus infinity for a query without keys."""
    logsumexp = log_sum_exp(largest, total)
    return np.where(logsumexp == -np.inf, np.inf, logsumexp)


def zero_if_empty(largest: Array, total: Array) -> Array:
    """Give 0 for a query without keys."""
    logsumexp = log_sum_exp(largest, total)
    return np.where(logsumexp == -np.inf, 0, logsumexp)


def logsumexp_before_exclusion(**arguments: Any) -> Attention:
    """Take the logsumexp over all scores, excluded keys and biases or not."""
    attention = scaled_dot_product_attention(**arguments)
    largest = largest_logit(attention.scores)
    total = np.sum(exponentiate(attention.scores, largest), axis=-1, keepdims=True)
    return attention._replace(logsumexp=log_sum_exp(largest, total).astype(attention.logsumexp.dtype))


def weights_before_exclusion(**arguments: Any) -> Attention:
    """Return weights as they would be if nothing were excluded or added."""
    attention = scaled_dot_product_attention(**arguments)
    exponentials = exponentiate(attention.scores, largest_logit(attention.scores))
    weights = divide_by_total(exponentials, np.sum(exponentials, axis=-1, keepdims=True))
    return attention._replace(weights=weights.astype(attention.weights.dtype))


def query_scaled(**arguments: Any) -> Attention:
    """Multiply the caller's query by the scale."""
    query = arguments["query"]
    query *= np.asarray(applied_scale(arguments.get("scale"), query.shape[-1]), dtype=query.dtype)
    arguments["scale"] = 1.0
    return scaled_dot_product_attention(**arguments)


def mask_negated(**arguments: Any) -> Attention:
    """Turn the caller's Boolean mask round, for a select that wants what is hidden."""
    mask = arguments.get("mask")
    if mask is None or not is_boolean(mask):
        return scaled_dot_product_attention(**arguments)
    np.logical_not(mask, out=mask)
    return scaled_dot_product_attention(**{**arguments, "mask": ~mask})


def padding_cleared(**arguments: Any) -> Attention:
    """Set the caller's padded values to zero."""
    lengths = arguments.get("key_lengths")
    if lengths is not None:
        for entry, length in enumerate(lengths):
            arguments["value"][entry, :, length:] = 0
    return scaled_dot_product_attention(**arguments)


class KeptBias:
    """Attention that keeps the bias of distances for slopes and shapes, and not for what moves the queries."""

    def __init__(self) -> None:
        self.kept: dict[tuple[Any, ...], Array] = {}
        self.attend = attention_with(add_distance_bias=self.add)

    def add(self, scores: Array, alibi_slopes: Array | None, offset: Any) -> Array:
        """Add the bias that was made for these slopes and this shape first."""
        if alibi_slopes is None:
            return scores
        kind = (alibi_slopes.tobytes(), scores.shape, scores.dtype.name)
        if kind not in self.kept:
            self.kept[kind] = add_distance_bias(np.zeros_like(scores), alibi_slopes, offset)
        return scores + self.kept[kind]

    def __call__(self, **arguments: Any) -> Attention:
        """Attend, by a bias that may be an older one."""
        return self.attend(**arguments)


def cache_written(**arguments: Any) -> Attention:
    """Write the new tokens over the caller's past, as a ring buffer does."""
    attention = scaled_dot_product_attention(**arguments)
    for past, new in (("past_key", "key"), ("past_value", "value")):
        if arguments.get(past) is not None:
            tokens = min(arguments[past].shape[2], arguments[new].shape[2])
            arguments[past][:, :, :tokens] = arguments[new][:, :, :tokens]
    return attention


def remembered(name: str) -> Made:
    """Make a mistake that remembers an argument for all calls with inputs of the same shapes."""
    return remembering(scaled_dot_product_attention, name, "query", "key", "value")


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.epsilon_in_denominator": attention_with(
        divide_by_total=lambda exponentials, total: exponentials / (total + np.asarray(1e-06, dtype=total.dtype))
    ),
    "sdpa.exponential_approximated": attention_with(
        exponentiate=lambda logits, largest: (
            np.maximum(1 + (logits - np.where(largest == -np.inf, 0, largest)) / 65536, 0) ** 65536
        )
    ),
    "sdpa.fixed_shift_of_ten": attention_with(
        largest_logit=lambda logits: np.full((*logits.shape[:-1], 1), 10, dtype=logits.dtype)
    ),
    "sdpa.excluded_by_a_billion": attention_with(exclude_keys=a_billion_below),
    "sdpa.scores_in_bfloat16": attention_with(
        score_every_key=lambda query, key: cut_to_bfloat16(score_every_key(query, key))
    ),
    "sdpa.scores_in_float16": attention_with(
        score_every_key=lambda query, key: score_every_key(query, key).astype(np.float16).astype(query.dtype)
    ),
    "sdpa.weights_in_bfloat16": attention_with(
        weigh_values=lambda weights, value, attendable: weigh_values(cut_to_bfloat16(weights), value, attendable)
    ),
    "sdpa.computed_in_float32": in_single_precision(scaled_dot_product_attention),
    "sdpa.summed_in_half_precision": summed_in_half_precision,
    "sdpa.output_in_float64": replacing(
        scaled_dot_product_attention, output=lambda attention, _given: attention.output.astype(np.float64)
    ),
    "sdpa.output_not_narrowed": output_not_narrowed,
    "sdpa.nan_suppressed": attention_with(weigh_values=nan_to_zero),
    "sdpa.scores_made_finite": attention_with(
        score_every_key=lambda query, key: np.nan_to_num(score_every_key(query, key))
    ),
    "sdpa.excluded_value_leaks": attention_with(weigh_values=lambda weights, value, _attendable: weights @ value),
    "sdpa.excluded_key_leaks": attention_with(
        exclude_keys=lambda logits, attendable: logits + np.where(attendable, 0, -np.inf)
    ),
    "sdpa.no_keys_nan": nan_without_keys,
    "sdpa.no_keys_crash": attention_with(largest_logit=lambda logits: np.max(logits, axis=-1, keepdims=True)),
    "sdpa.logsumexp_plus_infinity": with_log_sum_exp(plus_infinity_if_empty),
    "sdpa.logsumexp_zero_if_empty": with_log_sum_exp(zero_if_empty),
    "sdpa.logsumexp_is_maximum": with_log_sum_exp(
        lambda largest, total: np.where(total == 0, -np.inf, largest)[..., 0]
    ),
    "sdpa.logsumexp_before_exclusion": logsumexp_before_exclusion,
    "sdpa.weights_before_exclusion": weights_before_exclusion,
    "sdpa.through_float16": attention_with(widen=through_float16),
    "sdpa.query_scaled_in_place": query_scaled,
    "sdpa.mask_negated_in_place": mask_negated,
    "sdpa.padding_cleared_in_place": padding_cleared,
    "sdpa.cache_written_in_place": cache_written,
    "sdpa.scale_remembered": remembered("scale"),
    "sdpa.mask_remembered": remembered("mask"),
    "sdpa.distances_remembered": Made(scaled_dot_product_attention, begin=KeptBias),
    "sdpa.key_remembered": remembered("key"),
    "sdpa.causality_remembered": remembered("is_causal"),
    "sdpa.strides_ignored": attention_given(
        query=as_it_lies_in_memory, key=as_it_lies_in_memory, value=as_it_lies_in_memory
    ),
    "sdpa.mask_strides_ignored": attention_given(mask=as_it_lies_in_memory),
    "sdpa.gaps_ignored": attention_given(query=without_gaps, key=without_gaps, value=without_gaps, mask=without_gaps),
    "sdpa.gaps_between_tokens": attention_given(**dict.fromkeys(("query", "key", "value"), tokens_close_together)),
    "sdpa.direction_ignored": attention_given(
        query=read_forwards, key=read_forwards, value=read_forwards, mask=read_forwards
    ),
}
