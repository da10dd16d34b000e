"""The three formats: what is written reads back, bit by bit, and what is damaged is reported in a sentence."""

import json

import ml_dtypes
import numpy as np
import pytest

from attnspec.offline.tensor_files import (
    TensorFileError,
    read_json,
    read_npz,
    read_safetensors,
    tensors_to_json,
    write_npz,
    write_safetensors,
)

TENSORS = {
    "wide": np.array([[1.0, -0.0, np.inf], [np.nan, 5e-324, 0.1]]),
    "narrow": np.array([1.5, 65504.0], np.float16),
    "single": np.array([0.1], np.float32),
    "brain": np.array([0.1, -3.0], ml_dtypes.bfloat16),
    "truth": np.array([True, False]),
    "whole": np.array([-(2**62), 7]),
    "nothing": np.zeros((2, 0, 3)),
    "one": np.array(2.5),
}

# What the package safetensors 0.8.0 wrote.
BY_THE_PACKAGE = (
    b'\x10\x01\x00\x00\x00\x00\x00\x00{"__metadata__":{"made":"by safetensors"},"s":{"dtype":"F64","shape":[],'
    b'"data_offsets":[0,8]},"output":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},"h":{"dtype":"BF16","shape"'
    b':[1],"data_offsets":[24,26]},"b":{"dtype":"BOOL","shape":[3],"data_offsets":[26,29]}}     \x00\x00\x00\x00\x00'
    b"\x00\x08@\x00\x00\xc0?\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x80\x7f\xc0?\x01\x00\x01"
)


def same(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", TENSORS)
def test_safetensors_reads_back(name):
    read = read_safetensors(write_safetensors(TENSORS, {"case": "é"}))
    assert same(read[name], TENSORS[name])


def test_safetensors_lays_each_tensor_where_it_can_be_used():
    content = write_safetensors(TENSORS, {})
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert length % 8 == 0
    assert all(header[name]["data_offsets"][0] % array.itemsize == 0 for name, array in TENSORS.items())
    assert max(entry["data_offsets"][1] for entry in header.values()) == len(content) - 8 - length


def test_safetensors_reads_what_the_package_writes():
    read = read_safetensors(BY_THE_PACKAGE)
    assert read["output"].tolist() == [[1.5, -2.0], [0.0, np.inf]]
    assert read["b"].tolist() == [True, False, True]
    assert (read["s"].shape, read["s"].item()) == ((), 3.0)
    assert same(read["h"], np.array([1.5], ml_dtypes.bfloat16))


def test_the_package_reads_what_is_written():
    safetensors = pytest.importorskip("safetensors.numpy")
    read = safetensors.load(write_safetensors(TENSORS, {"case": "x"}))
    assert all(same(read[name], array) for name, array in TENSORS.items())


@pytest.mark.parametrize("name", TENSORS)
def test_npz_reads_back_with_the_bits_of_bfloat16(name):
    read, array = read_npz(write_npz(TENSORS))[name], TENSORS[name]
    assert same(read, array.view(np.uint16) if name == "brain" else array)


@pytest.mark.parametrize("name", TENSORS)
def test_json_reads_back(name):
    read = read_json(json.dumps(tensors_to_json(TENSORS), allow_nan=False).encode())[name]
    assert read.dtype == TENSORS[name].dtype
    np.testing.assert_array_equal(read, TENSORS[name])


def header(**entries):
    head = json.dumps(entries).encode()
    return len(head).to_bytes(8, "little") + head + bytes(8)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "too short"),
        (b"\xff" * 16, "its header should have"),
        (BY_THE_PACKAGE[:-1], "its offsets are 26 and 29, of 28 bytes"),
        (b"\x02" + bytes(7) + b"{[", "header cannot be read"),
        (b"\x02" + bytes(7) + b"[]", "header cannot be read"),
        (header(a={"dtype": "F64", "shape": [1]}), "header cannot be read"),
        (header(a={"dtype": "F4", "shape": [1], "data_offsets": [0, 8]}), "'a' has the dtype 'F4'"),
        (header(a={"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}), "has 16 bytes"),
        (header(a={"dtype": "F64", "shape": [1], "data_offsets": [-8, 0]}), "its offsets are -8 and 0"),
    ],
)
def test_a_damaged_safetensors_file_is_reported(content, sentence):
    with pytest.raises(TensorFileError, match=sentence):
        read_safetensors(content)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text", write_npz({"a": np.zeros(9)})[:60]])
def test_a_damaged_npz_file_is_reported(content):
    with pytest.raises(TensorFileError, match="it is no sound npz file"):
        read_npz(content)


def test_an_npz_file_runs_nothing(tmp_path):
    np.savez(tmp_path / "object.npz", output=np.array([{}, None], dtype=object))
    with pytest.raises(TensorFileError, match="it is no sound npz file"):
        read_npz((tmp_path / "object.npz").read_bytes())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "it is no JSON"),
        (b"\xff", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"output": "1, 2"}', "output must be an object with dtype, shape and data"),
        (b'{"output": {"dtype": "float64", "shape": [2], "data": [1]}}', "output"),
    ],
)
def test_a_damaged_json_file_is_reported(content, sentence):
    with pytest.raises(TensorFileError, match=sentence):
        read_json(content)
