"""The norms of built-in adapters: mappings against the reference, conventions by running them."""

import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Declined, Outputs, Raised, Request
from attnspec.targets import load

NORMS = ["torch", "onnx", "onnxruntime", "flax", "keras", "transformers"]
LENIENT = {"onnx", "onnxruntime", "flax", "keras", "transformers"}


@pytest.fixture
def implementation(request):
    pytest.importorskip(request.param)
    return load(request.param)


def answered(implementation, operation, inputs, dtype="float32", **attributes):
    return implementation.run(Request(operation, dtype, inputs, attributes))


def draw(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def pair(heads=3, key_heads=1, *, all_heads=False, pairs=None):
    lengths = (heads * 6, key_heads * 6) if all_heads else (6, 6)
    given = {
        "query": draw(2, heads, 3, 6, seed=1),
        "key": draw(2, key_heads, 3, 6, seed=2),
        "query_weight": draw(lengths[0], seed=3),
        "key_weight": draw(lengths[1], seed=4),
    }
    if pairs:
        given |= {"cos": draw(2, 3, pairs, seed=5), "sin": draw(2, 3, pairs, seed=6)}
    return given


@pytest.mark.parametrize("implementation", NORMS, indirect=True)
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (2, 2, 3, 5)], ids=str)
def test_rms_norm(implementation, shape):
    inputs = {"x": draw(*shape), "weight": draw(5, seed=1)}
    before = {name: array.copy() for name, array in inputs.items()}
    answer = answered(implementation, "rms_norm", inputs, epsilon=0.125)
    assert isinstance(answer, Outputs), answer
    wanted = reference.rms_norm(**inputs, epsilon=0.125)
    np.testing.assert_allclose(answer.values["output"], wanted, rtol=1e-5, strict=True)
    assert all(np.array_equal(inputs[name], array) for name, array in before.items())


@pytest.mark.parametrize("implementation", NORMS, indirect=True)
def test_squares_beyond_float16(implementation):
    inputs = {"x": np.full((1, 4), 1000.0, np.float16), "weight": np.ones(4, np.float16)}
    with np.errstate(all="ignore"):
        answer = answered(implementation, "rms_norm", inputs, "float16", epsilon=1.0)
    # The evaluator of ONNX squares in float16: a known defect.
    overflows = "evaluator" in implementation.declaration.name
    assert answer.values["output"].tolist() == [[0.0 if overflows else 1.0] * 4]


@pytest.mark.parametrize("implementation", NORMS, indirect=True)
def test_who_is_lenient_repeats_a_single_weight(implementation, request):
    inputs = {"x": draw(2, 4), "weight": draw(1)}
    lenient = request.node.callspec.params["implementation"] in LENIENT
    declared = implementation.declaration.conventions
    assert (declared.get("rms_norm.input_checks", declared.get("input_checks")) == "lenient") == lenient
    answer = answered(implementation, "rms_norm", inputs, epsilon=1.0)
    assert lenient or isinstance(answer, Raised)


@pytest.mark.parametrize("implementation", ["onnx"], indirect=True)
def test_an_epsilon_that_float32_does_not_hold_is_not_expressed(implementation):
    inputs = {"x": draw(2, 4), "weight": draw(4)}
    assert isinstance(answered(implementation, "rms_norm", inputs, epsilon=1e-5), Declined)


@pytest.mark.parametrize("implementation", ["transformers"], indirect=True)
@pytest.mark.parametrize("offset", ["zero", "one"])
def test_weights_of_gemma_are_less_1(implementation, offset):
    inputs = {"x": draw(2, 4), "weight": draw(4, seed=1)}
    answer = answered(implementation, "rms_norm", inputs, epsilon=1e-5, weight_offset=offset)
    wanted = reference.rms_norm(**inputs, epsilon=1e-5, weight_offset=offset)
    np.testing.assert_allclose(answer.values["output"], wanted, rtol=1e-5)


@pytest.mark.parametrize("implementation", ["transformers"], indirect=True)
@pytest.mark.parametrize("pairs", [None, 2, 3])
@pytest.mark.parametrize(
    "words", [{}, {"weight_offset": "one"}, {"normalized_over": "all_heads"}, {"pairing": "interleaved"}], ids=str
)
def test_qk_norm(implementation, pairs, words):
    inputs = pair(all_heads="normalized_over" in words, pairs=pairs)
    answer = answered(implementation, "qk_norm", inputs, epsilon=1e-5, **words)
    assert isinstance(answer, Outputs), answer
    for name, wanted in reference.qk_norm(**inputs, epsilon=1e-5, **words)._asdict().items():
        np.testing.assert_allclose(answer.values[name], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("implementation", ["transformers"], indirect=True)
def test_no_model_adds_1_to_weights_of_all_heads(implementation):
    words = {"normalized_over": "all_heads", "weight_offset": "one"}
    assert isinstance(answered(implementation, "qk_norm", pair(all_heads=True), epsilon=1.0, **words), Declined)
    unknown = answered(implementation, "qk_norm", pair(), epsilon=1.0, weight_offset="two")
    assert isinstance(unknown, Raised)
