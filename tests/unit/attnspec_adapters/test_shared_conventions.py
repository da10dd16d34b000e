"""Conventions that several libraries follow alike, found by running each of them."""

import warnings

import numpy as np
import pytest

from attnspec.contract.implementation import Outputs, Request
from attnspec.targets import load

ATTENTION = "scaled_dot_product_attention"


@pytest.fixture
def implementation(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("mlx.core" if request.param == "mlx" else request.param)
    return load(request.param)


def of(*libraries):
    return pytest.mark.parametrize("implementation", libraries, indirect=True)


@of("jax", "mlx", "openvino", "paddle", "tinygrad")
def test_a_masked_nan_in_a_value_propagates(implementation, spoilt):
    got, expected = spoilt(implementation, "causal_top_left", "value", (0, 0, 4, 0))
    assert got.any()
    assert not expected.any()
    assert implementation.declaration.conventions[f"{ATTENTION}.masked_nonfinite"] == "propagates"


@of("jax", "openvino", "paddle", "tinygrad")
def test_input_checks_are_lenient(implementation, scenarios):
    one = {name: array[0].astype("float32") for name, array in scenarios["plain"][0].items()}
    assert isinstance(implementation.run(Request(ATTENTION, "float32", one, {})), Outputs)
    assert implementation.declaration.conventions["input_checks"] == "lenient"


@of("jax", "mlx", "openvino", "paddle")
def test_a_fully_masked_row_of_softmax(implementation):
    x = np.array([[-np.inf, -np.inf], [0, 0]], dtype=np.float32)
    got = implementation.run(Request("softmax", "float32", {"x": x}, {})).values["output"]
    np.testing.assert_array_equal(got, [[np.nan, np.nan], [0.5, 0.5]])
    assert implementation.declaration.conventions["softmax.fully_masked_row"] == "nan"
