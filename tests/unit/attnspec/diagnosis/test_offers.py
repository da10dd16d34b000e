"""Offers that cannot hide a bug: a wrong implementation stays wrong under what it is offered, a right one gets its own.

Each wrong one here goes wrong where a declaration would take its cases away. What comes decides: an error where an
argument is not offered, NaN where rows are NaN, numbers of another reading.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec_authoring.rotation import selection
from attnspec_reference import apply_rotary, merge_states
from attnspec_reference import scaled_dot_product_attention as attention
from attnspec_reference import scaled_dot_product_attention_backward as backward

FORWARD, BACKWARD = "scaled_dot_product_attention", "scaled_dot_product_attention_backward"
MERGE, ROTATION = "merge_states", "apply_rotary"
PROPAGATES, SCORES_OPEN = "masked_nonfinite=propagates", "nonfinite_input=scores_open"


def with_(**changes):
    """Attention whose arguments are changed, each by a function of it, where it is given."""

    def changed(query, key, value, mask=None, *, is_causal=False, scale=None, window=None, **others):
        given = {"mask": mask, "is_causal": is_causal, "scale": scale, "window": window, **others}
        for name, change in changes.items():
            if given.get(name) is not None:
                given[name] = change(given[name])
        return attention(query, key, value, **given).output

    return changed


def after(change, *names):
    """Attention whose output is changed by a function of it and of all arguments; it takes some optional ones."""

    def changed(query, key, value, **given):
        unknown = given.keys() - set(names)
        if unknown:
            raise NotImplementedError(unknown)
        found = attention(query, key, value, **given)
        return change(np.array(found.output), found, {"query": query, "key": key, "value": value, **given})

    return changed


# Right but for what their declarations say.


def textbook(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def additive(query, key, value, mask=None):
    """A mask of numbers alone: truth values would be added as numbers."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]) + (0 if mask is None else mask)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def strict_about_masks(query, key, value, mask=None):
    if mask is not None and mask.dtype != np.bool_:
        raise TypeError(f"a mask is Boolean, not {mask.dtype}")
    return attention(query, key, value, mask).output


def in_float32(query, key, value):
    narrow = [array.astype(np.float32) for array in (query, key, value)]
    return attention(*narrow).output.astype(query.dtype)


def refuses_empty_keys(query, key, value, mask=None):
    if not key.shape[2]:
        raise ValueError("there are no keys")
    return attention(query, key, value, mask).output


def refuses_dead_rows(query, key, value, mask=None):
    found = attention(query, key, value, mask)
    if key.shape[2] and not found.weights.any(axis=-1).all():
        raise ValueError("a query has no key")
    return found.output


def nan_in_dead_rows(query, key, value, mask=None):
    found = attention(query, key, value, mask)
    dead = ~found.weights.any(axis=-1, keepdims=True) & bool(key.shape[2])
    return np.where(dead, np.nan, found.output)


def bounded_windows(query, key, value, window=None):
    left, right = (None, None) if window is None else (int(side) for side in window)
    return attention(query, key, value, window=None if window is None else (left, right)).output


def alibi_of_some_keys(query, key, value, mask=None, alibi_slopes=None, *, is_causal=False):
    if is_causal and alibi_slopes is None and not key.shape[2]:
        raise ValueError("causal attention needs a key")
    return attention(query, key, value, mask, alibi_slopes=alibi_slopes, is_causal=is_causal).output


def one_width(query, key, value):
    if value.shape[3] != key.shape[3]:
        raise ValueError("values are as wide as the keys")
    return attention(query, key, value).output


def lent(query, key, value, memory={}):  # noqa: B006 - the memory that is lent
    output = attention(query, key, value).output
    kept = memory.setdefault((output.shape, output.dtype), np.empty_like(output))
    kept[...] = output
    return kept


def base_two(query, key, value):
    found = attention(query, key, value)
    return {"output": found.output, "logsumexp": found.logsumexp * np.log2(np.e)}


def rows_of_nan_as_empty_rows(query, key, value, mask=None):
    """Its contract says that inputs are finite: a row without a sum above 0 has no keys, for all that it knows."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    return np.where(total > 0, weights @ value / np.where(total > 0, total, 1), 0)


def nan_logarithms_of_empty_parts(output_a, logsumexp_a, output_b, logsumexp_b):
    logarithms = [np.where(np.isnan(each), -np.inf, each) for each in (logsumexp_a, logsumexp_b)]
    return merge_states(output_a, logarithms[0], output_b, logarithms[1])


def zero_beside_nan_logarithms(output_a, logsumexp_a, output_b, logsumexp_b):
    found = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    return np.where(np.isnan(found.logsumexp)[..., np.newaxis], 0, found.output), found.logsumexp


def rotated_tokens(x, cos, sin, pairing="half"):
    if not x.size:
        raise ValueError("there are no tokens")
    return apply_rotary(x, cos, sin, pairing=pairing)


RIGHT = {
    "textbook": (textbook, FORWARD, {"float_mask", "grouped_query", "fully_masked_row=nan", PROPAGATES}),
    "additive": (additive, FORWARD, {"boolean_mask", "grouped_query", "fully_masked_row=nan"}),
    "Boolean masks alone": (strict_about_masks, FORWARD, {"float_mask"}),
    "float32 inside": (in_float32, FORWARD, {"accumulation=float32"}),
    "no keys refused": (refuses_empty_keys, FORWARD, {"no_keys=refuse"}),
    "dead rows refused": (refuses_dead_rows, FORWARD, {"fully_masked_row=refuse"}),
    "NaN in dead rows": (nan_in_dead_rows, FORWARD, {"fully_masked_row=nan"}),
    "bounded windows": (bounded_windows, FORWARD, {"open_window"}),
    "no keys refused under causality": (alibi_of_some_keys, FORWARD, {"no_keys=refuse"}),
    "one width": (one_width, FORWARD, {"value_width"}),
    "lent outputs": (lent, FORWARD, {"outputs=until_next_call"}),
    "base two": (base_two, FORWARD, {"logsumexp_base=2"}),
    "NaN rows as empty rows": (rows_of_nan_as_empty_rows, FORWARD, {SCORES_OPEN, PROPAGATES, "grouped_query"}),
    "NaN logarithms of empty parts": (nan_logarithms_of_empty_parts, MERGE, {SCORES_OPEN}),
    "zero beside NaN logarithms": (zero_beside_nan_logarithms, MERGE, {SCORES_OPEN}),
    "some tokens to rotate": (rotated_tokens, ROTATION, {"empty_queries"}),
}


# Wrong, and tempting.


def wrong_shape_of_grad_mask(grad_output, query, key, value, mask=None):
    found = backward(grad_output, query, key, value, mask=mask)._asdict()
    if found["grad_mask"] is not None:
        found["grad_mask"] = np.broadcast_to(found["grad_mask"], (*query.shape[:3], key.shape[2])).copy()
    return {name: array for name, array in found.items() if array is not None}


def nan_gradient_swallowed(grad_output, query, key, value, mask=None):
    found = backward(grad_output, query, key, value, mask=mask)._asdict()
    return {name: np.nan_to_num(array) for name, array in found.items() if array is not None}


def keys_end_at_queries(query, key, value, mask=None):
    count = min(query.shape[2], key.shape[2])
    mask = None if mask is None else np.broadcast_to(mask, (*mask.shape[:-1], key.shape[2]))[..., :count]
    return attention(query, key[:, :, :count], value[:, :, :count], mask).output


def tiled_heads(query, key, value, mask=None):
    heads = np.arange(query.shape[1]) % max(key.shape[1], 1)
    return attention(query, key[:, heads], value[:, heads], mask).output


def masks_kept_by_shape(query, key, value, mask=None, kept={}):  # noqa: B006 - the cache is the mistake
    mask = None if mask is None else kept.setdefault((mask.shape, mask.dtype), mask.copy())
    return attention(query, key, value, mask).output


def width_of_keys(query, key, value):
    return np.resize(attention(query, key, value).output, (*query.shape[:3], key.shape[3]))


def mask_ignored_beside_causality(query, key, value, mask=None, *, is_causal=False):
    return attention(query, key, value, None if is_causal else mask, is_causal=is_causal).output


def rank_three_by_batch(query, key, value, mask=None):
    mask = mask[:, np.newaxis] if mask is not None and mask.ndim == 3 and len(mask) == len(query) else mask
    return attention(query, key, value, mask).output


def next_row_poisoned(output, found, given):
    dead = ~found.weights.any(axis=-1) & bool(given["key"].shape[2])
    return np.where((dead | np.roll(dead, 1, axis=-1))[..., np.newaxis], np.nan, output)


def first_value_in_dead_rows(output, found, given):
    if not given["key"].shape[2] or not given["query"].size:
        return output
    dead = ~found.weights.any(axis=-1, keepdims=True)
    return np.where(dead, given["value"][:, :1, :1], output)


def halved_beside_hidden_nan(output, _found, given):
    is_hidden = any(not np.isfinite(given[name]).all() for name in ("key", "value")) and np.isfinite(output).all()
    return output / 2 if is_hidden else output


def halved_beside_nan(output, _found, given):
    return np.nan_to_num(output) / 2 if np.isnan(given["query"]).any() else output


def ones_without_keys(output, _found, given):
    return output if given["key"].shape[2] else np.ones_like(output)


def lent_and_halved(query, key, value, memory={}):  # noqa: B006 - the memory that is lent
    output = attention(query, key, value).output
    kept = memory.setdefault((output.shape, output.dtype), np.empty_like(output))
    kept[...] = output / 2 if key.shape[2] > 4 else output
    return kept


def half_of_base_two(query, key, value):
    found = attention(query, key, value)
    logsumexp = np.array(found.logsumexp)
    logsumexp[:, ::2] *= np.log2(np.e)
    return {"output": found.output, "logsumexp": logsumexp}


def gradients_with_mask_subtracted(grad_output, query, key, value, mask=None):
    found = backward(grad_output, query, key, value, mask=None if mask is None else subtracted(mask))._asdict()
    return {name: array for name, array in found.items() if array is not None}


def past_of_another_axis(query, key, value, past_key=None, past_value=None, *, is_causal=False):
    if past_key is not None:
        key, value = np.concatenate([past_key[0], key], 2), np.concatenate([past_value[0], value], 2)
    return attention(query, key, value, is_causal=is_causal).output


def past_of_another_axis_under_causality(query, key, value, past_key=None, past_value=None, is_causal=False):
    if not is_causal or query.shape[1] != key.shape[1]:
        raise NotImplementedError("always causal, and as many heads")
    if past_key is not None:
        key, value = np.concatenate([past_key[0], key], 2), np.concatenate([past_value[0], value], 2)
    queries, keys = query.shape[2], key.shape[2]
    allowed = np.tri(queries, keys, keys - queries, dtype=bool)
    scores = np.where(allowed, query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]), -np.inf)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def subtracted(mask):
    return mask if mask.dtype == np.bool_ else np.where(np.isinf(mask), mask, -mask)


def closed(window):
    return [0 if side is None else side for side in window]


def nan_swallowed_everywhere(query, key, value, mask=None):
    return np.nan_to_num(attention(query, key, value, mask).output)


def nan_rows_and_hidden_halves(query, key, value, mask=None):
    """As a right one whose inputs are finite, and wrong where an excluded value is not."""
    output = rows_of_nan_as_empty_rows(query, key, value, mask)
    return output / 2 if not np.isfinite(value).all() and np.isfinite(output).all() else output


def nan_swallowed_in_merged_parts(output_a, logsumexp_a, output_b, logsumexp_b):
    return tuple(map(np.nan_to_num, merge_states(output_a, logsumexp_a, output_b, logsumexp_b)))


def merged_for_all_where_a_logarithm_is_nan(output_a, logsumexp_a, output_b, logsumexp_b):
    found = merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    return np.zeros_like(output_a) if np.isnan(logsumexp_a).any() else found.output, found.logsumexp


def one_token_not_rotated(x, cos, sin, pairing="half"):
    if not x.size:
        raise ValueError("there are no tokens")
    return np.array(x) if x.shape[2] == 1 else apply_rotary(x, cos, sin, pairing=pairing)


WRONG = {
    "grad_mask of the wrong shape": (wrong_shape_of_grad_mask, BACKWARD),
    "NaN swallowed in gradients": (nan_gradient_swallowed, BACKWARD),
    "keys end at the queries": (keys_end_at_queries, FORWARD),
    "heads tiled": (tiled_heads, FORWARD),
    "float mask subtracted": (with_(mask=subtracted), FORWARD),
    "Boolean mask inverted": (with_(mask=lambda mask: ~mask if mask.dtype == np.bool_ else mask), FORWARD),
    "masks kept by shape": (masks_kept_by_shape, FORWARD),
    "open side closed": (with_(window=closed), FORWARD),
    "scale of 0 unheard": (with_(scale=lambda scale: scale or None), FORWARD),
    "negative scale made positive": (with_(scale=abs), FORWARD),
    "output as wide as the keys": (width_of_keys, FORWARD),
    "rank 3 by batch": (rank_three_by_batch, FORWARD),
    "mask ignored beside causality": (mask_ignored_beside_causality, FORWARD),
    "ones without keys": (after(ones_without_keys), FORWARD),
    "first value in dead rows": (after(first_value_in_dead_rows, "mask"), FORWARD),
    "NaN in the next row, too": (after(next_row_poisoned, "mask"), FORWARD),
    "half beside hidden NaN": (after(halved_beside_hidden_nan, "mask"), FORWARD),
    "half beside NaN": (after(halved_beside_nan, "mask"), FORWARD),
    "lent and halved": (lent_and_halved, FORWARD),
    "every other head to base two": (half_of_base_two, FORWARD),
    "past joined along another axis": (past_of_another_axis, FORWARD),
    "the same under causality alone": (past_of_another_axis_under_causality, FORWARD),
    "NaN swallowed everywhere": (nan_swallowed_everywhere, FORWARD),
    "NaN rows, and hidden halves": (nan_rows_and_hidden_halves, FORWARD),
    "NaN swallowed in merged parts": (nan_swallowed_in_merged_parts, MERGE),
    "all zero where a logarithm is NaN": (merged_for_all_where_a_logarithm_is_nan, MERGE),
    "one token not rotated": (one_token_not_rotated, ROTATION),
    "mask subtracted in gradients": (gradients_with_mask_subtracted, BACKWARD),
}  # fmt: skip

TRIED = 12
"""Of wrong and of right ones, those that are tried, others with every change: each is validated twice."""
PROFILES = (
    "core", "masking", "causal", "grouped_query", "window", "cache", "alibi", "nonfinite", "backward", "merge",
    "rotary", "rejects",
)  # fmt: skip


def offered_by(report):
    """Everything that a report says may be declared: above all problems, and beside each."""
    said = report.could_be_declared
    without = () if said is None else said.without
    conventions = {} if said is None else dict(said.conventions)
    for entry in report.diagnosis:
        if entry.undeclared is not None:
            conventions.setdefault(entry.undeclared.convention, entry.undeclared.choice)
    return SimpleNamespace(without=without, conventions=conventions)


def validated(function, operation, **declared):
    return attnspec.validate(function, operation=operation, profile=PROFILES, probes=False, **declared)


@pytest.mark.parametrize("name", sorted(selection(WRONG, TRIED)))
def test_no_offer_turns_a_wrong_one_green(name):
    function, operation = WRONG[name]
    report = validated(function, operation)
    assert report.wrong
    offered = offered_by(report)
    assert validated(function, operation, without=offered.without, conventions=offered.conventions).wrong


@pytest.mark.parametrize("name", sorted(selection(RIGHT, TRIED)))
def test_a_right_one_gets_what_it_needs_and_is_green_after_it(name):
    function, operation, expected = RIGHT[name]
    report = validated(function, operation)
    assert report.wrong
    offered = offered_by(report)
    said = {*offered.without, *(f"{name}={choice}" for name, choice in offered.conventions.items())}
    assert expected <= said
    after_it = validated(function, operation, without=offered.without, conventions=offered.conventions)
    assert not after_it.wrong
    assert any(result.establishes for result in after_it.results)
