"""What the oracle says when it cannot answer."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from attnspec_reference.oracle import evaluate

ONE = np.ones((1, 1, 2, 2))


def test_a_missing_flint_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(ImportError, match=r"python-flint.*attnspec\[regenerate\]"):
        evaluate("softmax", {"x": np.zeros(2)}, {})


def test_importing_the_oracle_does_not_import_flint() -> None:
    code = "import attnspec_reference.oracle, sys; sys.exit('flint' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def attention(**changes):
    inputs = {"query": ONE, "key": ONE, "value": ONE}
    attributes = {name: changes.pop(name) for name in list(changes) if name not in (*inputs, "mask")}
    return evaluate("scaled_dot_product_attention", inputs | changes, attributes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate("glorot_normal", {}, {"fan_in": 2, "fan_out": 2, "seed": 0}), "random numbers"),
        (lambda: evaluate("sofmax", {}, {}), "'sofmax' is no operation of the oracle; it knows softmax"),
        (lambda: attention(key=np.ones((1, 1, 2, 3))), "same width"),
        (lambda: attention(key=np.ones((2, 1, 2, 2))), "same batch"),
        (lambda: attention(value=np.ones((1, 1, 3, 2))), "same heads and length"),
        (lambda: attention(query=np.ones((1, 2, 2))), "4 axes"),
        (lambda: attention(key=np.ones((1, 2, 2, 2)), value=np.ones((1, 2, 2, 2))), "cannot share"),
        (lambda: attention(mask=np.ones((2, 3))), r"mask of shape \(2, 3\)"),
        (lambda: attention(mask=np.ones((2, 1))), r"mask of shape \(2, 1\)"),
        (lambda: attention(mask=np.ones(2)), r"mask of shape \(2,\)"),
        (lambda: attention(is_causal=True, causal_alignment="left"), "not 'left'"),
        (lambda: attention(scale=float("nan")), "finite number, not nan"),
        (lambda: evaluate("split_heads", {"x": np.ones((1, 2, 5))}, {"num_heads": 2}), "width 5"),
    ],
)
def test_a_contradiction_is_refused_with_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
