"""The oracle and the NumPy reference read the specification alike."""

from __future__ import annotations

import numpy as np
import pytest

import attnspec_reference
from attnspec_oracle import evaluate

OUTPUTS = {
    "softmax": ("output",),
    "causal_mask": ("output",),
    "split_heads": ("output",),
    "combine_heads": ("output",),
    "scaled_dot_product_attention": (
        "output",
        "weights",
        "logsumexp",
        "scores",
        "logits",
        "present_key",
        "present_value",
    ),
    "single_head_attention": ("output", "weights", "scores", "query", "key", "value"),
    "multi_head_attention": ("output", "weights"),
    "context_vector": ("context", "weights", "scores", "raw_scores"),
}


def normal(seed: int, *shape: int):
    return np.random.default_rng(seed).standard_normal(shape)


def heads(query_heads: int = 4, key_heads: int = 2, query_length: int = 3, key_length: int = 5):
    return {
        "query": normal(1, 2, query_heads, query_length, 8),
        "key": normal(2, 2, key_heads, key_length, 8),
        "value": normal(3, 2, key_heads, key_length, 3),
    }


def tokens(*, biased: bool):
    inputs = {name: normal(seed, 2, 4, 8) for seed, name in enumerate(("query", "key", "value"))}
    for seed, name in enumerate(("query", "key", "value", "output")):
        inputs[f"w_{name}"] = normal(10 + seed, 8, 8)
        if biased:
            inputs[f"b_{name}"] = normal(20 + seed, 8)
    return inputs


BOOLEAN = np.array([[True, False, True, True, False], [False] * 5, [True] * 5])
ADDITIVE = np.where(BOOLEAN, normal(30, 3, 5), -np.inf)
SINGLE = {"x": normal(40, 4, 6), "w_query": normal(41, 6, 3), "w_key": normal(42, 6, 3), "w_value": normal(43, 6, 2)}
PAST = {"past_key": normal(70, 2, 2, 2, 8), "past_value": normal(71, 2, 2, 2, 3)}
LENGTHS = {"key_lengths": np.array([5, 3]), "query_lengths": np.array([3, 3])}
SINKS, SLOPES = {"sinks": normal(72, 4)}, {"alibi_slopes": abs(normal(73, 4))}
BOTTOM_RIGHT = {"is_causal": True, "causal_alignment": "bottom_right"}

CASES = [
    ("softmax", {"x": normal(0, 2, 3, 4)}, {}),
    ("softmax", {"x": normal(0, 2, 3, 4)}, {"axis": 0}),
    ("softmax", {"x": normal(0, 2, 3, 4)}, {"axis": None}),
    ("causal_mask", {}, {"query_length": 3}),
    ("causal_mask", {}, {"query_length": 3, "key_length": 5, "offset": 2}),
    ("causal_mask", {}, {"query_length": 3, "key_length": 2, "offset": -1, "additive": True}),
    ("split_heads", {"x": normal(0, 2, 3, 8)}, {"num_heads": 4}),
    ("combine_heads", {"x": normal(0, 2, 4, 3, 2)}, {}),
    ("scaled_dot_product_attention", heads(), {}),
    ("scaled_dot_product_attention", heads() | {"mask": BOOLEAN}, {"scale": 0.3}),
    ("scaled_dot_product_attention", heads() | {"mask": ADDITIVE}, {}),
    ("scaled_dot_product_attention", heads(), {"is_causal": True}),
    ("scaled_dot_product_attention", heads(), BOTTOM_RIGHT),
    ("scaled_dot_product_attention", heads(query_length=5, key_length=3), BOTTOM_RIGHT),
    ("scaled_dot_product_attention", heads() | PAST, {"is_causal": True}),
    ("scaled_dot_product_attention", heads() | PAST | SLOPES, BOTTOM_RIGHT),
    ("scaled_dot_product_attention", heads() | LENGTHS, BOTTOM_RIGHT),
    ("scaled_dot_product_attention", heads() | {"key_lengths": np.array([0, 4])} | SINKS, {"window": [1, None]}),
    ("scaled_dot_product_attention", heads() | SINKS | {"mask": ADDITIVE}, {"softcap": 0.8, "window": [0, 2]}),
    ("scaled_dot_product_attention", heads() | SINKS | {"mask": BOOLEAN}, {"softcap": 0.0, "scale": -1.0}),
    ("single_head_attention", SINGLE, {}),
    ("single_head_attention", SINGLE | {"w_output": normal(44, 2, 6)}, {"scale": 1.0}),
    ("multi_head_attention", tokens(biased=False), {"num_heads": 2}),
    ("multi_head_attention", tokens(biased=True), {"num_heads": 4, "is_causal": True}),
    ("multi_head_attention", tokens(biased=True) | {"mask": normal(50, 2, 1, 4, 4) > 0}, {"num_heads": 4}),
    ("context_vector", {"encoder_states": normal(60, 4, 6), "decoder_state": normal(61, 6)}, {}),
    ("context_vector", {"encoder_states": normal(60, 4, 6), "decoder_state": normal(61, 6)}, {"scale": 1.0}),
]


@pytest.mark.parametrize(("operation", "inputs", "attributes"), CASES)
def test_the_reference_is_within_rounding_of_the_oracle(operation, inputs, attributes) -> None:
    certified = evaluate(operation, inputs, attributes)
    computed = getattr(attnspec_reference, operation)(**inputs, **attributes)
    arrays = computed if isinstance(computed, tuple) else (computed,)
    assert tuple(certified) == OUTPUTS[operation]
    for (name, golden), array in zip(certified.items(), arrays, strict=True):
        assert array.shape == golden.shape, name
        np.testing.assert_allclose(np.asarray(array, np.float64), golden, rtol=1e-12, atol=1e-12, err_msg=name)


def test_every_operation_is_compared() -> None:
    assert {operation for operation, *_ in CASES} == set(OUTPUTS)
