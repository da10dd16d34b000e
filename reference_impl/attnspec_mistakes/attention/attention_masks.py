"""What goes wrong in the masks of attention: polarity, order, broadcasting, causality."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.causal_mask import at_most_one_ahead, before, later
from attnspec_mistakes.departures import altered, departure, ignoring, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_keys import attendable_by_mask, causal_offset, is_boolean
from attnspec_reference.attention.attention_logits import repeat_heads
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention"


def inverted_boolean(mask: Array) -> Array:
    """Turn true and false around; a float mask has no such sense."""
    return ~mask if is_boolean(mask) else mask


def as_truth_values(mask: Array) -> Array:
    """Take any mask for a Boolean one: 0 is false, every other number is true."""
    return mask.astype(np.bool_)


def first_of_batch(mask: Array) -> Array:
    """Take the mask of the first batch entry for all."""
    return mask[:1] if mask.ndim == 4 else mask


def first_of_heads(mask: Array) -> Array:
    """Take the mask of the first head for all."""
    return mask[..., :1, :, :] if mask.ndim >= 3 else mask


def one_for_each_batch_entry(mask: Array) -> Array:
    """Read the first of three axes as the batch instead of the heads."""
    return mask[:, np.newaxis] if mask.ndim == 3 else mask


def beside_key_heads(**arguments: Any) -> Attention:
    """Let the batch axis of a mask fall on the key heads, where both have one length: scores have an axis of groups."""
    mask, heads, shared = arguments.get("mask"), arguments["query"].shape[1], arguments["key"].shape[1]
    if mask is not None and np.ndim(mask) == 4 and np.shape(mask)[:2] == (shared, 1) and heads > shared > 1:
        arguments["mask"] = np.asarray(mask).repeat(heads // shared, axis=0).swapaxes(0, 1)
    return scaled_dot_product_attention(**arguments)


def subtracted_mask(scores: Array, mask: ArrayLike | None) -> Array:
    """Subtract a float mask."""
    if mask is None or is_boolean(mask):
        return scores
    with np.errstate(all="ignore"):
        return scores - np.asarray(mask).astype(scores.dtype)


def attendable_by_boolean_mask(mask: ArrayLike | None, shape: tuple[int, ...]) -> Booleans:
    """Let only Boolean masks exclude: what a float mask does is left to arithmetic."""
    return attendable_by_mask(mask if mask is not None and is_boolean(mask) else None, shape)


def boolean_mask_added(scores: Array, mask: ArrayLike | None) -> Array:
    """Add any mask, so that true is 1 and false is 0."""
    return scores if mask is None else scores + np.asarray(mask).astype(scores.dtype)


def attendable_by_float_mask(mask: ArrayLike | None, shape: tuple[int, ...]) -> Booleans:
    """Let only float masks exclude."""
    return attendable_by_mask(None if mask is None or is_boolean(mask) else mask, shape)


def mask_not_added(scores: Array, _mask: ArrayLike | None) -> Array:
    """Let a float mask exclude, but add nothing."""
    return scores


def finite_part_added(scores: Array, mask: ArrayLike | None) -> Array:
    """Add only the finite numbers of a float mask."""
    if mask is None or is_boolean(mask):
        return scores
    numbers = np.asarray(mask).astype(scores.dtype)
    return scores + np.where(numbers == -np.inf, 0, numbers)


def excluding_low_numbers(mask: Array) -> Array:
    """Take every number from -10000 down for minus infinity."""
    return mask if is_boolean(mask) else np.where(mask <= -1e4, -np.inf, mask)


def nothing_excluded(logits: Array, _attendable: Booleans) -> Array:
    """Leave the logits of excluded keys as they are."""
    return logits


def excluded_by_a_finite_number(logits: Array, attendable: Booleans) -> Array:
    """Put a number that is merely low in the place of minus infinity."""
    return np.where(attendable, logits, -1e4)


def first_query_at_first_key(_asked: str, *lengths: Any) -> Any:
    """Align to the top left, whatever was asked for."""
    return causal_offset("top_left", *lengths)


def last_query_at_last_key(_asked: str, *lengths: Any) -> Any:
    """Align to the bottom right, whatever was asked for."""
    return causal_offset("bottom_right", *lengths)


@in_working_precision
def mask_scaled_too(**arguments: Any) -> Attention:
    """Add the mask to the dot products and scale the sum."""
    mask = arguments.get("mask")
    if mask is not None and not is_boolean(mask):
        width = arguments["query"].shape[-1]
        arguments["mask"] = mask * applied_scale(arguments.get("scale"), width)
    return scaled_dot_product_attention(**arguments)


without_exclusion = departure(scaled_dot_product_attention, add_mask=finite_part_added, exclude_keys=nothing_excluded)


@in_working_precision
def zeroed_after_softmax(**arguments: Any) -> Attention:
    """Take the softmax over all keys, and only then set the weights of excluded keys to zero."""
    excluded = scaled_dot_product_attention(**arguments).logits == -np.inf
    attention = without_exclusion(**arguments)
    weights = np.where(excluded, 0, attention.weights)
    value = repeat_heads(attention.present_value, weights.shape[1])
    return attention._replace(weights=weights, output=weights @ value)


def nan_as_excluded(mask: Array) -> Array:
    """Take NaN for minus infinity."""
    return mask if is_boolean(mask) else np.where(np.isnan(mask), np.asarray(-np.inf, mask.dtype), mask)


def mask_of_first_head_in_group(query: ArrayLike, key: ArrayLike, value: ArrayLike, **given: Any) -> Attention:
    """Give all heads that share a key head the mask of the first, where there is one query."""
    mask, heads, shared = given.get("mask"), np.shape(query)[1], np.shape(key)[1]
    packed = np.shape(query)[2] == 1 and mask is not None and np.ndim(mask) > 2 and np.shape(mask)[-3] == heads
    if packed and shared and heads:
        first = [head - head % (heads // shared) for head in range(heads)]
        given = {**given, "mask": np.take(np.asarray(mask), first, axis=-3)}
    return scaled_dot_product_attention(query, key, value, **given)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.mask_ignored",
        clause="sdpa.mask.boolean",
        sentence="The mask was ignored.",
        engineer="The mask pointer is never read; the kernel runs its unmasked path.",
        remedy="Add a float mask to the scaled scores; where a Boolean mask is false, set them to minus infinity.",
        function=ignoring(scaled_dot_product_attention, "mask"),
        source="https://github.com/AI-Hypercomputer/maxtext/issues/878",
    ),
    mistake(
        id="sdpa.mask_subtracted",
        clause="sdpa.mask.additive",
        sentence="The mask was subtracted from the scores instead of added.",
        engineer="The bias is subtracted from the logits: its sign is flipped, and -inf becomes +inf.",
        remedy="Add the mask: minus infinity then hides a key.",
        function=departure(
            scaled_dot_product_attention,
            add_mask=subtracted_mask,
            attendable_by_mask=attendable_by_boolean_mask,
        ),
        erratum="E002.mask_subtracted",
    ),
    mistake(
        id="sdpa.mask_scaled_too",
        clause="sdpa.mask.additive",
        sentence="The mask was added before the scale, so it was scaled, too.",
        engineer="softmax((QK + M) * scale) where softmax(QK * scale + M) is due; 0/-inf masks cannot show it.",
        remedy="Scale the dot products first, then add the mask.",
        function=mask_scaled_too,
        source="https://github.com/tenstorrent/tt-metal/issues/55337",
    ),
    mistake(
        id="sdpa.float_mask_as_boolean",
        clause="sdpa.mask.additive",
        sentence="A float mask was read as a Boolean one: 0 hid the key, and every other number showed it.",
        engineer="The mask is cast to bool and selected on instead of being added as a bias.",
        remedy="Add a float mask to the scores; only a Boolean mask selects.",
        function=altered(scaled_dot_product_attention, mask=as_truth_values),
        source="https://github.com/mlverse/torch/pull/1208",
    ),
    mistake(
        id="sdpa.finite_mask_ignored",
        clause="sdpa.mask.additive",
        sentence="The finite numbers of a float mask were not added; only minus infinity had an effect.",
        engineer="The bias path only tests for -inf, as for a block mask, and drops finite biases.",
        remedy="Add every number of the mask to its score.",
        function=departure(scaled_dot_product_attention, add_mask=mask_not_added),
    ),
    mistake(
        id="sdpa.low_mask_excludes",
        clause="sdpa.mask.additive",
        sentence="Very low numbers of a float mask excluded their keys, as if they were minus infinity.",
        engineer="The bias path tests for values below a threshold, -10000, instead of for -inf.",
        remedy="Add every finite number of the mask to its score, however low it is.",
        function=altered(scaled_dot_product_attention, mask=excluding_low_numbers),
    ),
    mistake(
        id="sdpa.boolean_mask_inverted",
        clause="sdpa.mask.boolean",
        sentence="The Boolean mask was read the wrong way round: true hid the key.",
        engineer="The select takes its branches the wrong way round: true is read as masked.",
        remedy="Keep the keys where the mask is true; negate it for functions in which true means ignore.",
        function=altered(scaled_dot_product_attention, mask=inverted_boolean),
        source="https://github.com/lucidrains/x-transformers/issues/160",
    ),
    mistake(
        id="sdpa.boolean_mask_added",
        clause="sdpa.mask.boolean",
        sentence="The Boolean mask was added to the scores as 1 and 0, so it hid nothing.",
        engineer="The Boolean mask is converted to float and used as an additive bias of 0 or 1.",
        remedy="Set the score to minus infinity where the mask is false.",
        function=departure(
            scaled_dot_product_attention,
            add_mask=boolean_mask_added,
            attendable_by_mask=attendable_by_float_mask,
        ),
    ),
    mistake(
        id="sdpa.excluded_by_a_finite_number",
        clause="sdpa.mask.boolean",
        sentence="Excluded keys got the score -10000, which is not low enough beside scores of that size.",
        engineer="The mask fill is the finite sentinel -1e4, which real logits can lie below.",
        remedy="Set the scores of excluded keys to minus infinity.",
        function=departure(scaled_dot_product_attention, exclude_keys=excluded_by_a_finite_number),
        source="https://github.com/ohdearquant/lattice/pull/373",
    ),
    mistake(
        id="sdpa.zeroed_after_softmax",
        clause="sdpa.weights",
        sentence="Excluded keys got the weight 0 only after the softmax, so the rows sum to less than 1.",
        engineer="The mask multiplies the probabilities, but the row sum still runs over masked columns.",
        remedy="Exclude keys before the softmax, so that the weights of the others share the whole.",
        function=zeroed_after_softmax,
    ),
    mistake(
        id="sdpa.mask_of_first_batch_entry",
        clause="sdpa.mask.broadcast",
        sentence="Every batch entry was masked by the mask of the first one.",
        engineer="The batch stride of the mask is taken as 0.",
        remedy="Let each batch entry read its own mask; only an axis of length 1 is repeated.",
        function=altered(scaled_dot_product_attention, mask=first_of_batch),
        source="https://github.com/pytorch/pytorch/pull/184180",
    ),
    mistake(
        id="sdpa.mask_of_first_head",
        clause="sdpa.mask.broadcast",
        sentence="Every head was masked by the mask of the first one.",
        engineer="The head stride of the mask is taken as 0.",
        remedy="Let each query head read its own mask; only an axis of length 1 is repeated.",
        function=altered(scaled_dot_product_attention, mask=first_of_heads),
    ),
    mistake(
        id="sdpa.mask_of_entry_beside_key_heads",
        clause="sdpa.mask.broadcast",
        sentence="The mask of a batch entry masked the heads of a key head, where there are as many of both.",
        engineer="A (B, 1, Sq, Sk) mask is broadcast to five axes (B, Hkv, G, Sq, Sk) as it is.",
        remedy="Match a mask with (batch, query heads, queries, keys), before heads are put into groups.",
        function=beside_key_heads,
    ),
    mistake(
        id="sdpa.three_axes_as_batch",
        clause="sdpa.mask.broadcast",
        sentence="The first axis of a mask with three axes was read as the batch; it is the heads.",
        engineer="A rank-3 mask is unsqueezed at axis 1, to (B, 1, Sq, Sk), instead of at axis 0.",
        remedy="Match the axes of a mask from the right: three axes are (heads, queries, keys).",
        function=altered(scaled_dot_product_attention, mask=one_for_each_batch_entry),
        source="https://github.com/onnx/onnx/pull/8108",
    ),
    mistake(
        id="sdpa.causal_ignored",
        clause="sdpa.causal.top_left",
        sentence="The attribute is_causal was ignored: queries attended to later keys.",
        engineer="The causal flag does not reach the kernel that was dispatched to.",
        remedy="With is_causal, exclude every key after the query's own position.",
        function=ignoring(scaled_dot_product_attention, "is_causal"),
        source="https://github.com/jax-ml/jax/issues/19237",
    ),
    mistake(
        id="sdpa.causal_inverted",
        clause="sdpa.causal.top_left",
        sentence="Causality was inverted: queries attended to later keys only.",
        engineer="The causal comparison is inverted: col > row is kept.",
        remedy="Exclude the keys after the query's own position, and keep the others.",
        function=departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=later)),
        erratum="E002.causal_mask_inverted",
    ),
    mistake(
        id="sdpa.causal_strict",
        clause="sdpa.causal.top_left",
        sentence="With is_causal, a query could not attend to its own position.",
        engineer="The causal comparison is col < row where col <= row is due.",
        remedy="Keep the key at the query's own position.",
        function=departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=before)),
    ),
    mistake(
        id="sdpa.causal_one_ahead",
        clause="sdpa.causal.top_left",
        sentence="With is_causal, a query could attend to the position after its own.",
        engineer="The causal comparison is col <= row + 1 where col <= row is due.",
        remedy="Exclude every key after the query's own position.",
        function=departure(
            scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=at_most_one_ahead)
        ),
    ),
    mistake(
        id="sdpa.top_left_as_bottom_right",
        clause="sdpa.causal.top_left",
        sentence="Causality was aligned to the last key, where alignment to the first key was asked for.",
        engineer="The causal diagonal is shifted by Sk - Sq although top-left alignment is asked for.",
        remedy="With top_left, query i stands at key i.",
        function=departure(scaled_dot_product_attention, causal_offset=last_query_at_last_key),
        source="https://github.com/ml-explore/mlx/issues/2835",
    ),
    mistake(
        id="sdpa.bottom_right_as_top_left",
        clause="sdpa.causal.bottom_right",
        sentence="Causality was aligned to the first key, where alignment to the last key was asked for.",
        engineer="The causal diagonal is not shifted by Sk - Sq although bottom-right is asked for.",
        remedy="With bottom_right, query i stands at key i + Sk - Sq.",
        function=departure(scaled_dot_product_attention, causal_offset=first_query_at_first_key),
        source="https://github.com/microsoft/onnxruntime/issues/29020",
    ),
    mistake(
        id="sdpa.nan_in_mask_excludes",
        clause="sdpa.nonfinite_input",
        sentence="NaN in a float mask excluded the key instead of taking its course.",
        engineer="The predicate is mask > -inf, which NaN is not.",
        remedy="Exclude a key only where the mask is minus infinity.",
        function=altered(scaled_dot_product_attention, mask=nan_as_excluded),
    ),
    mistake(
        id="sdpa.mask_of_first_head_of_a_single_query",
        clause="sdpa.mask.broadcast",
        sentence="With a single query, all heads of a group got the mask of the first.",
        engineer="Heads of a group are packed into the rows of one tile in decoding, which has one row of the mask.",
        remedy="Read the row of the mask of each query head.",
        function=mask_of_first_head_in_group,
    ),
)
