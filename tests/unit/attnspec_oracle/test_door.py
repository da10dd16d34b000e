"""What the oracle says when it cannot answer."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from attnspec_oracle import evaluate

ONE = np.ones((1, 1, 2, 2))


def test_a_missing_flint_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(ImportError, match=r"python-flint.*attnspec\[regenerate\]"):
        evaluate("softmax", {"x": np.zeros(2)}, {})


def test_importing_the_oracle_does_not_import_flint() -> None:
    code = "import attnspec_oracle, sys; sys.exit('flint' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def attention(**changes):
    inputs = {"query": ONE, "key": ONE, "value": ONE}
    attributes = {name: changes.pop(name) for name in list(changes) if not isinstance(changes[name], np.ndarray)}
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
        (lambda: attention(past_key=np.ones((1, 1, 2, 3)), past_value=ONE), "past_key and key may differ in length"),
        (lambda: attention(past_key=ONE), "same heads and length"),
        (lambda: attention(past_key=ONE, past_value=ONE, key_lengths=np.array([1])), "never combined"),
        (lambda: attention(past_key=ONE, past_value=ONE, mask=np.ones((2, 2))), r"mask of shape \(2, 2\)"),
        (lambda: attention(key_lengths=np.array([3])), r"from 0 to 2, one for each batch item, not \[3\]"),
        (lambda: attention(query_lengths=np.array([1, 1])), "query_lengths must hold 1 integers"),
        (lambda: attention(key_lengths=np.array([-1])), "key_lengths"),
        (lambda: attention(sinks=np.ones(2)), "sinks needs one number for each of the 1 query heads"),
        (lambda: attention(alibi_slopes=np.ones((1, 1))), "alibi_slopes needs one number"),
        (lambda: attention(softcap=-1.0), "softcap must be a positive number, or 0"),
        (lambda: attention(softcap=float("inf")), "not inf"),
        (lambda: attention(window=[-1, 0]), "side of the window must be 0 or more"),
        (lambda: evaluate("split_heads", {"x": np.ones((1, 2, 5))}, {"num_heads": 2}), "width 5"),
        (
            lambda: evaluate("softmax", {"x": ONE}, {}, outputs=["weights"]),
            "softmax has no output 'weights'; it has output",
        ),
        (lambda: evaluate("softmax", {"x": ONE}, {}, positions={"weights": [0]}), "no output 'weights'"),
        (lambda: evaluate("softmax", {"x": ONE}, {}, positions={"output": [4]}), r"\(1, 1, 2, 2\).* flat index 4"),
        (lambda: evaluate("softmax", {"x": ONE}, {}, positions={"output": [-1]}), "flat index -1"),
    ],
)
def test_a_contradiction_is_refused_with_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
