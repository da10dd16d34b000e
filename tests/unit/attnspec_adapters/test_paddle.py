"""The built-in adapter `paddle`: mappings against the reference, conventions by running them."""

import warnings

import numpy as np
import pytest

from attnspec.contract.implementation import Raised, Request
from attnspec.targets import load

# Paddle warns of a compiler's cache that it does not find.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    paddle = pytest.importorskip("paddle")
implementation = load("paddle")

ATTENTION = "scaled_dot_product_attention"
NOT_MAPPED = {"softcap", "sinks", "sinks_and_dead_row"}
# It takes a scale of 0 for the default.
DEFECTIVE = {"scale_zero"}

# Their rows without keys are not zero.
DEAD_ROWS = {"causal_bottom_right_long", "key_lengths_bottom_right"}


def test_what_is_mapped(agrees, scenario):
    if scenario not in NOT_MAPPED | DEFECTIVE | DEAD_ROWS:
        assert agrees(implementation, scenario, "float32") == {"output"}


@pytest.mark.parametrize("name", ["plain", "causal_and_float_mask", "alibi"])
def test_float64(agrees, name):
    agrees(implementation, name, "float64")


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_what_is_not(declines, name):
    assert name.partition("_")[0] in declines(implementation, name)


@pytest.mark.parametrize("dtype", ["float16"])
def test_half_precision_has_no_kernels(dtype):
    # Should it ever, the adapter can offer it.
    half = np.ones((1, 1, 1, 1), dtype=dtype)
    answer = implementation.run(Request(ATTENTION, dtype, {"query": half, "key": half, "value": half}, {}))
    assert isinstance(answer, Raised)
    assert dtype not in implementation.declaration.dtypes


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
def test_a_fully_masked_row_is_nan(ask, scenarios, kind):
    mask = scenarios[kind][0]["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(implementation, kind, "float32", mask=mask)
    assert np.isnan(answer.values["output"][:, :, 1]).all()
    assert implementation.declaration.conventions[f"{ATTENTION}.fully_masked_row"] == "nan"
