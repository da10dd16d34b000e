"""Tensors of the process protocol: every value survives both encodings, and reading is strict."""

import json

import ml_dtypes
import numpy as np
import pytest

from attnspec.contract.implementation import Request
from attnspec.process.messages import characters_of, run_message
from attnspec.process.tensors_on_the_wire import DTYPES, ENCODINGS, WireError, decode_tensor, encode_tensor

EXAMPLES = {
    "float64": np.array([[0.1, -0.0, 5e-324], [np.inf, -np.inf, np.nan]]),
    "float32": np.array([[0.1, 3.4e38, 1e-45], [np.inf, -np.inf, np.nan]], np.float32),
    "float16": np.array([[0.1, 65504.0, 6e-8], [np.inf, -np.inf, np.nan]], np.float16),
    "bfloat16": np.array([[0.1, 3e38, 1e-40], [np.inf, -np.inf, np.nan]], ml_dtypes.bfloat16),
    "bool": np.array([[True, False, True], [False, False, True]]),
    "int64": np.array([[0, -1, 2**63 - 1], [-(2**63), 7, 8]]),
    "int32": np.array([[0, -1, 2**31 - 1], [-(2**31), 7, 8]], np.int32),
    "float8_e4m3fn": np.array([[0.1, -0.0, 448.0], [2.0**-9, np.nan, -240.0]]).astype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.array([[0.1, 57344.0, 2.0**-16], [np.inf, -np.inf, np.nan]]).astype(ml_dtypes.float8_e5m2),
    "int8": np.array([[0, -1, 127], [-128, 7, 8]], np.int8),
}


def through_json(document: object) -> object:
    return json.loads(json.dumps(document, allow_nan=False))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_bit_survives(dtype, encoding):
    array = EXAMPLES[dtype]
    decoded = decode_tensor(through_json(encode_tensor(array, encoding)), encoding, "x")
    assert decoded.dtype == array.dtype
    assert decoded.shape == array.shape
    assert decoded.tobytes() == array.tobytes()
    assert decoded.flags.writeable


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 0), (1, 1, 2)])
def test_every_shape_survives(shape, dtype, encoding):
    array = np.ones(shape, EXAMPLES[dtype].dtype)
    decoded = decode_tensor(through_json(encode_tensor(array, encoding)), encoding, "x")
    assert decoded.shape == shape
    assert (decoded == array).all()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_view_is_written_in_the_order_of_its_axes(encoding):
    array = np.arange(6.0).reshape(2, 3).T[::-1]
    assert (decode_tensor(encode_tensor(array, encoding), encoding, "x") == array).all()


def test_bytes_are_little_endian_whatever_the_array():
    big_endian = np.array([1.0, 2.0], dtype=">f4")
    assert encode_tensor(big_endian, "base64")["data"] == "AACAPwAAAEA="


def test_a_list_may_hold_whole_numbers_and_more_digits_than_the_dtype_keeps():
    tensor = {"dtype": "float32", "shape": [3], "data": [1, 0.1, "inf"]}
    assert decode_tensor(tensor, "list", "x").tolist() == [1.0, float(np.float32(0.1)), np.inf]


def test_a_whole_number_may_be_written_with_a_point():
    for encoding, data in (("list", [0.5, 1]), ("base64", "AAAAAAAA4D8AAAAAAADwPw==")):
        tensor = {"dtype": "float64", "shape": [2.0], "data": data}
        assert decode_tensor(tensor, encoding, "x").tolist() == [0.5, 1.0]


LARGE = {"text": "x" * 1_000_000, "texts": [["x" * 1_000_000] * 3], "list": [[1] * 1_000_000], "number": 10**5000}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_quoted_is_cut(name):
    data = LARGE[name]
    with pytest.raises(WireError) as error:
        decode_tensor({"dtype": "int64", "shape": [1], "data": data}, "list", "x")
    assert len(str(error.value)) < 200


def test_a_dtype_that_the_protocol_lacks_is_not_sent():
    with pytest.raises(WireError, match="complex128 cannot be sent"):
        encode_tensor(np.ones(2, complex), "list")


BROKEN_LISTS = {
    "not an object": ([1.0], "must be an object"),
    "no data": ({"dtype": "float64", "shape": [1]}, 'no field "data"'),
    "a field too many": ({"dtype": "float64", "shape": [1], "data": [1], "order": "C"}, 'a field "order"'),
    "unknown dtype": ({"dtype": "float8", "shape": [1], "data": [1]}, 'not "float8"'),
    "dtype no string": ({"dtype": ["float64"], "shape": [1], "data": [1]}, "dtype must be one of"),
    "negative axis": ({"dtype": "float64", "shape": [-1], "data": []}, "shape must be"),
    "Boolean axis": ({"dtype": "float64", "shape": [True], "data": [1]}, "shape must be"),
    "fractional axis": ({"dtype": "float64", "shape": [1.5], "data": [1]}, "shape must be"),
    "axis of ten thousand digits": ({"dtype": "float64", "shape": [10**9999, 0], "data": []}, "too large"),
    "axis beyond every line": ({"dtype": "float64", "shape": [0, 2**26 + 1], "data": []}, "too large"),
    "axes beyond every line": ({"dtype": "float64", "shape": [2**14, 2**13, 0], "data": []}, "too large"),
    "too many axes": ({"dtype": "float64", "shape": [1] * 33, "data": [1]}, "shape must be"),
    "a row too short": ({"dtype": "float64", "shape": [2, 2], "data": [[1, 2], [3]]}, r"it has \[3\] where 2"),
    "flat": ({"dtype": "float64", "shape": [2, 2], "data": [1, 2, 3, 4]}, "nested as shape"),
    "nested too deep": ({"dtype": "float64", "shape": [1], "data": [[1]]}, r"not \[1\]"),
    "base64 for a list": ({"dtype": "float64", "shape": [1], "data": "AAAAAAAA8D8="}, "nested as shape"),
    "unknown word": ({"dtype": "float64", "shape": [1], "data": ["Infinity"]}, 'not "Infinity"'),
    "null": ({"dtype": "float64", "shape": [1], "data": [None]}, "not null"),
    "true as a float": ({"dtype": "float64", "shape": [1], "data": [True]}, "not true"),
    "beyond the dtype": ({"dtype": "float16", "shape": [2], "data": [1, 70000]}, "70000.0 does not fit float16"),
    "beyond every float": ({"dtype": "float64", "shape": [1], "data": [10**400]}, "does not fit float64"),
    "number as a bool": ({"dtype": "bool", "shape": [1], "data": [1]}, "true or false, not 1"),
    "float as an integer": ({"dtype": "int64", "shape": [1], "data": [1.0]}, "whole numbers, not 1.0"),
    "beyond int64": ({"dtype": "int64", "shape": [1], "data": [2**63]}, "does not fit int64"),
    "beyond int8": ({"dtype": "int8", "shape": [1], "data": [128]}, "does not fit int8"),
    "beyond int32": ({"dtype": "int32", "shape": [1], "data": [2**31]}, "does not fit int32"),
    "float as an int8": ({"dtype": "int8", "shape": [1], "data": [0.5]}, "whole numbers, not 0.5"),
    "beyond float8": ({"dtype": "float8_e4m3fn", "shape": [1], "data": [480]}, "480.0 does not fit float8_e4m3fn"),
    "an infinity that there is not": (
        {"dtype": "float8_e4m3fn", "shape": [1], "data": ["inf"]},
        "does not fit float8_e4m3fn",
    ),
}


@pytest.mark.parametrize("name", BROKEN_LISTS)
def test_a_broken_list_is_reported_in_one_sentence(name):
    tensor, message = BROKEN_LISTS[name]
    with pytest.raises(WireError, match=message) as error:
        decode_tensor(tensor, "list", "outputs.weights")
    assert str(error.value).startswith("outputs.weights")
    assert "\n" not in str(error.value)


BROKEN_BASE64 = {
    "a list": ("float64", [1], [1.0], "must be a base64 string"),
    "no base64": ("float64", [1], "AAAA!AAA8D8=", "no valid base64"),
    "not ASCII": ("float64", [1], "é", "no valid base64"),
    "too short": ("float64", [2], "AAAAAAAA8D8=", "has 16 bytes, but data has 8"),
    "absurd shape": ("float64", [2**62], "AAAAAAAA8D8=", "too large"),
    "large shape": ("float64", [2**26], "AAAAAAAA8D8=", "has 536870912 bytes, but data has 8"),
    "absurd empty shape": ("float64", [0, 2**62, 2**62], "", "too large"),
    "bool of 2": ("bool", [1], "Ag==", "byte 0 or 1, not 2"),
}


@pytest.mark.parametrize("name", BROKEN_BASE64)
def test_broken_base64_is_reported_in_one_sentence(name):
    dtype, shape, data, message = BROKEN_BASE64[name]
    with pytest.raises(WireError, match=message):
        decode_tensor({"dtype": dtype, "shape": shape, "data": data}, "base64", "outputs.weights")


def test_an_infinite_number_literal_is_not_taken_for_an_infinity():
    overflown = json.loads('{"dtype": "float64", "shape": [1], "data": [1e999]}')
    with pytest.raises(WireError, match="does not fit float64"):
        decode_tensor(overflown, "list", "x")


def test_the_length_of_a_request_is_reported_without_writing_it():
    arrays = {"x": np.ones((30, 40), np.float32), "w_query": np.ones((40, 3), np.float32)}
    request = Request("softmax", "float32", arrays, {})
    written = len(json.dumps(run_message(1, request, "base64")["inputs"]))
    assert 0.9 * written < characters_of(request, "base64") < written
    assert characters_of(request, "list") == 5 * (1200 + 120)
