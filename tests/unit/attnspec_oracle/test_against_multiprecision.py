"""Every operation against a plain evaluation of its formula with 60 decimal digits, bit for bit."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from attnspec_oracle import evaluate

DIGITS = 60


def grid(generator, *shape):
    """Numbers of few bits, among which equal dot products occur."""
    return generator.integers(-24, 25, shape) / 8.0


def full(generator, *shape):
    """Numbers that use all 53 bits."""
    return generator.standard_normal(shape)


def nearest(number) -> float:
    sign, mantissa, exponent, _ = mpmath.mpf(number)._mpf_
    return float((-1) ** sign * int(mantissa) * Fraction(2) ** int(exponent))


def rounded(array):
    return np.array([nearest(number) for number in np.ravel(array)]).reshape(np.shape(array))


def wide(array):
    result = np.empty(np.shape(array), dtype=object)
    result[...] = np.vectorize(lambda number: mpmath.mpf(float(number)), otypes=[object])(array)
    return result


def factor(scale, width):
    return 1 / mpmath.sqrt(width) if scale is None else mpmath.mpf(scale)


def softmax_of(logits):
    """Softmax and logarithm of the sum of one list of logits; None stands for an excluded key."""
    powers = [0 if logit is None else mpmath.exp(logit) for logit in logits]
    total = mpmath.fsum(powers)
    if total == 0:
        return [mpmath.mpf(0) for _ in powers], None
    return [power / total for power in powers], mpmath.log(total)


def attend(query, key, value, *, scale, allowed, addends):
    """One head: (Sq, E), (Sk, E), (Sk, Ev) to lists of rows of every output."""
    results = {name: [] for name in ("scores", "logits", "weights", "logsumexp", "output")}
    for i, row in enumerate(query):
        scores = [scale * mpmath.fsum(a * b for a, b in zip(row, other, strict=True)) for other in key]
        logits = [score + addends[i, j] if allowed[i, j] else None for j, score in enumerate(scores)]
        weights, logsumexp = softmax_of(logits)
        means = [mpmath.fsum(w * v for w, v in zip(weights, column, strict=True)) for column in value.T]
        for name, found in (("scores", scores), ("logits", logits), ("weights", weights)):
            results[name].append(found)
        results["logsumexp"].append(logsumexp)
        results["output"].append(means)
    return results


def with_infinities(rows):
    return np.array([[-np.inf if number is None else nearest(number) for number in row] for row in rows])


def assert_identical(got, expected):
    assert got.dtype == np.float64
    assert got.shape == expected.shape
    assert np.array_equal(got, expected), np.argwhere(got != expected)


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(DIGITS):
        yield


@pytest.mark.parametrize("numbers", [grid, full])
@pytest.mark.parametrize(
    ("attributes", "mask", "shapes"),
    [
        ({}, None, ((2, 2), (3, 4), (4, 4))),
        ({}, None, ((4, 2), (2, 5), (3, 2))),
        ({"scale": 0.3}, None, ((1, 1), (4, 4), (8, 5))),
        ({"scale": -1.5}, "bool", ((2, 1), (3, 5), (3, 3))),
        ({"scale": 0.0}, "float", ((1, 1), (2, 3), (3, 3))),
        ({"is_causal": True}, "float", ((2, 2), (4, 3), (8, 3))),
        ({"is_causal": True, "causal_alignment": "bottom_right"}, "-inf", ((3, 1), (3, 5), (9, 3))),
        ({"is_causal": True, "causal_alignment": "bottom_right"}, None, ((1, 1), (5, 3), (12, 3))),
        ({"scale": 300.0}, "float", ((1, 1), (3, 4), (4, 2))),
        ({"scale": 2000.0}, "-inf", ((1, 1), (3, 4), (3, 2))),
    ],
)
def test_scaled_dot_product_attention(numbers, attributes, mask, shapes) -> None:
    generator = np.random.default_rng(11)
    (query_heads, key_heads), (query_length, key_length), (width, value_width) = shapes
    query = numbers(generator, 2, query_heads, query_length, width)
    key = numbers(generator, 2, key_heads, key_length, width)
    value = numbers(generator, 2, key_heads, key_length, value_width)
    inputs = {"query": query, "key": key, "value": value}
    shape = (2, query_heads, query_length, key_length)
    allowed, addends = np.ones(shape, dtype=bool), np.zeros(shape)
    if mask == "bool":
        inputs["mask"] = generator.random((query_length, key_length)) < 0.6
        allowed = allowed & inputs["mask"]
    elif mask is not None:
        inputs["mask"] = numbers(generator, query_heads, 1, key_length)
        if mask == "-inf":
            inputs["mask"][:, :, 1] = -np.inf
        allowed = allowed & (inputs["mask"] != -np.inf)
        addends = addends + np.where(inputs["mask"] == -np.inf, 0, inputs["mask"])
    if attributes.get("is_causal"):
        offset = key_length - query_length if "causal_alignment" in attributes else 0
        allowed = allowed & (np.arange(key_length) <= np.arange(query_length)[:, None] + offset)

    got = evaluate("scaled_dot_product_attention", inputs, attributes)

    scale = factor(attributes.get("scale"), width)
    for item in range(2):
        for head in range(query_heads):
            shared = head // (query_heads // key_heads)
            expected = attend(
                wide(query[item, head]),
                wide(key[item, shared]),
                wide(value[item, shared]),
                scale=scale,
                allowed=allowed[item, head],
                addends=wide(addends[item, head]),
            )
            for name in ("output", "weights", "scores", "logits"):
                assert_identical(got[name][item, head], with_infinities(expected[name]))
            assert_identical(got["logsumexp"][item, head], with_infinities([expected["logsumexp"]])[0])


@pytest.mark.parametrize("numbers", [grid, full])
@pytest.mark.parametrize("axis", [-1, 0, 1, None])
def test_softmax(numbers, axis) -> None:
    x = numbers(np.random.default_rng(3), 3, 4, 2) * 5
    got = evaluate("softmax", {"x": x}, {"axis": axis})["output"]
    lines = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    expected = np.array([rounded(softmax_of(list(wide(line)))[0]) for line in lines])
    if axis is None:
        assert_identical(got, expected.reshape(x.shape))
    else:
        assert_identical(np.moveaxis(got, axis, -1).reshape(expected.shape), expected)


def test_softmax_takes_the_last_axis_by_default() -> None:
    x = full(np.random.default_rng(4), 2, 3)
    assert_identical(evaluate("softmax", {"x": x}, {})["output"], evaluate("softmax", {"x": x}, {"axis": 1})["output"])


@pytest.mark.parametrize("numbers", [grid, full])
@pytest.mark.parametrize("scale", [None, 1.0, 0.7])
def test_context_vector(numbers, scale) -> None:
    generator = np.random.default_rng(5)
    states, state = numbers(generator, 4, 6), numbers(generator, 6)
    attributes = {} if scale is None else {"scale": scale}
    got = evaluate("context_vector", {"encoder_states": states, "decoder_state": state}, attributes)
    raw = wide(states) @ wide(state)
    scores = raw * factor(scale, 6)
    weights, _ = softmax_of(list(scores))
    assert list(got) == ["context", "weights", "scores", "raw_scores"]
    assert_identical(got["raw_scores"], rounded(raw))
    assert_identical(got["scores"], rounded(scores))
    assert_identical(got["weights"], rounded(weights))
    assert_identical(got["context"], rounded(np.array(weights) @ wide(states)))


@pytest.mark.parametrize("numbers", [grid, full])
@pytest.mark.parametrize("scale", [None, 0.25])
@pytest.mark.parametrize("projected", [False, True])
def test_single_head_attention(numbers, scale, projected) -> None:
    generator = np.random.default_rng(6)
    inputs = {
        "x": numbers(generator, 4, 5),
        "w_query": numbers(generator, 5, 3),
        "w_key": numbers(generator, 5, 3),
        "w_value": numbers(generator, 5, 2),
    }
    if projected:
        inputs["w_output"] = numbers(generator, 2, 6)
    got = evaluate("single_head_attention", inputs, {} if scale is None else {"scale": scale})
    exact = {name: wide(array) for name, array in inputs.items()}
    query, key, value = (exact["x"] @ exact[f"w_{name}"] for name in ("query", "key", "value"))
    scores = query @ key.T * factor(scale, 3)
    weights = np.array([softmax_of(list(row))[0] for row in scores])
    output = weights @ value @ exact["w_output"] if projected else weights @ value
    expected = {"output": output, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}
    assert list(got) == list(expected)
    for name, array in expected.items():
        assert_identical(got[name], rounded(array))


@pytest.mark.parametrize("numbers", [grid, full])
@pytest.mark.parametrize(
    ("attributes", "biases", "mask_shape"),
    [
        ({"num_heads": 3}, (), None),
        ({"num_heads": 2, "is_causal": True}, ("b_query", "b_key", "b_value", "b_output"), None),
        ({"num_heads": 1, "scale": 0.1}, ("b_value",), (3, 4)),
        ({"num_heads": 2}, ("b_output",), (2, 3, 4)),
    ],
)
def test_multi_head_attention(numbers, attributes, biases, mask_shape) -> None:
    generator = np.random.default_rng(8)
    batch, query_length, key_length, width, heads = 2, 3, 4, 6, attributes["num_heads"]
    inputs = {
        "query": numbers(generator, batch, query_length, width),
        "key": numbers(generator, batch, key_length, width),
        "value": numbers(generator, batch, key_length, width),
    }
    inputs |= {f"w_{name}": numbers(generator, width, width) for name in ("query", "key", "value", "output")}
    inputs |= {name: numbers(generator, width) for name in biases}
    allowed = np.ones((heads, query_length, key_length), dtype=bool)
    if mask_shape is not None:
        inputs["mask"] = generator.random(mask_shape) < 0.7
        allowed = allowed & inputs["mask"]
    if attributes.get("is_causal"):
        allowed = allowed & np.tri(query_length, key_length, dtype=bool)

    got = evaluate("multi_head_attention", inputs, attributes)

    exact = {name: wide(array) for name, array in inputs.items() if name != "mask"}
    none = wide(np.zeros(width))
    each = width // heads
    assert list(got) == ["output", "weights"]
    for item in range(batch):
        query, key, value = (
            exact[name][item] @ exact[f"w_{name}"] + exact.get(f"b_{name}", none) for name in ("query", "key", "value")
        )
        combined = []
        for head in range(heads):
            part = slice(head * each, (head + 1) * each)
            found = attend(
                query[:, part],
                key[:, part],
                value[:, part],
                scale=factor(attributes.get("scale"), each),
                allowed=allowed[head],
                addends=wide(np.zeros((query_length, key_length))),
            )
            assert_identical(got["weights"][item, head], rounded(found["weights"]))
            combined.append(np.array(found["output"]))
        output = np.concatenate(combined, axis=1) @ exact["w_output"] + exact.get("b_output", none)
        assert_identical(got["output"][item], rounded(output))
