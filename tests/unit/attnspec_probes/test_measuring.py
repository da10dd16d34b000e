"""Probes stop when they have been enough, and pass on what they found until then."""

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_probes import Calling, OutOfCallsError, measured
from attnspec_reference import scaled_dot_product_attention as right

OPERATION = "scaled_dot_product_attention"


def zeros(query, key, value):
    return np.zeros((*query.shape[:3], value.shape[3]))


def arrays():
    return {name: np.ones((1, 1, 2, 3)) for name in ("query", "key", "value")}


def test_calls_are_counted_and_bounded():
    calling = Calling(load(zeros, bare_operation=OPERATION), calls=2, seconds=10)
    for _ in range(2):
        assert not calling(OPERATION, "float64", arrays(), {})["output"].any()
    assert calling.calls == 2
    with pytest.raises(OutOfCallsError):
        calling(OPERATION, "float64", arrays(), {})


def test_what_gives_no_outputs_gives_none():
    def raises(query, key, value):
        raise ValueError(query.shape)

    assert (
        Calling(load(raises, bare_operation=OPERATION), calls=1, seconds=10)(OPERATION, "float64", arrays(), {}) is None
    )


def test_calls_take_no_longer_than_they_may():
    calling = Calling(load(zeros, bare_operation=OPERATION), calls=9, seconds=0)
    with pytest.raises(OutOfCallsError):
        calling(OPERATION, "float64", arrays(), {})


def test_laws_are_reported_as_they_are_found():
    implementation = load(zeros, bare_operation=OPERATION)
    results = run_suite(load_suite(select=("core/*",)), implementation)
    reported = []
    found = measured(implementation, results, lambda law, calls: reported.append((law, calls)))
    assert [law for law, _ in reported] == list(found.laws)
    assert 0 < reported[0][1] <= found.calls


def test_operations_of_families_that_measure_nothing_are_left_out():
    def softmax(x, axis=-1):
        return np.zeros_like(x)

    implementation = load(softmax, bare_operation="softmax")
    results = run_suite(load_suite(profiles=("core",)), implementation)
    assert measured(implementation, results).laws == ()


def test_the_numbers_of_laws_are_plain_ones():
    def unscaled(query, key, value):
        scores = np.einsum("bhqe,bhke->bhqk", query, np.repeat(key, query.shape[1] // key.shape[1], axis=1))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return weights @ np.repeat(value, query.shape[1] // value.shape[1], axis=1)

    implementation = load(unscaled, bare_operation=OPERATION)
    (law,) = measured(implementation, run_suite(load_suite(select=("core/*",)), implementation)).laws
    assert law.parameters["factor"] == pytest.approx(1.0)
    assert {type(value) for value in law.parameters.values()} <= {float, str}


def test_quantized_tensors_are_reported_by_cases_alone():
    def more_if_quantized(**arguments):
        output = right(**arguments).output
        return output + 1 if "key_scale" in arguments else output

    implementation = load(more_if_quantized, bare_operation=OPERATION)
    results = run_suite(load_suite(select=("quantized/fully_masked_row", "quantized/queries_65")), implementation)
    assert any(result.is_wrong for result in results)
    assert measured(implementation, results).laws == ()
