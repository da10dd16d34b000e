"""Tolerances of norms: right ways of every precision lie within, near ones without, and every case of ONNX agrees."""

import warnings

import ml_dtypes
import numpy as np
import pytest

from attnspec.bounds.tolerance import precision_of, stacked
from attnspec.families.norms.family import FAMILY
from attnspec_reference import qk_norm, rms_norm

DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def draw(*shape, seed=0):
    return np.round(np.random.default_rng(seed).standard_normal(shape) * 32) / 32


def wide(inputs):
    return {name: array.astype(np.float64) for name, array in inputs.items()}


def bound_of(operation, inputs, attributes, dtype, **precision):
    return FAMILY.tolerance(operation, wide(inputs), attributes, precision_of(dtype, **precision), {})


def rows(dtype, width=16, offset="zero"):
    inputs = {"x": draw(50, width).astype(DTYPES[dtype]), "weight": draw(width, seed=1).astype(DTYPES[dtype])}
    return inputs, {"epsilon": 2.0**-10, "weight_offset": offset}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", ["zero", "one"])
@pytest.mark.parametrize("width", [1, 16, 700])
def test_the_reference_lies_within(dtype, offset, width):
    inputs, attributes = rows(dtype, width, offset)
    bound = bound_of("rms_norm", inputs, attributes, dtype, fused=True).of("output")
    given = rms_norm(**inputs, **attributes).astype(np.float64)
    assert (np.abs(given - bound.value) <= bound.error).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_before_the_weight_is_for_who_is_unfused(dtype):
    inputs, attributes = rows(dtype)
    ones = np.ones_like(inputs["weight"])
    rounded = rms_norm(inputs["x"], ones, epsilon=attributes["epsilon"])
    given = (rounded * inputs["weight"]).astype(np.float64)
    unfused, fused = (bound_of("rms_norm", inputs, attributes, dtype, fused=each).of("output") for each in (0, 1))
    assert (np.abs(given - unfused.value) <= unfused.error).all()
    assert (np.abs(given - fused.value) > fused.error).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_thousandth_more_is_noticed_in_single_precision_and_a_twentieth_in_half(dtype):
    inputs, attributes = rows(dtype)
    bound = bound_of("rms_norm", inputs, attributes, dtype).of("output")
    more = 1.05 if dtype == "bfloat16" else 1.005 if dtype == "float16" else 1.00001
    assert (np.abs(bound.value) * (more - 1) > bound.error)[bound.value != 0].all()


def test_features_that_nearly_cancel_with_their_offset_have_the_error_of_one():
    inputs = {"x": np.ones((1, 2), np.float32), "weight": np.array([-1.0 + 2.0**-20, 1.0], np.float32)}
    error = bound_of("rms_norm", inputs, {"epsilon": 0.0, "weight_offset": "one"}, "float32").error("output")
    assert error[0, 0] < 2.0**-39
    narrowed = bound_of("rms_norm", inputs, {"epsilon": 0.0, "weight_offset": "one"}, "float64", inside="float32")
    # Before 1 is added, a weight of float64 is rounded to float32, by a unit of the weight and not of the sum.
    assert narrowed.error("output")[0, 0] > 2.0**-25


@pytest.mark.parametrize("over", ["head", "all_heads"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pairs", [None, 1, 2])
def test_queries_and_keys_lie_within_and_runs_that_are_stacked_are_the_same(over, dtype, pairs):
    many = 3 * 4 if over == "all_heads" else 4
    inputs = {
        "query": draw(2, 3, 5, 4),
        "key": draw(2, 1, 5, 4, seed=1),
        "query_weight": draw(many, seed=2),
        "key_weight": draw(4, seed=3),
    }
    if pairs:
        inputs |= {"cos": draw(2, 5, pairs, seed=4), "sin": draw(2, 5, pairs, seed=5)}
    attributes = {"epsilon": 0.125, "normalized_over": over}
    rounded = {name: array.astype(DTYPES[dtype]) for name, array in inputs.items()}
    bound = bound_of("qk_norm", rounded, attributes, dtype, fused=True)
    for name, given in qk_norm(**rounded, **attributes)._asdict().items():
        assert (np.abs(given.astype(np.float64) - bound.of(name).value) <= bound.error(name)).all()
    precisions = [precision_of(dtype, fused=True), precision_of("float16")]
    together = FAMILY.tolerance("qk_norm", wide(rounded), attributes, stacked(precisions), {})
    for name in ("query_output", "key_output"):
        np.testing.assert_allclose(together.error(name, 0), bound.error(name), rtol=1e-12)
        assert (together.error(name, 1) > 0).all()


def test_nan_and_infinity_leave_every_tolerance_finite():
    x = draw(3, 4)
    x[0, 0], x[1, 1] = np.nan, np.inf
    error = bound_of("rms_norm", {"x": x, "weight": draw(4, seed=1)}, {"epsilon": 1.0}, "float32").error("output")
    assert np.isfinite(error).all()


def cases_of_onnx():
    """Every case of RMSNormalization that ONNX has: name, attributes, inputs and expected output."""
    loader = pytest.importorskip("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = {case.name: case for case in loader.load_model_tests(kind="node") if "rms_norm" in case.name}
    for name, case in cases.items():
        # Written out in simpler operators, a case has the numbers of the operator itself.
        (node,) = cases[name.removesuffix("_expanded")].model.graph.node
        attributes = {attribute.name: attribute.f or attribute.i for attribute in node.attribute}
        (inputs, (expected,)) = case.data_sets[0]
        yield name, attributes, inputs, expected


def test_every_case_of_onnx_agrees():
    names = []
    for name, stated, (x, weight), expected in cases_of_onnx():
        axis = int(stated.get("axis", -1)) % x.ndim
        # All axes from one on are normalized together: they are one axis once they are laid behind one another.
        shape = (-1, int(np.prod(x.shape[axis:])))
        inputs = {"x": x.reshape(shape), "weight": np.broadcast_to(weight, x.shape[axis:]).ravel()}
        attributes = {"epsilon": float(stated.get("epsilon", np.float32(1e-5)))}
        bound = bound_of("rms_norm", inputs, attributes, x.dtype.name).of("output")
        for given in (expected.reshape(shape), rms_norm(**inputs, **attributes)):
            assert (np.abs(given - bound.value) <= bound.error).all(), name
        names.append(name)
    assert len(names) >= 38
