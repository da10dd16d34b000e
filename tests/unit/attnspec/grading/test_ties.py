"""Right kernels stay within the tolerance where many weights are rounded alike, and where a sum loses many keys."""

import numpy as np
import pytest

from attnspec.bounds import precision_of, stacked
from attnspec.contract.dtypes import numpy_dtype, rounded_to

from .by_hand import tolerance

ATTENTION = "scaled_dot_product_attention"
KEYS = 256


def flash(scores, values, dtype, tile):
    """A fused kernel: exponentials are rounded to the dtype before they meet the values, tile by tile."""
    scores, values = scores.astype(np.float32), values.astype(np.float32)
    largest, total, output = np.float32(-np.inf), np.float32(0), np.float32(0)
    for start in range(0, scores.size, tile):
        part = scores[start : start + tile]
        larger = np.maximum(largest, part.max())
        correction, exponentials = np.exp(largest - larger), np.exp(part - larger)
        rounded = exponentials.astype(numpy_dtype(dtype)).astype(np.float32)
        total, largest = total * correction + exponentials.sum(), larger
        output = output * correction + rounded @ values[start : start + tile]
    return float((output / total).astype(numpy_dtype(dtype)))


def in_order(scores, values, dtype):
    """One key after the other, in the dtype itself."""
    exponentials = np.exp(scores.astype(dtype) - scores.astype(dtype).max())
    total = np.cumsum(exponentials, dtype=dtype)[-1]
    return float(np.cumsum(exponentials * values.astype(dtype), dtype=dtype)[-1] / total)


def inputs_of(scores, values):
    return {"query": np.ones((1, 1, 1, 1)), "key": scores[None, None, :, None], "value": values[None, None, :, None]}


def ratio(kernel, scores, values, dtype, *options, **precision):
    scores, values = rounded_to(scores, dtype), rounded_to(values, dtype)
    bound = tolerance(ATTENTION, inputs_of(scores, values), {"scale": 1.0}, precision_of(dtype, **precision))
    exponentials = np.exp(scores.astype(np.longdouble) - scores.max())
    expected = float(exponentials @ values.astype(np.longdouble) / exponentials.sum())
    return abs(kernel(scores, values, dtype, *options) - expected) / bound.of("output").error.item()


def two_groups(draw):
    first = np.arange(KEYS) % 2 == 0
    return np.where(first, *draw.uniform(-1, 1, 2)), np.where(first, 1.0, -1.0)


def within_a_step(draw):
    scores = draw.uniform(0, 0.002, KEYS)
    scores[0] = draw.uniform(0, 1)
    return scores, np.where(scores > 0.001, 1.0, -1.0)


def rising_maximum(draw):
    scores = np.zeros(KEYS)
    scores[[0, KEYS // 2]] = draw.uniform(0, 1), draw.uniform(1, 2)
    return scores, np.where(np.arange(KEYS) < KEYS // 2, 1.0, -1.0)


@pytest.mark.parametrize("rows", [two_groups, within_a_step, rising_maximum])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_that_are_rounded_alike_stay_within_the_fused_tolerance(rows, dtype):
    for seed in range(20):
        row = rows(np.random.default_rng(seed))
        for tile in (64, KEYS):
            assert ratio(flash, *row, dtype, tile, fused=True) < 0.8


@pytest.mark.parametrize(("dtype", "distance"), [("float32", 14.0), ("float64", 34.0)])
def test_keys_that_a_sum_loses_one_after_the_other_stay_within_the_tolerance(dtype, distance):
    for seed in range(20):
        draw = np.random.default_rng(seed)
        scores, values = np.full(KEYS, -draw.uniform(distance, distance + 5)), np.full(KEYS, draw.uniform(0.5, 4))
        scores[0], values[0] = 0.0, draw.uniform(0.5, 1)
        assert ratio(in_order, scores, values, dtype) < 0.9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_that_grow_and_fall_again_stay_within_the_tolerance(dtype):
    for seed in range(20):
        first = np.arange(KEYS) < KEYS // 2
        scores = np.where(first, *np.random.default_rng(seed).uniform(-1, 1, 2))
        assert ratio(in_order, scores, np.where(first, 1.0, -1.0), dtype) < 0.9


def test_rows_without_ties_are_graded_as_if_all_roundings_were_independent():
    """What makes a row of ties wider is its ties: next to them, one without any is graded as tightly as alone."""
    tied, untied = np.zeros(16), np.arange(16) / 8
    values = np.where(np.arange(16) % 2, 1.0, -1.0)
    query = np.array([[1.0, 0.0], [0.0, 1.0]])[None, None]
    key = np.stack([tied, untied], axis=-1)[None, None]
    both = {"query": query, "key": key, "value": values[None, None, :, None]}
    precision = precision_of("bfloat16", fused=True)
    errors = tolerance(ATTENTION, both, {"scale": 1.0}, precision).of("output").error[0, 0, :, 0]
    alone = tolerance(ATTENTION, both | {"query": query[:, :, 1:]}, {"scale": 1.0}, precision)
    assert errors[1] == pytest.approx(alone.of("output").error.item(), rel=1e-12)
    in_one_sign = tolerance(ATTENTION, inputs_of(tied, np.sort(values)), {"scale": 1.0}, precision).of("output").error
    assert in_one_sign.item() > 1.5 * errors[0]


def test_one_pass_serves_several_runs():
    draw = np.random.default_rng(0)
    inputs = inputs_of(*within_a_step(draw))
    grades = [("float64", False), ("float32", False), ("float16", True), ("bfloat16", False), ("bfloat16", True)]
    precisions = [precision_of(dtype, fused=fused) for dtype, fused in grades]
    together = tolerance(ATTENTION, inputs, {"scale": 1.0}, stacked(precisions))
    for position, precision in enumerate(precisions):
        alone = tolerance(ATTENTION, inputs, {"scale": 1.0}, precision)
        for name in ("output", "weights", "logsumexp"):
            np.testing.assert_allclose(together.of(name, position).error, alone.of(name).error, rtol=1e-12)
