"""The built-in adapters `torch-math` and `torch-flash`: each runs its kernel, and conventions by running them."""

import importlib

import numpy as np
import pytest

from attnspec.contract.implementation import Outputs, Request
from attnspec.targets import load

torch = pytest.importorskip("torch")
kernels = importlib.import_module("attnspec_adapters.torch.kernels")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ATTENTION = "scaled_dot_product_attention"
DTYPES = ["float64", "float32", "float16", "bfloat16"]
BOTH = ["torch-math", "torch-flash"]
MAPPED = [
    "plain",
    "grouped_heads",
    "scale_negative",
    "bool_mask_4x5",
    "float_mask_2x1x1x5",
    "grouped_mask",
    "causal_top_left",
    "causal_bottom_right",
]
NOT_MAPPED = {
    "causal_and_bool_mask": "not both",
    "softcap": "softcap",
    "window": "window",
    "past": "past_key",
    "key_lengths": "key_lengths",
    "sinks": "sinks",
    "alibi": "alibi_slopes",
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.parametrize("adapter", BOTH)
def test_what_is_mapped(agrees, adapter, name, dtype):
    assert agrees(load(adapter), name, dtype) == {"output"}


@pytest.mark.parametrize("name", NOT_MAPPED)
@pytest.mark.parametrize("adapter", BOTH)
def test_what_is_not(declines, adapter, name):
    assert NOT_MAPPED[name] in declines(load(adapter), name)


@pytest.mark.parametrize("name", ["wide_values", "bool_mask_3x4x5"])
def test_the_flash_kernel_takes_less(agrees, declines, name):
    assert "FLASH_ATTENTION kernel" in declines(load("torch-flash"), name)
    agrees(load("torch-math"), name, "float32")


@pytest.mark.parametrize("adapter", BOTH)
def test_the_kernel_is_chosen_for_the_call_alone(adapter, monkeypatch, scenarios):
    expected = adapter.removeprefix("torch-")
    seen = []

    def note(*_, **__):
        seen.append({name: getattr(torch.backends.cuda, f"{name}_sdp_enabled")() for name in ("math", "flash")})
        return torch.zeros(1)

    monkeypatch.setattr(torch.nn.functional, ATTENTION, note)
    inputs, _ = scenarios["plain"]
    load(adapter).run(Request(ATTENTION, "float64", inputs, {}))
    assert seen == [{"math": expected == "math", "flash": expected == "flash"}]
    assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
@pytest.mark.parametrize("adapter", BOTH)
def test_a_fully_masked_row_is_zero(ask, scenarios, adapter, kind):
    mask = scenarios[kind][0]["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(load(adapter), kind, "float32", mask=mask)
    assert not answer.values["output"][:, :, 1].any()
    assert "fully_masked_row" not in load(adapter).declaration.conventions


@pytest.mark.parametrize("adapter", ["torch", *BOTH])
def test_without_keys_the_output_is_zero(scenarios, adapter):
    inputs = {name: array[:, :, : 4 if name == "query" else 0] for name, array in scenarios["plain"][0].items()}
    answer = load(adapter).run(Request(ATTENTION, "float64", inputs, {}))
    assert isinstance(answer, Outputs)
    assert not answer.values["output"].any()
    assert "no_keys" not in load(adapter).declaration.conventions


@pytest.mark.parametrize("name", ["key", "value"])
@pytest.mark.parametrize("adapter", ["torch", *BOTH])
def test_a_masked_nan_propagates(ask, scenarios, adapter, name):
    inputs, _ = scenarios["bool_mask_4x5"]
    mask = np.ones((4, 5), dtype=bool)
    mask[:, 4] = False
    spoilt = inputs[name].copy()
    spoilt[0, 0, 4, 0] = np.nan
    answer, _ = ask(load(adapter), "bool_mask_4x5", "float32", **{"mask": mask, name: spoilt})
    assert np.isnan(answer.values["output"]).any()
    assert load(adapter).declaration.conventions["masked_nonfinite"] == "propagates"


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_nan_propagates_in_the_math_kernel(spoilt, name):
    got, expected = spoilt(load("torch-math"), "plain", name, (0, 0, 2, 0))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("adapter", BOTH)
def test_scores_are_not_stored_in_half_precision(adapter):
    # Scores near 300 are rounded to multiples of 0.25 in float16, which would move the weights by a tenth.
    inputs = {
        "query": np.array([[[[30.0, 1.0]]]], dtype=np.float16),
        "key": np.array([[[[10.0, 0.1], [10.0, 0.0]]]], dtype=np.float16),
        "value": np.eye(2, dtype=np.float16)[np.newaxis, np.newaxis],
    }
    implementation = load(adapter)
    output = implementation.run(Request(ATTENTION, "float16", inputs, {"scale": 1.0})).values["output"]
    np.testing.assert_allclose(output[0, 0, 0].astype(np.float64), [0.525, 0.475], atol=1e-3)
    assert implementation.declaration.conventions["half_precision_grade"] == "fused"


def test_another_error_of_a_kernel_is_not_hidden(monkeypatch, scenarios):
    def refuse(*_, **__):
        raise RuntimeError("something else")

    monkeypatch.setattr(torch.nn.functional, ATTENTION, refuse)
    with pytest.raises(RuntimeError, match="something else"):
        kernels.TorchFlash().scaled_dot_product_attention(**scenarios["plain"][0])
