"""The built-in adapter `tinygrad`: mappings against the reference, conventions by running them."""

import numpy as np
import pytest

from attnspec.contract.implementation import Declined, Request
from attnspec.targets import load

pytest.importorskip("tinygrad")
implementation = load("tinygrad")

ATTENTION = "scaled_dot_product_attention"
MAPPED = ["plain", "grouped_heads", "wide_values", "scale_zero", "causal_top_left", "past_and_causal", "alibi"]
MAPPED += ["bool_mask_4x5", "float_mask_2x1x1x5", "query_lengths_bottom_right"]
NOT_MAPPED = {"softcap": "softcap", "sinks": "sinks", "scale": "a scale of 0.25 would round the query"}


@pytest.mark.parametrize("name", MAPPED)
def test_what_is_mapped(agrees, name):
    assert agrees(implementation, name, "float32") == {"output"}


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("name", ["plain", "causal_and_float_mask"])
def test_the_other_dtypes(agrees, name, dtype):
    agrees(implementation, name, dtype)


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_what_is_not(declines, name):
    assert NOT_MAPPED[name] in declines(implementation, name)


def test_a_scale_that_differs_by_a_power_of_two_goes_into_the_query(scenarios):
    inputs = {name: array[..., :1] for name, array in scenarios["plain"][0].items()}
    half = {name: array * (0.5 if name == "query" else 1) for name, array in inputs.items()}
    got = [
        implementation.run(Request(ATTENTION, "float64", given, attributes)).values["output"]
        for given, attributes in ((inputs, {"scale": 0.5}), (half, {}))
    ]
    np.testing.assert_array_equal(*got)
    assert isinstance(implementation.run(Request(ATTENTION, "float64", inputs, {"scale": 0.3})), Declined)


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
def test_a_fully_masked_row_is_nan(ask, scenarios, kind):
    mask = scenarios[kind][0]["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(implementation, kind, "float32", mask=mask)
    assert np.isnan(answer.values["output"][:, :, 1]).all()
    assert implementation.declaration.conventions[f"{ATTENTION}.fully_masked_row"] == "nan"
