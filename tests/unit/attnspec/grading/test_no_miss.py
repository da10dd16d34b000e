"""Computations that are a little wrong are found in float32, with the documents' own cases."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_reference import scaled_dot_product_attention, single_head_attention
from attnspec_reference.attention.phases import scale_scores, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import exclude_keys, exponentiate


def scale_off_by_a_thousandth(scores, scale):
    return scale_scores(scores, scale * 1.001)


def coarse_exponential(logits, largest):
    wave = np.sign(np.sin(1e4 * np.where(np.isfinite(logits), logits, 0)))
    return exponentiate(logits, largest) * (1 + 1e-5 * wave).astype(logits.dtype)


def last_key_dropped(logits, attendable):
    attendable = attendable.copy()
    attendable[..., -1] = False
    return exclude_keys(logits, attendable)


def large_penalty(logits, attendable):
    return np.where(attendable, logits, np.asarray(-1e4, dtype=logits.dtype))


def over_queries(logits, axis=-1):
    exponentials = np.exp(logits - np.max(logits, axis=-2, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-2, keepdims=True)


def over_queries_by_steps(exponentials, total):
    return exponentials / np.sum(exponentials, axis=-2, keepdims=True)


def accumulated_in_float16(weights, value, attendable=None):
    return weigh_values(weights.astype(np.float16), value.astype(np.float16), attendable).astype(weights.dtype)


def scores_in_float16(query, key):
    product = query.astype(np.float16) @ np.swapaxes(key, -1, -2).astype(np.float16)
    return product.astype(query.dtype)


ATTENTION_STEPS = {
    "scale off by 0.1 %": {"scale_scores": scale_off_by_a_thousandth},
    "exponential off by 1e-5": {"exponentiate": coarse_exponential},
    "last key dropped": {"exclude_keys": last_key_dropped},
    "-1e4 in place of -inf": {"exclude_keys": large_penalty},
    "softmax over queries": {"divide_by_total": over_queries_by_steps},
    "values weighed in float16": {"weigh_values": accumulated_in_float16},
    "scores in float16": {"score_every_key": scores_in_float16},
}

SINGLE_HEAD_STEPS = {
    "scale off by 0.1 %": {"scale_scores": scale_off_by_a_thousandth},
    "softmax over queries": {"softmax": over_queries},
    "values weighed in float16": {"weigh_values": accumulated_in_float16},
    "scores in float16": {"score_every_key": scores_in_float16},
}


def report_on(operation, function, *, everything=False):
    """Validate a function in float32: its first output alone, or every output that it returns."""

    def outputs(**arguments):
        returned = in_working_precision(function)(**arguments)
        return returned if everything else returned["output"]

    adapter = SimpleNamespace(**{operation: outputs, "dtypes": ("float32",)})
    return attnspec.validate(adapter, profile="documents")


def worst_ratio(report):
    return max(result.verdict.worst.ratio for result in report.wrong if result.verdict.check == "values")


@pytest.mark.parametrize("mistake", ATTENTION_STEPS)
def test_a_slightly_wrong_attention_is_found_by_its_output_alone(mistake):
    wrong = patch(scaled_dot_product_attention, **ATTENTION_STEPS[mistake])
    report = report_on("scaled_dot_product_attention", wrong)
    assert not report.conforms
    assert {result.verdict.check for result in report.wrong} == {"values"}
    assert worst_ratio(report) > 1


@pytest.mark.parametrize("mistake", SINGLE_HEAD_STEPS)
def test_a_slightly_wrong_single_head_is_found_by_its_output_alone(mistake):
    wrong = patch(single_head_attention, **SINGLE_HEAD_STEPS[mistake])
    assert worst_ratio(report_on("single_head_attention", wrong)) > 1


def test_the_same_harness_passes_the_same_functions_without_the_mistake():
    for function in (scaled_dot_product_attention, single_head_attention):
        report = report_on(function.__name__, function, everything=True)
        assert report.conforms
        assert report.summary.counts["pass"] > 5


def test_the_first_wrong_step_is_named_before_its_consequences():
    wrong = patch(single_head_attention, scale_scores=scale_off_by_a_thousandth)
    report = report_on("single_head_attention", wrong, everything=True)
    steps = {result.case.id: result.verdict for result in report.wrong}
    verdict = steps["documents/001/single_head"]
    assert verdict.output == "output"
    assert verdict.first_step == "scores"
    assert verdict.agreeing_steps == ("query", "key", "value")
