"""One value for a target: what public functions take for it, and which layers it is opened behind."""

import inspect

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import UsageError
from attnspec.contract.implementation import Declined, Outputs, Request
from attnspec.process.opening import open_target
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
