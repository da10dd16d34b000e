"""Only requested elements are computed, and they are the same as in the whole."""

from __future__ import annotations

import numpy as np
import pytest

from attnspec_oracle import evaluate
from attnspec_oracle.attention.rows import SoftmaxRow

GENERATOR = np.random.default_rng(6)


def normal(*shape):
    return GENERATOR.standard_normal(shape)


MATRICES = {f"w_{name}": normal(4, 4) for name in ("query", "key", "value", "output")}
CASES = {
    "softmax": ({"x": normal(3, 4, 2)}, {"axis": 1}),
    "split_heads": ({"x": normal(2, 3, 4)}, {"num_heads": 2}),
    "combine_heads": ({"x": normal(2, 2, 3, 2)}, {}),
    "scaled_dot_product_attention": (
        {"query": normal(2, 4, 3, 2), "key": normal(2, 2, 5, 2), "value": normal(2, 2, 5, 3), "sinks": normal(4)},
        {"is_causal": True},
    ),
    "single_head_attention": ({"x": normal(3, 4), **MATRICES}, {}),
    "multi_head_attention": ({**{n: normal(2, 3, 4) for n in ("query", "key", "value")}, **MATRICES}, {"num_heads": 2}),
    "context_vector": ({"encoder_states": normal(4, 3), "decoder_state": normal(3)}, {}),
}


@pytest.mark.parametrize("operation", CASES)
def test_chosen_elements_are_those_of_the_whole(operation: str) -> None:
    inputs, attributes = CASES[operation]
    whole = evaluate(operation, inputs, attributes)
    positions = {name: range(1, array.size, 3) for name, array in whole.items()}
    got = evaluate(operation, inputs, attributes, positions=positions)
    assert list(got) == list(whole)
    for name, array in whole.items():
        wanted = np.full(array.size, np.nan)
        wanted[1::3] = array.ravel()[1::3]
        assert np.array_equal(got[name], wanted.reshape(array.shape), equal_nan=True)


@pytest.mark.parametrize("operation", CASES)
def test_chosen_outputs_are_those_of_the_whole(operation: str) -> None:
    inputs, attributes = CASES[operation]
    whole = evaluate(operation, inputs, attributes)
    for name, array in whole.items():
        got = evaluate(operation, inputs, attributes, outputs=[name])
        assert list(got) == [name]
        assert np.array_equal(got[name], array)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_softmax_finds_its_elements_along_every_axis(axis) -> None:
    x = normal(3, 4)
    whole = evaluate("softmax", {"x": x}, {"axis": axis})["output"]
    got = evaluate("softmax", {"x": x}, {"axis": axis}, positions={"output": [7, 2]})["output"]
    assert np.argwhere(~np.isnan(got.ravel())).ravel().tolist() == [2, 7]
    assert np.array_equal(got.ravel()[[2, 7]], whole.ravel()[[2, 7]])


def test_rows_that_nobody_wants_are_not_computed(monkeypatch) -> None:
    computed = []
    original = SoftmaxRow.exponentials

    def counted(row):
        computed.append(row)
        return original(row)

    monkeypatch.setattr(SoftmaxRow, "exponentials", counted)
    inputs, attributes = CASES["scaled_dot_product_attention"]
    positions = {"output": [4, 5], "logsumexp": [2], "weights": []}
    evaluate("scaled_dot_product_attention", inputs, attributes, positions=positions, outputs=list(positions))
    assert len({id(row) for row in computed}) == 2
