"""Patches: the reference, but for one thing, and never silently the reference itself."""

import inspect

import ml_dtypes
import numpy as np
import pytest

from attnspec_mistakes.patches import (
    altered,
    by_name,
    defaulting,
    exchanging,
    ignoring,
    in_working_precision,
    named_output,
    patch,
)
from attnspec_reference import scaled_dot_product_attention as attention_function
from attnspec_reference import softmax
from attnspec_reference.attention.phases import scale_scores
from attnspec_reference.attention.scaled_dot_product_attention import divide_by_total
from attnspec_reference.precision import quietly


def doubled(exponentials, axis):
    return 2 * exponentials


def test_replaces_a_step_and_leaves_the_original_alone():
    before = softmax([0.0, 0.0])
    patched = patch(softmax, divide_by_sum=doubled)
    assert patched([0.0, 0.0]).tolist() == [2.0, 2.0]
    assert np.array_equal(softmax([0.0, 0.0]), before)


def test_keeps_name_description_signature_and_defaults():
    patched = patch(attention_function, scale_scores=doubled)
    assert patched.__name__ == "scaled_dot_product_attention"
    assert patched.__qualname__ == attention_function.__qualname__
    assert patched.__doc__ == attention_function.__doc__
    assert patched.__module__ == attention_function.__module__
    assert patched.__annotations__ == attention_function.__annotations__
    assert inspect.signature(patched) == inspect.signature(attention_function)


@pytest.mark.parametrize("name", ["no_such_step", "scale_scores", "x", "exponentials", "shape", "Any"])
def test_refuses_a_name_that_the_function_does_not_use(name):
    with pytest.raises(ValueError, match=f"softmax uses no global named '{name}'"):
        patch(softmax, **{name: doubled})


def test_departs_from_a_function_that_is_wrapped():
    class Ones:
        where = staticmethod(lambda condition, chosen, other: np.ones_like(other))

    wrapped = quietly(divide_by_total)
    assert hasattr(wrapped, "__wrapped__")
    assert patch(wrapped, np=Ones)(np.array([3.0]), np.array([6.0])).tolist() == [3.0]
    assert wrapped(np.array([3.0]), np.array([6.0])).tolist() == [0.5]


def test_patches_add_up():
    first = patch(softmax, divide_by_sum=doubled)
    both = patch(first, subtract=lambda x, amount: x * 0)
    assert both([3.0, 1.0]).tolist() == [2.0, 2.0]
    assert patch(both, largest=lambda x, axis: 0)([3.0, 1.0]).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "function",
    [
        altered(softmax, x=abs),
        ignoring(softmax, "axis"),
        exchanging(softmax, ("x", "axis")),
        defaulting(softmax, axis=lambda arguments: None),
        named_output(softmax),
        in_working_precision(softmax),
    ],
)
def test_refuses_to_lose_an_earlier_patch_of_the_arguments(function):
    with pytest.raises(ValueError, match="replace its steps first"):
        patch(function, divide_by_sum=doubled)


def test_overflow_passes_quietly():
    assert patch(softmax, subtract=lambda x, amount: np.exp(x))(np.array([800.0, 0.0])).tolist()[1] == 0


def test_altered_changes_what_is_given():
    absolute = altered(scale_scores, scale=abs)
    assert absolute(raw_scores=2.0, scale=-3.0) == 6.0
    assert altered(lambda **given: given, scale=abs)(scale=None) == {"scale": None}
    assert altered(lambda **given: given, scale=abs)() == {}


def test_ignoring_drops_what_is_given():
    assert ignoring(lambda **given: given, "mask")(mask=1, scale=2) == {"scale": 2}


def test_exchanging_passes_each_as_the_other():
    exchanged = exchanging(lambda **given: given, ("key", "value"))
    assert exchanged(key=1, value=2, query=3) == {"value": 1, "key": 2, "query": 3}


def test_defaulting_fills_only_what_is_missing():
    filled = defaulting(lambda **given: given, scale=lambda given: given["width"] + 1)
    assert filled(width=1) == filled(width=1, scale=None) == {"width": 1, "scale": 2}
    assert filled(width=1, scale=0.0) == {"width": 1, "scale": 0.0}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_working_precision_widens_computes_and_rounds_once(dtype):
    seen = {}

    def computation(**arguments):
        seen.update({name: getattr(value, "dtype", type(value)) for name, value in arguments.items()})
        return arguments["x"] / 3

    mask = np.array([True])
    outputs = in_working_precision(computation)(x=np.array([1.0], dtype=dtype), mask=mask, count=2, scale=0.5)
    wide = np.float64 if dtype == np.float64 else np.float32
    assert seen == {"x": wide, "mask": np.bool_, "count": int, "scale": float}
    assert outputs["output"].dtype == dtype
    assert outputs["output"][0] == (np.array([1.0], dtype=wide) / 3).astype(dtype)[0]


def test_outputs_have_names():
    array = np.zeros(1)
    assert by_name(array) == {"output": array}
    assert by_name({"context": array}) == {"context": array}
    attention = attention_function(*[np.zeros((1, 1, 1, 1))] * 3)
    assert list(by_name(attention)) == list(attention._fields)
    assert list(named_output(softmax)(x=array)) == ["output"]
