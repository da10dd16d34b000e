"""Softmax: shares that sum to one, along the requested axis."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import softmax

# The 3x4 array of 001_97c79d128fd4cf2f.txt and what that document printed for it.
ARRAY = np.array([[1, 0.5, 0.2, 3], [1, -1, 7, 3], [2, 12, 13, 3]])
PRINTED = {
    None: [
        [4.48308990e-06, 2.71913148e-06, 2.01438214e-06, 3.31258028e-05],
        [4.48308990e-06, 6.06720242e-07, 1.80860755e-03, 3.31258028e-05],
        [1.21863018e-05, 2.68421160e-01, 7.29644362e-01, 3.31258028e-05],
    ],
    0: [
        [2.11941558e-01, 1.01299681e-05, 2.75393864e-06, 3.33333333e-01],
        [2.11941558e-01, 2.26030140e-06, 2.47261635e-03, 3.33333333e-01],
        [5.76116885e-01, 9.99987610e-01, 9.97524630e-01, 3.33333333e-01],
    ],
    1: [
        [1.05877070e-01, 6.42176889e-02, 4.75736340e-02, 7.82331607e-01],
        [2.42746030e-03, 3.28521027e-04, 9.79307378e-01, 1.79366403e-02],
        [1.22093673e-05, 2.68929212e-01, 7.31025390e-01, 3.31885014e-05],
    ],
}


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_gives_what_the_document_printed(axis):
    printed = np.array(PRINTED[axis])
    half_a_unit = 0.5e-8 * 10.0 ** np.floor(np.log10(printed))
    assert np.all(np.abs(softmax(ARRAY, axis=axis) - printed) <= half_a_unit * (1 + 1e-6))


def test_takes_the_last_axis_by_default():
    assert np.array_equal(softmax(ARRAY), softmax(ARRAY, axis=1))


def test_equal_numbers_share_equally():
    assert softmax([0.0, 0.0, 0.0, 0.0]).tolist() == [0.25] * 4


def test_the_whole_array_shares_one():
    assert softmax(np.zeros((2, 4)), axis=None).tolist() == [[0.125] * 4] * 2


def test_a_number_larger_by_the_logarithm_of_three_gets_three_times_the_weight():
    assert softmax([0.0, np.log(3.0)]) == pytest.approx([0.25, 0.75], rel=1e-15)


@pytest.mark.parametrize("shift", [1e4, -1e4])
def test_large_numbers_neither_overflow_nor_vanish(shift):
    assert softmax(np.array([shift, shift])).tolist() == [0.5, 0.5]


def test_minus_infinity_gets_no_weight():
    assert softmax([0.0, -np.inf, 0.0]).tolist() == [0.5, 0.0, 0.5]


def test_nan_stays_in_its_row():
    result = softmax(np.array([[0.0, np.nan], [0.0, 0.0]]))
    assert np.isnan(result[0]).all()
    assert result[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_returns_the_dtype_of_its_input(dtype):
    x = np.array([1, 1], dtype=dtype)
    assert softmax(x).dtype == dtype
    assert softmax(x).astype(float).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_rounded_once_at_the_end(dtype):
    x = np.linspace(-2, 2, 600).astype(dtype)
    assert np.array_equal(softmax(x), softmax(x.astype(np.float64)).astype(dtype))


def test_integers_count_as_float64():
    assert softmax([1, 1]).dtype == np.float64


def test_leaves_its_input_alone():
    x = ARRAY.copy()
    softmax(x)
    assert np.array_equal(x, ARRAY)
