"""The built-in adapter `openvino`: mappings against the reference, conventions by running them."""

import numpy as np
import pytest

from attnspec.contract.implementation import Declined, Request
from attnspec.targets import load

pytest.importorskip("openvino")
implementation = load("openvino")

ATTENTION = "scaled_dot_product_attention"
NOT_MAPPED = {"softcap", "sinks", "sinks_and_dead_row"}
# It computes in float32, whatever comes in.
TOLERANCE = {"float64": 2e-6}

# Their rows without keys are not zero.
DEAD_ROWS = {"causal_bottom_right_long", "key_lengths_bottom_right"}


def test_what_is_mapped(agrees, scenario):
    if scenario not in NOT_MAPPED | DEAD_ROWS:
        assert agrees(implementation, scenario, "float32") == {"output"}


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["plain", "causal_and_float_mask", "scale", "alibi"])
def test_the_other_dtypes(agrees, name, dtype):
    agrees(implementation, name, dtype, TOLERANCE.get(dtype))


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_what_is_not(declines, name):
    assert name.partition("_")[0] in declines(implementation, name)


def test_a_scale_that_the_dtype_does_not_hold_is_declined(scenarios):
    inputs = {name: array.astype("float16") for name, array in scenarios["plain"][0].items()}
    answer = implementation.run(Request(ATTENTION, "float16", inputs, {"scale": 2.0**20}))
    assert answer == Declined("OpenVINO takes the scale in float16, which does not hold 1.04858e+06")


def test_float64_is_computed_in_float32(ask):
    answer, expected = ask(implementation, "plain", "float64")
    assert 1e-10 < np.abs(answer.values["output"] - expected.output).max() < 1e-6
    assert implementation.declaration.conventions["accumulation"] == "float32"


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
@pytest.mark.parametrize(("dtype", "choice"), [("float32", "nan"), ("float64", "uniform")])
def test_a_fully_masked_row(ask, scenarios, kind, dtype, choice):
    inputs, _ = scenarios[kind]
    mask = inputs["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(implementation, kind, dtype, mask=mask)
    mean = inputs["value"].mean(axis=2)
    expected = mean if choice == "uniform" else np.full_like(mean, np.nan)
    np.testing.assert_allclose(answer.values["output"][:, :, 1], expected, rtol=2e-6)
    where = "@float64" if choice == "uniform" else ""
    assert implementation.declaration.conventions[f"{ATTENTION}.fully_masked_row{where}"] == choice
