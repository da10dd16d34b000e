"""Masks, positions, softcap, sinks and ALiBi in random combinations, against 60 digits, bit for bit."""

from __future__ import annotations

import multiprecision
import numpy as np
import pytest

from attnspec_oracle import evaluate

OUTPUTS = ["output", "weights", "logsumexp", "scores", "logits", "present_key", "present_value"]


def grid(generator, *shape):
    """Numbers of few bits, among which equal dot products occur."""
    return generator.integers(-24, 25, shape) / 8.0


def full(generator, *shape):
    """Numbers that use all 53 bits."""
    return generator.standard_normal(shape)


def drawn(seed: int):
    """Inputs and attributes; each feature is in about half of the draws."""
    generator = np.random.default_rng(seed)
    numbers = [grid, full][seed % 2]

    def heads_or_tails() -> bool:
        return bool(generator.random() < 0.5)

    batch, shared, queries, keys, past = 2, 2, int(generator.integers(1, 5)), int(generator.integers(1, 6)), 0
    heads, width, value_width = shared * int(generator.integers(1, 3)), int(generator.integers(1, 5)), 2
    inputs = {
        "query": numbers(generator, batch, heads, queries, width),
        "key": numbers(generator, batch, shared, keys, width),
        "value": numbers(generator, batch, shared, keys, value_width),
    }
    attributes = {}
    if seed % 3 == 0:
        past = 2
        inputs["past_key"] = numbers(generator, batch, shared, past, width)
        inputs["past_value"] = numbers(generator, batch, shared, past, value_width)
    elif seed % 3 == 1:
        inputs["key_lengths"] = generator.integers(0, keys + 1, batch)
        if heads_or_tails():
            inputs["query_lengths"] = generator.integers(0, queries + 1, batch)
    if heads_or_tails():
        shape = [(queries, keys + past), (heads, 1, keys + past), (batch, 1, queries, keys + past)][seed % 3]
        drawn_mask = generator.random(shape)
        inputs["mask"] = drawn_mask < 0.6
        if heads_or_tails():
            inputs["mask"] = np.where(drawn_mask < 0.8, numbers(generator, *shape), -np.inf)
    if heads_or_tails():
        inputs["sinks"] = numbers(generator, heads)
    if heads_or_tails():
        inputs["alibi_slopes"] = abs(numbers(generator, heads))
    if heads_or_tails():
        attributes["is_causal"] = True
    if heads_or_tails():
        attributes["causal_alignment"] = "bottom_right"
    if heads_or_tails():
        attributes["scale"] = [0.0, -0.5, 0.3, 2.0, 40.0][seed % 5]
    if heads_or_tails():
        attributes["softcap"] = [0.0, 0.75, 20.0, None, 3.1][seed % 5]
    if heads_or_tails():
        attributes["window"] = [[1, 0], [None, 1], [2, None], [0, 0], (1, 2)][seed % 5]
    return inputs, attributes


def differing(got, inputs, attributes):
    evaluation = multiprecision.evaluation("scaled_dot_product_attention", inputs, attributes)
    for output, array in got.items():
        for index in np.ndindex(array.shape):
            wanted = multiprecision.correctly_rounded(evaluation, output, index)
            if wanted is not None and not np.array_equal(array[index], wanted, equal_nan=True):
                yield output, index, array[index], wanted


@pytest.mark.parametrize("seed", range(40))
def test_random_combinations(seed: int) -> None:
    inputs, attributes = drawn(seed)
    got = evaluate("scaled_dot_product_attention", inputs, attributes)
    assert list(got) == OUTPUTS
    assert all(array.dtype == np.float64 for array in got.values())
    assert not list(differing(got, inputs, attributes))


def test_every_feature_occurs_with_every_other() -> None:
    draws = [drawn(seed) for seed in range(40)]
    occurring = [
        {*inputs, *(name for name, value in attributes.items() if value not in (None, 0.0, False))} - set(OUTPUTS)
        for inputs, attributes in draws
    ]
    features = sorted(set().union(*occurring) - {"query", "key", "value"})
    assert len(features) == 12
    lengths = {"key_lengths", "query_lengths"}
    for first in features:
        for second in features:
            if not ({first, second} & lengths and {first[:4], second[:4]} & {"past"}):
                assert any({first, second} <= names for names in occurring), (first, second)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["query", "key", "value", "sinks", "mask"])
@pytest.mark.parametrize("softcap", [None, 2.0])
def test_what_is_not_finite_takes_its_course(number, name, softcap) -> None:
    generator = np.random.default_rng(4)
    inputs = {
        "query": full(generator, 1, 2, 3, 2),
        "key": full(generator, 1, 1, 4, 2),
        "value": full(generator, 1, 1, 4, 2),
        "sinks": full(generator, 2),
        "mask": np.where(generator.random((3, 4)) < 0.7, grid(generator, 3, 4), -np.inf),
    }
    inputs[name][(0,) * inputs[name].ndim] = number
    attributes = {"softcap": softcap, "window": [1, 1]}
    got = evaluate("scaled_dot_product_attention", inputs, attributes)
    assert not list(differing(got, inputs, attributes))
