"""The features-first wrapper, compared with formulas in which every token is a column."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from attnspec.contract.implementation import Declaration, Declined, Outputs, Request
from attnspec.targets.loading import features_first

B, H, SQ, SK, E, EV = 2, 3, 4, 5, 2, 3

MASK_SHAPES = [None, (SQ, SK), (1, SK), (H, SQ, SK), (H, 1, SK), (B, H, SQ, SK), (B, 1, SQ, SK), (1, H, 1, SK)]


def softmax_of_columns(x):
    exponentials = np.exp(x - x.max(axis=0))
    return exponentials / exponentials.sum(axis=0)


def attend_columns(query, key, value, mask=None):
    """Columns are tokens: query (E, Sq), key (E, Sk), value (Ev, Sk), mask (Sk, Sq)."""
    scores = key.T @ query / np.sqrt(query.shape[0])
    if mask is not None:
        assert mask.ndim == 2
        scores = np.where(mask, scores, -np.inf)
    attentions = softmax_of_columns(scores)
    return value @ attentions, attentions, scores


def column_sdpa(query, key, value, mask=None):
    assert (query.shape, key.shape, value.shape) == ((E, SQ), (E, SK), (EV, SK))
    output, attentions, scores = attend_columns(query, key, value, mask)
    return {"output": output, "weights": attentions, "scores": scores}


def column_single_head(x, w_query, w_key, w_value, w_output=None):
    query, key, value = w_query @ x, w_key @ x, w_value @ x
    output, attentions, scores = attend_columns(query, key, value)
    return {
        "output": output if w_output is None else w_output @ output,
        "weights": attentions,
        "scores": scores,
        "query": query,
        "key": key,
        "value": value,
    }


def column_multi_head(
    query,
    key,
    value,
    *,
    w_query,
    w_key,
    w_value,
    w_output,
    num_heads,
    b_query=0,
    b_key=0,
    b_value=0,
    b_output=0,
    mask=None,
):
    queries, keys, values = w_query @ query + b_query, w_key @ key + b_key, w_value @ value + b_value
    heads, attentions = [], []
    for head in range(num_heads):
        rows = slice(head * E, (head + 1) * E)
        own = mask if mask is None or mask.ndim == 2 else mask[min(head, len(mask) - 1)]
        output, weights, _ = attend_columns(queries[rows], keys[rows], values[rows], own)
        heads.append(output)
        attentions.append(weights)
    return {"output": w_output @ np.concatenate(heads) + b_output, "weights": np.stack(attentions)}


def attend_rows(query, key, value, mask=None):
    """The contract: tokens first."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    logits = scores if mask is None else np.where(mask, scores, -np.inf)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ value, weights, scores


DECLARATION = Declaration("fake", None, "fake", ())


@dataclass
class Fake:
    functions: dict
    requests: list = field(default_factory=list)
    declaration: Declaration = DECLARATION

    def run(self, request):
        self.requests.append(request)
        return Outputs(self.functions[request.operation](**request.inputs, **request.attributes))

    def close(self):
        pass


COLUMNS = {
    "scaled_dot_product_attention": column_sdpa,
    "single_head_attention": column_single_head,
    "multi_head_attention": column_multi_head,
    "softmax": lambda x, axis=0: {"output": np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)},
}


def run(operation, inputs, attributes=None, functions=COLUMNS):
    fake = Fake(functions)
    request = Request(operation, "float64", inputs, attributes or {})
    return features_first(fake).run(request), fake


def assert_same(answer, expected):
    assert isinstance(answer, Outputs), answer
    for name, value in expected.items():
        np.testing.assert_allclose(answer.values[name], value, rtol=1e-13, atol=1e-13, err_msg=name)


def masked(random, inputs, shape):
    if shape is not None:
        inputs["mask"] = random.random(size=shape) < 0.5
        inputs["mask"][..., 1] = True
    return inputs


def sdpa_inputs(mask_shape=None, heads=H):
    random = np.random.default_rng(0)
    inputs = {
        "query": random.normal(size=(B, heads, SQ, E)),
        "key": random.normal(size=(B, H, SK, E)),
        "value": random.normal(size=(B, H, SK, EV)),
    }
    return masked(random, inputs, mask_shape)


def single_head_inputs():
    # Every length differs, so that a matrix that was not transposed cannot fit.
    random = np.random.default_rng(1)
    shapes = {"x": (SQ, 7), "w_query": (7, E), "w_key": (7, E), "w_value": (7, EV), "w_output": (EV, 6)}
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def multi_head_inputs(mask_shape=None):
    random = np.random.default_rng(2)
    width = H * E
    inputs = {"query": random.normal(size=(B, SQ, width))}
    inputs |= {name: random.normal(size=(B, SK, width)) for name in ("key", "value")}
    inputs |= {f"w_{name}": random.normal(size=(width, width)) for name in ("query", "key", "value", "output")}
    inputs |= {f"b_{name}": random.normal(size=width) for name in ("query", "key", "value", "output")}
    return masked(random, inputs, mask_shape)


def multi_head_rows(query, key, value, mask=None, **parameters):
    def project(x, name):
        return x @ parameters[f"w_{name}"] + parameters[f"b_{name}"]

    def split(x):
        return x.reshape(*x.shape[:2], H, E).swapaxes(1, 2)

    projected = (split(project(x, name)) for x, name in ((query, "query"), (key, "key"), (value, "value")))
    output, weights, _ = attend_rows(*projected, mask)
    return {"output": project(output.swapaxes(1, 2).reshape(B, SQ, -1), "output"), "weights": weights}


@pytest.mark.parametrize("mask_shape", MASK_SHAPES, ids=str)
def test_scaled_dot_product_attention(mask_shape):
    inputs = sdpa_inputs(mask_shape)
    answer, fake = run("scaled_dot_product_attention", inputs)
    output, weights, _ = attend_rows(**inputs)
    assert_same(answer, {"output": output, "weights": weights})
    assert len(fake.requests) == B * H


def test_logits_of_the_implementation_come_back_tokens_first():
    inputs = sdpa_inputs()
    answer, _ = run("scaled_dot_product_attention", inputs)
    assert_same(answer, {"scores": attend_rows(**inputs)[2]})


def test_single_head_attention():
    inputs = single_head_inputs()
    answer, _ = run("single_head_attention", inputs)
    projected = {name: inputs["x"] @ inputs[f"w_{name}"] for name in ("query", "key", "value")}
    output, weights, scores = attend_rows(**projected)
    assert_same(answer, {"output": output @ inputs["w_output"], "weights": weights, "scores": scores, **projected})


@pytest.mark.parametrize("mask_shape", MASK_SHAPES, ids=str)
def test_multi_head_attention(mask_shape):
    inputs = multi_head_inputs(mask_shape)
    answer, fake = run("multi_head_attention", inputs, {"num_heads": H})
    assert_same(answer, multi_head_rows(**inputs))
    call = fake.requests[0].inputs
    assert call["b_query"].shape == (H * E, 1)
    np.testing.assert_array_equal(call["w_key"], inputs["w_key"].T)


@pytest.mark.parametrize(
    ("operation", "inputs", "attributes"),
    [
        ("scaled_dot_product_attention", sdpa_inputs((B, H, SQ, SK)), {}),
        ("single_head_attention", single_head_inputs(), {}),
        ("multi_head_attention", multi_head_inputs(), {"num_heads": H}),
    ],
)
def test_softmax_over_rows_instead_of_columns_is_seen(operation, inputs, attributes, monkeypatch):
    right, _ = run(operation, inputs, attributes)

    def softmax_of_rows(x):
        exponentials = np.exp(np.where(np.isfinite(x), x, -99))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    monkeypatch.setitem(attend_columns.__globals__, "softmax_of_columns", softmax_of_rows)
    wrong, _ = run(operation, inputs, attributes)
    assert right.values["output"].shape == wrong.values["output"].shape
    assert not np.allclose(right.values["output"], wrong.values["output"])


@pytest.mark.parametrize(
    ("attributes", "axis", "passed_on"),
    [
        ({}, -1, {}),
        ({"axis": -1}, -1, {"axis": 0}),
        ({"axis": 1}, 1, {"axis": 0}),
        ({"axis": 0}, 0, {"axis": 1}),
        ({"axis": -2}, 0, {"axis": 1}),
        ({"axis": None}, None, {"axis": None}),
    ],
)
def test_the_axis_of_a_softmax_turns_with_the_matrix(attributes, axis, passed_on):
    x = np.random.default_rng(3).normal(size=(SQ, SK))
    answer, fake = run("softmax", {"x": x}, attributes)
    assert_same(answer, {"output": np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)})
    assert fake.requests[0].inputs["x"].shape == (SK, SQ)
    assert fake.requests[0].attributes == passed_on


@pytest.mark.parametrize("axis", [-1, 3, -2, 2])
def test_a_softmax_of_higher_rank_is_called_for_each_matrix(axis):
    x = np.random.default_rng(4).normal(size=(2, 3, SQ, SK))
    answer, fake = run("softmax", {"x": x}, {"axis": axis})
    assert_same(answer, {"output": np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)})
    assert len(fake.requests) == 6


@pytest.mark.parametrize("axis", [0, 1, None])
def test_a_softmax_over_what_is_no_matrix_is_declined(axis):
    answer, fake = run("softmax", {"x": np.zeros((2, 3, SQ, SK))}, {"axis": axis})
    assert isinstance(answer, Declined)
    assert fake.requests == []


@pytest.mark.parametrize("x", [np.zeros(()), np.arange(3.0)])
def test_a_softmax_of_a_vector_is_passed_on(x):
    answer, _ = run("softmax", {"x": x})
    np.testing.assert_allclose(answer.values["output"], np.exp(x) / np.exp(x).sum())


def test_grouped_heads_are_declined():
    answer, _ = run("scaled_dot_product_attention", sdpa_inputs(heads=6))
    assert isinstance(answer, Declined)
    assert "features_first" in answer.reason


def test_other_operations_are_passed_on_as_they_are():
    given = {"encoder_states": np.zeros((SQ, E)), "decoder_state": np.zeros(E)}
    functions = {"context_vector": lambda encoder_states, decoder_state: {"context": decoder_state}}
    answer, fake = run("context_vector", given, functions=functions)
    assert isinstance(answer, Outputs)
    assert fake.requests[0].inputs is given


def test_every_matrix_arrives_in_one_piece_of_memory():
    _, fake = run("multi_head_attention", multi_head_inputs((SQ, SK)), {"num_heads": H})
    assert all(array.flags.c_contiguous for array in fake.requests[0].inputs.values())


def test_python_users_give_the_object_itself():
    class Columns:
        single_head_attention = staticmethod(column_single_head)

    wrapped = features_first(Columns)
    assert wrapped.declaration.name == "Columns"
    inputs = single_head_inputs()
    expected, _ = run("single_head_attention", inputs)
    answer = wrapped.run(Request("single_head_attention", "float64", inputs, {}))
    assert_same(answer, expected.values)
