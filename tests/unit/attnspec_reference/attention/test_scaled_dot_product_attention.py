"""Scaled dot-product attention, in cases that can be worked out by hand.

With queries and keys of zero all allowed keys weigh the same, so an output is a plain mean of values. Values
that are powers of two show which keys were seen.
"""

import math

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import scaled_dot_product_attention

INFINITY = float("inf")


def column(*numbers):
    """One batch entry, one head, a token for each number, one feature."""
    return np.array(numbers, dtype=float).reshape(1, 1, -1, 1)


def mean_of_seen(query_length, values, mask=None, **attributes):
    """The outputs where every allowed key has the same score."""
    value = column(*values)
    result = scaled_dot_product_attention(
        np.zeros((1, 1, query_length, 1)), np.zeros_like(value), value, mask, **attributes
    )
    return result.output[0, 0, :, 0].tolist()


# Scores and scale


def four_features(**attributes):
    """Raw scores 4 and 0, in one of two heads of four features."""
    query, key = np.zeros((1, 2, 1, 4)), np.zeros((1, 2, 2, 4))
    query[..., 0], key[..., 0, 0] = 2, 2
    value = np.broadcast_to([[1.0], [0.0]], (1, 2, 2, 1))
    return scaled_dot_product_attention(query, key, value, **attributes)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, 0.880797),
        ({"scale": 0.1}, 0.598688),
        ({"scale": 1.0}, 0.982014),
        ({"scale": 0.0}, 0.5),
        ({"scale": -0.5}, 0.119203),
    ],
)
def test_scales(attributes, expected):
    assert four_features(**attributes).output[0, 0, 0, 0] == pytest.approx(expected, abs=0.5e-6)


def test_scores_are_scaled_and_unmasked():
    mask = np.array([[False, True]])
    assert four_features(mask=mask).scores[0, 1].tolist() == [[2, 0]]


def test_queries_are_rows_and_keys_are_columns():
    scores = scaled_dot_product_attention(column(1, 2), column(3, 5, 7), column(0, 0, 0)).scores
    assert scores[0, 0].tolist() == [[3, 5, 7], [6, 10, 14]]


def test_gives_what_the_document_printed():
    # Question 2 of 003_fd68dee9562e4594.txt.
    query = np.array([[0.4579, -1.3416, 0.3622, 0.8046]])
    key = np.array(
        [[0.5445, -0.2472, -0.5106, 0.3801], [0.3474, 0.7532, 0.3604, 0.309], [0.5478, -0.6361, -0.4861, 0.1562]]
    )
    value = np.array(
        [[0.0738, -0.387, 0.5922, -0.0558], [-0.3937, 0.2503, 1.0458, -0.3767], [0.4121, -0.5704, 0.422, 0.1439]]
    )
    result = scaled_dot_product_attention(query[None, None], key[None, None], value[None, None])
    printed_weights = [0.3638497, 0.2022857, 0.4338646]
    printed_output = [0.12600783, -0.33765409, 0.61011304, -0.03407072]
    assert result.weights[0, 0, 0] == pytest.approx(printed_weights, abs=0.5e-7, rel=0)
    assert result.output[0, 0, 0] == pytest.approx(printed_output, abs=0.5e-8, rel=0)


# Masks


def test_true_in_a_boolean_mask_may_be_attended():
    assert mean_of_seen(1, [1, 100], np.array([[True, False]])) == [1]


def test_a_float_mask_is_added():
    assert mean_of_seen(1, [1, 100], np.array([[1.0, 0.0]])) == [pytest.approx(27.6252007, abs=0.5e-7)]
    assert mean_of_seen(1, [1, 100], np.array([[1.0, 1.0]])) == [50.5]


def test_the_scale_does_not_touch_the_mask():
    output = four_features(mask=np.array([[0.5, 0.0]])).output
    assert output[0, 0, 0, 0] == pytest.approx(0.924142, abs=0.5e-6)


def test_logits_hold_the_mask_and_minus_infinity():
    logits = four_features(mask=np.array([[0.5, -np.inf]])).logits
    assert logits[0, 0].tolist() == [[2.5, -INFINITY]]


def test_no_score_is_low_enough_to_lose_against_an_excluded_key():
    result = scaled_dot_product_attention(
        column(-20000), column(1, 0), column(1, 100), np.array([[True, False]]), scale=1.0
    )
    assert result.output.item() == 1


@pytest.mark.parametrize(
    "shape",
    [(5, 7), (1, 7), (3, 5, 7), (1, 5, 7), (2, 3, 5, 7), (2, 1, 5, 7), (2, 1, 1, 7), (1, 3, 1, 7), (1, 1, 1, 7)],
)
@pytest.mark.parametrize("kind", ["boolean", "float"])
def test_masks_broadcast_from_the_right(shape, kind):
    generator = np.random.default_rng(0)
    query, key, value = (generator.normal(size=(2, 3, length, 4)) for length in (5, 7, 7))
    mask = generator.random(shape) < 0.7 if kind == "boolean" else generator.normal(size=shape)
    mask[..., 0] = True
    whole = np.array(np.broadcast_to(mask, (2, 3, 5, 7)))
    assert np.array_equal(
        scaled_dot_product_attention(query, key, value, mask).output,
        scaled_dot_product_attention(query, key, value, whole).output,
    )


def test_a_rank_3_mask_belongs_to_heads_and_not_to_batch_entries():
    mask = np.array([[[True, False]], [[False, True]]])
    value = np.broadcast_to([[1.0], [2.0]], (2, 2, 2, 1))
    output = scaled_dot_product_attention(np.zeros((2, 2, 1, 1)), np.zeros((2, 2, 2, 1)), value, mask).output
    assert output[..., 0, 0].tolist() == [[1, 2], [1, 2]]


# Causality


@pytest.mark.parametrize(
    ("query_length", "values", "attributes", "expected"),
    [
        (2, [1, 2, 4, 8], {}, [3.75, 3.75]),
        (2, [1, 2, 4, 8], {"is_causal": True}, [1, 1.5]),
        (2, [1, 2, 4, 8], {"is_causal": True, "causal_alignment": "bottom_right"}, [7 / 3, 3.75]),
        (4, [1, 3], {"is_causal": True, "causal_alignment": "top_left"}, [1, 2, 2, 2]),
        (4, [1, 3], {"is_causal": True, "causal_alignment": "bottom_right"}, [0, 0, 1, 2]),
        (1, [1, 2, 4, 8], {"is_causal": True}, [1]),
        (1, [1, 2, 4, 8], {"causal_alignment": "bottom_right"}, [3.75]),
    ],
)
def test_causality_and_its_alignment(query_length, values, attributes, expected):
    assert mean_of_seen(query_length, values, **attributes) == pytest.approx(expected, rel=1e-15)


def test_mask_and_causality_both_exclude():
    mask = np.array([[True, True, True], [False, True, True], [True, True, False]])
    assert mean_of_seen(3, [1, 2, 4], mask, is_causal=True) == [1, 2, 1.5]


# Heads and shapes


@pytest.mark.parametrize(
    ("heads", "values", "expected"),
    [(6, [10, 20], [10, 10, 10, 20, 20, 20]), (6, [1, 2, 4], [1, 1, 2, 2, 4, 4]), (3, [5], [5, 5, 5])],
)
def test_neighbouring_query_heads_share_a_key_and_value_head(heads, values, expected):
    value = np.array(values, dtype=float).reshape(1, -1, 1, 1)
    output = scaled_dot_product_attention(np.zeros((1, heads, 1, 1)), np.zeros_like(value), value).output
    assert output.ravel().tolist() == expected


def test_shared_heads_are_shared_by_keys_too():
    key = np.array([[[[0.0], [0.0]], [[100.0], [0.0]]]])
    value = np.broadcast_to([[0.0], [1.0]], (1, 2, 2, 1))
    output = scaled_dot_product_attention(np.ones((1, 4, 1, 1)), key, value).output
    assert output.ravel() == pytest.approx([0.5, 0.5, 0, 0], abs=1e-40)


def test_values_may_be_wider_than_keys():
    value = np.arange(6.0).reshape(1, 1, 2, 3)
    result = scaled_dot_product_attention(np.zeros((1, 1, 4, 2)), np.zeros((1, 1, 2, 2)), value)
    assert result.output[0, 0, 3].tolist() == [1.5, 2.5, 3.5]
    assert [array.shape for array in result] == [
        (1, 1, 4, 3),
        (1, 1, 4, 2),
        (1, 1, 4),
        (1, 1, 4, 2),
        (1, 1, 4, 2),
        (1, 1, 2, 2),
        (1, 1, 2, 3),
    ]


# Softmax


@pytest.mark.parametrize(
    ("length", "output", "logsumexp"),
    [
        (4, 2.4926527, 3.4401897),
        (17, 15.4180240, 16.4586751),
        (65, 63.4180233, 64.4586751),
        (257, 255.4180233, 256.4586751),
    ],
)
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_rising_and_falling_scores(length, output, logsumexp, order):
    numbers = range(length)[order]
    result = scaled_dot_product_attention(column(1), column(*numbers), column(*numbers), scale=1.0)
    assert result.output.item() == pytest.approx(output, abs=0.5e-7)
    assert result.logsumexp.item() == pytest.approx(logsumexp, abs=0.5e-7)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 257])
@pytest.mark.parametrize("lowest", [-1000.0, 0.0])
def test_the_last_of_any_number_of_keys_counts(length, lowest):
    # With all scores negative, padding by zeros would win.
    key = column(*[lowest - 2000] * (length - 1), lowest - 1000)
    result = scaled_dot_product_attention(column(1), key, column(*range(length)), scale=1.0)
    assert result.output.item() == length - 1
    assert result.logsumexp.item() == lowest - 1000


def test_logsumexp_is_natural_and_counts_allowed_keys_alone():
    result = scaled_dot_product_attention(column(3), column(1, 1, 1), column(0, 0, 0), np.array([[True, True, False]]))
    assert result.logsumexp.item() == pytest.approx(3 + math.log(2), rel=1e-15)


@pytest.mark.parametrize("score", [1e5, -1e5])
def test_large_scores_neither_overflow_nor_vanish(score):
    result = scaled_dot_product_attention(column(score), column(1, 1), column(1, 3))
    assert result.output.item() == 2
    assert result.weights.ravel().tolist() == [0.5, 0.5]


# NaN and infinity


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_excluded_keys_and_values_have_no_effect(poison):
    mask = np.array([[True, False], [True, True]])
    result = scaled_dot_product_attention(column(1, 1), column(0, poison), column(1, poison), mask)
    assert result.output[0, 0, 0].tolist() == [1]
    assert result.weights[0, 0, 0].tolist() == [1, 0]
    assert result.logsumexp[0, 0, 0] == 0
    assert not np.isfinite(result.output[0, 0, 1, 0])


def test_a_value_that_is_nan_reaches_only_queries_that_may_attend_to_it():
    outputs = mean_of_seen(3, [1, np.nan, 4], is_causal=True)
    assert outputs[0] == 1
    assert math.isnan(outputs[1])
    assert math.isnan(outputs[2])


def test_a_query_that_is_nan_keeps_to_its_row():
    result = scaled_dot_product_attention(column(np.nan, 0), column(0, 0), column(1, 3))
    assert math.isnan(result.output[0, 0, 0, 0])
    assert result.output[0, 0, 1, 0] == 2


# Refusals

VALID = {"query": (2, 6, 3, 4), "key": (2, 3, 5, 4), "value": (2, 3, 5, 7)}


@pytest.mark.parametrize(
    ("replaced", "sentence"),
    [
        ({"key": (2, 3, 5, 6)}, "same number of features"),
        ({"query": (2, 4, 3, 4)}, "a multiple"),
        ({"query": (2, 2, 3, 4)}, "a multiple"),
        ({"value": (2, 2, 5, 7)}, "same number of heads"),
        ({"query": (3, 6, 3, 4)}, "same batch size"),
        ({"value": (1, 3, 5, 7)}, "same batch size"),
        ({"value": (2, 3, 4, 7)}, "same number of tokens"),
        ({"query": (6, 3, 4)}, "rank 4"),
        ({"mask": (3, 4)}, "mask has shape"),
        ({"mask": (2, 5)}, "mask has shape"),
        ({"mask": (3, 1)}, "mask has shape"),
        ({"mask": (3, 3, 5)}, "mask has shape"),
        ({"mask": (5,)}, "rank 2 to 4"),
        ({"mask": (1, 2, 6, 3, 5)}, "rank 2 to 4"),
    ],
)
def test_refuses_shapes_that_do_not_fit(replaced, sentence):
    shapes = VALID | replaced
    with pytest.raises(ValueError, match=sentence) as refusal:
        scaled_dot_product_attention(**{name: np.zeros(shape) for name, shape in shapes.items()})
    assert all(str(shape) in str(refusal.value) for shape in replaced.values())


def test_the_shapes_that_the_refusals_start_from_are_valid():
    result = scaled_dot_product_attention(**{name: np.ones(shape) for name, shape in VALID.items()})
    assert result.output.shape == (2, 6, 3, 7)


def test_refuses_a_mask_of_integers():
    with pytest.raises(ValueError, match="int64"):
        mean_of_seen(1, [1, 2], np.array([[1, 0]]))


def test_refuses_an_unknown_alignment():
    with pytest.raises(ValueError, match="'left'"):
        mean_of_seen(1, [1, 2], causal_alignment="left")


# Precision and memory


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_every_output_has_the_dtype_of_the_query(dtype):
    arrays = [column(*numbers).astype(dtype) for numbers in ([0, 0], [0, 0], [1, 3])]
    result = scaled_dot_product_attention(*arrays, np.array([[0, -np.inf], [0, 0]], dtype=dtype))
    assert {array.dtype for array in result} == {np.dtype(dtype)}
    assert result.output.astype(float).ravel().tolist() == [1, 2]


def test_half_precision_is_carried_in_single_precision():
    # The raw score 8,388,608 and the scaled one exceed the largest float16, 65504.
    large = np.full((1, 1, 2, 128), 256, dtype=np.float16)
    value = np.array([0, 1], dtype=np.float16).reshape(1, 1, 2, 1)
    result = scaled_dot_product_attention(large, large, value)
    assert result.output.ravel().tolist() == [0.5, 0.5]
    assert np.isinf(result.scores).all()


def test_raw_scores_may_exceed_half_precision_before_the_scale():
    query, key = np.full((1, 1, 1, 2), 256, dtype=np.float16), np.full((1, 1, 2, 2), 256, dtype=np.float16)
    value = np.array([0, 1], dtype=np.float16).reshape(1, 1, 2, 1)
    result = scaled_dot_product_attention(query, key, value, scale=1 / 128)
    assert result.scores.ravel().tolist() == [1024, 1024]
    assert result.output.item() == 0.5


@pytest.mark.parametrize(("dtype", "length"), [(np.float16, 4096), (ml_dtypes.bfloat16, 512)])
def test_long_sums_in_half_precision_keep_growing(dtype, length):
    zeros = np.zeros((1, 1, length, 1), dtype=dtype)
    value = np.ones((1, 1, length, 2), dtype=dtype)
    value[0, 0, : length // 2, 1] = 0
    result = scaled_dot_product_attention(zeros[:, :, :1], zeros, value)
    assert result.output.astype(float).ravel().tolist() == [1, 0.5]


def test_leaves_its_inputs_alone():
    generator = np.random.default_rng(1)
    inputs = [generator.normal(size=shape) for shape in ((1, 2, 3, 4), (1, 1, 5, 4), (1, 1, 5, 4), (3, 5))]
    copies = [array.copy() for array in inputs]
    scaled_dot_product_attention(*inputs, is_causal=True)
    assert all(np.array_equal(a, b) for a, b in zip(inputs, copies, strict=True))
