"""Inputs on which mistakes show and controls must not: small, asymmetric, different in every entry, head and token."""

import numpy as np
import pytest


def draw(*shape, seed=0):
    """Numbers with few digits, so that they are exact in float16, too."""
    return np.round(np.random.default_rng(seed).standard_normal(shape) * 16) / 16


def attention(query=(2, 4, 3, 3), key=(2, 2, 5, 3), value=(2, 2, 5, 2), **more):
    return {
        "query": draw(*query, seed=1),
        "key": draw(*key, seed=2),
        "value": draw(*value, seed=3),
        **more,
    }


SQUARE = {"query": (1, 1, 4, 3), "key": (1, 1, 4, 3), "value": (1, 1, 4, 2)}
HEADS_AS_BATCH = {"query": (2, 2, 3, 3), "key": (2, 2, 5, 3), "value": (2, 2, 5, 2)}


def multi_head(biases=True, **more):
    matrices = {f"w_{name}": draw(4, 4, seed=i) for i, name in enumerate(("query", "key", "value", "output"))}
    if biases:
        matrices |= {f"b_{name}": draw(4, seed=9 + i) for i, name in enumerate(("query", "key", "value", "output"))}
    return {
        "query": draw(2, 3, 4, seed=4),
        "key": draw(2, 3, 4, seed=5),
        "value": draw(2, 3, 4, seed=6),
        **matrices,
        "num_heads": 2,
        **more,
    }


def boolean(*shape, seed=7):
    """A Boolean mask that lets every query attend to the second key."""
    mask = draw(*shape, seed=seed) > 0
    mask[..., 1] = True
    return mask


def additive(*shape, seed=8):
    """Finite numbers, and minus infinity for the last key of the first query."""
    mask = draw(*shape, seed=seed)
    mask[..., 0, -1] = -np.inf
    return mask


WITHOUT_KEYS = np.array([[True] * 5, [False] * 5, [True, False] * 2 + [True]])

PROBES = {
    "softmax": (
        {"x": draw(3, 4)},
        {"x": draw(3, 3)},
        {"x": draw(3, 4), "axis": 0},
        {"x": draw(3, 4), "axis": None},
        {"x": np.array([[1000.0, 999.0], [0.0, 1.0]])},
    ),
    "causal_mask": (
        {"query_length": 4},
        {"query_length": 3, "key_length": 5, "offset": 2},
        {"query_length": 4, "additive": True},
    ),
    "split_heads": ({"x": draw(2, 3, 6), "num_heads": 2},),
    "combine_heads": ({"x": draw(2, 2, 3, 3)},),
    "scaled_dot_product_attention": (
        attention(),
        attention(**SQUARE),
        attention(scale=0.3125),
        attention(scale=0.0),
        attention(mask=boolean(2, 4, 3, 5)),
        attention(mask=additive(2, 4, 3, 5)),
        attention(**HEADS_AS_BATCH, mask=additive(2, 3, 5)),
        attention(mask=WITHOUT_KEYS),
        attention(is_causal=True),
        attention(is_causal=True, causal_alignment="bottom_right"),
        # One query whose scores overflow an exponential, one whose scores all lie far below.
        {
            "query": np.array([[[[1000.0], [-1000.0]]]]),
            "key": np.array([[[[20.0], [21.0]]]]),
            "value": np.array([[[[1.0], [2.0]]]]),
            "mask": np.array([[True, True], [False, True]]),
        },
    ),
    "single_head_attention": (
        {
            "x": draw(5, 4),
            "w_query": draw(4, 3, seed=1),
            "w_key": draw(4, 3, seed=2),
            "w_value": draw(4, 2, seed=3),
        },
        {
            "x": draw(3, 4) * 100,
            **{f"w_{name}": draw(4, 4, seed=i) for i, name in enumerate(("query", "key", "value", "output"))},
        },
        {
            "x": draw(3, 4),
            **{f"w_{name}": draw(4, 4, seed=i) for i, name in enumerate(("query", "key", "value", "output"))},
            "scale": 1.0,
        },
    ),
    "multi_head_attention": (
        multi_head(),
        multi_head(biases=False, scale=0.3125),
        multi_head(is_causal=True),
        multi_head(mask=boolean(2, 1, 3, 3)),
        multi_head(mask=additive(2, 1, 3, 3)),
        multi_head(mask=np.array([[True] * 3, [False] * 3, [True, False, True]])),
        multi_head(query=draw(2, 3, 4) * 1000),
    ),
    "context_vector": (
        {"encoder_states": draw(4, 4), "decoder_state": draw(4, seed=1)},
        {"encoder_states": draw(5, 4), "decoder_state": draw(4, seed=1), "scale": 1.0},
        {"encoder_states": draw(5, 4), "decoder_state": draw(4, seed=1)},
    ),
}


@pytest.fixture(scope="session")
def probes():
    """Operation name to arguments by keyword, float tensors in float64."""
    return PROBES
