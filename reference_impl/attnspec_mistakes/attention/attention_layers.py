"""What goes wrong in the layers with weight matrices, in context vectors, and in weights that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward import forward_scores, forward_softmax
from attnspec_mistakes.attention.forward.attention_patches import attention_with
from attnspec_mistakes.attention.forward.building_blocks import (
    at_most_one_ahead,
    before,
    dealt_out,
    divided_by_sums_without_their_axis,
    features_before_heads,
    largest_of_all,
    later,
    remainder_dropped,
    reshaped_instead,
    unshifted,
)
from attnspec_mistakes.attention.forward.forward_scores import inverse_root, transposed_scores
from attnspec_mistakes.mistake import Made, Making
from attnspec_mistakes.patches import (
    Computation,
    Outputs,
    altered,
    defaulting,
    exchanging,
    ignoring,
    ignoring_where,
    in_working_precision,
    named_output,
    patch,
    replacing,
    through_float16,
)
from attnspec_reference.attention.attention_logits import exclude_keys
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.context_vector import ContextVector, context_vector
from attnspec_reference.attention.glorot_normal import glorot_normal
from attnspec_reference.attention.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.single_head_attention import single_head_attention
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.attention.split_heads import split_heads
from attnspec_reference.precision import Array, Booleans


def scaled_by_default(formula: Callable[[float], float], argument: str, axis: int) -> Computation:
    """Make an attention whose default scale is a formula of the length of some axis."""
    return defaulting(single_head_attention, scale=lambda arguments: formula(np.shape(arguments[argument])[axis]))


def over_queries(scores: Array, *, axis: int) -> Array:  # noqa: ARG001 - the mistake is to ignore it
    """Normalise the columns, after subtracting one maximum from all scores."""
    return patch(softmax, largest=largest_of_all)(scores, axis=0)


def over_all(scores: Array, *, axis: int) -> Array:  # noqa: ARG001 - the mistake is to ignore it
    """Normalise all scores together."""
    return softmax(scores, axis=None)


def left_out(scores: Array, *, axis: int) -> Array:  # noqa: ARG001 - the mistake is to ignore it
    """Take the scores themselves for weights."""
    return scores


def unprojecting(weight: Array) -> Array:
    """Put the identity for a weight matrix."""
    return np.eye(weight.shape[0], dtype=weight.dtype)


def query_projection_for_keys(**arguments: Any) -> MultiHeadAttention:
    """Project the keys as if they were queries."""
    arguments["w_key"], arguments["b_key"] = arguments["w_query"], arguments.get("b_query")
    return multi_head_attention(**arguments)


def columns_joined_by_heads(**arguments: Any) -> MultiHeadAttention:
    """Lay the columns of the three projections side by side, and cut them as if heads came before the three."""
    heads, width = arguments["num_heads"], np.shape(arguments["query"])[-1]
    names = ("query", "key", "value")
    if heads < 1 or width % heads:
        return multi_head_attention(**arguments)
    for kind in ("w", "b"):
        given = [arguments.get(f"{kind}_{name}") for name in names]
        known = next((array for array in given if array is not None), None)
        if known is None:
            continue
        joined = np.concatenate([np.zeros_like(known) if array is None else array for array in given], axis=-1)
        cut = joined.reshape(*joined.shape[:-1], heads, 3, width // heads)
        for part, name in enumerate(names):
            arguments[f"{kind}_{name}"] = cut[..., part, :].reshape(np.shape(known))
    return multi_head_attention(**arguments)


def first_head_alone(x: Array, num_heads: int) -> Array:
    """Give every head the features of the first."""
    heads = split_heads(x, num_heads=num_heads)
    return np.broadcast_to(heads[:, :1], heads.shape)


def written_to_first_head(heads: Array) -> Array:
    """Write every head where the first one belongs, and leave 0 elsewhere."""
    first: Booleans = np.less(np.arange(int(heads.shape[1])), 1).reshape(-1, 1, 1)
    return combine_heads(np.where(first, heads, 0))


def nothing_without_keys(**arguments: Any) -> MultiHeadAttention:
    """Return zeros at once where there are no keys at all."""
    attention = multi_head_attention(**arguments)
    return attention if np.shape(arguments["key"])[1] else attention._replace(output=np.zeros_like(attention.output))


def axes_added(**arguments: Any) -> MultiHeadAttention:
    """Add a batch axis where there is none, and join the first axes where there are too many."""
    for name in ("query", "key", "value"):
        array = arguments[name]
        arguments[name] = array[np.newaxis] if array.ndim == 2 else array.reshape(-1, *array.shape[-2:])
    return multi_head_attention(**arguments)


def unchecked(_width: int, _num_heads: int) -> None:
    """Accept any number of heads."""


def cut_where_all_numbers_fit(x: Array, num_heads: int) -> Array:
    """Cut into heads by a reshape that leaves the number of tokens open."""
    return np.swapaxes(np.reshape(x, (x.shape[0], -1, num_heads, x.shape[2] // num_heads)), 1, 2)


def checked_by_a_reshape(**arguments: Any) -> MultiHeadAttention:
    """Leave it to a reshape to refuse numbers of heads, which looks at all numbers together."""
    if arguments["num_heads"] > np.shape(arguments["query"])[-1]:
        return multi_head_attention(**arguments)
    shape: tuple[int, ...] = np.shape(arguments["query"])

    def combined(split: Array) -> Array:
        return np.swapaxes(split, 1, 2).reshape(shape)

    attend = patch(
        multi_head_attention, check_heads=unchecked, split_heads=cut_where_all_numbers_fit, combine_heads=combined
    )
    return attend(**arguments)


def leftover_features_dropped(**arguments: Any) -> MultiHeadAttention:
    """Leave out the features that do not fill a head, and return zeros for them."""
    width, heads = np.shape(arguments["query"])[-1], arguments["num_heads"]

    def combined(split: Array) -> Array:
        return np.pad(combine_heads(split), [(0, 0), (0, 0), (0, width % heads)])

    attend = patch(multi_head_attention, check_heads=unchecked, split_heads=remainder_dropped, combine_heads=combined)
    return attend(**arguments)


def with_heads(attention: Callable[..., Attention]) -> Computation:
    """Make a multi-head attention whose heads attend in another way."""
    return patch(multi_head_attention, scaled_dot_product_attention=attention)


def over_heads(excluded: Callable[[Array, Booleans], Array]) -> Computation:
    """Take the softmax over the heads, where keys are excluded in some way."""
    return with_heads(
        attention_with(
            exclude_keys=excluded,
            largest_logit=lambda logits: np.max(logits, axis=1, keepdims=True, initial=-np.inf),
            sum_over_keys=lambda exponentials: np.sum(exponentials, axis=1, keepdims=True),
            log_sum_exp=lambda largest, total: np.squeeze(largest + np.log(total), axis=1),
        )
    )


def rows_as_entries(**given: Any) -> MultiHeadAttention:
    """Take the rows of a mask for batch entries where there are as many."""
    mask, entries = given.get("mask"), np.shape(given["query"])[0]
    if mask is not None and np.ndim(mask) == 2 and np.shape(mask)[0] == entries > 1:
        given = {**given, "mask": np.asarray(mask)[:, np.newaxis, np.newaxis]}
    return multi_head_attention(**given)


def padding_for_queries(**given: Any) -> MultiHeadAttention:
    """Take a mask of entries and keys for one of queries and keys where there are as many entries as queries."""
    mask, (entries, queries) = given.get("mask"), np.shape(given["query"])[:2]
    if mask is not None and np.shape(mask)[:3] == (entries, 1, 1) and np.ndim(mask) == 4 and entries == queries > 1:
        given = {**given, "mask": np.asarray(mask)[:, 0, 0]}
    return multi_head_attention(**given)


def partly_excluded_value_leaks(*tensors: Any, **given: Any) -> Attention:
    """Multiply every value by its weight, also by one of 0."""
    attention = scaled_dot_product_attention(*tensors, **given)
    spoilt = np.isnan(tensors[2]).any(axis=-1)[:, :, np.newaxis] & (attention.weights == 0)
    seen = np.any(attention.weights > 0, axis=-2, keepdims=True)
    output = np.where(np.any(spoilt & seen, axis=-1, keepdims=True), np.nan, attention.output)
    return attention._replace(output=output)


def heads_scaled_by_default(formula: Callable[[int, int], float]) -> Computation:
    """Make an attention whose default scale is a formula of the width of a token and the number of heads."""
    return defaulting(
        multi_head_attention, scale=lambda arguments: formula(np.shape(arguments["query"])[-1], arguments["num_heads"])
    )


def mask_scaled_too(query: Array, key: Array, value: Array, mask: Array | None, **attributes: Any) -> Attention:
    """Add the mask to the dot products of a head and scale the sum."""
    if mask is not None and mask.dtype != np.bool_:
        mask = mask * attributes["scale"]
    return scaled_dot_product_attention(query, key, value, mask, **attributes)


def context_scaled_by_default(formula: Callable[[int, int], float]) -> Computation:
    """Make a context vector whose default scale is a formula of the numbers of tokens and features."""
    return defaulting(context_vector, scale=lambda arguments: formula(*np.shape(arguments["encoder_states"])))


def features_cut(**arguments: Any) -> ContextVector:
    """Compare only the features that both states have."""
    width = min(np.shape(arguments["encoder_states"])[-1], np.shape(arguments["decoder_state"])[-1])
    for name in ("encoder_states", "decoder_state"):
        arguments[name] = arguments[name][..., :width]
    return context_vector(**arguments)


TRUNCATED_DEVIATION = 0.87962566103423978
"""Standard deviation of the standard normal distribution that is cut off at -2 and 2."""


def spread(formula: Callable[[int, int], float]) -> Computation:
    """Make an initialisation with another standard deviation."""
    return named_output(patch(glorot_normal, standard_deviation=formula))


def drawn(draw: Callable[[np.random.Generator, tuple[int, int]], Array]) -> Computation:
    """Make an initialisation from another distribution than the standard normal one."""
    return named_output(
        patch(glorot_normal, draw_standard_normal=lambda shape, seed: draw(np.random.default_rng(seed), shape))
    )


def truncated(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw again whatever lies more than two standard deviations from 0."""
    numbers = generator.standard_normal(shape)
    while (outside := np.abs(numbers) > 2).any():
        numbers[outside] = generator.standard_normal(int(outside.sum()))
    return numbers


class OneGenerator:
    """An initialisation that goes on with one random sequence, whatever seed it is given."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __call__(self, *, fan_in: int, fan_out: int, seed: int) -> Outputs:  # noqa: ARG002 - that is the mistake
        """Draw the next matrix."""
        return {"output": glorot_normal(fan_in=fan_in, fan_out=fan_out, seed=int(self.generator.integers(2**31)))}


class OneGeneratorForZero(OneGenerator):
    """An initialisation that takes a seed of 0 for none."""

    def __call__(self, *, fan_in: int, fan_out: int, seed: int) -> Outputs:
        """Draw the next matrix for the seed 0, and that of the seed for any other."""
        if not seed:
            return super().__call__(fan_in=fan_in, fan_out=fan_out, seed=seed)
        return {"output": glorot_normal(fan_in=fan_in, fan_out=fan_out, seed=seed)}


FUNCTIONS: Mapping[str, Making] = {
    "single_head.weight_matrices_transposed": altered(
        single_head_attention, w_query=np.transpose, w_key=np.transpose, w_value=np.transpose, w_output=np.transpose
    ),
    "single_head.query_and_key_weights_swapped": exchanging(single_head_attention, ("w_query", "w_key")),
    "single_head.value_not_projected": altered(single_head_attention, w_value=unprojecting),
    "single_head.scores_transposed": patch(single_head_attention, score_every_key=transposed_scores),
    "single_head.weights_overwrite_scores": replacing(
        single_head_attention, scores=lambda attention, _arguments: attention.weights
    ),
    "single_head.scale_missing": scaled_by_default(lambda _width: 1.0, "w_query", 1),
    "single_head.scale_multiplied": scaled_by_default(math.sqrt, "w_query", 1),
    "single_head.scale_from_model_width": scaled_by_default(inverse_root, "x", 1),
    "single_head.scale_from_number_of_tokens": scaled_by_default(inverse_root, "x", 0),
    "single_head.stated_scale_ignored": ignoring(single_head_attention, "scale"),
    "single_head.softmax_over_queries": patch(single_head_attention, softmax=over_queries),
    "single_head.softmax_over_all": patch(single_head_attention, softmax=over_all),
    "single_head.softmax_missing": patch(single_head_attention, softmax=left_out),
    "single_head.total_axis_lost": patch(
        single_head_attention, softmax=patch(softmax, divide_by_sum=divided_by_sums_without_their_axis)
    ),
    "single_head.no_maximum": patch(single_head_attention, softmax=patch(softmax, subtract=unshifted)),
    "single_head.weights_summed_out": patch(
        single_head_attention, weigh_values=lambda weights, value: np.sum(weights, axis=-1, keepdims=True) * value
    ),
    "single_head.output_projection_missing": ignoring(single_head_attention, "w_output"),
    "single_head.output_projection_transposed": altered(single_head_attention, w_output=np.transpose),
    "single_head.one_token_not_projected": ignoring_where(
        single_head_attention, lambda given: np.shape(given["x"])[0] == 1, "w_output"
    ),
    "single_head.zero_output_matrix_ignored": ignoring_where(
        single_head_attention, lambda given: not np.any(given.get("w_output")), "w_output"
    ),
    "single_head.through_float16": patch(single_head_attention, widen=through_float16),
    "multi_head.weight_matrices_transposed": altered(
        multi_head_attention, w_query=np.transpose, w_key=np.transpose, w_value=np.transpose, w_output=np.transpose
    ),
    "multi_head.query_projection_for_keys": query_projection_for_keys,
    "multi_head.keys_and_values_swapped": exchanging(
        multi_head_attention, ("key", "value"), ("w_key", "w_value"), ("b_key", "b_value")
    ),
    "multi_head.biases_dropped": ignoring(multi_head_attention, "b_query", "b_key", "b_value", "b_output"),
    "multi_head.query_bias_dropped": ignoring(multi_head_attention, "b_query"),
    "multi_head.value_bias_dropped": ignoring(multi_head_attention, "b_value"),
    "multi_head.output_bias_dropped": ignoring(multi_head_attention, "b_output"),
    "multi_head.output_bias_dropped_without_keys": nothing_without_keys,
    "multi_head.split_not_transposed": patch(
        multi_head_attention, split_heads=patch(split_heads, heads_before_tokens=reshaped_instead)
    ),
    "multi_head.split_interleaved": patch(multi_head_attention, split_heads=patch(split_heads, cut_features=dealt_out)),
    "multi_head.columns_joined_by_heads": columns_joined_by_heads,
    "multi_head.first_head_for_all": Made(
        patch(multi_head_attention, split_heads=first_head_alone),
        other_ways=(patch(multi_head_attention, split_heads=first_head_alone, combine_heads=written_to_first_head),),
    ),
    "multi_head.combine_not_transposed": patch(
        multi_head_attention, combine_heads=patch(combine_heads, tokens_before_heads=reshaped_instead)
    ),
    "multi_head.combine_interleaved": patch(
        multi_head_attention, combine_heads=patch(combine_heads, tokens_before_heads=features_before_heads)
    ),
    "multi_head.output_projection_missing": altered(multi_head_attention, w_output=unprojecting),
    "multi_head.output_projection_transposed": altered(multi_head_attention, w_output=np.transpose),
    "multi_head.residual_added": in_working_precision(
        replacing(multi_head_attention, output=lambda attention, arguments: attention.output + arguments["query"])
    ),
    "multi_head.rank_not_checked": axes_added,
    "multi_head.remainder_dropped": leftover_features_dropped,
    "multi_head.checked_by_a_reshape": checked_by_a_reshape,
    "multi_head.through_float16": patch(multi_head_attention, widen=through_float16),
    "multi_head.scale_missing": heads_scaled_by_default(lambda _width, _heads: 1.0),
    "multi_head.scale_multiplied": heads_scaled_by_default(lambda width, heads: math.sqrt(width // heads)),
    "multi_head.scale_from_model_width": heads_scaled_by_default(lambda width, _heads: 1.0 / math.sqrt(width)),
    "multi_head.stated_scale_ignored": ignoring(multi_head_attention, "scale"),
    "multi_head.mask_ignored": ignoring(multi_head_attention, "mask"),
    "multi_head.mask_subtracted": with_heads(
        attention_with(
            add_mask=forward_scores.subtracted_mask, attendable_by_mask=forward_scores.attendable_by_boolean_mask
        )
    ),
    "multi_head.boolean_mask_inverted": altered(multi_head_attention, mask=forward_scores.inverted_boolean),
    "multi_head.float_mask_as_boolean": altered(multi_head_attention, mask=forward_scores.as_truth_values),
    "multi_head.mask_of_first_batch_entry": altered(multi_head_attention, mask=forward_scores.first_of_batch),
    "multi_head.causal_ignored": ignoring(multi_head_attention, "is_causal"),
    "multi_head.causal_inverted": with_heads(attention_with(causal_mask=patch(causal_mask, at_or_before=later))),
    "multi_head.causal_strict": with_heads(attention_with(causal_mask=patch(causal_mask, at_or_before=before))),
    "multi_head.causal_one_ahead": with_heads(
        attention_with(causal_mask=patch(causal_mask, at_or_before=at_most_one_ahead))
    ),
    "multi_head.softmax_over_queries": Made(
        with_heads(forward_softmax.OVER_QUERIES), other_ways=(with_heads(forward_softmax.OVER_QUERIES_WITH_LOWEST),)
    ),
    "multi_head.no_maximum": with_heads(forward_softmax.WITHOUT_MAXIMUM),
    "multi_head.maximum_axis_lost": with_heads(forward_softmax.MAXIMUM_AXIS_LOST),
    "multi_head.normaliser_multiplied": with_heads(forward_softmax.NORMALISER_MULTIPLIED),
    "multi_head.weights_averaged": in_working_precision(
        replacing(multi_head_attention, weights=lambda attention, _arguments: np.mean(attention.weights, axis=1))
    ),
    "multi_head.three_axes_as_batch": altered(multi_head_attention, mask=forward_scores.one_for_each_batch_entry),
    "multi_head.mask_scaled_too": with_heads(mask_scaled_too),
    "multi_head.causal_skipped_with_mask": ignoring_where(
        multi_head_attention, lambda given: given.get("mask") is not None, "is_causal"
    ),
    "multi_head.softmax_over_heads": Made(
        over_heads(exclude_keys), other_ways=(over_heads(forward_softmax.lowest_where_excluded),)
    ),
    "multi_head.square_mask_as_padding": rows_as_entries,
    "multi_head.zeros_and_ones_as_boolean": altered(
        multi_head_attention,
        mask=lambda mask: forward_scores.as_truth_values(mask) if ((mask == 0) | (mask == 1)).all() else mask,
    ),
    "multi_head.one_key_not_masked": ignoring_where(
        multi_head_attention, lambda given: np.shape(given["key"])[1] == 1, "mask"
    ),
    "multi_head.one_query_not_causal": ignoring_where(
        multi_head_attention, lambda given: np.shape(given["query"])[1] == 1, "is_causal"
    ),
    "multi_head.excluded_nan_leaks": with_heads(partly_excluded_value_leaks),
    "multi_head.padding_mask_for_queries": padding_for_queries,
    "context_vector.score_of_every_feature": patch(
        context_vector, score_every_state=lambda encoder_states, decoder_state: encoder_states.T @ decoder_state
    ),
    "context_vector.scale_missing": context_scaled_by_default(lambda _tokens, _features: 1.0),
    "context_vector.scale_multiplied": context_scaled_by_default(lambda _tokens, features: math.sqrt(features)),
    "context_vector.scale_from_number_of_tokens": context_scaled_by_default(
        lambda tokens, _features: 1.0 / math.sqrt(tokens)
    ),
    "context_vector.stated_scale_ignored": ignoring(context_vector, "scale"),
    "context_vector.scores_as_weights": patch(
        context_vector, scale_scores=lambda raw_scores, _scale: raw_scores, softmax=left_out
    ),
    "context_vector.softmax_missing": patch(context_vector, softmax=left_out),
    "context_vector.uniform_mean": patch(
        context_vector, softmax=lambda scores, *, axis: np.full_like(scores, 1.0 / scores.shape[axis])
    ),
    "context_vector.weights_on_features": patch(
        context_vector, weigh_states=lambda weights, encoder_states: np.sum(weights * encoder_states, axis=0)
    ),
    "context_vector.scale_one_over_width": context_scaled_by_default(lambda _tokens, features: 1.0 / features),
    "context_vector.width_not_checked": features_cut,
    "context_vector.through_float16": patch(context_vector, widen=through_float16),
    "glorot_normal.variance_as_deviation": spread(lambda fan_in, fan_out: 2.0 / (fan_in + fan_out)),
    "glorot_normal.he_deviation": spread(lambda fan_in, _fan_out: math.sqrt(2.0 / fan_in)),
    "glorot_normal.one_over_sum": spread(lambda fan_in, fan_out: math.sqrt(1.0 / (fan_in + fan_out))),
    "glorot_normal.uniform": drawn(lambda generator, shape: generator.uniform(-math.sqrt(3), math.sqrt(3), shape)),
    "glorot_normal.truncated": drawn(truncated),
    "glorot_normal.truncated_and_stretched": drawn(
        lambda generator, shape: truncated(generator, shape) / TRUNCATED_DEVIATION
    ),
    "glorot_normal.mean_shifted": drawn(lambda generator, shape: generator.normal(1.0, 1.0, shape)),
    "glorot_normal.only_positive": drawn(lambda generator, shape: generator.uniform(0.0, math.sqrt(12), shape)),
    "glorot_normal.transposed": named_output(lambda **arguments: glorot_normal(**arguments).T),
    "glorot_normal.seed_ignored": Made(named_output(glorot_normal), begin=OneGenerator),
    "glorot_normal.seed_of_zero_ignored": Made(named_output(glorot_normal), begin=OneGeneratorForZero),
    "glorot_normal.drawn_in_pairs": drawn(
        lambda generator, shape: generator.standard_normal(2 * (math.prod(shape) // 2)).reshape(shape)
    ),
}
