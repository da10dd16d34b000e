"""What goes wrong with masks, positions and lengths in the backward pass alone: the forward pass is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import in_some, mistake, repeating
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_keys import is_boolean
from attnspec_reference.attention.attention_logits import add_distance_bias
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import scaled_dot_product_attention_backward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans, Integers

_CHUNK = 32
"""Queries that kernels take at a time."""

OTHER_ALIGNMENT = {"top_left": "bottom_right", "bottom_right": "top_left"}


def replaying(**replaced: Any) -> Backward:
    """Make a backward pass that repeats a forward pass with some of its steps replaced."""
    forward = departure(scaled_dot_product_attention, **replaced)
    return departure(scaled_dot_product_attention_backward, scaled_dot_product_attention=forward)


def without(*names: str) -> Backward:
    """Make a backward pass that finds the weights anew without some of the arguments."""
    unstated = {"is_causal": False}
    return repeating(lambda _: {name: unstated.get(name) for name in names})


def of_masks(kind: Callable[[Any], bool], change: Callable[[Any], Any]) -> Backward:
    """Make a backward pass that finds the weights anew with other masks of a kind."""

    def changed(given: Mapping[str, Any]) -> Mapping[str, Any]:
        mask = given["mask"]
        return {} if mask is None or not kind(mask) else {"mask": change(mask)}

    return repeating(changed)


def is_additive(mask: Any) -> bool:
    """Tell a mask that is added from one that selects."""
    return not is_boolean(mask)


def exclusions(mask: Array) -> Array:
    """Keep what a float mask excludes, and leave out what it adds."""
    return mask != -np.inf


def additions(mask: Array) -> Array:
    """Keep what a float mask adds, and leave out what it excludes."""
    return np.where(mask == -np.inf, np.zeros_like(mask), mask)


def first_row(mask: Array) -> Array:
    """Take the first row of the mask for every query."""
    return mask[..., :1, :]


def first_entry(mask: Array) -> Array:
    """Take the first batch entry and head of the mask for all."""
    return np.reshape(mask, (-1, *mask.shape[-2:]))[0]


def behind_the_diagonal(**places: Any) -> Booleans:
    """Leave the query's own position out, too."""
    return causal_mask(**{**places, "offset": places["offset"] - 1})


def with_window(change: Callable[[int | None, int | None], list[int | None]]) -> Backward:
    """Make a backward pass that finds the weights anew in another window."""

    def changed(given: Mapping[str, Any]) -> Mapping[str, Any]:
        return {} if given["window"] is None else {"window": change(*given["window"])}

    return repeating(changed)


def farther(side: int | None, more: int) -> int | None:
    """Move one side of a window."""
    return None if side is None else max(side + more, 0)


def slopes_negated(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise the scores by the distance."""
    slopes = given["alibi_slopes"]
    return {} if slopes is None else {"alibi_slopes": -slopes}


def distance_in_chunks(scores: Array, alibi_slopes: Array | None, offset: Integers | int) -> Array:
    """Bias each chunk of queries as if it were the first."""
    starts = range(0, max(scores.shape[-2], 1), _CHUNK)
    chunks = [add_distance_bias(scores[..., start : start + _CHUNK, :], alibi_slopes, offset) for start in starts]
    return np.concatenate(chunks, axis=-2)


def slopes_of_first_head(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give every head the first slope."""
    slopes = given["alibi_slopes"]
    return {} if slopes is None else {"alibi_slopes": np.broadcast_to(slopes[:1], slopes.shape)}


def lengths_of_first_entry(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give every batch entry the key length of the first."""
    lengths = given["key_lengths"]
    return {} if lengths is None else {"key_lengths": np.broadcast_to(lengths[:1], np.shape(lengths))}


def aligned_by_shapes(_alignment: str, queries: Any, keys: Any, past: int) -> Any:
    """Leave the queries at the top, whatever is asked for."""
    return past + 0 * (keys - queries)


MISTAKES = (
    mistake(
        id="sdpa_backward.boolean_mask_ignored",
        clause="sdpa_backward.mask.boolean",
        sentence="The Boolean mask was left out when the weights were found anew.",
        engineer="The backward kernel recomputes P without the Boolean mask.",
        remedy="Exclude in the backward pass what the forward pass excluded.",
        function=of_masks(is_boolean, lambda _: None),
    ),
    mistake(
        id="sdpa_backward.boolean_mask_inverted",
        clause="sdpa_backward.mask.boolean",
        sentence="The Boolean mask was taken the other way round when the weights were found anew.",
        engineer="The backward kernel excludes where the mask is true.",
        remedy="True means that a key may be attended, on the way back as well.",
        function=of_masks(is_boolean, np.logical_not),
    ),
    mistake(
        id="sdpa_backward.mask_of_first_query",
        clause="sdpa_backward.mask.boolean",
        sentence="Every query got the first row of the mask when the weights were found anew.",
        engineer="The row stride of the mask is 0 in the backward kernel.",
        remedy="Read the row of the mask that belongs to the query.",
        function=of_masks(lambda _: True, first_row),
    ),
    mistake(
        id="sdpa_backward.mask_of_first_entry",
        clause="sdpa_backward.mask.boolean",
        sentence="Every batch entry and head got the first mask when the weights were found anew.",
        engineer="The batch and head strides of the mask are 0 in the backward kernel.",
        remedy="Read the mask of the batch entry and of the head.",
        function=of_masks(lambda _: True, first_entry),
    ),
    mistake(
        id="sdpa_backward.float_mask_ignored",
        clause="sdpa_backward.mask.additive",
        sentence="The float mask was left out when the weights were found anew.",
        engineer="The backward kernel recomputes P without the bias.",
        remedy="Add the mask to the logits before the weights are found.",
        function=of_masks(is_additive, lambda _: None),
    ),
    mistake(
        id="sdpa_backward.float_mask_as_boolean",
        clause="sdpa_backward.mask.additive",
        sentence="What the float mask excludes was excluded, but its finite numbers were not added to the logits.",
        engineer="The backward kernel tests the bias against -inf and does not add it.",
        remedy="Add the numbers of the mask to the logits before the weights are found.",
        function=of_masks(is_additive, exclusions),
    ),
    mistake(
        id="sdpa_backward.float_mask_excludes_nothing",
        clause="sdpa_backward.excluded",
        sentence="The float mask was added, but where it is minus infinity nothing was excluded.",
        engineer="-inf of the bias is replaced by 0 in the backward kernel.",
        remedy="Leave out of all sums what the mask excludes.",
        function=of_masks(is_additive, additions),
    ),
    mistake(
        id="sdpa_backward.causality_ignored",
        clause="sdpa_backward.causal",
        sentence="Causality was left out when the weights were found anew.",
        engineer="The backward kernel does not read the causal flag.",
        remedy="Exclude the keys after the position of a query on the way back, too.",
        function=without("is_causal"),
    ),
    mistake(
        id="sdpa_backward.always_causal",
        clause="sdpa_backward.causal",
        sentence="The weights were found anew as if attention were causal, though it is not.",
        engineer="The backward kernel masks its diagonal tiles and skips others, whatever the causal flag says.",
        remedy="Exclude keys after the position of a query only where attention is causal.",
        function=repeating(lambda _: {"is_causal": True}),
        source="https://github.com/triton-lang/triton/issues/4541",
    ),
    mistake(
        id="sdpa_backward.causality_ignored_for_keys",
        clause="sdpa_backward.causal",
        sentence="Causality was left out for the gradients of keys and values; for the queries it was kept.",
        engineer="The kernel for dK and dV does not read the causal flag; the one for dQ does.",
        remedy="Leave out the queries before the position of a key.",
        function=in_some(without("is_causal"), "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.causality_ignored_for_queries",
        clause="sdpa_backward.causal",
        sentence="Causality was left out for the gradient of the queries; for keys and values it was kept.",
        engineer="The kernel for dQ does not read the causal flag; the one for dK and dV does.",
        remedy="Leave out the keys after the position of a query.",
        function=in_some(without("is_causal"), "grad_query"),
    ),
    mistake(
        id="sdpa_backward.causality_without_diagonal",
        clause="sdpa_backward.causal",
        sentence="A query was kept from the key at its own position when the weights were found anew.",
        engineer="The backward kernel's causal bound is col < row instead of col <= row.",
        remedy="A query may attend to its own position.",
        function=replaying(causal_mask=behind_the_diagonal),
    ),
    mistake(
        id="sdpa_backward.other_alignment",
        clause="sdpa_backward.position",
        sentence="The weights were found anew with the queries at the other end of the keys.",
        engineer="Forward and backward kernel differ in causal alignment.",
        remedy="Place the queries as `causal_alignment` says, on the way back as well.",
        function=repeating(lambda given: {"causal_alignment": OTHER_ALIGNMENT[given["causal_alignment"]]}),
    ),
    mistake(
        id="sdpa_backward.always_top_left",
        clause="sdpa_backward.position",
        sentence="The weights were found anew with the first query at the first key, whatever is asked for.",
        engineer="The offset Sk - Sq is missing in the backward kernel.",
        remedy="With bottom_right, query i stands at i + L - N.",
        function=replaying(causal_offset=aligned_by_shapes),
        source="https://github.com/xlite-dev/ffpa-attn/pull/300",
    ),
    mistake(
        id="sdpa_backward.window_ignored",
        clause="sdpa_backward.window",
        sentence="The window was left out when the weights were found anew.",
        engineer="The window bounds do not reach the backward kernel.",
        remedy="Exclude in the backward pass what lies outside the window.",
        function=without("window"),
    ),
    mistake(
        id="sdpa_backward.window_ignored_for_keys",
        clause="sdpa_backward.window",
        sentence="The window was left out for the gradients of keys and values; for the queries it was kept.",
        engineer="The kernel for dK and dV does not read the window; the one for dQ does.",
        remedy="Leave out the queries whose window does not reach a key.",
        function=in_some(without("window"), "grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.window_sides_swapped",
        clause="sdpa_backward.window",
        sentence="Left and right of the window changed places when the weights were found anew.",
        engineer="The kernel goes from keys to queries and takes the window from there, unmirrored.",
        remedy="Left is before the query. Seen from a key, it is the queries after it.",
        function=with_window(lambda left, right: [right, left]),
    ),
    mistake(
        id="sdpa_backward.window_one_more",
        clause="sdpa_backward.window",
        sentence="The window was one key wider to the left when the weights were found anew.",
        engineer="The backward kernel's left bound is col >= row - left - 1.",
        remedy="Keep key j when it stands at most left positions before the query.",
        function=with_window(lambda left, right: [farther(left, 1), right]),
    ),
    mistake(
        id="sdpa_backward.window_one_less_right",
        clause="sdpa_backward.window",
        sentence="The window was one key narrower to the right when the weights were found anew.",
        engineer="The backward kernel's right bound is col < row + right.",
        remedy="Keep key j when it stands at most right positions after the query.",
        function=with_window(lambda left, right: [left, farther(right, -1)]),
    ),
    mistake(
        id="sdpa_backward.alibi_ignored",
        clause="sdpa_backward.alibi",
        sentence="The bias by distance was left out when the weights were found anew.",
        engineer="The backward kernel recomputes P without ALiBi.",
        remedy="Lower the logits by slope times distance before the weights are found.",
        function=without("alibi_slopes"),
    ),
    mistake(
        id="sdpa_backward.alibi_negated",
        clause="sdpa_backward.alibi",
        sentence="The bias by distance was added instead of subtracted when the weights were found anew.",
        engineer="The sign of the ALiBi bias differs between forward and backward kernel.",
        remedy="Lower the logits by slope times distance.",
        function=repeating(slopes_negated),
    ),
    mistake(
        id="sdpa_backward.alibi_counted_in_chunk",
        clause="sdpa_backward.alibi",
        sentence="Distances for ALiBi were counted from the first query of a chunk of 32.",
        engineer="The row index of the bias lacks the offset of the query block.",
        remedy="Count the positions of queries from the first query of the sequence.",
        function=replaying(add_distance_bias=distance_in_chunks),
    ),
    mistake(
        id="sdpa_backward.alibi_of_first_head",
        clause="sdpa_backward.alibi",
        sentence="Every head got the slope of the first head when the weights were found anew.",
        engineer="The head stride of the slopes is 0 in the backward kernel.",
        remedy="Read the slope of the query head.",
        function=repeating(slopes_of_first_head),
    ),
    mistake(
        id="sdpa_backward.key_lengths_ignored",
        clause="sdpa_backward.key_lengths",
        sentence="The lengths of the keys were left out when the weights were found anew.",
        engineer="The backward kernel loops over all Sk keys of every batch entry.",
        remedy="Leave out keys and values from number L on.",
        function=without("key_lengths"),
    ),
    mistake(
        id="sdpa_backward.key_lengths_of_first_entry",
        clause="sdpa_backward.key_lengths",
        sentence="Every batch entry got the key length of the first when the weights were found anew.",
        engineer="The backward kernel reads key_lengths[0] for every batch entry.",
        remedy="Read the key length of the batch entry.",
        function=repeating(lengths_of_first_entry),
    ),
    mistake(
        id="sdpa_backward.query_lengths_ignored",
        clause="sdpa_backward.query_lengths",
        sentence="Queries that do not count added to the gradients of keys and values.",
        engineer="The backward kernel loops over all Sq queries of every batch entry.",
        remedy="Leave queries from number N on out of all sums.",
        function=without("query_lengths"),
    ),
    mistake(
        id="sdpa_backward.nan_in_mask_excludes",
        clause="sdpa_backward.nonfinite_input",
        sentence="NaN in a float mask excluded the key instead of taking its course.",
        engineer="The predicate of the backward kernel is mask > -inf, which NaN is not.",
        remedy="Exclude a key only where the mask is minus infinity.",
        function=of_masks(lambda mask: not is_boolean(mask), lambda mask: np.where(np.isnan(mask), -np.inf, mask)),
    ),
)
"""In the order of the page: masks, positions, lengths."""
