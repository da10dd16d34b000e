"""Functions that take their weights, and classes of one head, as people write them: right ones and usual mistakes."""

from types import ModuleType

import pytest

import attnspec
from attnspec.base.errors import TargetError

SOURCE = """
import numpy as np


def normalized(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def each_head(X, W_q, W_k, W_v, W_o, mask=None):
    Q, K, V = (np.einsum("btm,hmd->bhtd", X, W) for W in (W_q, W_k, W_v))
    scores = Q @ K.swapaxes(-1, -2) * Q.shape[-1] ** -0.5
    if mask is not None:
        scores = np.where(mask[:, None], -np.inf, scores)
    return np.einsum("bhtd,hdm->btm", normalized(scores) @ V, W_o)


def in_a_row(X, W_q, W_k, W_v, W_o, n_heads):
    Q, K, V = (np.stack(np.split(X @ W, n_heads, axis=-1)) for W in (W_q, W_k, W_v))
    heads = normalized(Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[-1])) @ V
    return np.concatenate([*heads], axis=-1) @ W_o


def looking_back(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    past = np.tril(np.ones((len(X), len(X)), bool))
    return normalized(np.where(past, Q @ K.T / np.sqrt(Q.shape[-1]), -np.inf)) @ V


def plain(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    return normalized(Q @ K.T / np.sqrt(Q.shape[-1])) @ V


def translated(X_dec, X_enc, W_q, W_k, W_v, enc_lengths):
    Q, K, V = X_dec @ W_q, X_enc @ W_k, X_enc @ W_v
    scores = Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[-1])
    hidden = np.arange(K.shape[1]) >= np.array(enc_lengths)[:, None, None]
    return normalized(np.where(hidden, -np.inf, scores)) @ V


class Head:
    def __init__(self, d_model, d_k):
        self.W_q, self.W_k, self.W_v = (np.ones((d_model, d_k)) for _ in range(3))

    def forward(self, X):
        Q, K, V = X @ self.W_q, X @ self.W_k, X @ self.W_v
        A = normalized(Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[-1]))
        return A @ V, A
"""


def found(name, old="", new=""):
    assert old in SOURCE
    module = ModuleType("weighted")
    exec(compile(SOURCE.replace(old, new) if old else SOURCE, "weighted.py", "exec"), vars(module))
    return getattr(module, name)


def validated(target, **options):
    return attnspec.validate(target, dtypes="float64", probes=False, **options)


RIGHT = {
    "each_head": (20, "mask (B, Sq, Sk): 1 hides"),
    "in_a_row": (7, "X is x, as (S, D)"),
    "looking_back": (5, "causality is built in"),
    "translated": (40, "lengths enc_lengths (B)"),
    "Head": (40, "several heads are called one after another"),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_read_and_nothing_is_wrong(name):
    fewest, said = RIGHT[name]
    report = validated(found(name))
    assert report.conforms, report.wrong
    assert report.summary.counts["pass"] >= fewest
    assert said in report.declaration.guessed


def test_one_head_of_one_sequence_and_nothing_more_is_an_operation_as_it_stands():
    declaration = validated(found("plain"), select="documents/*").declaration
    assert declaration.operations == ("single_head_attention",)
    assert "read so" not in declaration.guessed


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("each_head", "Q.shape[-1] ** -0.5", "X.shape[-1] ** -0.5"),
        ("in_a_row", "np.sqrt(Q.shape[-1])", "np.sqrt(X.shape[-1])"),
        ("looking_back", "np.tril(np.ones((len(X), len(X)), bool))", "np.tril(np.ones((len(X), len(X)), bool), 1)"),
        ("translated", "np.array(enc_lengths)[", "(np.array(enc_lengths) - 1)["),
        ("Head", "X @ self.W_v", "X @ self.W_k"),
    ],
)
def test_mistakes_in_them_are_seen(name, old, new):
    assert not validated(found(name, old, new)).conforms


def test_what_is_demanded_and_unknown_is_requested_by_name():
    with pytest.raises(TargetError, match="colour"):
        attnspec.load(found("in_a_row", "n_heads):", "n_heads, colour, weather, tint):"))
