"""One value for a target: what public functions take for it, and which layers it is opened behind."""

import inspect

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import UsageError
from attnspec.contract.implementation import Declined, Outputs, Request
from attnspec.process.messages import read_started
from attnspec.process.opening import open_target
from attnspec.process.served_messages import started_message
from attnspec.targets.in_process import InProcessImplementation
from attnspec.targets.target import Target

PUBLIC = (attnspec.validate, attnspec.load, attnspec.judge)
ROWS = Request("softmax", "float64", {"x": np.zeros((2, 3))}, {})


class Adapter:
    def softmax(self, x, axis=-1):
        exponentials = np.exp(x)
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


class Closed:
    """An implementation that knows whether it is closed."""

    def __init__(self):
        self.is_open = True
        self.declaration = attnspec.load(Adapter).declaration

    def run(self, request):
        return Declined("nothing is offered")

    def close(self):
        self.is_open = False


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__name__)
def test_public_functions_show_their_keywords_and_refuse_others(function):
    shown = inspect.signature(function).parameters
    for keyword in ("renames", "device", "tensors", "layout"):
        assert shown[keyword].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"{keyword}: " in str(inspect.signature(function))
    for other in ("timeout", "isolate", "renamed"):
        assert other not in shown
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{other}'"):
            function("reference", **{other: None})


def test_a_target_that_needs_no_layer_has_none():
    assert isinstance(open_target(Target(Adapter)), InProcessImplementation)
    assert isinstance(open_target(Target(Adapter, without=("float_mask",))).run(ROWS), Outputs)


def test_layers_are_put_on_in_their_order_from_the_nearest_to_the_outermost():
    seen = []

    def layer(name):
        def put_on(implementation, target):
            seen.append((name, implementation.declaration.without, implementation.declaration.requested_in))
            return implementation

        return put_on

    target = Target(Adapter, layout="features_first", without=("float_mask",))
    open_target(target, nearest=(layer("nearest"),), outermost=(layer("outermost"),))
    assert seen == [("nearest", ("float_mask",), None), ("outermost", ("float_mask",), "features_first")]


@pytest.mark.parametrize("bad", [{"layout": "nowhere"}, {"without": ("nothing",)}], ids=lambda bad: next(iter(bad)))
def test_what_no_layer_can_do_closes_the_implementation(bad):
    implementation = Closed()
    with pytest.raises(UsageError):
        open_target(Target(implementation, **bad))
    assert not implementation.is_open


class SaysItsDtypes(Adapter):
    dtypes = ("float64",)


def test_a_requested_dtype_is_declared_where_the_file_says_none():
    opened = open_target(Target(Adapter), dtypes=("float32",))
    assert opened.declaration.dtypes == ("float32",)
    assert open_target(Target(SaysItsDtypes), dtypes=("float32",)).declaration.dtypes == ("float64",)
    assert open_target(Target(Adapter)).declaration.dtypes == ("float64",)


def test_a_bare_function_is_graded_in_the_dtype_that_is_requested():
    report = attnspec.validate(Adapter, dtypes="float32", profile=("documents", "layout"), probes=False)
    assert report.declaration.dtypes == ("float32",)
    assert sum(result.establishes for result in report.results if result.dtype == "float32") > 20


@pytest.mark.parametrize("adapter", [Adapter, SaysItsDtypes])
def test_a_program_says_of_its_dtypes_what_its_file_says(adapter):
    declaration = attnspec.load(adapter).declaration
    heard = read_started(started_message(declaration, "base64"), "mine").declaration
    assert (heard.dtypes, heard.states_dtypes) == (("float64",), adapter is SaysItsDtypes)
