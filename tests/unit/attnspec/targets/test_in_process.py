"""Python callables in this process: whatever goes wrong in one becomes an answer."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec_reference
from attnspec import Unsupported
from attnspec.contract.implementation import Declined, Malformed, Outputs, Raised, Request
from attnspec.targets import load

X = np.array([[1.0, 2.0], [3.0, 5.0]])


def answer_of(softmax, operation="softmax"):
    return load(SimpleNamespace(softmax=softmax)).run(Request(operation, "float64", {"x": X.copy()}, {}))


def raising(error):
    def softmax(x):
        raise error

    return softmax


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("wrong width"), "ValueError: wrong width"),
        (ValueError(), "ValueError"),
        (AssertionError("  no  "), "AssertionError: no"),
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit"),
        (BaseException("of one's own"), "BaseException: of one's own"),
        (RecursionError("deep"), "RecursionError: deep"),
        (MemoryError(), "MemoryError"),
        (UnprintableError(), "UnprintableError"),
    ],
)
def test_an_exception_is_an_answer_in_its_own_words(error, message):
    line = raising.__code__.co_firstlineno + 2
    assert answer_of(raising(error)) == Raised(f"{message} (line {line} of test_in_process.py)")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unsupported("only causal"), "only causal"),
        (Unsupported(), "not offered"),
        (Unsupported(3), "3"),
        (NotImplementedError("later"), "later"),
        (NotImplementedError(), "not implemented"),
    ],
)
def test_what_is_not_offered_is_declined(error, reason):
    assert answer_of(raising(error)) == Declined(reason)


def test_a_limit_of_recursion_that_is_lowered_is_raised_again():
    limit = sys.getrecursionlimit()

    def softmax(x):
        sys.setrecursionlimit(limit - 200)
        return x

    assert isinstance(answer_of(softmax), Outputs)
    assert sys.getrecursionlimit() == limit


def test_an_interruption_is_the_users():
    with pytest.raises(KeyboardInterrupt):
        answer_of(raising(KeyboardInterrupt()))


def test_an_operation_that_the_adapter_lacks_is_declined():
    assert answer_of(lambda x: x, "split_heads") == Declined("split_heads is not offered")


def test_what_is_not_callable_is_no_operation():
    adapter = load(SimpleNamespace(softmax=lambda x: x, split_heads=None, combine_heads=3))
    assert adapter.declaration.operations == ("softmax",)


def test_inputs_that_are_edited_in_place_are_named():
    def softmax(x):
        x -= x.max(axis=-1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=-1, keepdims=True)
        return x

    answer = answer_of(softmax)
    assert isinstance(answer, Outputs)
    assert answer.inputs_changed == ("x",)


@pytest.mark.parametrize("change", ["shape", "dtype", "strides"])
def test_inputs_that_are_laid_out_anew_in_place_are_named(change):
    """The numbers are where they were, and the array of the caller is another one."""

    def softmax(x, axis=-1):
        given = x.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            setattr(x, change, {"shape": (3, 2), "dtype": np.int64, "strides": (8, 16)}[change])
        return attnspec_reference.softmax(given, axis=axis)

    x = np.arange(6.0).reshape(2, 3)
    request = Request("softmax", "float64", {"x": x}, {})
    answer = load(SimpleNamespace(softmax=softmax)).run(request)
    assert answer.inputs_changed == ("x",)


def test_a_list_that_is_edited_in_place_is_named():
    def rotary_frequencies(short_factors, long_factors, **_):
        short_factors.reverse()
        return {"inverse_frequencies": np.array(long_factors), "attention_factor": np.array(1.0)}

    attributes = {"width": 4, "scaling": "longrope", "short_factors": [1.0, 2.0], "long_factors": [2.0, 4.0]}
    request = Request("rotary_frequencies", "float64", {}, attributes)
    answer = load(SimpleNamespace(rotary_frequencies=rotary_frequencies)).run(request)
    assert answer.inputs_changed == ("short_factors",)


def test_an_edit_that_is_undone_and_an_edit_of_zeros_sign_are_distinguished():
    def undone(x):
        x += 1
        x -= 1
        return x

    assert answer_of(undone).inputs_changed == ()

    def signed(x):
        x *= -0.0
        return x

    request = Request("softmax", "float64", {"x": np.zeros(2)}, {})
    assert load(SimpleNamespace(softmax=signed)).run(request).inputs_changed == ("x",)


def test_none_is_malformed():
    assert isinstance(answer_of(lambda x: None), Malformed)


def test_closing_twice_is_harmless():
    adapter = load(SimpleNamespace(softmax=lambda x: x))
    adapter.close()
    adapter.close()
