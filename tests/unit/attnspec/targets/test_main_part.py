"""Whole files as people have them: the part that they are about is found beside functions that only serve it."""

import textwrap

import pytest

import attnspec
from attnspec.base.errors import TargetError
from attnspec.targets.loading import load

SOFTMAX = """
import numpy as np

def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""
ATTENTION = """
def attention(Q, K, V):
    return softmax(Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])) @ V
"""
HEADS = """
def multi_head_attention(X, W_q, W_k, W_v, W_o, n_heads):
    width = X.shape[1] // n_heads
    heads = []
    for head in range(n_heads):
        part = slice(head * width, (head + 1) * width)
        Q, K, V = X @ W_q[:, part], X @ W_k[:, part], X @ W_v[:, part]
        heads.append(softmax(Q @ K.T / np.sqrt(width)) @ V)
    return np.concatenate(heads, axis=1) @ W_o
"""
HEAD = """
class Head:
    def __init__(self, d_model, d_k):
        self.W_q, self.W_k, self.W_v = (np.ones((d_model, d_k)) for _ in range(3))

    def forward(self, X):
        Q, K, V = X @ self.W_q, X @ self.W_k, X @ self.W_v
        return softmax(Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[-1])) @ V
"""


@pytest.fixture
def file(tmp_path):
    def written(*parts):
        path = tmp_path / "homework.py"
        path.write_text("\n".join(textwrap.dedent(part) for part in parts), "utf-8")
        return str(path)

    return written


DEMO = """
def test_it():
    assert softmax(np.ones(2)).sum() == 1
"""
OTHER_SOFTMAX = SOFTMAX.replace("def softmax", "def normalized")
BOTH_OF_HEADS = ("multi_head_attention", "single_head_attention")


@pytest.mark.parametrize(
    ("parts", "operations"),
    [
        ((SOFTMAX, ATTENTION), ("scaled_dot_product_attention", "softmax")),
        ((SOFTMAX, ATTENTION, DEMO), ("scaled_dot_product_attention", "softmax")),
        ((SOFTMAX, HEADS), ("multi_head_attention",)),
        ((SOFTMAX, HEADS, DEMO), ("multi_head_attention",)),
        ((SOFTMAX, HEAD), BOTH_OF_HEADS),
        ((OTHER_SOFTMAX, HEAD.replace("softmax", "normalized")), BOTH_OF_HEADS),
        ((OTHER_SOFTMAX, HEAD.replace("softmax", "normalized"), HEAD.replace("Head", "Other")), None),
    ],
)
def test_the_part_that_a_file_is_about_is_graded(file, parts, operations):
    path = file(*parts)
    if operations is None:
        with pytest.raises(TargetError, match=r"defines Head, Other\. Say which one is meant: .*:Head"):
            load(path)
        return
    assert sorted(load(path).declaration.operations) == list(operations)


@pytest.mark.parametrize(
    "parts",
    [
        (SOFTMAX, DEMO),
        # Nothing in it calls the operation: it is no part of it.
        (SOFTMAX, ATTENTION.replace("softmax(", "np.exp(")),
        # Two parts: which one is meant is nobody's guess.
        (SOFTMAX, ATTENTION, ATTENTION.replace("attention", "another")),
        (SOFTMAX, ATTENTION, 'dtypes = ("float64",)'),
    ],
)
def test_a_file_of_operations_stays_one(file, parts):
    assert load(file(*parts)).declaration.operations == ("softmax",)


def test_a_mistake_in_the_main_part_is_seen_though_its_helper_is_right(file):
    report = attnspec.validate(file(SOFTMAX, ATTENTION.replace("np.sqrt(Q.shape[-1])", "Q.shape[-1]")))
    wrong = {result.case.operation for result in report.wrong}
    assert wrong == {"scaled_dot_product_attention"}
    assert report.summary.counts["pass"] > 80


CALLER = """
def scaled_dot_product_attention(query, key, value):
    return shares(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])) @ value
"""
WITH_SUMS = """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True), e.sum(axis=-1)

def shares(scores):
    weights, _ = softmax(scores)
    return weights
"""
BY_NAME = """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return {"weights": e / e.sum(axis=-1, keepdims=True), "sums": e.sum(axis=-1)}

def shares(scores):
    return softmax(scores)["weights"]
"""
IN_PLACE = """
import numpy as np

def softmax(x):
    np.exp(x - x.max(axis=-1, keepdims=True), out=x)
    x /= x.sum(axis=-1, keepdims=True)

def shares(scores):
    softmax(scores)
    return scores
"""


@pytest.mark.parametrize(
    ("step", "said"),
    [(WITH_SUMS, "returns 2 outputs"), (BY_NAME, "returns 2 outputs"), (IN_PLACE, "returns nothing")],
)
def test_a_step_of_another_operation_is_no_operation(file, step, said):
    path = file(step, CALLER)
    declaration = load(path).declaration
    assert declaration.operations == ("scaled_dot_product_attention",)
    assert declaration.unfit == {
        "softmax": f"softmax {said} and is called by scaled_dot_product_attention, so it was taken for a step of it; "
        f"{path}:softmax grades it as the operation."
    }
    assert load(f"{path}:softmax").declaration.operations == ("softmax",)


@pytest.mark.parametrize(
    "step",
    [
        # A mistake in its numbers.
        SOFTMAX.replace("e / e", "2 * e / e") + "\nshares = softmax\n",
        # Nobody calls it, though a library has a function of its name.
        WITH_SUMS.replace("weights, _ = softmax(scores)", "weights = np.linalg.softmax(scores)"),
        # It returns one array where it is called as the operation is.
        WITH_SUMS.replace("(x):", "(x, sums=False):").replace(
            "    return e /", "    if not sums:\n        return e\n    return e /"
        ),
    ],
)
def test_an_operation_that_another_calls_is_graded(file, step):
    implementation = load(file(step, CALLER))
    assert implementation.declaration.operations == ("softmax", "scaled_dot_product_attention")
    assert not implementation.declaration.unfit


def test_a_mistake_in_an_operation_that_another_calls_is_seen(file):
    path = file(SOFTMAX.replace("e / e", "2 * e / e"), CALLER.replace("shares", "softmax"))
    report = attnspec.validate(path, select="pairs/softmax_00*")
    assert report.wrong
