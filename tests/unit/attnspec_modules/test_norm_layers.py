"""Norms that hold their weight are graded as the operation: right ones pass, mistakes fail, and both are said."""

import importlib

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import TargetError
from attnspec.targets.loading import load
from attnspec_modules.attention.adapting import written_layer

PLAIN = """
import numpy as np

class RMSNorm:
    def __init__(self, dim, eps=1e-6):
        self.eps, self.weight = eps, np.ones(dim)

    def forward(self, x):
        wide = x.astype(np.promote_types(x.dtype, np.float32))
        normed = wide / np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + self.eps)
        return (normed * self.weight).astype(x.dtype)
"""
OF_TORCH = """
import torch
from torch import nn

class LlamaRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        wide = hidden_states.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * wide.to(hidden_states.dtype)
"""
WITH_ONE = ("* self.weight)", "* (1 + self.weight))")
SEEN = "norms/rms_*"


@pytest.fixture
def file(tmp_path):
    def written(text, *replaced):
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / f"of_{tmp_path.name}.py"
        path.write_text(text, "utf-8")
        return str(path)

    return written


@pytest.mark.parametrize(
    ("replaced", "offset"),
    [
        ((), "zero"),
        ((WITH_ONE,), "one"),
        # Its constructor takes no epsilon: the one that it keeps is set.
        ((("dim, eps=1e-6", "dim"), ("= eps, np", "= 1e-6, np")), "zero"),
    ],
)
def test_a_right_norm_passes_in_all_dtypes(file, replaced, offset):
    report = attnspec.validate(file(PLAIN, *replaced), select=SEEN)
    assert report.declaration.operations == ("rms_norm",)
    assert report.declaration.conventions["weight_offset"] == offset
    assert report.declaration.dtypes == ("float64", "float32", "float16", "bfloat16")
    assert not report.wrong
    assert report.summary.counts["pass"] > 20


@pytest.mark.parametrize(
    "mistake",
    [
        # The mean is subtracted; the sum in place of the mean; epsilon outside of the root; the weight is not used.
        ("wide = x.astype(np.promote_types(x.dtype, np.float32))", "wide = x - x.mean(axis=-1, keepdims=True)"),
        (".mean(axis=-1", ".sum(axis=-1"),
        (" + self.eps)", ") + self.eps"),
        (" * self.weight)", ")"),
        ("mean(axis=-1", "mean(axis=-2"),
    ],
)
def test_a_mistake_in_a_norm_fails(file, mistake):
    assert attnspec.validate(file(PLAIN, mistake), select=SEEN, dtypes="float64").wrong


def test_a_norm_of_torch_that_computes_in_float32_is_not_offered_in_float64(file):
    pytest.importorskip("torch")
    declaration = load(file(OF_TORCH)).declaration
    assert declaration.dtypes == ("float32", "float16", "bfloat16")
    assert "float64: it comes back in another dtype, or less precise" in declaration.guessed
    assert not attnspec.validate(file(OF_TORCH), select=SEEN).wrong
    assert attnspec.validate(file(OF_TORCH, (".mean(-1", ".sum(-1")), select=SEEN).wrong


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        (("np.ones(dim)\n", "np.ones(dim)\n        self.bias = np.zeros(dim)\n"), "one weight for each of them"),
        (("np.ones(dim)", "np.ones((dim, dim))"), "one weight for each of them"),
        (("dim, eps=1e-6", "dim, groups_of_something, eps=1e-6"), "groups_of_something, which says nothing"),
    ],
)
def test_what_is_no_such_norm_is_said(file, replaced, said):
    with pytest.raises(TargetError, match=said):
        load(file(PLAIN, replaced))


def test_the_adapter_that_is_begun_is_the_norm(file, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = importlib.import_module(file(PLAIN, WITH_ONE).rpartition("/")[2].removesuffix(".py")).RMSNorm
    text, said = written_layer(found, [])
    assert said[:2] == ("RMSNorm is rms_norm, read so:", "weight is weight, to which 1 is added")
    (tmp_path / "begun_norm.py").write_text(text, "utf-8")
    adapter = load(str(tmp_path / "begun_norm.py"))
    assert adapter.declaration.conventions == {"input_checks": "lenient", "weight_offset": "one"}
    x = np.ones((1, 1, 2))
    answer = adapter.run(
        attnspec.targets.Request("rms_norm", "float64", {"x": x, "weight": np.zeros(2)}, {"epsilon": 0})
    )
    assert np.array_equal(answer.values["output"], x)
