"""The built-in adapter `torch-flex`: mappings against the reference, conventions by running them."""

import importlib

import numpy as np
import pytest

from attnspec.contract.implementation import Outputs, Raised, Request
from attnspec.targets import load

torch = pytest.importorskip("torch")
implementation = load("torch-flex")
flex = importlib.import_module("torch.nn.attention.flex_attention")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
ATTENTION = "scaled_dot_product_attention"
SOME = ["plain", "causal_and_float_mask", "softcap", "past_and_causal", "alibi", "sinks", "query_lengths_bottom_right"]


def test_every_scenario_is_mapped(agrees, scenarios, scenario):
    # A row without keys has a logsumexp of -inf there too, and the two compare equal.
    outputs = agrees(implementation, scenario, "float64", tolerance=2e-13)
    past = {"present_key", "present_value"} if "past_key" in scenarios[scenario][0] else set()
    assert outputs == {"output", "logsumexp"} | past


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", SOME)
def test_the_other_dtypes(agrees, name, dtype):
    agrees(implementation, name, dtype)


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
def test_a_fully_masked_row_is_zero(ask, scenarios, kind):
    mask = scenarios[kind][0]["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(implementation, kind, "float32", mask=mask)
    assert not answer.values["output"][:, :, 1].any()
    assert np.isneginf(answer.values["logsumexp"][:, :, 1]).all()
    assert "fully_masked_row" not in implementation.declaration.conventions


def test_without_keys_it_raises(scenarios):
    inputs = {name: array[:, :, : 4 if name == "query" else 0] for name, array in scenarios["plain"][0].items()}
    assert isinstance(implementation.run(Request(ATTENTION, "float64", inputs, {})), Raised)
    assert implementation.declaration.conventions["no_keys"] == "refuse"


def test_sinks_without_keys_are_unsupported(scenarios):
    empty = {name: scenarios["sinks"][0][name][:, :, :0] for name in ("key", "value")}
    inputs = scenarios["sinks"][0] | empty
    answer = implementation.run(Request(ATTENTION, "float64", inputs, {}))
    assert "logsumexp of nothing" in answer.reason


def test_without_queries_there_is_no_logsumexp(scenarios):
    inputs = scenarios["plain"][0] | {"query": scenarios["plain"][0]["query"][:, :, :0]}
    answer = implementation.run(Request(ATTENTION, "float64", inputs, {}))
    assert isinstance(answer, Outputs)
    assert {name: array.shape for name, array in answer.values.items()} == {"output": (2, 3, 0, 2)}


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_nan_propagates(spoilt, name):
    got, expected = spoilt(implementation, "plain", name, (0, 0, 2, 0))
    np.testing.assert_array_equal(got, expected)


def test_a_masked_nan_in_a_value_propagates(spoilt):
    got, expected = spoilt(implementation, "causal_top_left", "value", (0, 0, 4, 0))
    assert got.any()
    assert not expected.any()
    assert implementation.declaration.conventions["masked_nonfinite"] == "propagates"


@pytest.mark.parametrize(
    ("name", "index"), [("query", np.s_[..., :1]), ("query", np.s_[:, :2]), ("mask", np.s_[:3]), ("mask", np.s_[:, :4])]
)
def test_it_refuses_what_everyone_must_refuse(scenarios, name, index):
    inputs = dict(scenarios["bool_mask_4x5"][0])
    inputs[name] = inputs[name][index]
    assert isinstance(implementation.run(Request(ATTENTION, "float64", inputs, {})), Raised)


def test_lengths_are_not_checked(scenarios):
    inputs = scenarios["key_lengths"][0] | {"key_lengths": np.array([2, 6])}
    assert isinstance(implementation.run(Request(ATTENTION, "float64", inputs, {})), Outputs)
    assert implementation.declaration.conventions["input_checks"] == "lenient"


def test_scores_are_not_stored_in_half_precision():
    inputs = {
        "query": np.array([[[[30.0, 1.0]]]], dtype=np.float16),
        "key": np.array([[[[10.0, 0.1], [10.0, 0.0]]]], dtype=np.float16),
        "value": np.eye(2, dtype=np.float16)[np.newaxis, np.newaxis],
    }
    output = implementation.run(Request(ATTENTION, "float16", inputs, {"scale": 1.0})).values["output"]
    np.testing.assert_allclose(output[0, 0, 0].astype(np.float64), [0.525, 0.475], atol=1e-3)
    assert implementation.declaration.conventions["half_precision_grade"] == "fused"


def test_the_users_torch_is_left_as_it_was(ask):
    ask(implementation, "plain", "float32")
    assert flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG is False
    assert torch.is_grad_enabled()
