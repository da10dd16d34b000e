"""What implementations return: arrays, tuples, mappings, array-likes, and what is none of these."""

from collections import namedtuple
from collections.abc import Mapping
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from attnspec.contract.implementation import Malformed, Outputs, Request
from attnspec.targets import load

ONES = np.ones((1, 1, 1, 1))
REQUEST = Request(
    "scaled_dot_product_attention", "float64", {name: ONES.copy() for name in ("query", "key", "value")}, {}
)


def answer_to(returned):
    """The answer of an attention that returns this."""
    adapter = SimpleNamespace(scaled_dot_product_attention=lambda query, key, value: returned)
    return load(adapter).run(REQUEST)


class LikeATensor:
    """As a tensor of another library: it has __array__ and little else."""

    def __array__(self, dtype=None, copy=None):
        return np.full((1, 1, 1, 1), 7.0, dtype=np.float32)


class LazyMapping(Mapping):
    def __getitem__(self, name):
        return {"output": ONES, "weights": 2 * ONES}[name]

    def __iter__(self):
        return iter(("output", "weights"))

    def __len__(self):
        return 2


Pair = namedtuple("Pair", ["anything", "else_"])


@pytest.mark.parametrize(
    ("returned", "outputs"),
    [
        (ONES, {"output": 1}),
        ((ONES,), {"output": 1}),
        ((ONES, 2 * ONES), {"output": 1, "weights": 2}),
        ((ONES, 2 * ONES[0]), {"output": 1, "logsumexp": 2}),
        ((ONES, None, 3 * ONES), {"output": 1, "logsumexp": 3}),
        ((ONES, None, None, None, 5 * ONES), {"output": 1, "logits": 5}),
        (Pair(ONES, 2 * ONES), {"output": 1, "weights": 2}),
        ({"weights": 2 * ONES, "output": ONES}, {"output": 1, "weights": 2}),
        ({"output": ONES, "weights": None}, {"output": 1}),
        (LazyMapping(), {"output": 1, "weights": 2}),
        (LikeATensor(), {"output": 7}),
        ((ONES, LikeATensor()), {"output": 1, "weights": 7}),
        (2.5, {"output": 2.5}),
        (np.float32(2.5), {"output": 2.5}),
        (True, {"output": 1}),
    ],
)
def test_arrays_tuples_and_mappings_are_read_by_name(returned, outputs):
    answer = answer_to(returned)
    assert isinstance(answer, Outputs), answer
    assert {name: array.max() for name, array in answer.values.items()} == outputs


GRADIENTS = {name: ONES.copy() for name in ("grad_output", "query", "key", "value")}
BOOLEAN = np.ones((1, 1), dtype=np.bool_)


@pytest.mark.parametrize(
    ("given", "returned", "last"),
    [
        ({}, (ONES, ONES, ONES, 2 * ONES[0]), "delta"),
        ({}, (ONES, ONES, ONES, 2 * ONES), "grad_scores"),
        ({"sinks": ONES[0, 0, 0]}, (ONES, ONES, ONES, 2 * ONES), "grad_sinks"),
        ({"sinks": ONES[0, 0, 0]}, (ONES, ONES, ONES, None, 2 * ONES), "grad_sinks"),
        ({"sinks": ONES[0, 0, 0], "mask": BOOLEAN}, (ONES, ONES, ONES, 2 * ONES), "grad_sinks"),
        ({"mask": ONES[0, 0]}, (ONES, ONES, ONES, 2 * ONES), "grad_mask"),
        ({"sinks": ONES[0, 0, 0], "mask": ONES[0, 0]}, (ONES, ONES, ONES, ONES, 2 * ONES), "grad_sinks"),
    ],
)
def test_a_tuple_may_leave_out_what_the_inputs_do_not_make(given, returned, last):
    def backward(grad_output, query, key, value, mask=None, sinks=None):
        return returned

    adapter = SimpleNamespace(scaled_dot_product_attention_backward=backward)
    request = Request("scaled_dot_product_attention_backward", "float64", GRADIENTS | given, {})
    answer = load(adapter).run(request)
    assert isinstance(answer, Outputs), answer
    assert [name for name, array in answer.values.items() if array.max() == 2] == [last]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool", ml_dtypes.bfloat16])
def test_dtypes_are_left_for_the_verdict_to_judge(dtype):
    assert answer_to(ONES.astype(dtype)).values["output"].dtype == np.dtype(dtype)


def test_what_was_returned_is_copied():
    returned = ONES.copy()
    answer = answer_to(returned)
    returned[:] = 9
    assert answer.values["output"].max() == 1


def test_an_input_that_is_returned_is_a_copy_too():
    adapter = SimpleNamespace(scaled_dot_product_attention=lambda query, key, value: value)
    answer = load(adapter).run(REQUEST)
    assert not np.shares_memory(answer.values["output"], REQUEST.inputs["value"])


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("on another device")


class BrokenOnReading:
    @property
    def __array__(self):
        raise RuntimeError("on another device")


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "returned None; it should return output."),
        ([[[[1.0]]]], "returned a list as 'output'; return a NumPy array, a tuple of arrays in the order output, "),
        ((ONES, [1.0]), "returned a list as 'weights'"),
        ("1.0", "returned a str as 'output'"),
        (b"1.0", "returned a bytes as 'output'"),
        (ONES.astype(complex), "returned an array of complex128 as 'output'"),
        (np.array(["1"]), "returned an array of <U1 as 'output'"),
        (np.array([object()]), "returned an array of object as 'output'"),
        (SimpleNamespace(output=ONES), "returned a SimpleNamespace as 'output'"),
        (Broken(), "returned a Broken as 'output'"),
        (BrokenOnReading(), "returned a BrokenOnReading as 'output'"),
        ((array for array in (ONES,)), "returned a generator as 'output'"),
        ((ONES,) * 8, "returned 8 outputs; it has 7: output, weights, logsumexp, scores, logits, present_key, "),
        ({"output": ONES, "attention": ONES}, "returned the unknown output 'attention'; its outputs are output, "),
        ({0: ONES}, "returned the unknown output 0; its outputs are output, "),
        ({}, "returned no 'output', the output that is expected."),
        ((), "returned no 'output', the output that is expected."),
        ((None, ONES), "returned no 'output', the output that is expected."),
        ({"weights": ONES}, "returned no 'output', the output that is expected."),
    ],
)
def test_what_is_no_set_of_outputs_is_malformed_and_said_in_a_sentence(returned, sentence):
    answer = answer_to(returned)
    assert isinstance(answer, Malformed)
    assert answer.message.startswith("scaled_dot_product_attention returned ")
    assert sentence in answer.message
    assert "\n" not in answer.message
