"""Inputs on which mistakes show and controls must not: small, asymmetric, different in every entry, head and token."""

from collections import defaultdict

import backward_probes
import merge_probes
import numpy as np
import pytest
import rotary_probes

from attnspec_authoring.recipes import authored_cases


def draw(*shape, seed=0):
    """Numbers with few digits, so that they are exact in float16, too."""
    return np.round(np.random.default_rng(seed).standard_normal(shape) * 16) / 16


def attention(query=(2, 4, 3, 3), key=(2, 2, 5, 3), value=(2, 2, 5, 2), **more):
    return {"query": draw(*query, seed=1), "key": draw(*key, seed=2), "value": draw(*value, seed=3), **more}


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


SHARED = {"key": (2, 2, 5, 3), "value": (2, 2, 5, 2)}
TEN_KEYS = {name: (*shape[:2], 10, shape[3]) for name, shape in SHARED.items()}
PAST = {"past_key": draw(2, 2, 2, 3, seed=11), "past_value": draw(2, 2, 2, 2, seed=12)}
LENGTHS = {"key_lengths": np.array([3, 2]), "query_lengths": np.array([3, 1])}
SINKS = np.array([0.5, -1.0, 3.0, 1.5])
SLOPES = np.array([0.5, 0.25, 1.0, 0.375])
HIDES_THE_LAST = np.array([[True] * 4 + [False]] * 3)
WITH_NAN_LAST = {name: draw(*shape, seed=13) for name, shape in SHARED.items()}
for array in WITH_NAN_LAST.values():
    array[..., -1, :] = np.nan

WITHOUT_KEYS = np.array([[True] * 5, [False] * 5, [True, False] * 2 + [True]])

PROBES = {
    "softmax": (
        {"x": draw(3, 4)},
        {"x": draw(3, 3)},
        {"x": draw(3, 4), "axis": 0},
        {"x": draw(3, 4), "axis": None},
        {"x": np.array([[1000.0, 999.0], [0.0, 1.0]])},
        {"x": np.array([[-1000.0, -999.0], [0.0, 1.0]])},
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
        attention(window=[1, 0]),
        attention(window=[0, 2], is_causal=True, causal_alignment="bottom_right"),
        attention(window=[None, 1]),
        attention(window=[2, None], causal_alignment="bottom_right", mask=boolean(2, 4, 3, 5)),
        attention(softcap=0.75, mask=additive(2, 4, 3, 5), scale=0.3125),
        attention(softcap=0.0, scale=-0.5),
        attention(**PAST, is_causal=True, mask=additive(3, 7)),
        attention(**PAST, is_causal=True, window=[2, 1]),
        attention(**PAST, causal_alignment="bottom_right", is_causal=True),
        attention(query=(2, 4, 1, 3), is_causal=True),
        attention(query=(2, 4, 6, 3), is_causal=True, causal_alignment="bottom_right"),
        attention(**LENGTHS),
        attention(**LENGTHS, is_causal=True, causal_alignment="bottom_right"),
        attention(**LENGTHS, window=[1, 1], causal_alignment="bottom_right"),
        attention(sinks=SINKS, mask=WITHOUT_KEYS, scale=0.3125, softcap=2.0),
        attention(alibi_slopes=SLOPES),
        attention(alibi_slopes=SLOPES, causal_alignment="bottom_right", scale=0.3125),
        attention(**TEN_KEYS, mask=draw(2, 1, 3, 10) * 4),
        attention(**{name: (*shape[:2], 50, shape[3]) for name, shape in SHARED.items()}),
        attention(key=(2, 2, 0, 3), value=(2, 2, 0, 2)),
        attention(
            query=(2, 4, 1, 3),
            key=(2, 2, 260, 3),
            value=(2, 2, 260, 2),
            is_causal=True,
            causal_alignment="bottom_right",
        ),
        attention(mask=np.array([[False] * 4 + [True]] * 3)),
        {**attention(mask=HIDES_THE_LAST), "key": WITH_NAN_LAST["key"]},
        {**attention(mask=HIDES_THE_LAST), "value": WITH_NAN_LAST["value"]},
        {**attention(), "value": WITH_NAN_LAST["value"]},
        {**attention(), "query": draw(2, 4, 3, 3) * 1e9, "mask": HIDES_THE_LAST},
        # A score whose exponential overflows, and would not if 10 were taken from it.
        {
            "query": np.full((1, 1, 1, 1), 715.0),
            "key": np.array([[[[1.0], [0.0]]]]),
            "value": np.array([[[[1.0], [2.0]]]]),
            "scale": 1.0,
        },
        # One query whose scores overflow an exponential, one whose scores all lie far below.
        {
            "query": np.array([[[[1000.0], [-1000.0]]]]),
            "key": np.array([[[[20.0], [21.0]]]]),
            "value": np.array([[[[1.0], [2.0]]]]),
            "mask": np.array([[True, True], [False, True]]),
        },
    ),
    "single_head_attention": (
        {"x": draw(5, 4), "w_query": draw(4, 3, seed=1), "w_key": draw(4, 3, seed=2), "w_value": draw(4, 2, seed=3)},
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
        multi_head(mask=additive(2, 3, 3), is_causal=True),
    ),
    "glorot_normal": ({"fan_in": 48, "fan_out": 96, "seed": 3},),
    "context_vector": (
        {"encoder_states": draw(4, 4), "decoder_state": draw(4, seed=1)},
        {"encoder_states": draw(5, 4), "decoder_state": draw(4, seed=1), "scale": 1.0},
        {"encoder_states": draw(5, 4), "decoder_state": draw(4, seed=1)},
    ),
}


def is_beyond_half_precision(array):
    return array.dtype == np.float64 and bool((np.abs(array[np.isfinite(array)]) > np.finfo(np.float16).max).any())


@pytest.fixture(scope="session")
def probes():
    """Operation name to arguments by keyword, float tensors in float64: those written for it, else its golden cases.

    Cases whose numbers half precision cannot hold are none: probes are given in every dtype.
    """
    of_cases = defaultdict(list)
    for case in authored_cases():
        if case.rejects is None and not any(is_beyond_half_precision(array) for array in case.inputs.values()):
            of_cases[case.operation].append({**case.inputs, **case.attributes})
    return {
        **of_cases,
        **PROBES,
        "scaled_dot_product_attention_backward": backward_probes.PROBES,
        "merge_states": merge_probes.PROBES,
        **rotary_probes.PROBES,
    }
