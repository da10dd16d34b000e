"""Tolerances of the gradients of attention: right ways stay within, wrong ones do not, and conventions leave open."""

import numpy as np
import pytest

from attnspec.bounds import precision_of
from attnspec.contract.declarations import resolve_conventions
from attnspec.contract.dtypes import numpy_dtype, rounded_to
from attnspec.families.lookup import family_of
from attnspec_reference import scaled_dot_product_attention_backward

BACKWARD = "scaled_dot_product_attention_backward"
QUERIES, KEYS = 12, 16


def drawn(seed, queries=QUERIES, keys=KEYS, shared=2, **changes):
    draw = np.random.default_rng(seed).standard_normal
    return {
        "grad_output": draw((1, 2 * shared, queries, 3)),
        "query": draw((1, 2 * shared, queries, 4)),
        "key": draw((1, 2, keys, 4)),
        "value": draw((1, 2, keys, 3)),
        **changes,
    }


def bound_of(inputs, dtype="float64", conventions=None, fused=False, **attributes):
    precision = precision_of(dtype, fused=fused)
    return family_of(BACKWARD).tolerance(BACKWARD, inputs, attributes, precision, conventions or {})


def expected(inputs, choices, **attributes):
    conventions = resolve_conventions(choices, BACKWARD)
    bound = bound_of(inputs, conventions=conventions, **attributes)
    outputs = scaled_dot_product_attention_backward(**inputs, **attributes)._asdict()
    given = {name: x for name, x in outputs.items() if x is not None}
    return family_of(BACKWARD).expected(given, conventions, bound, 0), given, bound


def worst(got, inputs, bound, **attributes):
    exact = scaled_dot_product_attention_backward(**inputs, **attributes)._asdict()
    found = []
    for name, numbers in got.items():
        error, tolerance = np.abs(numbers - exact[name]), bound.of(name).error
        found.append(float(np.max(np.divide(error, tolerance, out=np.zeros_like(error), where=error > 0))))
    return max(found)


def kernel(inputs, dtype, *, scale=0.5, with_delta=True):
    """A fused kernel: recomputed weights, delta from a stored output, products of weights rounded to the dtype."""
    query, grad = (inputs[name].astype(np.float32) for name in ("query", "grad_output"))
    shared = query.shape[1] // inputs["key"].shape[1]
    key, value = (np.repeat(inputs[name], shared, axis=1).astype(np.float32) for name in ("key", "value"))

    def rounded(x):
        return x.astype(numpy_dtype(dtype)).astype(np.float32)

    def summed(x):
        parts = rounded(x)
        return parts.reshape(x.shape[0], -1, shared, *x.shape[2:]).sum(axis=2)

    scores = np.float32(scale) * (query @ key.mT)
    largest = scores.max(axis=-1, keepdims=True)
    total = np.exp(scores - largest).sum(axis=-1, keepdims=True)
    weights = np.exp(scores - (largest + np.log(total)))
    output = rounded(rounded(np.exp(scores - largest)) @ value / total)
    delta = (grad * output).sum(axis=-1, keepdims=True) * np.float32(with_delta)
    of_scores = rounded(weights * (grad @ value.mT - delta))
    found = {
        "grad_query": np.float32(scale) * (of_scores @ key),
        "grad_key": summed(np.float32(scale) * (of_scores.mT @ query)),
        "grad_value": summed(rounded(weights).mT @ grad),
    }
    return {name: rounded(x).astype(np.float64) for name, x in found.items()}


def rounded_inputs(inputs, dtype):
    return {name: rounded_to(x, dtype) for name, x in inputs.items()}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_fused_kernel_stays_within_and_one_without_delta_does_not(dtype, seed):
    inputs = rounded_inputs(drawn(seed), dtype)
    bound = bound_of(inputs, dtype, fused=True)
    assert worst(kernel(inputs, dtype), inputs, bound) < 1
    assert worst(kernel(inputs, dtype, with_delta=False), inputs, bound) > 10


def test_a_scale_that_is_off_by_a_hundredth_is_far_beyond_in_float32():
    inputs = rounded_inputs(drawn(0), "float32")
    assert worst(kernel(inputs, "float32", scale=0.505), inputs, bound_of(inputs, "float32")) > 100


def test_outputs_that_are_rounded_alike_are_allowed_for():
    # Equal keys give all queries the same output, and gradients and queries of one sign add up what it is off by.
    inputs = drawn(10, queries=384, shared=1)
    inputs["key"] = np.broadcast_to(inputs["key"][:, :, :1], inputs["key"].shape).copy()
    inputs["grad_output"], inputs["query"] = np.abs(inputs["grad_output"]), np.abs(inputs["query"])
    inputs = rounded_inputs(inputs, "bfloat16")
    assert worst(kernel(inputs, "bfloat16"), inputs, bound_of(inputs, "bfloat16", fused=True)) < 1


def two_kinds(strength):
    """Two thousand queries of two kinds, whose gradients cancel, by turns; some strength of what sets each apart."""
    first, second = np.arange(2000) % 4 < 2, np.arange(2000) % 2 == 0
    apart = 1 + strength * np.random.default_rng(1).standard_normal(2000)
    return {
        "grad_output": (np.where(first, 1.6, -1.6) * apart)[None, None, :, None],
        "query": (np.where(second, -2.3, -1.1) * apart)[None, None, :, None],
        "key": np.array([[[[1.0], [0.0]]]]),
        "value": np.array([[[[1.0], [0.5]]]]),
    }


def test_equal_terms_widen_a_long_sum_although_they_cancel():
    # Each leaves the same digits behind, time and again; terms that differ in the sixth digit do not.
    equal, different = (bound_of(two_kinds(strength)).of("grad_value").error for strength in (0.0, 1e-6))
    assert np.all(equal > 3 * different)
    assert np.all(equal < 1e-10)


def test_a_given_logsumexp_widens_the_tolerance_by_its_rounding():
    inputs = drawn(0)
    logsumexp = np.full(inputs["query"].shape[:3], 2.0)
    with_it, without = (
        bound_of({**inputs, "logsumexp": logsumexp}, "bfloat16", fused=True),
        bound_of(inputs, "bfloat16", fused=True),
    )
    for name in ("grad_query", "grad_key", "grad_value"):
        assert np.all(with_it.of(name).error > without.of(name).error)


def test_excluded_keys_and_a_scale_of_0_have_the_tolerance_0():
    mask = np.ones((QUERIES, KEYS), dtype=bool)
    mask[:, 5] = False
    bound = bound_of(drawn(0, mask=mask), "bfloat16")
    for name in ("grad_key", "grad_value"):
        assert not bound.of(name).error[:, :, 5].any()
        assert bound.of(name).error[:, :, 4].all()
    bound = bound_of(drawn(0), "bfloat16", scale=0.0)
    assert not bound.of("grad_query").error.any()
    assert not bound.of("grad_key").error.any()
    assert bound.of("grad_value").error.all()


def test_numbers_beyond_the_query_lengths_have_no_effect_on_any_tolerance():
    lengths = {"query_lengths": np.array([QUERIES - 3])}
    plain, changed = drawn(0, **lengths), drawn(0, **lengths)
    for name in ("query", "grad_output"):
        changed[name][:, :, -3:] = 1e3
    one, other = bound_of(plain), bound_of(changed)
    for name in ("grad_key", "grad_value"):
        np.testing.assert_array_equal(one.of(name).error, other.of(name).error)
    assert one.ungraded("grad_query")[:, :, -3:].all()
    assert not one.ungraded("grad_query")[:, :, :-3].any()


def test_a_softmax_that_float16_cannot_resolve_says_nothing():
    inputs = rounded_inputs(drawn(0), "float16")
    inputs["query"], inputs["key"] = 128 * inputs["query"], 32 * inputs["key"]
    bound = bound_of(inputs, "float16")
    assert bound.vacuous("grad_query").mean() > 0.5
    assert not bound_of(inputs, "float64").vacuous("grad_query").any()


def empty_row():
    mask = np.ones((QUERIES, KEYS), dtype=bool)
    mask[2] = False
    return drawn(0, mask=mask)


def test_a_row_without_keys_that_is_nan_leaves_keys_and_values_of_its_head_open():
    result, given, _ = expected(empty_row(), {"fully_masked_row": "nan"})
    assert result.under == ("fully_masked_row=nan",)
    assert result.ungraded["grad_key"].all()
    assert result.ungraded["grad_value"].all()
    assert result.ungraded["grad_query"][:, :, 2].all()
    assert result.ungraded["grad_query"].sum() == given["grad_query"][:, :, 2].size


def test_a_row_without_keys_that_is_uniform_gives_each_value_its_part():
    inputs = empty_row()
    result, given, bound = expected(inputs, {"fully_masked_row": "uniform"})
    part = inputs["grad_output"][:, :, 2].reshape(1, 2, 2, 1, 3).sum(axis=2) / KEYS
    np.testing.assert_allclose(result.outputs["grad_value"], given["grad_value"] + part)
    assert "grad_value" not in result.ungraded
    assert result.ungraded["grad_key"].all()
    assert (bound.of("grad_value").error > 0).all()


def test_beside_a_uniform_row_nan_of_other_queries_is_expected_as_before():
    inputs = empty_row()
    mask = np.where(inputs["mask"], 0.0, -np.inf)
    mask[5, 3] = np.nan
    result, given, _ = expected({**inputs, "mask": mask}, {"fully_masked_row": "uniform"})
    assert np.isnan(given["grad_value"]).any()
    np.testing.assert_array_equal(np.isnan(result.outputs["grad_value"]), np.isnan(given["grad_value"]))


def test_a_uniform_row_whose_own_gradient_is_nan_leaves_what_it_gives_to_values_open():
    inputs = empty_row()
    inputs["grad_output"][0, 0, 2, 1] = np.nan
    result, given, _ = expected(inputs, {"fully_masked_row": "uniform"})
    assert np.isfinite(given["grad_value"]).all()
    assert result.ungraded["grad_value"][:, 0].all()
    assert not result.ungraded["grad_value"][:, 1].any()


def test_a_nan_that_is_excluded_leaves_its_heads_open_where_it_propagates_and_nothing_else():
    mask = np.ones((QUERIES, KEYS), dtype=bool)
    mask[:, 1] = False
    inputs = drawn(0, mask=mask)
    inputs["key"][0, 1, 1, 0] = np.nan
    ignored, _, bound = expected(inputs, {})
    assert not ignored.ungraded
    assert all(np.isfinite(bound.of(name).error).all() for name in ignored.outputs)
    result, _, _ = expected(inputs, {"masked_nonfinite": "propagates"})
    assert result.under == ("masked_nonfinite=propagates",)
    assert result.ungraded["grad_key"][:, 1].all()
    assert not result.ungraded["grad_key"][:, 0].any()
    assert result.ungraded["grad_query"][:, 2:].all()
    assert not result.ungraded["grad_query"][:, :2].any()


def test_a_query_with_nan_leaves_open_what_it_gives_to_excluded_keys():
    inputs = drawn(0)
    inputs["query"][0, 0, 4, 0] = np.nan
    bound = bound_of(inputs, is_causal=True)
    unspecified = bound.unspecified["grad_key"]
    assert not unspecified[:, 0, :5].any()
    assert unspecified[:, 0, 5:].all()
    assert not unspecified[:, 1].any()


def test_a_query_whose_scores_overflow_is_open_where_that_is_declared():
    inputs = rounded_inputs(drawn(0), "float16")
    inputs["query"][0, 0, 1] = 30000.0
    conventions = resolve_conventions({"half_precision_overflow": "open"}, BACKWARD)
    bound = bound_of(inputs, "float16", conventions)
    outputs = {"grad_query": inputs["query"], "grad_key": inputs["key"]}
    ungraded = family_of(BACKWARD).expected(outputs, conventions, bound, 0).ungraded
    assert ungraded["grad_query"][0, 0, 1].all()
    assert ungraded["grad_query"].sum() == 4
    assert ungraded["grad_key"][:, 0].all()
    assert not ungraded["grad_key"][:, 1].any()


def test_small_gradients_are_within_what_they_carry_where_large_ones_meet_zeros():
    """Errors below 1e-154, whose squares underflow, count where all larger ones are multiplied by 0."""
    far = np.array([0.0, 450.0, 460.0, 470.0])
    inputs = {
        "grad_output": np.full((1, 1, 2, 1), 0.7),
        "query": np.array([[0.0, 1.0], [1.0, 3.0]])[None, None],
        "key": np.stack([-far, np.zeros(4)], axis=-1)[None, None],
        "value": np.array([0.3, -0.8, 0.9, 0.1])[None, None, :, None],
    }
    found = bound_of(inputs, scale=1.0).of("grad_key")
    far_keys, errors = found.value[0, 0, 1:, 0], found.error[0, 0, 1:, 0]
    assert (np.abs(far_keys) < 1e-190).all()
    assert (np.abs(far_keys) > 0).all()
    # A score of 450 is rounded by 450 units, and so is what its exponential is relative to.
    assert (errors > 100 * 2.0**-53 * np.abs(far_keys)).all()
