"""The built-in adapters `onnx` and `onnxruntime`: mappings against the reference, conventions by running them."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Declined, Outputs, Raised, Request
from attnspec.targets import load

pytest.importorskip("onnx")
models = importlib.import_module("attnspec_adapters.onnx_models")

ATTENTION = "scaled_dot_product_attention"
BOTH = ["onnx", "onnxruntime"]
STEPS = {"onnx": {"output", "weights", "scores", "logits"}, "onnxruntime": {"output", "weights", "scores"}}
MAPPED = [
    "plain",
    "grouped_heads",
    "wide_values",
    "scale",
    "bool_mask_4x5",
    "bool_mask_3x4x5",
    "float_mask_2x1x4x5",
    "float_mask_2x3x4x5",
    "grouped_mask",
    "causal",
    "causal_top_left",
    "causal_top_left_long",
    "causal_bottom_right",
    "causal_bottom_right_long",
    "causal_and_bool_mask",
    "causal_and_float_mask",
    "past",
    "past_and_causal",
    "past_and_mask",
    "past_of_length_zero",
    "key_lengths",
    "key_lengths_bottom_right",
]
# The evaluator's scores are capped ones, a known defect.
CAPPED = {"softcap"}
ONNX_ALONE = [
    "scale_zero",
    "bool_mask_1x5",
    "float_mask_3x1x5",
    "window",
    "window_open",
    "window_bottom_right",
    "window_and_causal",
]
NOT_MAPPED = {
    "scale_negative": "must not be negative",
    "key_lengths_top_left": "nonpad_kv_seqlen",
    "query_lengths": "query_lengths",
    "sinks": "sinks",
    "alibi": "alibi_slopes",
}
NOT_IN_THE_RUNTIME = {
    "scale_zero": "no scale of 0",
    "bool_mask_1x5": "does not broadcast",
    "window": "window",
}


@pytest.fixture(scope="module")
def implementations():
    found = {"onnx": load("onnx")}
    if importlib.util.find_spec("onnxruntime") is not None:
        found["onnxruntime"] = load("onnxruntime")
    return found


@pytest.fixture(params=BOTH)
def implementation(request, implementations):
    if request.param not in implementations:
        pytest.skip("onnxruntime is not installed")
    return implementations[request.param]


def present(scenarios, name):
    return {"present_key", "present_value"} if "past_key" in scenarios[name][0] else set()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", MAPPED)
def test_what_is_mapped(agrees, scenarios, implementation, name, dtype):
    outputs = agrees(implementation, name, dtype)
    assert outputs == STEPS[implementation.declaration.adapter] | present(scenarios, name)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("name", ["plain", "causal_and_float_mask", "past_and_causal"])
def test_the_evaluator_has_the_other_dtypes(agrees, implementations, name, dtype):
    agrees(implementations["onnx"], name, dtype)


@pytest.mark.parametrize("name", CAPPED)
def test_a_softcap(agrees, implementation, name):
    ungraded = {"scores"} if implementation.declaration.adapter == "onnx" else ()
    agrees(implementation, name, "float32", ungraded=ungraded)


@pytest.mark.parametrize("name", ONNX_ALONE)
def test_what_is_mapped_in_the_evaluator_alone(agrees, implementations, name):
    agrees(implementations["onnx"], name, "float64")


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_what_is_not(declines, implementation, name):
    assert NOT_MAPPED[name] in declines(implementation, name)


@pytest.mark.parametrize("name", NOT_IN_THE_RUNTIME)
def test_what_the_runtime_does_not_take(declines, name):
    pytest.importorskip("onnxruntime")
    assert NOT_IN_THE_RUNTIME[name] in declines(load("onnxruntime"), name)


@pytest.mark.parametrize("attribute", ["scale", "softcap"])
def test_a_number_that_float32_does_not_hold_is_unsupported(scenarios, implementation, attribute):
    inputs = {name: array.astype("float32") for name, array in scenarios["plain"][0].items()}
    answer = implementation.run(Request(ATTENTION, "float32", inputs, {attribute: 0.1}))
    assert isinstance(answer, Declined)
    assert f"{attribute}=0.1" in answer.reason


def test_a_mask_that_is_shorter_than_the_keys_is_unsupported(scenarios, implementation):
    inputs = {name: array.astype("float32") for name, array in scenarios["plain"][0].items()}
    inputs["mask"] = np.ones((4, 4), dtype=bool)
    answer = implementation.run(Request(ATTENTION, "float32", inputs, {}))
    assert isinstance(answer, Declined)
    assert "shorter than the keys" in answer.reason


@pytest.mark.parametrize("empty", [np.s_[:, :0], np.s_[:0]])
def test_the_runtime_is_spared_what_ends_its_process(scenarios, empty):
    pytest.importorskip("onnxruntime")
    inputs = {name: array.astype("float32")[empty] for name, array in scenarios["plain"][0].items()}
    assert isinstance(load("onnxruntime").run(Request(ATTENTION, "float32", inputs, {})), Declined)
    without_heads = {name: array.astype("float32")[:, 0] for name, array in scenarios["plain"][0].items()}
    assert isinstance(load("onnxruntime").run(Request(ATTENTION, "float32", without_heads, {})), Declined)


@pytest.mark.parametrize("axis", [-1, 0, None])
def test_softmax(implementation, axis):
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    answer = implementation.run(Request("softmax", "float32", {"x": x}, {"axis": axis}))
    np.testing.assert_allclose(answer.values["output"], reference.softmax(x, axis=axis), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "opset"), [("plain", 23), ("key_lengths", 24), ("causal_bottom_right", 24), ("window", 25)]
)
def test_each_model_has_the_oldest_operator_set_that_will_do(scenarios, name, opset):
    onnx = pytest.importorskip("onnx")
    seen = []

    def note(model, inputs):
        seen.append(onnx.load_model_from_string(model).opset_import[0].version)
        return [inputs["query"]] * 2

    inputs, attributes = scenarios[name]
    options = {"is_causal": False, "causal_alignment": "top_left", "scale": None, "softcap": None, "window": None}
    given = SimpleNamespace(**{**dict.fromkeys(models.INPUTS), **options, **inputs, **attributes})
    models.run_attention(note, given, ("weights",))
    assert seen == [opset]


@pytest.mark.parametrize("kind", ["bool_mask_4x5", "float_mask_4x5"])
def test_a_fully_masked_row_is_zero(ask, scenarios, implementation, kind):
    mask = scenarios[kind][0]["mask"].copy()
    mask[1] = False if kind.startswith("bool") else -np.inf
    answer, _ = ask(implementation, kind, "float32", mask=mask)
    assert not answer.values["output"][:, :, 1].any()
    assert not answer.values["weights"][:, :, 1].any()
    assert f"{ATTENTION}.fully_masked_row" not in implementation.declaration.conventions


def test_without_keys_it_raises(scenarios, implementation):
    inputs = {
        name: array[:, :, : 4 if name == "query" else 0].astype("float32")
        for name, array in scenarios["plain"][0].items()
    }
    assert isinstance(implementation.run(Request(ATTENTION, "float32", inputs, {})), Raised)
    assert implementation.declaration.conventions[f"{ATTENTION}.no_keys"] == "refuse"


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_nan_propagates(spoilt, implementation, name):
    got, expected = spoilt(implementation, "plain", name, (0, 0, 2, 0))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["key", "value"])
def test_a_masked_nan_propagates(spoilt, implementation, name):
    got, expected = spoilt(implementation, "causal_top_left", name, (0, 0, 4, 0))
    assert got.any()
    assert not expected.any()
    assert implementation.declaration.conventions[f"{ATTENTION}.masked_nonfinite"] == "propagates"


@pytest.mark.parametrize("adapter", BOTH)
def test_batches_of_one_and_two(adapter, scenarios, implementations):
    pytest.importorskip("onnxruntime")
    inputs = {name: array.astype("float32") for name, array in scenarios["plain"][0].items()}
    inputs |= {name: inputs[name][:1] for name in ("key", "value")}
    lenient = implementations[adapter].declaration.conventions.get("input_checks") == "lenient"
    answer = implementations[adapter].run(Request(ATTENTION, "float32", inputs, {}))
    assert isinstance(answer, Outputs if lenient else Raised)
    assert lenient == (adapter == "onnx")


@pytest.mark.parametrize(("name", "index"), [("query", np.s_[..., :1]), ("query", np.s_[:, :2]), ("mask", np.s_[:3])])
def test_it_refuses_what_everyone_must_refuse(scenarios, implementation, name, index):
    inputs = {
        key: array.astype("float32") if array.dtype == np.float64 else array
        for key, array in scenarios["bool_mask_4x5"][0].items()
    }
    inputs[name] = inputs[name][index]
    assert isinstance(implementation.run(Request(ATTENTION, "float32", inputs, {})), Raised)


def test_scores_are_stored_in_half_precision(implementation):
    # Scores near 300 are rounded to multiples of 0.25 in float16, which moves the weights by a fortieth.
    inputs = {
        "query": np.array([[[[30.0, 1.0]]]], dtype=np.float16),
        "key": np.array([[[[10.0, 0.1], [10.0, 0.0]]]], dtype=np.float16),
        "value": np.eye(2, dtype=np.float16)[np.newaxis, np.newaxis],
    }
    output = implementation.run(Request(ATTENTION, "float16", inputs, {"scale": 1.0})).values["output"]
    assert output.ravel().tolist() == [0.5, 0.5]
    assert f"{ATTENTION}.half_precision_grade" not in implementation.declaration.conventions


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_fully_masked_row_of_softmax(implementation):
    x = np.array([[-np.inf, -np.inf], [0, 0]], dtype=np.float32)
    got = implementation.run(Request("softmax", "float32", {"x": x}, {})).values["output"]
    np.testing.assert_array_equal(got, [[np.nan, np.nan], [0.5, 0.5]])
    assert implementation.declaration.conventions["softmax.fully_masked_row"] == "nan"
