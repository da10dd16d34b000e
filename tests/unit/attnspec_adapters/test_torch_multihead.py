"""The built-in adapters `torch-mha` and `torch-mha-fast`: mappings against the reference, and conventions."""

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Declined, Outputs, Raised, Request
from attnspec.targets import load

torch = pytest.importorskip("torch")

B, S, WIDTH, HEADS = 2, 5, 6, 2
DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float64": 1e-13, "float32": 2e-6, "float16": 2e-2, "bfloat16": 1e-1}
BOTH = ["torch-mha", "torch-mha-fast"]
MATRICES = ("w_query", "w_key", "w_value", "w_output")
BIASES = ("b_query", "b_key", "b_value", "b_output")
MASK = np.random.default_rng(4).random(size=(B, 1, S, S)) < 0.5
MASK[..., 0] = True


def drawn(**shapes):
    random = np.random.default_rng(1)
    return {name: random.normal(size=shape) / 2 for name, shape in shapes.items()}


def self_attention(dtype="float64", **more):
    inputs = drawn(query=(B, S, WIDTH), **dict.fromkeys(MATRICES, (WIDTH, WIDTH)), **dict.fromkeys(BIASES, (WIDTH,)))
    inputs |= {"key": inputs["query"], "value": inputs["query"], **more}
    return {name: array if array.dtype == np.bool_ else array.astype(DTYPES[dtype]) for name, array in inputs.items()}


def called(adapter, inputs, dtype="float64", **attributes):
    return load(adapter).run(Request("multi_head_attention", dtype, inputs, {"num_heads": HEADS} | attributes))


def expected(inputs, **attributes):
    wide = {name: array if array.dtype == np.bool_ else array.astype(np.float64) for name, array in inputs.items()}
    return reference.multi_head_attention(**wide, **({"num_heads": HEADS} | attributes))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("adapter", BOTH)
def test_self_attention(adapter, mask, is_causal, dtype):
    inputs = self_attention(dtype, **({} if mask is None else {"mask": mask}))
    answer = called(adapter, inputs, dtype, is_causal=is_causal)
    assert isinstance(answer, Outputs), answer
    assert set(answer.values) == ({"output", "weights"} if adapter.endswith("fast") else {"output"})
    wanted = expected(inputs, is_causal=is_causal)
    for name, got in answer.values.items():
        allowed = TOLERANCE[dtype]
        np.testing.assert_allclose(got.astype(np.float64), getattr(wanted, name), rtol=allowed, atol=allowed)


def test_without_weights_other_keys_and_masks_of_numbers_are_mapped():
    inputs = self_attention(mask=np.where(MASK, 0.5, -np.inf))
    inputs |= {"key": inputs["key"][:, ::-1] + 1, "value": 2 * inputs["value"]}
    answer = called("torch-mha", inputs)
    np.testing.assert_allclose(answer.values["output"], expected(inputs).output, rtol=1e-12, atol=1e-12)


def test_a_single_head_is_mapped():
    inputs = drawn(x=(S, WIDTH), **dict.fromkeys(MATRICES, (WIDTH, WIDTH)))
    answer = load("torch-mha").run(Request("single_head_attention", "float64", inputs, {}))
    wanted = reference.single_head_attention(**inputs).output
    np.testing.assert_allclose(answer.values["output"], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "attributes", "words"),
    [
        ({}, {"num_heads": 3}, "even number of heads"),
        ({"mask": np.zeros((S, S))}, {}, "no float mask"),
        ({"key": np.zeros((B, S, WIDTH))}, {}, "one tensor"),
        ({}, {"scale": 0.1}, "no scale but"),
    ],
)
def test_what_the_fast_path_does_not_take(changes, attributes, words):
    answer = called("torch-mha-fast", self_attention() | changes, **attributes)
    assert isinstance(answer, Declined)
    assert words in answer.reason


@pytest.mark.parametrize(("adapter", "expected_calls"), [("torch", 0), ("torch-mha", 0), ("torch-mha-fast", 1)])
@pytest.mark.parametrize("mask", [None, MASK])
def test_which_of_them_take_the_fast_path(monkeypatch, adapter, expected_calls, mask):
    calls = []
    native = torch._native_multi_head_attention
    monkeypatch.setattr(torch, "_native_multi_head_attention", lambda *args: calls.append(args) or native(*args))
    called(adapter, self_attention(**({} if mask is None else {"mask": mask})))
    assert len(calls) == expected_calls


@pytest.mark.parametrize(
    ("is_causal", "mask", "hinted"), [(True, None, True), (True, MASK, False), (False, None, False)]
)
def test_causality_alone_is_a_hint(monkeypatch, is_causal, mask, hinted):
    seen = []
    attend = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional, "scaled_dot_product_attention", lambda *args: seen.append(args[3:]) or attend(*args)
    )
    called("torch-mha", self_attention(**({} if mask is None else {"mask": mask})), is_causal=is_causal)
    ((attn_mask, _, causal),) = seen
    assert (causal, attn_mask is None) == (hinted, mask is None)


@pytest.mark.parametrize(("adapter", "choice"), [("torch-mha", 0.0), ("torch-mha-fast", np.nan)])
def test_a_fully_masked_row(adapter, choice):
    mask = MASK.copy()
    mask[:, :, 1] = False
    inputs = self_attention(mask=mask, b_output=np.zeros(WIDTH))
    np.testing.assert_array_equal(called(adapter, inputs).values["output"][:, 1], choice)
    declared = load(adapter).declaration.conventions.get("fully_masked_row", "zero")
    assert declared == ("nan" if np.isnan(choice) else "zero")


@pytest.mark.parametrize("adapter", BOTH)
def test_a_width_that_is_no_multiple_of_the_heads_is_refused(adapter):
    assert isinstance(called(adapter, self_attention(), num_heads=4), Raised)


def test_no_random_numbers_are_drawn():
    torch.manual_seed(0)
    state = torch.get_rng_state()
    called("torch-mha-fast", self_attention())
    assert torch.equal(torch.get_rng_state(), state)
