"""A plain class that holds its own weights, right and with the usual mistakes; no library is needed for it."""

import re
from pathlib import Path
from types import ModuleType

import pytest

import attnspec
from attnspec.reports.account import account_of

SOURCE = Path(__file__).parents[2] / "examples" / "layers" / "of_numpy.py"

RIGHT = ("", "")


def layer(*changes):
    """The layer of the example, with pieces of its source replaced."""
    source = SOURCE.read_text(encoding="utf-8")
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in source
        source = source.replace(old, new) if old else source
    module = ModuleType("changed_layer")
    exec(compile(source, SOURCE.name, "exec"), vars(module))
    return module.MultiHeadAttention


def validated(found, **options):
    return attnspec.validate(found, dtypes="float64", probes=False, **options)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_right_layer_is_graded_and_nothing_is_wrong():
    report = validated(layer(*RIGHT))
    assert report.conforms
    assert report.summary.counts["pass"] >= 40


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_was_found_is_said():
    said = validated(layer(*RIGHT), select="self_attention/*").declaration.guessed
    assert "W_O is w_output" in said
    assert "transposed" not in said
    assert "mask (B, H, Sq, Sk): it is added" in said


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_matrices_that_are_applied_transposed_are_filled_so():
    source = SOURCE.read_text(encoding="utf-8")
    for name in "QKVO":
        source = source.replace(f"@ self.W_{name}", f"@ self.W_{name}.T")
    module = ModuleType("changed_layer")
    exec(compile(source, SOURCE.name, "exec"), vars(module))
    report = validated(module.MultiHeadAttention)
    assert report.conforms
    assert "W_O is w_output, transposed" in report.declaration.guessed


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("old", "new", "clause"),
    [
        ("np.sqrt(self.d_head)", "np.sqrt(X.shape[-1])", "multi_head.scale.default"),
        (
            "x.reshape(batch, tokens, self.num_heads, self.d_head).transpose(0, 2, 1, 3)",
            "x.reshape(batch, self.num_heads, tokens, self.d_head)",
            "multi_head.split",
        ),
        (".transpose(0, 2, 1, 3).reshape(X.shape)", ".reshape(X.shape)", "multi_head.combine"),
        ("axis=-1", "axis=-2", "multi_head.softmax.keys"),
        ("scores = scores + mask", "pass", "multi_head.mask"),
        (" + self.b_O", "", "multi_head.biases"),
    ],
)
def test_a_mistake_is_not_read_as_another_way(old, new, clause):
    report = validated(layer(old, new))
    assert not report.conforms
    assert clause in {diagnosis.clause for diagnosis in report.diagnosis} | {
        suspect.clause for diagnosis in report.diagnosis for suspect in diagnosis.suspects
    }


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_tokens_that_are_added_are_subtracted_again():
    report = validated(layer("context @ self.W_O + self.b_O", "X + context @ self.W_O + self.b_O"))
    assert report.conforms
    assert report.summary.counts["pass"] >= 40
    assert "as it has no residual" in report.declaration.guessed


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_mistake_beside_tokens_that_are_added_is_seen():
    report = validated(layer("context @ self.W_O + self.b_O", "X + context[..., ::-1] @ self.W_O + self.b_O"))
    assert not report.conforms


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_bias_of_the_output_that_is_not_the_layers_is_added_outside():
    without_bias = layer("self.b_Q, self.b_K, self.b_V, self.b_O", "self.b_Q, self.b_K, self.b_V, _", " + self.b_O", "")
    report = validated(without_bias)
    assert report.conforms
    assert report.summary.counts["pass"] >= validated(layer(*RIGHT)).summary.counts["pass"]
    assert "its output has no bias, which is added outside" in report.declaration.guessed


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_how_much_is_graded_of_what_its_call_can_express_is_said():
    said = " ".join(account_of(validated(layer(*RIGHT))).unseen)
    graded, expressible = re.search(
        r"Graded: (\d+) of the (\d+) \(case, dtype\) that its call can express", said
    ).groups()
    assert 0.6 * int(expressible) <= int(graded) <= int(expressible)


COLUMNS = """
import numpy as np


def self_attention(X, omega_v, omega_q, omega_k, beta_v, beta_q, beta_k):
    V, Q, K = beta_v + omega_v @ X, beta_q + omega_q @ X, beta_k + omega_k @ X
    scores = K.T @ Q / np.sqrt(Q.shape[0])
    weights = np.exp(scores - scores.max(axis=0, keepdims=True))
    return V @ (weights / weights.sum(axis=0, keepdims=True))
"""


def function_of(source):
    module = ModuleType("weighted")
    exec(compile(source, "weighted.py", "exec"), vars(module))
    return module.self_attention


def test_a_function_of_tokens_in_columns_and_weights_is_read_as_a_layer():
    report = validated(function_of(COLUMNS))
    assert report.conforms
    assert report.summary.counts["pass"] >= 30
    assert "X is x, as (D, S)" in report.declaration.guessed


def test_a_mistake_of_such_a_function_is_seen():
    report = validated(function_of(COLUMNS.replace("axis=0", "axis=1")))
    assert "single_head.softmax.keys" in {diagnosis.clause for diagnosis in report.diagnosis}
