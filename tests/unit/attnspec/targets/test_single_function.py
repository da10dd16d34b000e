"""Functions, classes and instances that stand in no file, as in a notebook: what they are is guessed, and said."""

from functools import partial

import numpy as np
import pytest

import attnspec

CELL = """
import numpy as np

def attend(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v

def softmax(z, dim=-1):
    e = np.exp(z - z.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)

class Called:
    def __call__(self, Q, K, V):
        return attend(Q, K, V)

class Forward:
    def __init__(self, width=None):
        self.width = width
    def __call__(self, *arguments, **keywords):
        return self.forward(*arguments, **keywords)
    def forward(self, query, keys, values):
        return attend(query, keys, values)

class Demanding:
    def __init__(self, width):
        self.width = width
    def forward(self, q, k, v):
        return attend(q, k, v)
    def other(self, a, b):
        return a

class Plain:
    def call(self, q, k, v):
        return attend(q, k, v)
"""


class CalledLikeAFunction:
    """A compiled function, say, which shows the signature of another one."""

    def __init__(self, function):
        self.__wrapped__ = function

    def __call__(self, *arguments, **keywords):
        return self.__wrapped__(*arguments, **keywords)


@pytest.fixture(scope="module")
def cell():
    """What a cell of a notebook leaves behind: its code is in no file that could be read."""
    scope = {"__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), scope)
    return scope


@pytest.mark.parametrize("text", ["attend", "Called", "Called()", "Forward", "Forward()", "Plain", "Plain()"])
def test_what_attends_is_validated_as_it_is(cell, text):
    report = attnspec.validate(eval(text, cell), select="core/plain", probes=False)
    assert report.conforms
    assert report.declaration.operations == ("scaled_dot_product_attention",)
    assert "scaled_dot_product_attention" in report.declaration.guessed
    assert report.declaration.name == text.partition("(")[0]


@pytest.mark.parametrize("wrap", [partial, CalledLikeAFunction])
def test_so_is_whatever_is_called_like_a_function(cell, wrap):
    assert attnspec.validate(wrap(cell["attend"]), select="core/plain", probes=False).conforms


@pytest.mark.parametrize("text", ["Forward", "Forward()", "Plain", "Demanding(2)"])
def test_with_an_operation_that_is_said_the_same_method_is_called(cell, text):
    said = {"operation": "scaled_dot_product_attention", "select": "core/plain", "probes": False}
    assert attnspec.validate(eval(text, cell), **said).conforms


def test_another_operation_is_guessed_too(cell):
    report = attnspec.validate(cell["softmax"], select="documents/001/softmax_of_rows")
    assert report.conforms
    assert report.declaration.operations == ("softmax",)


def test_a_class_that_makes_its_operations_is_made_once():
    class Makes:
        made = 0

        def __init__(self):
            Makes.made += 1
            self.softmax = lambda x, axis=-1: np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)

        def __call__(self, q, k, v):
            raise AssertionError("it holds operations")

    assert attnspec.validate(Makes, select="documents/001/softmax_of_rows").conforms
    assert Makes.made == 1


@pytest.mark.parametrize("text", ["lambda a, b: a", "Demanding(8).other"])
def test_what_cannot_be_guessed_is_said_in_a_sentence_about_keywords(cell, text):
    with pytest.raises(attnspec.AttnspecError) as caught:
        attnspec.validate(eval(text, cell), select="core/plain")
    assert "operation=OPERATION" in str(caught.value)
    assert "--" not in str(caught.value)
