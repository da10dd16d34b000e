"""Single-head attention, on the worked example of 001_97c79d128fd4cf2f.txt."""

import inspect

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import single_head_attention

X = np.array([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
W_QUERY = np.array([[1.0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
W_KEY = np.array([[0.0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
W_VALUE = np.array([[0.0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])


def attend(dtype=np.float64, **arguments):
    arrays = [array.astype(dtype) for array in (X, W_QUERY, W_KEY, W_VALUE)]
    return single_head_attention(*arrays, **arguments)


def test_projects_as_the_document_printed():
    attention = attend(scale=1.0)
    assert attention.query.tolist() == [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
    assert attention.key.tolist() == [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
    assert attention.value.tolist() == [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
    assert attention.scores.tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]


def test_attends_as_the_document_printed():
    attention = attend(scale=1.0)
    assert attention.weights[0] == pytest.approx([0.06337894, 0.46831053, 0.46831053], abs=0.5e-8, rel=0)
    assert attention.weights[1] == pytest.approx([6.03366485e-06, 9.82007865e-01, 1.79861014e-02], rel=5e-9)
    assert attention.weights[2] == pytest.approx([2.95387223e-04, 8.80536902e-01, 1.19167711e-01], rel=5e-9)
    assert attention.output[0] == pytest.approx([1.93662106, 6.68310531, 1.59506841], abs=0.5e-8, rel=0)


def test_scales_by_the_width_of_a_query_by_default():
    assert attend().scores == pytest.approx(np.array([[2, 4, 4], [4, 16, 12], [4, 12, 10]]) / np.sqrt(3))


def test_a_scale_of_zero_is_literal():
    attention = attend(scale=0.0)
    assert attention.weights == pytest.approx(np.full((3, 3), 1 / 3), rel=1e-15)
    assert attention.output[0] == pytest.approx([5 / 3, 16 / 3, 2], rel=1e-15)


def test_normalises_over_keys_and_not_over_queries():
    attention = attend(scale=1.0)
    assert attention.weights.sum(axis=1) == pytest.approx([1, 1, 1], rel=1e-15)
    assert attention.weights.sum(axis=0)[1] > 2


def test_projects_the_output():
    w_output = np.array([[0.0, 1], [0, 0], [2, 0]])
    plain, projected = attend().output, attend(w_output=w_output).output
    assert projected.shape == (3, 2)
    assert projected[:, 0] == pytest.approx(2 * plain[:, 2])
    assert projected[:, 1] == pytest.approx(plain[:, 0])


def test_values_may_be_wider_than_keys():
    attention = single_head_attention(X, W_QUERY[:, :1], W_KEY[:, :1], np.ones((4, 5)), scale=0.0)
    assert attention.output.shape == (3, 5)
    assert attention.output[0] == pytest.approx([10 / 3] * 5)


@pytest.mark.parametrize(
    ("replaced", "shape", "sentence"),
    [
        ("x", (3,), "rank 2"),
        ("w_query", (5, 3), "one row for each feature of a token"),
        ("w_value", (3, 3), "one row for each feature of a token"),
        ("w_key", (4, 2), "same number of features"),
        ("w_output", (4, 4), "one row for each feature of a value"),
    ],
)
def test_refuses_shapes_that_do_not_fit(replaced, shape, sentence):
    arguments = {"x": X, "w_query": W_QUERY, "w_key": W_KEY, "w_value": W_VALUE, replaced: np.zeros(shape)}
    with pytest.raises(ValueError, match=sentence) as refusal:
        single_head_attention(**arguments)
    assert str(shape) in str(refusal.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_returns_the_dtype_of_its_input(dtype):
    attention = attend(dtype, scale=1.0)
    assert {result.dtype for result in attention} == {np.dtype(dtype)}
    unit = float(ml_dtypes.finfo(dtype).eps)
    assert attention.output.astype(float) == pytest.approx(attend(scale=1.0).output, rel=10 * unit)


def test_leaves_its_inputs_alone():
    copies = [array.copy() for array in (X, W_QUERY, W_KEY, W_VALUE)]
    attend(scale=1.0)
    assert all(np.array_equal(a, b) for a, b in zip(copies, (X, W_QUERY, W_KEY, W_VALUE), strict=True))


def test_attributes_are_passed_by_name():
    parameters = inspect.signature(single_head_attention).parameters
    assert parameters["scale"].kind is inspect.Parameter.KEYWORD_ONLY
