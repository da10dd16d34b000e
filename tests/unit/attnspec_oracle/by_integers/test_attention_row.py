"""The two oracles agree in every bit, and this one says what it does not know."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from attnspec_oracle import evaluate
from attnspec_oracle.by_integers import attention_row

ULP = 2.0**-52
OUTPUTS = ("output", "weights", "logsumexp")


def drawn(seed: int):
    generator = np.random.default_rng(seed)
    batch, shared, heads, queries, keys, width = 2, 1, 2, 3, 4, int(generator.integers(1, 5))
    coarse = seed % 2 == 0

    def numbers(*shape):
        return generator.integers(-24, 25, shape) / 8.0 if coarse else generator.standard_normal(shape)

    inputs = {
        "query": numbers(batch, heads, queries, width),
        "key": numbers(batch, shared, keys, width),
        "value": numbers(batch, shared, keys, 2),
    }
    extra = {
        "sinks": lambda: {"sinks": numbers(heads)},
        "alibi": lambda: {"alibi_slopes": abs(numbers(heads))},
        "boolean": lambda: {"mask": generator.random((queries, keys)) < 0.6},
        "additive": lambda: {
            "mask": np.where(generator.random((heads, 1, keys)) < 0.8, numbers(heads, 1, keys), -np.inf)
        },
        "lengths": lambda: {"key_lengths": generator.integers(0, keys + 1, batch)},
        "padding": lambda: {"query_lengths": generator.integers(0, queries + 1, batch)},
    }
    for name in generator.choice(sorted(extra), size=2, replace=False).tolist():
        inputs |= extra[name]()
    attributes = {
        "is_causal": bool(generator.random() < 0.3),
        "causal_alignment": ["top_left", "bottom_right"][seed // 2 % 2],
        "scale": [None, 0.3, -2.0, 0.0, None][seed % 5],
        "softcap": [None, None, 1.5, 0.0][seed // 3 % 4],
        "window": [None, [1, 0], [None, 1]][seed % 3],
    }
    return inputs, attributes


@pytest.mark.parametrize("seed", range(24))
def test_agrees_with_the_ball_oracle_in_every_bit(seed: int) -> None:
    inputs, attributes = drawn(seed)
    certified = evaluate("scaled_dot_product_attention", inputs, attributes, outputs=OUTPUTS)
    for row in np.ndindex(certified["logsumexp"].shape):
        got = attention_row(inputs, attributes, row)
        for name in OUTPUTS:
            assert np.array_equal(np.asarray(getattr(got, name), np.float64), certified[name][row]), (row, name)


def one_row(query, key, value, **more):
    inputs = {"query": query, "key": key, "value": value}
    inputs = {name: np.asarray(array, dtype=np.float64)[None, None] for name, array in inputs.items()}
    arrays = {name: more.pop(name) for name in list(more) if name in ("mask", "sinks")}
    return attention_row(inputs | arrays, more, (0, 0, 0))


def test_equal_logits_give_exact_means() -> None:
    got = one_row([[0.0]], [[1.0], [2.0]], [[1.0], [1.0 + ULP]])
    assert got.output == [1.0]
    assert got.weights == [0.5, 0.5]
    assert got.logsumexp == math.log(2)


def test_a_sink_with_nothing_else_is_the_logsumexp() -> None:
    got = one_row([[1.0]], [[1.0]], [[5.0]], mask=np.array([[False]]), sinks=np.array([0.3]))
    assert got == ([0.0], [0.0], 0.3)


def test_weights_far_below_the_least_number_are_zero() -> None:
    got = one_row([[1.0]], [[0.0], [-700.0], [-1e9]], [[3.0], [1.0], [1.0]])
    assert got.output == [3.0]
    assert 0 < got.weights[1] < 1e-303
    assert got.weights[2] == 0.0


def test_a_softcap_saturates() -> None:
    got = one_row([[1.0]], [[1e6], [-1e6]], [[1.0], [-1.0]], softcap=2.0, scale=1.0)
    assert got.weights == [1 / (1 + math.exp(-4)), pytest.approx(math.exp(-4) / (1 + math.exp(-4)), rel=1e-15)]


def test_what_is_undecided_is_said() -> None:
    # Half and half but for a weight of exp(-9000), which no number of bits tried here can see.
    got = one_row([[1.0]], [[0.0], [0.0], [-9000.0]], [[1.0], [1.0 + ULP], [7.0]], scale=1.0)
    assert got.output == [None]
    assert got.weights == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_only_finite_numbers_are_taken(number: float) -> None:
    with pytest.raises(ValueError, match="finite numbers only"):
        one_row([[1.0]], [[number]], [[1.0]])
    assert one_row([[1.0]], [[number], [2.0]], [[number], [4.0]], mask=np.array([[False, True]])).output == [4.0]


def test_neither_flint_nor_the_other_oracle_is_imported() -> None:
    code = (
        "import attnspec_oracle.by_integers, sys; "
        "sys.exit(bool({'flint', 'attnspec_oracle.evaluation'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
