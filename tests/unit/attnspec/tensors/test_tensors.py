"""Functions that take and return the tensors of a library."""

import importlib.util

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import TargetError, UsageError
from attnspec.contract.dtypes import numpy_dtype
from attnspec.tensors import TENSORS, tensors_called

LIBRARIES = [
    pytest.param(name, marks=pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not here"))
    for name in TENSORS
    if name != "dlpack"
]

MODULES = {
    "numpy": """
import numpy as np
def attention(query, key, value, mask=None):
    assert isinstance(query, np.ndarray)
    scores = (query @ np.swapaxes(key, -1, -2)).astype("float64") / query.shape[-1] ** 0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True) @ value).astype(query.dtype)
""",
    "torch": """
import torch
def attention(query, key, value, mask=None):
    assert isinstance(query, torch.Tensor)
    scores = (query @ key.transpose(-1, -2)).double() / query.shape[-1] ** 0.5
    return (torch.softmax(scores, dim=-1) @ value.double()).to(query.dtype)
""",
    "jax": """
import jax
def attention(query, key, value, mask=None):
    assert isinstance(query, jax.Array)
    scores = (query @ key.swapaxes(-1, -2)).astype("float64") / query.shape[-1] ** 0.5
    return (jax.nn.softmax(scores, axis=-1) @ value.astype("float64")).astype(query.dtype)
""",
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("says", ["the file", "the caller"])
def test_a_function_gets_the_tensors_of_its_library(tmp_path, library, says):
    path = tmp_path / f"mine_{library}.py"
    declared = f'tensors = "{library}"\n' if says == "the file" else ""
    path.write_text(f'{declared}dtypes = ("float64", "float32", "bfloat16")\n{MODULES[library]}')
    report = attnspec.validate(
        f"{path}:attention",
        operation="scaled_dot_product_attention",
        tensors=None if says == "the file" else library,
        profile=("core", "memory"),
        select=("core/equal*", "core/one*", "memory/*gap*", "memory/*bro*"),
        without=("mask", "grouped_query", "empty_keys"),
        conventions={"input_checks": "lenient"},
    )
    wrong = [(result.case.id, result.dtype, result.verdict.message) for result in report.results if result.is_wrong]
    assert not wrong
    assert {result.dtype for result in report.results if result.establishes} == {"float64", "float32", "bfloat16"}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "bfloat16", "int64", "bool", "float8_e4m3fn", "float8_e5m2", "int8"]
)
def test_there_and_back_no_bit_is_lost(library, dtype):
    tensors = tensors_called(library, None, said_by="a test")
    kind = numpy_dtype(dtype) if "float" in dtype else np.dtype(dtype)
    array = np.arange(-6, 6).reshape(3, 4).astype(kind)
    with tensors.calling():
        tensor = tensors.given(array)
        back = tensors.returned(tensor)
    assert back.dtype == array.dtype
    assert np.array_equal(back, array)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not here")
def test_a_tensor_that_is_edited_is_seen(tmp_path):
    path = tmp_path / "editing.py"
    path.write_text(
        'tensors = "torch"\ndef softmax(x, axis=-1):\n    y = x.softmax(axis)\n    x.zero_()\n    return y\n'
    )
    report = attnspec.validate(str(path), select="pairs/softmax*", probes=False)
    assert "inputs_unchanged" in {result.verdict.check for result in report.results if result.is_wrong}


@pytest.mark.parametrize(("name", "hint"), [("torhc", "Did you mean torch"), ("tensorflow", "numpy, torch, jax")])
def test_a_library_that_is_not_there_is_quoted(name, hint):
    with pytest.raises(UsageError, match=hint) as caught:
        tensors_called(name, None, said_by="The command")
    assert name in str(caught.value)


def test_arrays_of_numpy_have_no_device():
    with pytest.raises(TargetError, match="cuda"):
        tensors_called("numpy", "cuda", said_by="The command")


BY_DLPACK = """
import numpy as np
tensors = "dlpack"
dtypes = ("float64", "bfloat16")

class Result:
    def __init__(self, array):
        self.array = array
    def __dlpack__(self, **wanted):
        return self.array.__dlpack__(**wanted)
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

def softmax(x, axis=-1):
    assert not hasattr(x, "__array__")
    taken = np.from_dlpack(x)
    powers = np.exp(taken - taken.max(axis=axis, keepdims=True))
    {also}
    return Result(powers / powers.sum(axis=axis, keepdims=True))
"""


def test_what_is_exchanged_by_dlpack_is_graded(tmp_path):
    path = tmp_path / "exchanging.py"
    path.write_text(BY_DLPACK.format(also="pass"))
    report = attnspec.validate(str(path), select="documents/001/softmax_of*", probes=False)
    assert {(result.dtype, result.status) for result in report.results} == {
        ("float64", "pass"),
        ("bfloat16", "unsupported"),
    }


def test_what_is_exchanged_and_edited_is_seen(tmp_path):
    path = tmp_path / "exchanging.py"
    path.write_text(BY_DLPACK.format(also="taken[...] = 0"))
    report = attnspec.validate(str(path), dtypes=("float64",), select="documents/001/softmax_of*", probes=False)
    assert {result.verdict.check for result in report.results if result.is_wrong} == {"inputs_unchanged"}


def test_what_is_exchanged_lives_on_the_cpu():
    with pytest.raises(TargetError, match="the target moves it"):
        tensors_called("dlpack", "cuda", said_by="The command")


def test_a_result_on_another_device_is_copied_from_there():
    class Elsewhere:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, dl_device=None, copy=None, **_):
            assert tuple(dl_device) == (1, 0)
            assert copy
            return np.arange(3.0).__dlpack__()

    back = tensors_called("dlpack", None, said_by="a test").returned(Elsewhere())
    assert back.tolist() == [0, 1, 2]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not here")
def test_a_device_has_finished_before_its_results_are_read(monkeypatch):
    import torch

    waited = []
    monkeypatch.setattr(torch.accelerator, "synchronize", waited.append)
    tensors = tensors_called("torch", None, said_by="a test")
    with pytest.raises(NotImplementedError):  # a meta tensor has no numbers to read
        tensors.returned(torch.empty(2, device="meta"))
    assert waited == [torch.device("meta")]
    assert tensors.returned(torch.ones(2)).tolist() == [1, 1]
    assert len(waited) == 1
