"""Rotary positions against a plain evaluation of their formulas with 60 decimal digits, bit for bit."""

from __future__ import annotations

import multiprecision
import numpy as np
import pytest
import rotary_multiprecision

from attnspec_oracle import OracleError, evaluate

FACTORS = {"short_factors": [1.0, 1.1, 1.7, 1.3], "long_factors": [2.0, 3.3, 5.1, 17.9]}
BANDS = {"low_frequency_factor": 0.7, "high_frequency_factor": 5.3}
CONFIGURATIONS = [
    {},
    {"theta": 123.456},
    {"theta": 0.75},
    {"scaling": "linear", "factor": 3.7},
    {"scaling": "dynamic", "factor": 1.7, "original_length": 100, "sequence_length": 333},
    {"scaling": "dynamic", "factor": 1.7, "original_length": 100, "sequence_length": 99},
    {"scaling": "llama3", "factor": 3.1, "original_length": 77, **BANDS},
    {"scaling": "llama3", "factor": 3.1, "original_length": 7, **BANDS},
    {"scaling": "longrope", "factor": 3.1, "original_length": 77, **FACTORS},
    {"scaling": "longrope", "factor": 3.1, "original_length": 77, "sequence_length": 78, **FACTORS},
    {"scaling": "proportional", "proportion": 0.5, "factor": 3.0},
    {"scaling": "yarn", "factor": 3.3, "original_length": 300},
    {"scaling": "yarn", "factor": 3.3, "original_length": 300, "truncate": False},
    {"scaling": "yarn", "factor": 3.3, "original_length": 300, "truncate": False, "beta_fast": 2.5, "beta_slow": 2.5},
    {"scaling": "yarn", "factor": 3.3, "original_length": 500000, "truncate": False, "beta_slow": 0.01},
    {"scaling": "yarn", "factor": 3.3, "original_length": 300, "attention_factor": 1.1},
    {
        "scaling": "yarn",
        "factor": 40.0,
        "original_length": 300,
        "magnitude_scaling": 0.707,
        "magnitude_scaling_all_dimensions": 0.3,
    },
]


def assert_identical(operation, inputs, attributes):
    wanted = multiprecision.evaluation(operation, inputs, attributes)
    assert type(wanted).__module__ == rotary_multiprecision.__name__
    for output, array in evaluate(operation, inputs, attributes).items():
        for index in np.ndindex(array.shape):
            assert array[index] == multiprecision.correctly_rounded(wanted, output, index), (output, index)


@pytest.mark.parametrize("attributes", CONFIGURATIONS, ids=str)
def test_frequencies(attributes) -> None:
    assert_identical("rotary_frequencies", {}, {"width": 8, **attributes})


@pytest.mark.parametrize("factor", [1.0, 1.138629436111989, -0.3])
def test_tables(factor) -> None:
    generator = np.random.default_rng(3)
    inputs = {
        "position_ids": generator.integers(0, 1 << 40, (2, 3)),
        "inverse_frequencies": np.append(generator.standard_normal(3), [0.0, 1.0]),
    }
    inputs["position_ids"][0, 0] = 0
    assert_identical("rotary_tables", inputs, {"attention_factor": factor})


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_rotations(pairing) -> None:
    generator = np.random.default_rng(4)
    x = generator.standard_normal((2, 3, 4, 7))
    cos, sin = generator.standard_normal((2, 2, 4, 3))
    assert_identical("apply_rotary", {"x": x, "cos": cos, "sin": sin}, {"pairing": pairing})


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_not_a_number_and_infinity_stay_in_their_pair(pairing) -> None:
    x = np.ones((1, 1, 3, 5))
    x[0, 0, 0, 0], x[0, 0, 1, 3], x[0, 0, 2, 4] = np.nan, np.inf, -np.inf
    tables = {"cos": np.full((1, 3, 2), 0.5), "sin": np.full((1, 3, 2), 2.0)}
    output = evaluate("apply_rotary", {"x": x, **tables}, {"pairing": pairing})["output"][0, 0]
    first, partner = (0, 2) if pairing == "half" else (0, 1)
    other = 1 if pairing == "half" else 2
    assert np.isnan(output[0, [first, partner]]).all()
    assert np.isfinite(output[0]).sum() == 3
    assert output[1, other] == -np.inf
    assert output[1, 3] == np.inf
    assert np.isfinite(output[1]).sum() == 3
    assert output[2, 4] == -np.inf
    assert np.isfinite(output[2, :4]).all()


def test_products_that_cancel_are_rounded_once() -> None:
    x = np.array([1.0 + 2.0**-52, 1.0 + 2.0**-51]).reshape(1, 1, 1, 2)
    tables = {"cos": np.array([[[1.0 + 2.0**-51]]]), "sin": np.array([[[1.0 + 2.0**-52]]])}
    output = evaluate("apply_rotary", {"x": x, **tables}, {})["output"].ravel()
    assert output[0] == 0.0
    assert output[1] == 2.0 + 3 * 2.0**-51


def test_elements_that_are_not_wanted_are_left_out() -> None:
    wanted = {"cos": [4], "sin": [0, 5]}
    inputs = {"position_ids": np.array([[1, 2]]), "inverse_frequencies": np.array([1.0, 0.5, 0.25])}
    chosen = evaluate("rotary_tables", inputs, {}, positions=wanted)
    every = evaluate("rotary_tables", inputs, {})
    for name, indices in wanted.items():
        given = np.isfinite(chosen[name].ravel())
        assert np.flatnonzero(given).tolist() == indices
        assert chosen[name].ravel()[indices].tolist() == every[name].ravel()[indices].tolist()


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        # Ends of a range at 6.001, and at 8.009.
        ({"width": 64, "scaling": "yarn", "factor": 4.0, "original_length": 1131}, "6.0"),
        ({"width": 64, "scaling": "yarn", "factor": 4.0, "original_length": 63}, "8.00"),
        ({"width": 20, "scaling": "proportional", "proportion": 0.3}, "0.3 of 10 pairs is too near 3 pairs"),
    ],
)
def test_what_a_rounding_would_decide_is_not_certified(attributes, said) -> None:
    with pytest.raises(OracleError, match=said):
        evaluate("rotary_frequencies", {}, attributes)


@pytest.mark.parametrize(
    ("operation", "inputs", "attributes", "said"),
    [
        ("rotary_frequencies", {}, {"width": 8, "scaling": "cubic"}, "'cubic'"),
        ("rotary_frequencies", {}, {"width": 8, "scaling": "yarn", "factor": 2.0}, "not given"),
        (
            "apply_rotary",
            {"x": np.ones((1, 1, 1, 2)), "cos": np.ones((1, 1, 1)), "sin": np.ones((1, 1, 1))},
            {"pairing": "thirds"},
            "'thirds'",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(operation, inputs, attributes, said) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate(operation, inputs, attributes)
