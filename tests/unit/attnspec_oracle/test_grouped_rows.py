"""The oracle that goes row by row, against the one that looks at every key by itself: no bit differs."""

import numpy as np
import pytest

import attnspec_oracle as oracle
from attnspec_authoring.recipes.generator import grid

OPERATION = "scaled_dot_product_attention"
SHAPES = {"query": (2, 4, 9, 4), "key": (2, 2, 23, 4), "value": (2, 2, 23, 3)}
LENGTHS = {"key_lengths": np.array([23, 14]), "query_lengths": np.array([9, 6])}
EXTRAS = {
    "plain": {},
    "causal": {"is_causal": True},
    "bottom_right": {"is_causal": True, "causal_alignment": "bottom_right"},
    "window": {"window": [3, 1], "causal_alignment": "bottom_right"},
    "rows_without_keys": {"window": [0, None], "key_lengths": np.array([4, 9])},
    "lengths": {**LENGTHS, "is_causal": True, "causal_alignment": "bottom_right"},
    "sinks": {"sinks": np.array([0.5, -1.0, 0.0, 0.25]), "query_lengths": LENGTHS["query_lengths"]},
    "sinks_without_keys": {"sinks": np.array([0.5, -1.0, 0.0, 0.25]), "key_lengths": np.array([0, 23])},
    "alibi": {"alibi_slopes": np.array([0.5, 0.25, 0.0, -0.125]), "causal_alignment": "bottom_right"},
    "softcap": {"softcap": 1.5, "scale": 0.3},
    "negative_scale": {"scale": -0.75, "alibi_slopes": np.array([0.5, 0.25, 0.0, -0.125])},
    "past": {"past_key": (2, 2, 5, 4), "past_value": (2, 2, 5, 3), "is_causal": True},
}


def made(name):
    """Numbers on a grid so coarse that many scores are equal, and what else the case has."""
    extras = EXTRAS[name]
    shapes = {**SHAPES, **{key: entry for key, entry in extras.items() if isinstance(entry, tuple)}}
    inputs = {tensor: np.round(grid(f"{name}/{tensor}", shape)) / 2 for tensor, shape in shapes.items()}
    inputs |= {key: entry for key, entry in extras.items() if isinstance(entry, np.ndarray)}
    return inputs, {key: entry for key, entry in extras.items() if not isinstance(entry, tuple | np.ndarray)}


def assembled(inputs, attributes, positions):
    """The wanted elements, row by row, in arrays that hold NaN elsewhere."""
    by_row = oracle.row_by_row(OPERATION, inputs, attributes)
    batch, heads, queries = inputs["query"].shape[:3]
    found = {
        "output": np.full((batch, heads, queries, inputs["value"].shape[3]), np.nan),
        "logsumexp": np.full((batch, heads, queries), np.nan),
    }
    for row, wanted in by_row.rows(positions).items():
        for output, values in by_row.evaluate(row, wanted).items():
            found[output].flat[list(wanted[output])] = values
    return found


@pytest.mark.parametrize("name", EXTRAS)
def test_no_bit_differs(name):
    inputs, attributes = made(name)
    expected = oracle.evaluate(OPERATION, inputs, attributes, outputs=("output", "logsumexp"))
    found = assembled(inputs, attributes, {output: range(array.size) for output, array in expected.items()})
    for output, array in expected.items():
        assert array.tobytes() == found[output].tobytes(), output


def test_keys_of_equal_score_are_grouped():
    inputs, attributes = made("plain")
    repeated = {name: np.repeat(inputs[name], 50, axis=2) for name in ("key", "value")}
    by_row = oracle.row_by_row(OPERATION, inputs | repeated, attributes)
    once = oracle.row_by_row(OPERATION, inputs, attributes)
    assert by_row.evaluate(5, {"output": [15, 17]}) == once.evaluate(5, {"output": [15, 17]})


def test_only_wanted_elements_are_given():
    inputs, attributes = made("causal")
    found = assembled(inputs, attributes, {"output": [7, 8, 200]})
    assert np.flatnonzero(~np.isnan(found["output"])).tolist() == [7, 8, 200]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mask": np.ones((9, 23), np.bool_)}, "reads no 'mask'"),
        ({"query": np.full(SHAPES["query"], np.nan)}, "finite numbers only"),
        ({"query": np.full(SHAPES["query"], 1 + 2.0**-51)}, "too fine to be grouped"),
        ({"value": np.full(SHAPES["value"], 1e9 + 2.0**-22)}, "too fine to be grouped"),
    ],
)
def test_what_cannot_be_grouped_is_refused(change, sentence):
    inputs, attributes = made("plain")
    with pytest.raises(ValueError, match=sentence):
        oracle.row_by_row(OPERATION, inputs | change, attributes).evaluate(0, {"output": [0]})


def test_other_operations_are_not_evaluated_row_by_row():
    with pytest.raises(ValueError, match="softmax is not evaluated row by row"):
        oracle.row_by_row("softmax", {"x": np.zeros(3)}, {})
