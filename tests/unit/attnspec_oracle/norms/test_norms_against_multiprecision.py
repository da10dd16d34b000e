"""Norms against a plain evaluation of their formulas with 60 decimal digits, bit for bit."""

from __future__ import annotations

import multiprecision
import norms_multiprecision
import numpy as np
import pytest

from attnspec_oracle import evaluate


def draw(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def assert_identical(operation, inputs, attributes):
    wanted = multiprecision.evaluation(operation, inputs, attributes)
    assert type(wanted).__module__ == norms_multiprecision.__name__
    for output, array in evaluate(operation, inputs, attributes).items():
        for index in np.ndindex(array.shape):
            assert array[index] == multiprecision.correctly_rounded(wanted, output, index), (output, index)


def pair(heads=3, key_heads=2, *, all_heads=False, pairs=None):
    lengths = (heads * 5, key_heads * 5) if all_heads else (5, 5)
    given = {
        "query": draw(2, heads, 3, 5, seed=1),
        "key": draw(2, key_heads, 3, 5, seed=2),
        "query_weight": draw(lengths[0], seed=3),
        "key_weight": draw(lengths[1], seed=4),
    }
    if pairs:
        given |= {"cos": draw(2, 3, pairs, seed=5), "sin": draw(2, 3, pairs, seed=6)}
    return given


@pytest.mark.parametrize("attributes", [{}, {"weight_offset": "one"}], ids=str)
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 0.0])
def test_rms_norm(attributes, epsilon) -> None:
    inputs = {"x": draw(2, 3, 7, seed=7), "weight": draw(7, seed=8)}
    assert_identical("rms_norm", inputs, {"epsilon": epsilon, **attributes})


def test_a_root_that_is_a_fraction() -> None:
    inputs = {"x": np.array([[1.0, 7.0], [0.0, 0.0], [3.0, -3.0]]), "weight": np.array([1.0 + 2.0**-52, 0.1])}
    assert_identical("rms_norm", inputs, {"epsilon": 0.25})
    exact = evaluate("rms_norm", {"x": inputs["x"][:1], "weight": np.ones(2)}, {"epsilon": 0.0})["output"]
    assert exact.tolist() == [[0.2, 1.4]]


@pytest.mark.parametrize("all_heads", [False, True])
@pytest.mark.parametrize("rotation", [{}, {"pairing": "half"}, {"pairing": "interleaved"}], ids=str)
@pytest.mark.parametrize("offset", ["zero", "one"])
def test_qk_norm(all_heads, rotation, offset) -> None:
    inputs = pair(all_heads=all_heads, pairs=2 if rotation else None)
    over = "all_heads" if all_heads else "head"
    attributes = {"epsilon": 1e-5, "normalized_over": over, "weight_offset": offset, **rotation}
    assert_identical("qk_norm", inputs, attributes)


def test_numbers_that_are_not_finite_stay_in_their_token() -> None:
    x = np.ones((3, 4))
    x[0, 1], x[1, 2] = np.nan, -np.inf
    output = evaluate("rms_norm", {"x": x, "weight": np.ones(4)}, {"epsilon": 0.0})["output"]
    assert np.isnan(output[0]).all()
    assert np.isnan(output[1]).tolist() == [False, False, True, False]
    assert output[1, [0, 1, 3]].tolist() == [0.0, 0.0, 0.0]
    assert output[2].tolist() == [1.0] * 4


def test_elements_that_are_not_wanted_are_left_out() -> None:
    inputs = {"x": draw(2, 3, seed=9), "weight": draw(3, seed=10)}
    inputs["x"][0, 0] = np.inf
    chosen = evaluate("rms_norm", inputs, {"epsilon": 1.0}, positions={"output": [1, 4]})["output"].ravel()
    every = evaluate("rms_norm", inputs, {"epsilon": 1.0})["output"].ravel()
    assert np.flatnonzero(np.isfinite(chosen)).tolist() == [1, 4]
    assert chosen[[1, 4]].tolist() == every[[1, 4]].tolist()


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="'two'"):
        evaluate("rms_norm", {"x": np.ones((1, 2)), "weight": np.ones(2)}, {"epsilon": 0.0, "weight_offset": "two"})
    with pytest.raises(ValueError, match="10 weights"):
        evaluate("qk_norm", {**pair(), "query_weight": np.ones(10)}, {"epsilon": 0.0})
