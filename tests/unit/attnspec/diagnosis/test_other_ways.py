"""Mistakes as others make them: in tiles of another size, beside habits that are right, in the words of a layout."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.patches import by_name
from attnspec_reference import scaled_dot_product_attention as attention

PROFILES = ("core", "tails", "stress", "masking", "varlen")
UNDECLARED = {"masked_nonfinite": "propagates", "input_checks": "none"}


def first_diagnosis(function, profile=PROFILES, operation="scaled_dot_product_attention", **declared):
    """The diagnosis that a report begins with, of a function that makes no promise about what is not finite."""
    conventions = {**UNDECLARED, **declared.pop("conventions", {})}
    target = SimpleNamespace(**{operation: function}, dtypes=("float64",), conventions=conventions, **declared)
    report = attnspec.validate(target, profile=profile)
    assert report.wrong
    return report.diagnosis[0]


def in_tiles(tile, *, rescaled=True, filled=False):
    """Attention in tiles of keys, with a running maximum: the output not rescaled, or the last tile filled up."""

    def attend(query, key, value, mask=None):
        scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
        if mask is not None and mask.dtype != bool:
            raise NotImplementedError("masks of truth values alone")
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        more = -scores.shape[-1] % tile if filled else 0
        scores = np.pad(scores, [(0, 0)] * 3 + [(0, more)])
        value = np.pad(value, [(0, 0), (0, 0), (0, more), (0, 0)])
        highest = np.full((*scores.shape[:-1], 1), -np.inf)
        total, output = np.zeros_like(highest), np.zeros((*scores.shape[:-1], value.shape[-1]))
        for start in range(0, scores.shape[-1], tile):
            part = scores[..., start : start + tile]
            new = np.maximum(highest, part.max(axis=-1, keepdims=True))
            shift = np.where(new == -np.inf, 0, new)
            exponentials, correction = np.exp(part - shift), np.exp(highest - shift)
            total = total * correction + exponentials.sum(axis=-1, keepdims=True)
            output = output * (correction if rescaled else 1) + exponentials @ value[..., start : start + tile, :]
            highest = new
        return output / np.where(total == 0, 1, total)

    return attend


@pytest.mark.parametrize("tile", [8, 32])
def test_a_mistake_in_tiles_is_named_whatever_their_size(tile):
    repeated = {"without": ("grouped_query",)}
    unscaled = first_diagnosis(in_tiles(tile, rescaled=False), **repeated)
    assert (unscaled.mistake, unscaled.certainty) == ("sdpa.output_not_rescaled", "it is")
    filled = first_diagnosis(in_tiles(tile, filled=True), **repeated)
    assert (filled.mistake, filled.certainty) == ("sdpa.last_tile_filled_with_zeros", "it is")


def with_lowest_numbers(axis=-1, *, inverted=False):
    """Attention that gives excluded keys the lowest number, as modules do; along an axis, or with the mask inverted."""

    def attend(query, key, value, mask=None):
        scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
        if mask is not None:
            scores = np.where(~mask if inverted else mask, scores, np.finfo(scores.dtype).min)
        exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True, initial=np.finfo(scores.dtype).min))
        return exponentials / exponentials.sum(axis=axis, keepdims=True) @ value

    return attend


OF_MODULES = {
    "conventions": {"fully_masked_row": "uniform", "no_keys": "refuse"},
    "without": ("grouped_query", "float_mask"),
}


def test_a_mistake_is_named_beside_rows_that_a_convention_decides():
    inverted = first_diagnosis(with_lowest_numbers(inverted=True), **OF_MODULES)
    assert (inverted.mistake, inverted.certainty) == ("sdpa.boolean_mask_inverted", "it is")
    queries = first_diagnosis(with_lowest_numbers(axis=-2), **OF_MODULES)
    assert (queries.mistake, queries.certainty) == ("sdpa.softmax_over_queries", "it is")


def through_float32(query, key, value, mask=None, scale=None):
    """No scale at all where none is stated, and a sum that passes through float32."""
    right = attention(query, key, value, mask, scale=1.0 if scale is None else scale).output
    return right * (1 + 1e-7 * np.sin(np.arange(right.size)).reshape(right.shape))


def test_a_number_in_float32_beside_it_hides_no_mistake():
    assert first_diagnosis(through_float32, profile=("core",)).mistake == "sdpa.scale_missing"


def of_others():
    """Calls of operations that take no heads of queries, keys and values: of lengths between the sizes of tiles."""
    draw = np.random.default_rng(0).standard_normal
    past, new = draw((1, 1, 1, 2)), draw((1, 1, 40, 2))
    return {
        # One feature more than whole tiles is padded to another width by each; one less leaves out another rest.
        "rms_norm": [{"x": draw((3, width)), "weight": draw(width), "epsilon": 1e-6} for width in (65, 127)],
        "append_cache": [{"past_key": past, "past_value": past, "key": new, "value": new}],
        "scatter_cache": [{"cache": draw((1, 1, 64, 2)), "update": past, "write_indices": np.array([1], np.int64)}],
        "attention_mask": [{"query_length": 4, "key_length": 1000, "window": [1, None]}],
        "absorbed_latent_attention": [
            {
                "query_latent": draw((1, 1, 2, 3)),
                "query_rotary": draw((1, 1, 2, 1)),
                "latent": draw((1, tokens, 3)),
                "key_rotary": draw((1, tokens, 1)),
                "scale": 0.5,
            }
            for tokens in (24, 48, 96)
        ],
    }


@pytest.mark.parametrize("mistake", [mistake for mistake in CATALOGUE if mistake.other_ways], ids=lambda one: one.id)
def test_another_way_is_a_mistake_of_its_own_under_the_same_name(mistake):
    draw = np.random.default_rng(0).standard_normal
    given = {"query": draw((3, 5, 63, 6)), "key": draw((3, 5, 129, 6)), "value": draw((3, 5, 129, 6))}
    if mistake.operation == "multi_head_attention":
        given = dict.fromkeys(("query", "key", "value"), draw((2, 5, 6)))
        given |= {f"w_{name}": draw((6, 6)) for name in ("query", "key", "value", "output")} | {"num_heads": 3}
        # A key that nobody may attend to shows by which number it is hidden.
        given["mask"] = np.arange(5)[np.newaxis] < [[4]] * 5
    elif mistake.operation == "scaled_dot_product_attention_backward":
        given["grad_output"] = draw((3, 5, 63, 6))
    else:
        mask = np.arange(129) >= np.arange(63)[:, np.newaxis]
        given |= {"mask": mask, "key_lengths": np.array([129, 40, 129])}
    calls = of_others().get(mistake.operation, [given])
    ways = (mistake, *mistake.in_other_ways())
    assert {way.listed_as for way in mistake.in_other_ways()} == {mistake.id}
    prints = {
        tuple(np.asarray(array).tobytes() for call in calls for array in by_name(way.function(**call)).values())
        for way in ways
    }
    assert len(prints) == len(ways)


def test_a_mistake_of_packed_sequences_hears_the_alignment_that_an_implementation_takes_for_granted():
    def attend(query, key, value, query_starts, key_starts, is_causal=False):
        own, of_keys = (
            np.maximum(np.searchsorted(starts, np.arange(count), side="left") - 1, 0)
            for starts, count in ((query_starts, len(query)), (key_starts, len(key)))
        )
        allowed = own[:, np.newaxis] == of_keys
        if is_causal:
            left = key_starts[of_keys + 1] - np.arange(len(key))
            allowed &= left >= (query_starts[own + 1] - np.arange(len(query)))[:, np.newaxis]
        tokens = (np.swapaxes(array, 0, 1)[np.newaxis] for array in (query, key, value))
        return np.swapaxes(attention(*tokens, allowed).output[0], 0, 1)

    aligned = {"conventions": {"causal_alignment": "bottom_right", "no_keys": "refuse"}, "layout": "packed"}
    entry = first_diagnosis(attend, profile=("varlen", "causal", "cache", "paged"), **aligned)
    assert (entry.mistake, entry.certainty) == ("sdpa.packed_first_token_before", "it is")
