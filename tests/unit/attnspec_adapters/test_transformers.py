"""The built-in adapters `transformers` and `transformers-eager`: mappings against the reference, and conventions."""

import importlib

import numpy as np
import pytest

from attnspec.contract.implementation import Outputs, Raised, Request
from attnspec.targets import load

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
masking = importlib.import_module("transformers.masking_utils")

ATTENTION = "scaled_dot_product_attention"
DTYPES = ["float64", "float32", "float16", "bfloat16"]
BOTH = ["transformers", "transformers-eager"]
OF_BOTH = [
    "plain",
    "grouped_heads",
    "wide_values",
    "scale_zero",
    "scale_negative",
    "bool_mask_4x5",
    "bool_mask_3x1x5",
    "float_mask_3x4x5",
    "grouped_mask",
    "causal",
    "causal_top_left",
    "causal_top_left_long",
    "causal_bottom_right",
    "causal_and_bool_mask",
    "causal_and_float_mask",
    "window",
    "window_open",
    "window_bottom_right",
    "window_and_causal",
    "past",
    "past_and_causal",
    "past_and_mask",
    "past_of_length_zero",
    "key_lengths",
    "key_lengths_top_left",
    "query_lengths",
    "query_lengths_bottom_right",
]
# With rows that have no keys.
OF_SDPA = ["key_lengths_bottom_right", "causal_bottom_right_long"]
OF_EAGER = ["softcap", "sinks", "sinks_and_dead_row"]
NOT_MAPPED = [
    ("transformers", "softcap", "softcap"),
    ("transformers", "sinks", "sinks"),
    *((adapter, "alibi", "alibi_slopes") for adapter in BOTH),
]


def called(implementation, inputs, attributes=None, dtype="float32"):
    return implementation.run(Request(ATTENTION, dtype, inputs, attributes or {}))


@pytest.mark.parametrize("name", OF_BOTH)
@pytest.mark.parametrize("adapter", BOTH)
def test_what_both_map(agrees, scenarios, adapter, name):
    outputs = agrees(load(adapter), name, "float32")
    past = {"present_key", "present_value"} if "past_key" in scenarios[name][0] else set()
    assert outputs == {"output"} | past | ({"weights"} if adapter.endswith("eager") else set())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_EAGER)
def test_what_the_eager_form_maps(agrees, name, dtype):
    assert agrees(load("transformers-eager"), name, dtype, tolerance=1e-6 if dtype == "float64" else None)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*OF_SDPA, "grouped_mask", "past_and_causal", "window_and_causal"])
def test_sdpa_in_every_dtype(agrees, name, dtype):
    agrees(load("transformers"), name, dtype)


@pytest.mark.parametrize(("adapter", "name", "words"), NOT_MAPPED)
def test_what_is_not(declines, adapter, name, words):
    assert words in declines(load(adapter), name)


def test_no_model_has_sinks_and_a_softcap(scenarios):
    inputs, attributes = scenarios["sinks"]
    answer = called(load("transformers-eager"), inputs, attributes | {"softcap": 1.0}, "float64")
    assert "sinks and a softcap" in answer.reason


@pytest.mark.parametrize(
    ("name", "expected"), [("causal", True), ("causal_bottom_right", False), ("window_and_causal", False)]
)
def test_a_causal_mask_is_left_out_where_transformers_leaves_it_out(scenarios, monkeypatch, name, expected):
    seen = []
    attend = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional, ATTENTION, lambda *args, **kwargs: seen.append(kwargs) or attend(*args, **kwargs)
    )
    called(load("transformers"), *scenarios[name], "float64")
    assert [(call["is_causal"], call["attn_mask"] is None) for call in seen] == [(expected, expected)]


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
def test_a_fully_masked_row_is_zero_by_sdpa(ask, scenarios, kind):
    mask = scenarios[kind][0]["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(load("transformers"), kind, "float32", mask=mask)
    assert not answer.values["output"][:, :, 1].any()
    assert not any("fully_masked_row" in name for name in load("transformers").declaration.conventions)


@pytest.mark.parametrize(
    ("kind", "dtype", "expected"),
    [
        ("bool_mask_4x5", "float32", 0.2),
        ("bool_mask_4x5", "float16", 0.2),
        ("bool_mask_4x5", "float64", np.nan),
        ("float_mask_4x5", "float32", np.nan),
    ],
)
def test_a_fully_masked_row_of_the_eager_form(ask, scenarios, kind, dtype, expected):
    mask = scenarios[kind][0]["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    implementation = load("transformers-eager")
    answer, _ = ask(implementation, kind, dtype, mask=mask)
    np.testing.assert_allclose(answer.values["weights"][:, :, 1].astype(np.float64), expected, rtol=1e-3)
    conventions = implementation.declaration.conventions
    assert conventions[f"{ATTENTION}.fully_masked_row"] == "filled"
    assert conventions[f"{ATTENTION}.fully_masked_row@float64"] == "nan"


def test_exclusions_are_added_as_transformers_makes_them(scenarios, monkeypatch):
    seen = []
    llama = importlib.import_module("transformers.models.llama.modeling_llama")
    attend = llama.eager_attention_forward
    monkeypatch.setattr(
        llama, "eager_attention_forward", lambda *args, **kwargs: seen.append(args[4]) or attend(*args, **kwargs)
    )
    called(load("transformers-eager"), *scenarios["causal"], "float64")
    made = masking.eager_mask(2, 5, 5, dtype=torch.float64)
    assert torch.equal(seen[0].expand(made.shape), made)


@pytest.mark.parametrize("adapter", BOTH)
def test_a_masked_nan_in_a_value_propagates(spoilt, adapter):
    got, expected = spoilt(load(adapter), "bool_mask_4x5", "value", (0, 0, 2, 0))
    assert (got & ~expected).any()
    assert load(adapter).declaration.conventions[f"{ATTENTION}.masked_nonfinite"] == "propagates"


@pytest.mark.parametrize("adapter", BOTH)
@pytest.mark.parametrize(
    ("name", "index"), [("query", np.s_[..., :1]), ("query", np.s_[:, :2]), ("mask", np.s_[:3]), ("mask", np.s_[:, :4])]
)
def test_they_refuse_what_everyone_must_refuse(scenarios, adapter, name, index):
    inputs = dict(scenarios["bool_mask_4x5"][0])
    inputs[name] = inputs[name][index]
    assert isinstance(called(load(adapter), inputs, dtype="float64"), Raised)


@pytest.mark.parametrize("adapter", BOTH)
def test_fewer_query_heads_than_key_heads_are_refused(scenarios, adapter):
    inputs, _ = scenarios["plain"]
    answer = called(load(adapter), inputs | {"query": inputs["query"][:, :1]}, dtype="float64")
    assert "no model has 1 query heads and 3 key heads" in answer.message


@pytest.mark.parametrize("index", [np.s_[:0], np.s_[:, :, :0]])
def test_outputs_without_elements(scenarios, index):
    inputs, _ = scenarios["plain"]
    empty = {name: array[index] if name == "query" or index == np.s_[:0] else array for name, array in inputs.items()}
    assert "without elements" in called(load("transformers"), empty, dtype="float64").reason
    assert isinstance(called(load("transformers-eager"), empty, dtype="float64"), Outputs)
