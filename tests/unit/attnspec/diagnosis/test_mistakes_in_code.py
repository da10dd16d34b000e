"""Mistakes as they stand in code are named, with something to do: lost axes, other axes, masks of elsewhere."""

import numpy as np
import pytest

import attnspec
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.two_at_once import both

OPERATION = "scaled_dot_product_attention"
PROFILES = ("documents", "core", "grouped_query", "masking", "causal")
MISTAKES = {mistake.id: mistake for mistake in CATALOGUE}


def heads_of(query, tensor):
    return np.repeat(tensor, query.shape[1] // max(tensor.shape[1], 1), axis=1)


def attend(query, key, value, *, weigh, masked=lambda scores: scores, scale=True):
    """Attention with a softmax of its own."""
    scores = query @ heads_of(query, key).swapaxes(-1, -2)
    scores = masked(scores / np.sqrt(query.shape[-1]) if scale else scores)
    return weigh(scores) @ heads_of(query, value)


def without_the_axis_of_sums(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1)


def without_the_axis_of_maxima(scores):
    exponentials = np.exp(scores - scores.max(axis=-1))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def along_the_first_axis(scores):
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / exponentials.sum(axis=0)


def along_the_keys(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def first_named(function, operation=OPERATION, profile=PROFILES):
    report = attnspec.validate(function, operation=operation, profile=profile)
    return next(entry for entry in report.diagnosis if ".rejects." not in (entry.clause or ""))


NAMED = {
    "sdpa.total_axis_lost": without_the_axis_of_sums,
    "sdpa.maximum_broadcast_from_the_right": without_the_axis_of_maxima,
    "sdpa.softmax_over_batch": along_the_first_axis,
}


@pytest.mark.parametrize(("mistake", "weigh"), NAMED.items(), ids=NAMED)
def test_a_lost_or_other_axis_is_named(mistake, weigh):
    entry = first_named(lambda query, key, value: attend(query, key, value, weigh=weigh))
    assert (entry.mistake, entry.certainty) == (mistake, "it is")
    assert "axis" in entry.sentence + entry.remedy


def test_the_errors_that_a_lost_axis_ends_in_are_put_down_to_it():
    def function(query, key, value):
        return attend(query, key, value, weigh=without_the_axis_of_sums)

    report = attnspec.validate(function, operation=OPERATION, profile=PROFILES)
    errors = {(result.case.id, result.dtype) for result in report.wrong if result.status == "error"}
    entry = next(entry for entry in report.diagnosis if entry.mistake == "sdpa.total_axis_lost")
    assert len(errors.intersection(entry.failures)) > 0.9 * len(errors) > 20


@pytest.mark.parametrize("layout", ["bshe", "hse"])
def test_a_softmax_over_the_first_axis_is_named_in_other_layouts(layout):
    def batched(query, key, value):
        turned = (np.swapaxes(tensor, 1, 2) for tensor in (query, key, value))
        return np.swapaxes(attend(*turned, weigh=along_the_first_axis), 1, 2)

    def of_one_entry(query, key, value):
        scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
        return along_the_first_axis(scores) @ value

    class Mine:
        without = ("grouped_query",)
        scaled_dot_product_attention = staticmethod(batched if layout == "bshe" else of_one_entry)

    Mine.layout = layout
    report = attnspec.validate(Mine, profile=PROFILES)
    entry = next(entry for entry in report.diagnosis if ".rejects." not in (entry.clause or ""))
    assert entry.mistake in ("sdpa.softmax_over_batch", "sdpa.softmax_over_heads")


def test_a_mask_in_which_one_hides_gets_something_to_do():
    def as_in_tutorials(query, key, value, mask=None):
        return attend(
            query,
            key,
            value,
            weigh=along_the_keys,
            masked=lambda scores: scores if mask is None else scores + mask.astype(scores.dtype) * -1e9,
        )

    entry = first_named(as_in_tutorials)
    assert entry.mistake == "sdpa.mask_of_ones_hides"
    assert "~mask" in entry.remedy


# Two mistakes at once: the code of document 000, and its like.


def of_document_000(x, w_query, w_key, w_value):
    scores = np.dot(x @ w_query, (x @ w_key).T)
    return along_the_first_axis(scores) @ (x @ w_value)


def test_two_mistakes_at_once_are_named_as_two():
    entry = first_named(of_document_000, "single_head_attention", ())
    assert {candidate.mistake.id for candidate in entry.candidates} == {
        "single_head.softmax_over_queries+single_head.scale_missing"
    }
    assert entry.sentence.startswith("Two mistakes at once.")
    for name in ("single_head.softmax_over_queries", "single_head.scale_missing"):
        assert MISTAKES[name].sentence in entry.sentence
        assert MISTAKES[name].remedy in entry.remedy


def test_two_mistakes_at_once_are_named_with_heads_and_a_batch():
    entry = first_named(lambda query, key, value: attend(query, key, value, weigh=along_the_first_axis, scale=False))
    for name in ("sdpa.softmax_over_batch", "sdpa.scale_missing"):
        assert MISTAKES[name].sentence in entry.sentence


def test_one_mistake_is_not_named_as_two():
    entry = first_named(lambda query, key, value: attend(query, key, value, weigh=along_the_keys, scale=False))
    assert (entry.mistake, entry.sentence) == ("sdpa.scale_missing", MISTAKES["sdpa.scale_missing"].sentence)


def test_two_that_change_one_step_cannot_be_put_together():
    assert both(MISTAKES["sdpa.softmax_over_queries"], MISTAKES["sdpa.softmax_over_all"]) is None


def test_two_together_compute_what_both_change():
    together = both(MISTAKES["sdpa.scale_missing"], MISTAKES["sdpa.softmax_over_queries"])
    draw = np.random.default_rng(3)
    query, key, value = (draw.normal(size=(1, 2, 3, 4)) for _ in range(3))
    exponentials = np.exp(query @ key.swapaxes(-1, -2))
    weights = exponentials / exponentials.sum(axis=-2, keepdims=True)
    np.testing.assert_allclose(together.function(query=query, key=key, value=value).output, weights @ value)


def test_results_that_are_graded_by_properties_alone_are_diagnosed():
    def of_ones(fan_in, fan_out, seed=0):
        return np.ones((fan_in, fan_out))

    report = attnspec.validate(of_ones, operation="glorot_normal", probes=False)
    assert report.wrong
    assert report.diagnosis
