"""Right computations pass: in other orders, with other exponentials, fused, online, on inputs of many kinds.

Each kind of input holds some hundreds of numbers that no dtype holds exactly. What is expected comes from the certified
oracle, for the inputs as the dtype rounds them.
"""

import math

import numpy as np
import pytest

import attnspec_reference
from attnspec_controls import controls_of
from attnspec_controls.attention.attention_products import (
    scores_feature_by_feature,
    sum_key_by_key,
    values_key_by_key,
)
from attnspec_mistakes.patches import in_working_precision, patch

DTYPES = ("float64", "float32")


def project_in_order(x, weight, bias=None):
    product = np.zeros((*x.shape[:-1], weight.shape[-1]), dtype=x.dtype)
    for feature in range(weight.shape[0]):
        product = product + x[..., feature, np.newaxis] * weight[feature]
    return product if bias is None else product + bias


def values_in_order(weights, value, attendable=None):
    return values_key_by_key(weights, value, np.ones_like(weights, dtype=bool))


def softmax_in_order(x, axis=-1):
    exponentials = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return exponentials / np.take(np.cumsum(exponentials, axis=axis), [-1], axis=axis)


attention_in_order = patch(
    attnspec_reference.scaled_dot_product_attention,
    score_every_key=scores_feature_by_feature,
    sum_over_keys=sum_key_by_key,
    weigh_values=values_key_by_key,
)


def fused_kernel(tile):
    """Attention as a fused kernel has it: one pass over tiles, powers of two, a reciprocal at the end."""

    def attend(*, query, key, value, mask=None, is_causal=False, scale=None):
        number = query.dtype.type
        shared = query.shape[1] // key.shape[1]
        key, value = np.repeat(key, shared, axis=1), np.repeat(value, shared, axis=1)
        scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        logits = scores_feature_by_feature(query, np.asarray(key)) * number(scale * math.log2(math.e))
        if mask is not None and mask.dtype != bool:
            logits = logits + mask * number(math.log2(math.e))
        elif mask is not None:
            logits = np.where(mask, logits, number(-np.inf))
        if is_causal:
            logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, number(-np.inf))
        largest = np.full((*logits.shape[:-1], 1), -np.inf, dtype=logits.dtype)
        total = np.zeros_like(largest)
        output = np.zeros((*logits.shape[:-1], value.shape[-1]), dtype=logits.dtype)
        for start in range(0, logits.shape[-1], tile):
            part = logits[..., start : start + tile]
            larger = np.maximum(largest, np.max(part, axis=-1, keepdims=True))
            shift = np.where(larger == -np.inf, number(0), larger)
            correction, powers = np.exp2(largest - shift), np.exp2(part - shift)
            total = total * correction + np.sum(powers, axis=-1, keepdims=True)
            output = output * correction + values_in_order(powers, value[..., start : start + tile, :])
            largest = larger
        reciprocal = np.where(total > 0, 1 / total, number(0))
        shift = np.where(largest == -np.inf, number(0), largest)
        return {
            "output": output * reciprocal,
            "weights": np.exp2(logits - shift) * reciprocal,
            "logsumexp": ((largest + np.log2(total)) * number(math.log(2)))[..., 0],
        }

    return in_working_precision(attend)


OWN_CONTROLS = {
    "scaled_dot_product_attention": (fused_kernel(1), fused_kernel(4)),
    "single_head_attention": (
        patch(
            attnspec_reference.single_head_attention,
            project=project_in_order,
            score_every_key=scores_feature_by_feature,
            weigh_values=values_in_order,
            softmax=softmax_in_order,
        ),
    ),
    "multi_head_attention": (
        patch(
            attnspec_reference.multi_head_attention,
            project=project_in_order,
            scaled_dot_product_attention=attention_in_order,
        ),
    ),
}


def right_computations(operation):
    yield "plain", getattr(attnspec_reference, operation)
    yield from ((f"own control {number}", function) for number, function in enumerate(OWN_CONTROLS.get(operation, ())))
    yield from ((control.id, control.function) for control in controls_of(operation))


def gaussian(seed):
    generator = np.random.default_rng(seed)
    return lambda *shape: generator.standard_normal(shape)


def positive(seed):
    generator = np.random.default_rng(seed)
    return lambda *shape: generator.uniform(0.25, 1, shape)


def attention(draw, batch=16, heads=2, queries=4, keys=6, width=8, value_width=8, *, spread=1.0, **more):
    return {
        "query": draw(batch, heads, queries, width) * spread,
        "key": draw(batch, heads, keys, width),
        "value": draw(batch, heads, keys, value_width),
        **more,
    }


def penalties(seed):
    """A mask of finite numbers, most of them far from 0, with some keys excluded."""
    generator = np.random.default_rng(seed)
    mask = generator.standard_normal((16, 2, 4, 6)) * np.where(generator.random((16, 2, 4, 6)) < 0.3, 1e4, 1.0)
    return np.where(generator.random(mask.shape) < 0.3, -np.inf, mask)


LONG = {"batch": 2, "heads": 1, "queries": 8, "keys": 128, "width": 64}

ATTENTION = {
    "gaussian": attention(gaussian(1)),
    "128 keys of width 64": attention(gaussian(2), **LONG),
    "128 positive keys of width 64": attention(positive(3), **LONG),
    "uniform over 100 positive values": attention(positive(4), 4, 1, 4, 100) | {"scale": 0.0},
    "uniform over 32 equal values": attention(gaussian(5), 1, 1, 1, 32)
    | {"value": np.full((1, 1, 32, 8), 0.7), "scale": 0.0},
    "large logits": attention(gaussian(6), spread=20),
    "very large logits": attention(gaussian(7), spread=1000),
    "values far from zero": attention(gaussian(8)) | {"value": 1000 + gaussian(9)(16, 2, 6, 8)},
    "queries and keys far from zero": attention(gaussian(10))
    | {"query": 5 + gaussian(10)(16, 2, 4, 8), "key": 30 + gaussian(11)(16, 2, 6, 8)},
    "width 1": attention(gaussian(12), 32, 2, 4, 3, 1, 1, spread=30),
    "one key": attention(gaussian(13), keys=1),
    "two keys": attention(gaussian(14), keys=2, spread=3),
    "causal": attention(gaussian(15), queries=6, is_causal=True),
    "selected keys, rows without any": attention(
        gaussian(16), mask=np.random.default_rng(17).random((16, 2, 4, 6)) < 0.5
    ),
    "penalties": attention(gaussian(18), mask=penalties(19)),
    "negative scale": attention(gaussian(20), scale=-0.7),
    "grouped heads": attention(gaussian(21)) | {"query": gaussian(22)(16, 4, 4, 8)},
}


def single_head(draw, tokens, width, *, output=True, **more):
    names = ("query", "key", "value", "output")[: 4 if output else 3]
    matrices = {f"w_{name}": draw(width, width) / math.sqrt(width) for name in names}
    return {"x": draw(tokens, width), **matrices, **more}


SINGLE_HEAD = {
    "gaussian": single_head(gaussian(31), 12, 8),
    "without output projection": single_head(gaussian(32), 12, 8, output=False),
    "width 64": single_head(gaussian(33), 12, 64),
    "positive, width 64": single_head(positive(34), 12, 64),
    "unscaled, width 64": single_head(gaussian(35), 12, 64, scale=8.0),
    "100 positive tokens": single_head(positive(36), 100, 8, scale=0.01),
    "width 1": single_head(gaussian(37), 40, 1),
    "one token": single_head(gaussian(38), 1, 64),
}


def multi_head(draw, width, heads, *, bias=1.0):
    names = ("query", "key", "value", "output")
    return {
        **{name: draw(2, tokens, width) for name, tokens in (("query", 6), ("key", 5), ("value", 5))},
        **{f"w_{name}": draw(width, width) / math.sqrt(width) for name in names},
        **{f"b_{name}": draw(width) * bias for name in names},
        "num_heads": heads,
    }


MULTI_HEAD = {
    "gaussian": multi_head(gaussian(41), 8, 2),
    "heads of width 1": multi_head(gaussian(42), 4, 4),
    "width 64": multi_head(gaussian(43), 64, 8),
    "positive, width 64": multi_head(positive(44), 64, 4),
    "large biases": multi_head(gaussian(45), 64, 8, bias=100.0),
}


def context_vector(draw, states, width, **more):
    return {"encoder_states": draw(states, width), "decoder_state": draw(width), **more}


CONTEXT_VECTOR = {
    "gaussian": context_vector(gaussian(51), 40, 8),
    "100 positive states of width 64": context_vector(positive(52), 100, 64),
    "unscaled, width 64": context_vector(gaussian(53), 8, 64, scale=1.0),
    "width 1": context_vector(gaussian(54), 20, 1),
    "one state": context_vector(gaussian(55), 1, 64),
}

SOFTMAX = {
    "gaussian": {"x": gaussian(61)(100, 6)},
    "large": {"x": gaussian(62)(100, 6) * 100},
    "far from zero": {"x": gaussian(63)(100, 6) + 1000},
    "100 nearly equal": {"x": gaussian(64)(20, 100) * 0.01},
    "two": {"x": gaussian(65)(200, 2) * 3},
    "one": {"x": gaussian(66)(20, 1)},
    "axis 0": {"x": gaussian(67)(6, 100), "axis": 0},
    "whole": {"x": gaussian(68)(20, 6), "axis": None},
}

KINDS = {
    "scaled_dot_product_attention": ATTENTION,
    "single_head_attention": SINGLE_HEAD,
    "multi_head_attention": MULTI_HEAD,
    "context_vector": CONTEXT_VECTOR,
    "softmax": SOFTMAX,
}


def split(arguments):
    inputs = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    return inputs, {name: value for name, value in arguments.items() if name not in inputs}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("operation", "kind"), [(operation, kind) for operation, kinds in KINDS.items() for kind in kinds]
)
def test_right_computations_stay_within_the_tolerance(operation, kind, dtype, graded):
    case = graded(operation, *split(KINDS[operation][kind]), dtype)
    for name, function in right_computations(operation):
        verdict = case.verdict_on(function)
        assert verdict.status == "pass", f"{name}: {verdict.message}"
        assert verdict.graded > 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("grade", ["unfused", "fused"])
@pytest.mark.parametrize(
    "kind",
    ["gaussian", "128 positive keys of width 64", "values far from zero", "width 1", "selected keys, rows without any"],
)
def test_half_precision_that_computes_in_float32_is_right_in_both_grades(kind, grade, dtype, graded):
    case = graded("scaled_dot_product_attention", *split(ATTENTION[kind]), dtype, fused=grade == "fused")
    for name, function in right_computations("scaled_dot_product_attention"):
        verdict = case.verdict_on(function)
        assert verdict.status == "pass", f"{name}: {verdict.message}"


@pytest.mark.parametrize("kind", ["gaussian", "width 64", "positive, width 64"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_may_store_what_it_projects(kind, dtype, graded):
    def projected_and_stored(*, x, w_output, **matrices):
        query, key, value = (
            (x.astype(np.float32) @ matrices[f"w_{name}"].astype(np.float32)).astype(x.dtype).astype(np.float32)
            for name in ("query", "key", "value")
        )
        scores = (query @ key.T / np.float32(math.sqrt(key.shape[-1]))).astype(x.dtype).astype(np.float32)
        weights = softmax_in_order(scores).astype(x.dtype).astype(np.float32)
        mixed = (weights @ value).astype(x.dtype).astype(np.float32)
        return {"output": (mixed @ w_output.astype(np.float32)).astype(x.dtype), "weights": weights.astype(x.dtype)}

    case = graded("single_head_attention", *split(SINGLE_HEAD[kind]), dtype)
    verdict = case.verdict_on(projected_and_stored)
    assert verdict.status == "pass", verdict.message
