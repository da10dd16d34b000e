"""The built-in adapter `jax`: mappings against the reference, conventions by running them."""

import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Outputs, Raised, Request
from attnspec.targets import load

jax = pytest.importorskip("jax")
implementation = load("jax")

ATTENTION = "scaled_dot_product_attention"
# The softmax is in float32, whatever comes in.
TOLERANCE = {"float64": 2e-6}
MAPPED = [
    "plain",
    "grouped_heads",
    "scale",
    "scale_zero",
    "scale_negative",
    "bool_mask_4x5",
    "bool_mask_3x4x5",
    "bool_mask_2x1x1x5",
    "float_mask_1x5",
    "float_mask_2x3x4x5",
    "grouped_mask",
    "causal_top_left",
    "causal_top_left_long",
    "causal_and_float_mask",
    "window",
    "window_open",
    "window_and_causal",
    "key_lengths",
    "key_lengths_top_left",
    "query_lengths",
]
NOT_MAPPED = {
    "wide_values": "as wide as the keys",
    "softcap": "softcap",
    "past": "past_key",
    "sinks": "sinks",
    "alibi": "alibi_slopes",
}


@pytest.mark.parametrize("name", MAPPED)
def test_what_is_mapped(agrees, name):
    assert agrees(implementation, name, "float32") == {"output", "logsumexp"}


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("name", ["plain", "causal_and_float_mask"])
def test_the_other_dtypes(agrees, name, dtype):
    agrees(implementation, name, dtype, TOLERANCE.get(dtype))


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_what_is_not(declines, name):
    assert NOT_MAPPED[name] in declines(implementation, name)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("axis", [-1, 0, None])
def test_softmax(axis, dtype):
    x = np.random.default_rng(0).normal(size=(2, 3)).astype("float32" if dtype == "bfloat16" else dtype)
    answer = implementation.run(Request("softmax", dtype, {"x": x}, {"axis": axis}))
    tolerance = 1e-15 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(answer.values["output"], reference.softmax(x, axis=axis), rtol=tolerance)
    assert answer.values["output"].dtype == x.dtype


def test_float16_does_not_compile():
    # Should it ever, the adapter can offer it.
    half = np.ones((1, 1, 1, 1), dtype=np.float16)
    answer = implementation.run(Request(ATTENTION, "float16", {"query": half, "key": half, "value": half}, {}))
    assert isinstance(answer, Raised)
    assert "F16_F16_F32" in answer.message
    assert "float16" not in implementation.declaration.dtypes


def test_the_softmax_is_in_float32(ask):
    answer, expected = ask(implementation, "plain", "float64")
    error = np.abs(answer.values["output"] - expected.output).max()
    assert 1e-9 < error < 1e-6
    assert implementation.declaration.conventions[f"{ATTENTION}.accumulation"] == "float32"


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
def test_a_fully_masked_row_is_the_mean_of_the_values(ask, scenarios, kind):
    inputs, _ = scenarios[kind]
    mask = inputs["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(implementation, kind, "float32", mask=mask)
    mean = inputs["value"].mean(axis=2)
    np.testing.assert_allclose(answer.values["output"][:, :, 1], mean, rtol=1e-6)
    assert implementation.declaration.conventions[f"{ATTENTION}.fully_masked_row"] == "uniform"


def test_without_keys_the_output_is_zero(scenarios):
    inputs = {name: array[:, :, : 4 if name == "query" else 0] for name, array in scenarios["plain"][0].items()}
    answer = implementation.run(Request(ATTENTION, "float64", inputs, {}))
    assert isinstance(answer, Outputs)
    assert not answer.values["output"].any()
    assert np.isneginf(answer.values["logsumexp"]).all()
    assert f"{ATTENTION}.no_keys" not in implementation.declaration.conventions


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_nan_propagates(spoilt, name):
    got, expected = spoilt(implementation, "plain", name, (0, 0, 2, 0))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("name", "index"), [("query", np.s_[..., :1]), ("query", np.s_[:, :2]), ("mask", np.s_[:3]), ("mask", np.s_[:, :4])]
)
def test_it_refuses_what_everyone_must_refuse(scenarios, name, index):
    inputs, _ = scenarios["bool_mask_4x5"]
    # The reference refuses them too, so that only the adapter is called.
    bad = {key: array.astype("float32") if array.dtype == np.float64 else array for key, array in inputs.items()}
    bad[name] = bad[name][index]
    assert isinstance(implementation.run(Request(ATTENTION, "float32", bad, {})), Raised)


def test_the_users_jax_is_left_as_it_was(ask):
    enabled = jax.config.jax_enable_x64
    ask(implementation, "plain", "float64")
    assert jax.config.jax_enable_x64 == enabled
