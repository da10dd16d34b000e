"""Tensors to JSON and back."""

import json
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnspec.cases import canonical_json
from attnspec.cases.tensor_json import tensor_from_json, tensor_to_json

SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
SPECIAL = st.sampled_from([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308])


def through_text(array):
    return tensor_from_json(json.loads(canonical_json(tensor_to_json(array))))


@given(arrays.arrays(np.float64, SHAPES, elements=st.floats() | SPECIAL))
def test_floats_survive_to_the_last_bit(array) -> None:
    back = through_text(array)
    np.testing.assert_array_equal(back, array, strict=True)
    numbers = ~np.isnan(array)
    np.testing.assert_array_equal(np.signbit(back)[numbers], np.signbit(array)[numbers])


@given(arrays.arrays(np.bool_, SHAPES) | arrays.arrays(np.int64, SHAPES))
def test_booleans_and_integers_survive(array) -> None:
    np.testing.assert_array_equal(through_text(array), array, strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_inputs_of_their_own_dtype_keep_it(dtype) -> None:
    array = np.array([[-1.1, 0.0, 2.0**-9], [3.0, 17.0, -128.0]]).astype(dtype)
    np.testing.assert_array_equal(through_text(array), array, strict=True)


def test_not_a_number_of_float8_survives() -> None:
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        array = np.array([np.nan, 1.5]).astype(dtype)
        back = through_text(array)
        assert (back.dtype, back.tobytes()) == (array.dtype, array.tobytes())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrower_floats_are_stored_as_the_float64_that_they_are(dtype) -> None:
    array = np.array([0.1, -1 / 3, np.inf, np.nan]).astype(dtype)
    tensor = tensor_to_json(array)
    assert tensor["dtype"] == "float64"
    np.testing.assert_array_equal(tensor_from_json(tensor), array.astype(np.float64), strict=True)


def test_numbers_that_are_not_finite_are_stored_by_name() -> None:
    tensor = tensor_to_json(np.array([[np.inf, -np.inf], [np.nan, 1.0]]))
    assert tensor == {"data": [["inf", "-inf"], ["nan", 1.0]], "dtype": "float64", "shape": [2, 2]}


def test_whole_numbers_may_stand_for_floats() -> None:
    array = tensor_from_json({"dtype": "float64", "shape": [2], "data": [1, 2.5]})
    np.testing.assert_array_equal(array, np.array([1.0, 2.5]), strict=True)


@pytest.mark.parametrize(
    ("dtype", "shape", "data", "words"),
    [
        ("float64", [3], [1.0, 2.0], "the data have the shape [2], but 'shape' says [3]"),
        ("float64", [], [1.0], "the data have the shape [1], but 'shape' says []"),
        ("float64", [2, 3], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "the data have the shape [3, 2]"),
        ("float64", [2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "the data have the shape [6]"),
        ("float64", [2, 0, 3], [[], [], []], "the data have the shape [3, 0]"),
        ("float64", [2, 2], [[1.0, 2.0], [3.0]], "the rows of the data have unequal lengths"),
        ("float64", [2], [[1.0], 2.0], "the rows of the data have unequal lengths"),
        ("float64", [2], [1.0, True], "the dtype is float64, but the data hold a JSON true or false"),
        ("float64", [1], [10**400], "too large for float64"),
        ("float64", [1], [None], "the dtype is float64, but the data hold a JSON null"),
        ("bool", [2], [True, 1], "the dtype is bool, but the data hold a JSON integer"),
        ("bool", [2], [True, "nan"], "the dtype is bool, but the data hold a JSON string"),
        ("int64", [2], [1, 0.5], "the dtype is int64, but the data hold a JSON fraction"),
        ("int64", [1], [2**63], "too large for int64"),
        ("int8", [1], [128], "the data hold a number that int8 does not have"),
        ("int8", [1], [0.5], "the dtype is int8, but the data hold a JSON fraction"),
        ("float8_e4m3fn", [1], [17.0], "the data hold a number that float8_e4m3fn does not have"),
        ("float8_e4m3fn", [1], ["inf"], "the data hold a number that float8_e4m3fn does not have"),
        ("float32", [1], [0.1], "the data hold a number that float32 does not have"),
    ],
)
def test_data_that_do_not_fit_are_refused_in_words(dtype, shape, data, words) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        tensor_from_json({"dtype": dtype, "shape": shape, "data": data})
