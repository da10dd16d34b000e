"""Multi-head attention, on the worked example of 004_5c8046fafa7f4c7c.txt and on cases done by hand."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import combine_heads, multi_head_attention, scaled_dot_product_attention, split_heads

PRINTED = [
    [-21.207, -5.373, -20.933, -9.179, -11.319, -17.812],
    [-1.995, 7.906, -10.516, 3.452, 9.863, -7.24],
    [5.479, 1.115, 9.244, 0.453, 5.656, 7.089],
    [-7.413, -7.416, 0.363, -5.573, -6.736, -0.848],
    [-11.261, -9.937, -4.848, -8.915, -13.378, -5.761],
    [3.548, 10.036, -2.244, 1.604, 12.113, -2.557],
    [4.888, -5.814, 2.407, 3.228, -4.232, 3.71],
    [1.248, 18.894, -6.409, 3.224, 19.717, -5.629],
]


@pytest.fixture
def document():
    """The document's inputs, turned from a token in each column to a token in each row."""
    x = np.random.RandomState(3).normal(size=(8, 6))
    parameters = np.random.RandomState(0)
    heads = [
        [parameters.normal(size=(4, width)) for width in (8, 8, 8, 1, 1, 1)]  # weights, then biases
        for _ in range(2)
    ]
    arrays = [np.concatenate([head[part] for head in heads]).T for part in range(6)]
    tokens = x.T[np.newaxis]
    return {
        "query": tokens,
        "key": tokens,
        "value": tokens,
        "w_query": arrays[0],
        "w_key": arrays[1],
        "w_value": arrays[2],
        "w_output": parameters.normal(size=(8, 8)).T,
        "b_query": arrays[3][0],
        "b_key": arrays[4][0],
        "b_value": arrays[5][0],
    }


def plain(values, query_length=None, num_heads=2, **arguments):
    """Attention with identity weights in which every allowed key has the same score."""
    value = np.array(values, dtype=float)
    width = value.shape[-1]
    zeros, identity = np.zeros((width, width)), np.eye(width)
    query = np.ones((value.shape[0], query_length or value.shape[1], width))
    return multi_head_attention(query, value, value, zeros, zeros, identity, identity, num_heads=num_heads, **arguments)


def test_gives_what_the_document_printed(document):
    result = multi_head_attention(**document, num_heads=2)
    assert np.abs(result.output[0].T - PRINTED).max() <= 0.5e-3


def test_composes_the_operations_of_the_other_pages(document):
    result = multi_head_attention(**document, num_heads=2)
    projected = [
        split_heads(document[name] @ document[f"w_{name}"] + document[f"b_{name}"], num_heads=2)
        for name in ("query", "key", "value")
    ]
    attention = scaled_dot_product_attention(*projected)
    assert result.weights == pytest.approx(attention.weights)
    assert result.output == pytest.approx(combine_heads(attention.output) @ document["w_output"])


def test_heads_stay_apart_and_tokens_stay_together():
    assert plain([[[1, 10], [3, 30]]]).output.tolist() == [[[2, 20], [2, 20]]]


def test_weights_are_given_for_each_head(document):
    weights = multi_head_attention(**document, num_heads=2).weights
    assert weights.shape == (1, 2, 6, 6)
    assert weights.sum(axis=-1) == pytest.approx(np.ones((1, 2, 6)))
    assert not np.allclose(weights[0, 0], weights[0, 1])


def test_matrices_are_applied_from_the_right():
    tokens, zeros = np.array([[[1.0, 2]]]), np.zeros((2, 2))
    matrix, identity = np.array([[0.0, 1], [0, 0]]), np.eye(2)
    through_value = multi_head_attention(tokens, tokens, tokens, zeros, zeros, matrix, identity, num_heads=1)
    through_output = multi_head_attention(tokens, tokens, tokens, zeros, zeros, identity, matrix, num_heads=1)
    assert through_value.output.tolist() == through_output.output.tolist() == [[[0, 1]]]


def test_biases_are_added():
    bias = np.array([5.0, 7.0])
    assert plain([[[1, 10]]], b_value=bias).output.tolist() == [[[6, 17]]]
    assert plain([[[1, 10]]], b_output=bias).output.tolist() == [[[6, 17]]]
    assert plain([[[0, 0], [2, 2]]], b_query=bias).output.tolist() == [[[1, 1], [1, 1]]]


def test_a_query_bias_enters_the_scores():
    tokens, zeros, identity = np.array([[[0.0], [1.0]]]), np.zeros((1, 1)), np.eye(1)
    inputs = (tokens, tokens, tokens, zeros, identity, identity, identity)
    result = multi_head_attention(*inputs, b_query=np.array([2.0]), num_heads=1)
    # The keys are 0 and 1, every query is 2: the scores are 0 and 2.
    assert result.output[0, 0, 0] == pytest.approx(1 / (1 + np.exp(-2)), rel=1e-14)


def test_a_key_bias_changes_no_weight(document):
    # It adds the same amount to all scores of a query.
    without = multi_head_attention(**{**document, "b_key": None}, num_heads=2)
    assert multi_head_attention(**document, num_heads=2).weights == pytest.approx(without.weights)


def test_scales_by_the_width_of_a_head():
    tokens = np.array([[[2.0, 0, 0, 0, 0, 0, 0, 0], [0.0] * 8]])
    identity = np.eye(8)

    def weight(**arguments):
        result = multi_head_attention(
            tokens, tokens, tokens, identity, identity, identity, identity, num_heads=2, **arguments
        )
        return result.weights[0, 0, 0, 0]

    assert weight() == pytest.approx(0.880797, abs=0.5e-6)
    assert weight(scale=0.1) == pytest.approx(0.598688, abs=0.5e-6)
    assert weight(scale=0.0) == 0.5


def test_is_causal_from_the_top_left():
    output = plain([[[1, 10], [2, 20], [4, 40], [8, 80]]], query_length=2, is_causal=True).output
    assert output.tolist() == [[[1, 10], [1.5, 15]]]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([[True, False]], [[[1, 10]], [[4, 40]]]),
        ([[[True, False]], [[False, True]]], [[[1, 20]], [[4, 80]]]),
        ([[[[True, False]]], [[[False, True]]]], [[[1, 10]], [[8, 80]]]),
        ([[0.0, -np.inf]], [[[1, 10]], [[4, 40]]]),
    ],
    ids=["queries", "heads", "batch", "additive"],
)
def test_masks_broadcast_from_the_right(mask, expected):
    values = [[[1, 10], [2, 20]], [[4, 40], [8, 80]]]
    assert plain(values, query_length=1, mask=np.array(mask)).output.tolist() == expected


def test_a_query_without_keys_gets_zero_and_the_output_bias():
    mask = np.array([[True, True], [False, False]])
    result = plain([[[1, 10], [3, 30]]], mask=mask, b_output=np.array([5.0, 7.0]))
    assert result.output.tolist() == [[[7, 27], [5, 7]]]
    assert not result.weights[0, :, 1].any()


@pytest.mark.parametrize("num_heads", [2, 4, 8])
def test_the_module_of_the_document_in_all_its_sizes(num_heads):
    # 002_c44bbdfd43669549.txt, as its comments and tests mean it: batch 2, four tokens of 64 features.
    generator = np.random.default_rng(42)
    tokens = generator.normal(size=(3, 2, 4, 64))
    weights = generator.normal(size=(4, 64, 64)) / 8
    result = multi_head_attention(*tokens, *weights, num_heads=num_heads, is_causal=True)
    assert result.output.shape == (2, 4, 64)
    assert result.weights.shape == (2, num_heads, 4, 4)
    assert (result.weights >= 0).all()
    assert result.weights.sum(axis=-1) == pytest.approx(np.ones((2, num_heads, 4)))
    assert not np.triu(result.weights, 1).any()


VALID = {
    **dict.fromkeys(("query", "key", "value"), (2, 3, 4)),
    **dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (4, 4)),
}


@pytest.mark.parametrize(
    ("replaced", "sentence"),
    [
        ({"query": (3, 4)}, "rank 3"),
        ({"key": (2, 2, 3, 4)}, "rank 3"),
        ({"value": (1, 3, 4)}, "same batch size"),
        ({"key": (2, 3, 6)}, "same number of features"),
        ({"value": (2, 5, 4)}, "same number of tokens"),
        ({"w_key": (4, 2)}, "need"),
        ({"b_query": (3,)}, "need"),
        ({"mask": (2, 3, 2)}, "mask has shape"),
    ],
)
def test_refuses_shapes_that_do_not_fit(replaced, sentence):
    inputs = {name: np.zeros(shape) for name, shape in (VALID | replaced).items()}
    with pytest.raises(ValueError, match=sentence) as refusal:
        multi_head_attention(**inputs, num_heads=2)
    assert all(str(shape) in str(refusal.value) for shape in replaced.values())


@pytest.mark.parametrize("num_heads", [3, 0, 8])
def test_refuses_heads_that_do_not_divide_the_width(num_heads):
    inputs = {name: np.zeros(shape) for name, shape in VALID.items()}
    with pytest.raises(ValueError, match=f"4 features cannot be cut into {num_heads} heads"):
        multi_head_attention(**inputs, num_heads=num_heads)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_returns_the_dtype_of_its_input(document, dtype):
    inputs = {name: array.astype(dtype) for name, array in document.items()}
    result = multi_head_attention(**inputs, num_heads=2)
    assert {array.dtype for array in result} == {np.dtype(dtype)}
    exact = multi_head_attention(**{name: array.astype(float) for name, array in inputs.items()}, num_heads=2)
    unit = float(ml_dtypes.finfo(dtype).eps)
    assert np.abs(result.output.astype(float) - exact.output).max() <= 100 * unit


def test_leaves_its_inputs_alone(document):
    copies = {name: array.copy() for name, array in document.items()}
    multi_head_attention(**document, num_heads=2, is_causal=True)
    assert all(np.array_equal(document[name], copies[name]) for name in copies)
