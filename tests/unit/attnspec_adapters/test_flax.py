"""The built-in adapter `flax`: mappings against the reference, and conventions by running them."""

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Declined, Outputs, Raised, Request
from attnspec.targets import load

pytest.importorskip("flax")
implementation = load("flax")

ATTENTION = "scaled_dot_product_attention"
DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float64": 1e-13, "float32": 2e-6, "float16": 2e-2, "bfloat16": 1e-1}
MAPPED = [
    "plain",
    "grouped_heads",
    "wide_values",
    "scale_zero",
    "bool_mask_3x1x5",
    "float_mask_2x1x4x5",
    "grouped_mask",
    "causal_top_left",
    "causal_bottom_right",
    "causal_and_float_mask",
    "window_and_causal",
    "past_and_mask",
    "key_lengths_top_left",
    "alibi",
]
NOT_MAPPED = {"softcap": "softcap", "sinks": "sinks", "scale": "scale of 0.25"}


def drawn(dtype="float64", **shapes):
    random = np.random.default_rng(1)
    return {name: (random.normal(size=shape) / 2).astype(DTYPES[dtype]) for name, shape in shapes.items()}


def multi_head(dtype="float64"):
    matrices = dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (6, 6))
    biases = dict.fromkeys(("b_query", "b_key", "b_value", "b_output"), (6,))
    return drawn(dtype, query=(2, 4, 6), key=(2, 5, 6), value=(2, 5, 6), **matrices, **biases)


def called(operation, inputs, attributes, dtype="float64"):
    return implementation.run(Request(operation, dtype, inputs, attributes))


def near(answer, wanted, dtype="float64"):
    assert isinstance(answer, Outputs), answer
    assert set(answer.values) == {"output", "weights"}
    for name, got in answer.values.items():
        assert got.dtype == DTYPES[dtype]
        allowed = TOLERANCE[dtype]
        np.testing.assert_allclose(got.astype(np.float64), getattr(wanted, name), rtol=allowed, atol=allowed)


@pytest.mark.parametrize("name", MAPPED)
def test_what_is_mapped(agrees, name):
    assert agrees(implementation, name, "float32") == {"output", "weights"}


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["grouped_mask", "window_and_causal"])
def test_the_other_dtypes(agrees, name, dtype):
    agrees(implementation, name, dtype)


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_what_is_not(declines, name):
    assert NOT_MAPPED[name] in declines(implementation, name)


@pytest.mark.parametrize(
    ("mask", "is_causal", "dtype"),
    [
        (None, False, "float64"),
        (None, True, "float32"),
        ((4, 5), False, "float16"),
        ((2, 1, 5), True, "float64"),
        ((2, 1, 4, 5), True, "bfloat16"),
    ],
)
def test_multi_head_attention(mask, is_causal, dtype):
    inputs = multi_head(dtype)
    attributes = {"num_heads": 2, "is_causal": is_causal}
    if mask is not None:
        inputs["mask"] = np.random.default_rng(4).random(size=mask) < 0.5
        inputs["mask"][..., 0] = True
    wide = {name: array if array.dtype == np.bool_ else array.astype(np.float64) for name, array in inputs.items()}
    near(
        called("multi_head_attention", inputs, attributes, dtype),
        reference.multi_head_attention(**wide, **attributes),
        dtype,
    )


def test_single_head_attention():
    inputs = drawn(x=(4, 5), w_query=(5, 2), w_key=(5, 2), w_value=(5, 2), w_output=(2, 6))
    near(called("single_head_attention", inputs, {}), reference.single_head_attention(**inputs))
    inputs |= drawn(w_value=(5, 3))
    assert "as wide as the keys" in called("single_head_attention", inputs, {}).reason


@pytest.mark.parametrize(
    ("attributes", "mask", "words"),
    [({"scale": 0.1}, None, "no scale but"), ({}, np.zeros((4, 5)), "reads every mask as truth values")],
)
def test_what_the_layer_does_not_take(attributes, mask, words):
    inputs = multi_head() | ({} if mask is None else {"mask": mask})
    answer = called("multi_head_attention", inputs, {"num_heads": 2} | attributes)
    assert isinstance(answer, Declined)
    assert words in answer.reason


@pytest.mark.parametrize(
    ("name", "convention", "choice", "share"),
    [
        ("bool_mask_4x5", "fully_masked_row", "uniform", 0.2),
        ("float_mask_4x5", "fully_masked_row@float_mask", "nan", np.nan),
    ],
)
def test_a_fully_masked_row(ask, scenarios, name, convention, choice, share):
    mask = scenarios[name][0]["mask"].copy()
    mask[1] = False if mask.dtype == np.bool_ else -np.inf
    answer, _ = ask(implementation, name, "float32", mask=mask)
    np.testing.assert_allclose(answer.values["weights"][:, :, 1], share, rtol=1e-6)
    assert implementation.declaration.conventions[convention] == choice


@pytest.mark.parametrize(("name", "index"), [("query", np.s_[..., :1]), ("key", np.s_[:, :2]), ("mask", np.s_[:3])])
def test_it_refuses_what_everyone_must_refuse(scenarios, name, index):
    inputs = dict(scenarios["bool_mask_4x5"][0])
    inputs[name] = inputs[name][index]
    assert isinstance(called(ATTENTION, inputs, {}, "float32"), Raised)
