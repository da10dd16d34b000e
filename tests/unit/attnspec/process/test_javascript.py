"""The implementation in JavaScript, compared with NumPy formulas through the process adapter."""

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Declined, Outputs, Raised, Request
from attnspec.process.process import ProcessImplementation
from attnspec.runner import run_suite

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

BACKWARD = {name for name, operation in OPERATIONS.items() if operation.backward_of}
OF_SERVING = {"merge_states", "latent_attention", "absorbed_latent_attention"}
"""Attention cut into parts, and over compressed keys and values: an example to be read beside the pages has neither."""

FOLDER = Path(__file__).parents[3] / "examples" / "javascript"


@pytest.fixture(scope="module")
def javascript():
    with contextlib.closing(ProcessImplementation(["node", str(FOLDER / "attention.mjs")])) as implementation:
        yield implementation


@pytest.fixture(scope="module")
def wrong():
    with contextlib.closing(ProcessImplementation(["node", str(FOLDER / "attention_wrong.mjs")])) as implementation:
        yield implementation


def ask(implementation, operation, inputs, dtype="float64", **attributes):
    tensors = {
        name: array.astype(dtype) if array.dtype.kind == "f" and dtype != "any" else array
        for name, array in inputs.items()
    }
    return implementation.run(Request(operation, dtype, tensors, attributes))


def outputs(implementation, operation, inputs, dtype="float64", **attributes):
    answer = ask(implementation, operation, inputs, dtype, **attributes)
    assert isinstance(answer, Outputs), answer
    # The JavaScript implementation has no cache, hence nothing to give back of one.
    assert set(answer.values) == set(OPERATIONS[operation].outputs) - {"present_key", "present_value"}
    return answer.values


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def softmax(logits, axis=-1):
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(logits - logits.max(axis, keepdims=True))
        return exponentials / exponentials.sum(axis, keepdims=True)


def near(one, other, dtype="float64"):
    np.testing.assert_allclose(
        one, other, rtol=1e-12 if dtype == "float64" else 1e-5, atol=1e-12 if dtype == "float64" else 1e-6
    )


def test_it_declares_every_operation_of_a_forward_pass_but_for_those_of_serving(javascript):
    of_attention = {name for name, operation in OPERATIONS.items() if operation.family == "attention"}
    assert set(javascript.declaration.operations) == of_attention - OF_SERVING - BACKWARD
    assert javascript.declaration.dtypes == ("float64", "float32")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [-1, 0, 1, 2, -2, None])
def test_softmax(javascript, axis, dtype):
    x = normal(2, 3, 4) * 30
    output = outputs(javascript, "softmax", {"x": x}, dtype, axis=axis)["output"]
    assert output.dtype == dtype
    near(output, softmax(x, axis), dtype)


def test_softmax_of_large_numbers_and_of_nan(javascript):
    x = np.array([[1e4, 1e4 - 1, -np.inf], [0.0, np.nan, 1.0], [3.0, 3.0, 3.0]])
    near(outputs(javascript, "softmax", {"x": x})["output"], softmax(x))


@pytest.mark.parametrize(("keys", "offset"), [(None, 0), (5, 0), (5, 2), (2, -1)])
def test_causal_mask(javascript, keys, offset):
    expected = np.tri(3, keys or 3, offset, dtype=bool)
    sizes = {"query_length": 3, "key_length": keys, "offset": offset}
    plain = outputs(javascript, "causal_mask", {}, "any", **sizes)["output"]
    assert plain.dtype == bool
    assert (plain == expected).all()
    additive = outputs(javascript, "causal_mask", {}, "any", additive=True, **sizes)["output"]
    assert (additive == np.where(expected, 0.0, -np.inf)).all()


def test_heads(javascript):
    x = normal(2, 3, 8)
    split = outputs(javascript, "split_heads", {"x": x}, num_heads=4)["output"]
    assert (split == x.reshape(2, 3, 4, 2).transpose(0, 2, 1, 3)).all()
    assert (outputs(javascript, "combine_heads", {"x": split})["output"] == x).all()


def attention(query, key, value, scale=None, bias=0.0):
    """Plain attention of equal numbers of heads, every row with a key to attend."""
    scores = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    logits = scores + bias
    weights = softmax(logits)
    logsumexp = np.log(np.exp(logits).sum(-1))
    return {"output": weights @ value, "weights": weights, "logsumexp": logsumexp, "scores": scores, "logits": logits}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scale", [None, 0.5, 0.0, -1.0])
def test_attention(javascript, scale, dtype):
    inputs = {"query": normal(2, 3, 4, 5), "key": normal(2, 3, 6, 5), "value": normal(2, 3, 6, 7)}
    given = outputs(javascript, "scaled_dot_product_attention", inputs, dtype, scale=scale)
    expected = attention(*inputs.values(), scale)
    for name, array in given.items():
        near(array, expected[name], dtype)


@pytest.mark.parametrize(("alignment", "offset"), [("top_left", 0), ("bottom_right", 2)])
def test_causal_attention_of_grouped_heads(javascript, alignment, offset):
    inputs = {"query": normal(1, 4, 3, 2), "key": normal(1, 2, 5, 2), "value": normal(1, 2, 5, 2, seed=1)}
    given = outputs(javascript, "scaled_dot_product_attention", inputs, is_causal=True, causal_alignment=alignment)
    key, value = (inputs[name].repeat(2, axis=1) for name in ("key", "value"))
    expected = attention(inputs["query"], key, value, bias=np.where(np.tri(3, 5, offset), 0, -np.inf))
    for name, array in given.items():
        near(array, expected[name])


@pytest.mark.parametrize("shape", [(4, 5), (1, 5), (3, 4, 5), (3, 1, 5), (2, 1, 4, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("boolean", [True, False])
def test_masks_broadcast_from_the_right(javascript, shape, boolean):
    allowed = normal(*shape, seed=2) > -0.5
    allowed[..., 0] = True
    bias = np.where(allowed, 0 if boolean else normal(*shape, seed=3), -np.inf)
    inputs = {"query": normal(2, 3, 4, 2), "key": normal(2, 3, 5, 2), "value": normal(2, 3, 5, 2, seed=1)}
    mask = allowed if boolean else bias
    given = outputs(javascript, "scaled_dot_product_attention", inputs | {"mask": mask})
    expected = attention(*inputs.values(), bias=bias)
    for name, array in given.items():
        near(array, expected[name])


def test_a_row_without_keys_is_zero_and_excluded_nan_stays_out(javascript):
    value = np.array([[[[1.0], [np.nan]]]])
    inputs = {"query": np.ones((1, 1, 2, 1)), "key": np.array([[[[1.0], [np.inf]]]]), "value": value}
    inputs["mask"] = np.array([[True, False], [False, False]])
    given = outputs(javascript, "scaled_dot_product_attention", inputs)
    assert given["output"].ravel().tolist() == [1, 0]
    assert given["weights"].ravel().tolist() == [1, 0, 0, 0]
    assert given["logsumexp"].ravel().tolist() == [1, -np.inf]


def test_single_head_attention(javascript):
    inputs = {"x": normal(3, 4), "w_query": normal(4, 2), "w_key": normal(4, 2, seed=1), "w_value": normal(4, 5)}
    x, w_query, w_key, w_value = inputs.values()
    expected = attention(x @ w_query, x @ w_key, x @ w_value)
    expected |= {"query": x @ w_query, "key": x @ w_key, "value": x @ w_value}
    for name, array in outputs(javascript, "single_head_attention", inputs).items():
        near(array, expected[name])
    w_output = normal(5, 4)
    projected = outputs(javascript, "single_head_attention", inputs | {"w_output": w_output})["output"]
    near(projected, expected["output"] @ w_output)
    unscaled = outputs(javascript, "single_head_attention", inputs, scale=1.0)["output"]
    near(unscaled, attention(x @ w_query, x @ w_key, x @ w_value, 1.0)["output"])


@pytest.mark.parametrize("with_biases", [True, False])
@pytest.mark.parametrize("is_causal", [True, False])
def test_multi_head_attention(javascript, is_causal, with_biases):
    inputs = {"query": normal(2, 3, 4), "key": normal(2, 5, 4), "value": normal(2, 5, 4, seed=1)}
    weights = {f"w_{name}": normal(4, 4, seed=seed) for seed, name in enumerate(("query", "key", "value", "output"))}
    biases = {f"b_{name}": normal(4, seed=seed) for seed, name in enumerate(("query", "key", "value", "output"))}
    given = outputs(
        javascript,
        "multi_head_attention",
        inputs | weights | (biases if with_biases else {}),
        num_heads=2,
        is_causal=is_causal,
    )

    def project(x, name):
        return x @ weights[f"w_{name}"] + with_biases * biases[f"b_{name}"]

    def split(x):
        return x.reshape(2, -1, 2, 2).transpose(0, 2, 1, 3)

    bias = np.where(np.tri(3, 5), 0, -np.inf) if is_causal else 0.0
    expected = attention(*(split(project(inputs[name], name)) for name in inputs), bias=bias)
    near(given["weights"], expected["weights"])
    near(given["output"], project(expected["output"].transpose(0, 2, 1, 3).reshape(2, 3, 4), "output"))


def test_context_vector(javascript):
    states, state = normal(3, 4), normal(4)
    given = outputs(javascript, "context_vector", {"encoder_states": states, "decoder_state": state})
    near(given["raw_scores"], states @ state)
    near(given["scores"], states @ state / 2)
    near(given["weights"], softmax(states @ state / 2))
    near(given["context"], softmax(states @ state / 2) @ states)


def test_glorot_normal(javascript):
    sizes = {"fan_in": 100, "fan_out": 60}
    one, again, other = (
        outputs(javascript, "glorot_normal", {}, "any", seed=seed, **sizes)["output"] for seed in (3, 3, 4)
    )
    assert (one == again).all()
    assert (one != other).any()
    assert abs(one.mean()) < 6 * (2 / 160) ** 0.5 / 6000**0.5
    assert one.std() == pytest.approx((2 / 160) ** 0.5, rel=6 / 12000**0.5)


SDPA = {"query": normal(1, 2, 2, 3), "key": normal(1, 2, 2, 3), "value": normal(1, 2, 2, 3)}
MHA = {name: normal(1, 2, 4) for name in ("query", "key", "value")}
MHA |= {f"w_{name}": normal(4, 4) for name in ("query", "key", "value", "output")}
STATES = {"encoder_states": normal(3, 4), "decoder_state": normal(3)}

REFUSED = {
    "width": ("scaled_dot_product_attention", SDPA | {"key": normal(1, 2, 2, 4)}, {}),
    "grouped": ("scaled_dot_product_attention", SDPA | {"query": normal(1, 3, 2, 3)}, {}),
    "mask shape": ("scaled_dot_product_attention", SDPA | {"mask": np.ones((2, 1), bool)}, {}),
    "mask rank": ("scaled_dot_product_attention", SDPA | {"mask": np.ones(2, bool)}, {}),
    "rank": ("scaled_dot_product_attention", SDPA | {"query": normal(2, 2, 3)}, {}),
    "batch": ("scaled_dot_product_attention", SDPA | {"query": normal(3, 2, 2, 3)}, {}),
    "length": ("scaled_dot_product_attention", SDPA | {"value": normal(1, 2, 3, 3)}, {}),
    "heads of width": ("multi_head_attention", MHA, {"num_heads": 3}),
    "multi-head rank": ("multi_head_attention", MHA | {"query": normal(2, 4)}, {"num_heads": 2}),
    "split": ("split_heads", {"x": normal(1, 2, 4)}, {"num_heads": 3}),
    "states": ("context_vector", STATES, {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_inputs_are_refused_in_words(javascript, name):
    operation, inputs, attributes = REFUSED[name]
    answer = ask(javascript, operation, inputs, **attributes)
    assert isinstance(answer, Raised)
    assert "Error" not in answer.message


def test_an_unknown_argument_is_declined(javascript):
    assert ask(javascript, "softmax", {"x": np.ones(2)}, temperature=2.0) == Declined("it has no argument temperature")
    answer = ask(javascript, "scaled_dot_product_attention", SDPA | {"sinks": np.ones(2)})
    assert answer == Declined("it has no argument sinks")


def test_the_wrong_one_normalises_over_queries_and_is_right_in_all_else(javascript, wrong):
    given = outputs(wrong, "scaled_dot_product_attention", SDPA)
    right = outputs(javascript, "scaled_dot_product_attention", SDPA)
    near(given["weights"], softmax(right["logits"], axis=-2))
    near(given["output"], given["weights"] @ SDPA["value"])
    for name in ("scores", "logits", "logsumexp"):
        assert (given[name] == right[name]).all()
    x = {"x": normal(2, 3)}
    assert (outputs(wrong, "softmax", x)["output"] == outputs(javascript, "softmax", x)["output"]).all()


def test_every_case_of_the_documents_passes(javascript):
    results = run_suite(load_suite(profiles=["documents"]), javascript)
    assert {result.dtype for result in results} >= {"float64", "float32"}
    assert [result for result in results if result.status != "pass"] == []


def test_the_wrong_one_fails_where_attention_is_computed_and_nowhere_else(wrong):
    results = run_suite(load_suite(profiles=["documents"]), wrong)
    failed = {result.case.operation for result in results if result.status == "fail"}
    assert failed == {"scaled_dot_product_attention", "single_head_attention", "multi_head_attention"}
    assert {result.status for result in results} <= {"pass", "fail", "unsupported"}
