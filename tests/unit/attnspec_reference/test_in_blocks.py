"""The reference in blocks of queries gives what the reference gives."""

import numpy as np
import pytest

from attnspec_reference import in_blocks, scaled_dot_product_attention

SLOPES, SINKS = np.array([0.25, 0.5]), np.array([0.5, -1.0])
EXTRAS = {
    "plain": {},
    "causal": {"is_causal": True},
    "bottom_right": {"is_causal": True, "causal_alignment": "bottom_right", "alibi_slopes": SLOPES},
    "window": {"window": [30, 5], "causal_alignment": "bottom_right", "sinks": SINKS},
    "window_alibi": {"window": [8, None], "alibi_slopes": SLOPES, "is_causal": True},
    "lengths": {
        "key_lengths": np.array([70, 53]),
        "query_lengths": np.array([40, 21]),
        "is_causal": True,
        "causal_alignment": "bottom_right",
    },
    "past": {"past_key": np.ones((2, 1, 6, 4)), "past_value": np.ones((2, 1, 6, 3)), "is_causal": True},
}


@pytest.mark.parametrize("name", EXTRAS)
def test_blocks_give_what_the_whole_gives(name, monkeypatch):
    random = np.random.default_rng(3)
    arguments = {
        "query": random.normal(size=(2, 2, 40, 4)),
        "key": random.normal(size=(2, 1, 70, 4)),
        "value": random.normal(size=(2, 1, 70, 3)),
        **EXTRAS[name],
    }
    expected = scaled_dot_product_attention(**arguments)
    monkeypatch.setattr(in_blocks, "_LARGEST", 1000)
    got = in_blocks.scaled_dot_product_attention(**arguments)
    np.testing.assert_allclose(got["output"], expected.output, atol=1e-15)
    np.testing.assert_allclose(got["logsumexp"], expected.logsumexp, atol=1e-14)


def test_few_scores_are_the_reference_itself():
    arguments = {name: np.ones((1, 1, 2, 2)) for name in ("query", "key", "value")}
    assert in_blocks.scaled_dot_product_attention(**arguments).weights.shape == (1, 1, 2, 2)
