"""NaN and infinities: the rows that they touch follow IEEE 754, and all other rows stay as they were."""

from __future__ import annotations

import numpy as np
import pytest

from attnspec_oracle import evaluate

GENERATOR = np.random.default_rng(21)
QUERY, KEY, VALUE = (GENERATOR.standard_normal((1, 1, 3, 2)) for _ in range(3))


def attention(query=QUERY, key=KEY, value=VALUE, mask=None, **attributes):
    inputs = {"query": query, "key": key, "value": value}
    if mask is not None:
        inputs["mask"] = np.asarray(mask)
    outputs = evaluate("scaled_dot_product_attention", inputs, attributes)
    return {name: array[0, 0] for name, array in outputs.items()}


def changed(array, index, number):
    copy = array.copy()
    copy[0, 0][index] = number
    return copy


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_query_reaches_its_own_row_only(number: float) -> None:
    clean, got = attention(), attention(query=changed(QUERY, (1, 0), number))
    with np.errstate(invalid="ignore"):
        row = QUERY[0, 0, 1].copy()
        row[0] = number
        scores = row @ KEY[0, 0].T
    assert np.array_equal(got["scores"][1], scores, equal_nan=True)
    assert not np.isfinite(scores).any()
    assert np.isnan(got["output"][1]).all()
    assert np.isnan(got["weights"][1]).all()
    assert np.isnan(got["logsumexp"][1])
    for name, array in clean.items():
        assert np.array_equal(got[name][[0, 2]], array[[0, 2]])


def test_a_key_reaches_every_row_that_may_attend_to_it() -> None:
    clean, got = attention(is_causal=True), attention(key=changed(KEY, (1, 1), np.nan), is_causal=True)
    assert np.isnan(got["output"][1:]).all()
    for name in ("output", "weights", "logsumexp", "logits"):
        assert np.array_equal(got[name][0], clean[name][0])
    assert np.isnan(got["scores"][:, 1]).all()
    assert got["logits"][0, 1] == -np.inf


def test_a_logit_of_minus_infinity_has_no_weight() -> None:
    query, key = np.array([[[[1.0]]]]), np.array([[[[-np.inf], [2.0], [3.0]]]])
    value = np.array([[[[5.0, np.inf], [1.0, 1.0], [1.0, 1.0]]]])
    got = attention(query, key, value)
    rest = attention(query, key[:, :, 1:], value[:, :, 1:])
    assert got["weights"][0, 0] == 0
    assert np.array_equal(got["weights"][0, 1:], rest["weights"][0])
    assert np.array_equal(got["logsumexp"], rest["logsumexp"])
    assert np.array_equal(got["output"], [[1.0, np.nan]], equal_nan=True)


def test_a_row_of_attended_logits_of_minus_infinity_is_not_a_number() -> None:
    mask = np.array([[True, False]])
    query, key = np.array([[[[1.0]]]]), np.array([[[[-np.inf], [2.0]]]])
    got = attention(query, key, np.array([[[[5.0], [1.0]]]]), mask)
    for name in ("output", "weights", "logsumexp"):
        assert np.isnan(got[name]).all()


def test_an_infinite_value_keeps_its_sign_and_its_column() -> None:
    clean = attention(is_causal=True)
    got = attention(value=changed(VALUE, (1, 0), -np.inf), is_causal=True)
    assert np.array_equal(got["output"][0], clean["output"][0])
    assert np.array_equal(got["output"][1:, 0], [-np.inf, -np.inf])
    assert np.array_equal(got["output"][:, 1], clean["output"][:, 1])
    assert np.array_equal(got["weights"], clean["weights"])


def test_infinite_values_of_both_signs_are_not_a_number() -> None:
    got = attention(value=changed(changed(VALUE, (1, 0), -np.inf), (2, 0), np.inf))
    assert np.isnan(got["output"][:, 0]).all()
    assert np.isfinite(got["output"][:, 1]).all()


@pytest.mark.parametrize("mask", [[[True, False, True]], [[0.0, -np.inf, 0.0]]])
def test_an_excluded_key_and_value_have_no_effect(mask) -> None:
    clean = attention(mask=mask)
    got = attention(key=changed(KEY, (1, 0), np.inf), value=changed(VALUE, (1, 1), np.nan), mask=mask)
    for name in ("output", "weights", "logsumexp", "logits"):
        assert np.array_equal(got[name], clean[name])


def test_a_mask_that_is_not_a_number_reaches_its_row() -> None:
    mask = np.zeros((3, 3))
    mask[2, 0] = np.nan
    clean, got = attention(), attention(mask=mask)
    assert np.isnan(got["output"][2]).all()
    assert np.array_equal(got["output"][:2], clean["output"][:2])
    assert np.array_equal(got["scores"], clean["scores"])


def test_a_scale_of_zero_times_infinity_is_not_a_number() -> None:
    got = attention(query=changed(QUERY, (0, 0), np.inf), scale=0.0)
    assert np.isnan(got["scores"][0]).all()
    assert np.array_equal(got["scores"][1:], np.zeros((2, 3)))


def test_softmax_keeps_a_nan_in_its_line() -> None:
    got = evaluate("softmax", {"x": np.array([[1.0, np.nan], [0.0, 0.0], [-np.inf, 3.0]])}, {})["output"]
    assert np.array_equal(got, [[np.nan, np.nan], [0.5, 0.5], [0.0, 1.0]], equal_nan=True)


def test_projections_carry_a_nan_to_the_rows_of_its_token() -> None:
    generator = np.random.default_rng(2)
    tokens = generator.standard_normal((1, 3, 4))
    inputs = dict.fromkeys(("query", "key", "value"), tokens)
    inputs |= {f"w_{name}": generator.standard_normal((4, 4)) for name in ("query", "key", "value", "output")}
    clean = evaluate("multi_head_attention", inputs, {"num_heads": 2, "is_causal": True})
    spoiled = tokens.copy()
    spoiled[0, 1, 2] = np.nan
    inputs |= dict.fromkeys(("query", "key", "value"), spoiled)
    got = evaluate("multi_head_attention", inputs, {"num_heads": 2, "is_causal": True})
    assert np.array_equal(got["output"][0, 0], clean["output"][0, 0])
    assert np.isnan(got["output"][0, 1:]).all()
    inputs |= dict.fromkeys(("query", "key", "value"), tokens) | {"b_output": np.array([0.0, np.inf, 0.0, 0.0])}
    got = evaluate("multi_head_attention", inputs, {"num_heads": 2, "is_causal": True})
    assert np.array_equal(got["output"][0, :, 1], np.full(3, np.inf))
    assert np.array_equal(got["output"][..., [0, 2, 3]], clean["output"][..., [0, 2, 3]])
    single = {"x": spoiled[0]} | {name: inputs[name] for name in ("w_query", "w_key", "w_value", "w_output")}
    outputs = evaluate("single_head_attention", single, {})
    assert np.isnan(outputs["query"][1]).all()
    assert np.isfinite(outputs["query"][[0, 2]]).all()
    assert np.isnan(outputs["output"]).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_infinite_gradient_of_an_output_is_infinite_in_those_of_the_values_it_weighs(sign: float) -> None:
    gradient = changed(VALUE, (1, 0), sign * np.inf)
    inputs = {"grad_output": gradient, "query": QUERY, "key": KEY, "value": VALUE}
    got = evaluate("scaled_dot_product_attention_backward", inputs, {"is_causal": True})["grad_value"][0, 0]
    assert np.array_equal(got[:2, 0], [sign * np.inf] * 2)
    assert np.isfinite(got[2, 0])
    assert np.isfinite(got[:, 1]).all()
    both = evaluate(
        "scaled_dot_product_attention_backward",
        inputs | {"grad_output": changed(gradient, (2, 0), -sign * np.inf)},
        {"is_causal": True},
    )
    assert np.isnan(both["grad_value"][0, 0, :2, 0]).all()
