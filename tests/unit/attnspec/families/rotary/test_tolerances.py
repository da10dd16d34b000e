"""Tolerances of rotary positions: what honest arithmetic loses passes, what a narrower dtype loses does not."""

import math

import ml_dtypes
import numpy as np
import pytest

from attnspec.bounds.tolerance import precision_of, stacked
from attnspec.families.lookup import family_called
from attnspec_oracle import evaluate

NUMPY = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
HALF_PRECISION = ["float16", "bfloat16"]
BANDS = {"low_frequency_factor": 1.0, "high_frequency_factor": 4.0}
CONFIGURATIONS = [
    {"width": width, "theta": theta, **more}
    for width in (4, 32, 80)
    for theta in (10.0, 10000.0, 500000.0)
    for more in (
        {},
        {"scaling": "linear", "factor": 3.3},
        {"scaling": "dynamic", "factor": 1.7, "original_length": 100, "sequence_length": 1234},
        {"scaling": "llama3", "factor": 8.0, "original_length": 8192, **BANDS},
        {"scaling": "yarn", "factor": 3.3, "original_length": 4096, "truncate": False},
        {"scaling": "yarn", "factor": 3.3, "original_length": 130, "truncate": False, "beta_fast": 20.0},
    )
]


def bound(operation, inputs, attributes, precision):
    return family_called("rotary").tolerance(operation, inputs, attributes, precision, {})


def frequencies_in(dtype, *, width, theta, scaling="none", factor=1.0, original_length=0, **more):
    """Rotary frequencies as a library writes them, every array in one dtype."""
    i = np.arange(0, width, 2).astype(dtype) / dtype(width)
    base = theta
    if scaling == "dynamic":
        stretch = factor * more["sequence_length"] / original_length - (factor - 1)
        base = theta * stretch ** (width / (width - 2))
    plain = dtype(1) / np.power(dtype(base), i)
    if scaling == "linear":
        return plain / dtype(factor)
    if scaling == "llama3":
        low, high = dtype(more["low_frequency_factor"]), dtype(more["high_frequency_factor"])
        wavelength = dtype(2 * math.pi) / plain
        share = (dtype(original_length) / wavelength - low) / (high - low)
        between = (1 - share) * plain / dtype(factor) + share * plain
        kept = np.where(wavelength < dtype(original_length) / high, plain, between)
        return np.where(wavelength > dtype(original_length) / low, plain / dtype(factor), kept)
    if scaling == "yarn":

        def pair(turns):
            return width * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(theta))

        low, high = max(pair(more.get("beta_fast", 32.0)), 0), min(pair(1.0), width - 1)
        ramp = np.clip((np.arange(width // 2).astype(dtype) - dtype(low)) / dtype(high - low), 0, 1)
        kept = 1 - ramp
        return plain / dtype(factor) * (1 - kept) + plain * kept
    return plain


def worst(given, exact, tolerance):
    return float(np.max(np.abs(given.astype(np.float64) - exact) / tolerance))


@pytest.mark.parametrize("attributes", CONFIGURATIONS, ids=str)
def test_frequencies_in_float32_are_right_where_it_is_declared(attributes):
    exact = evaluate("rotary_frequencies", {}, attributes)["inverse_frequencies"]
    given = frequencies_in(np.float32, **attributes)
    inside = bound("rotary_frequencies", {}, attributes, precision_of("any", inside="float32"))
    assert worst(given, exact, inside.of("inverse_frequencies").error) < 1
    alone = bound("rotary_frequencies", {}, attributes, precision_of("any"))
    np.testing.assert_allclose(alone.of("inverse_frequencies").value, exact, rtol=1e-13)
    assert worst(frequencies_in(np.float64, **attributes), exact, alone.of("inverse_frequencies").error) < 1
    assert worst(given, exact, alone.of("inverse_frequencies").error) > 1


def test_frequencies_in_half_precision_are_wrong():
    attributes = {"width": 80}
    exact = evaluate("rotary_frequencies", {}, attributes)["inverse_frequencies"]
    tolerance = bound("rotary_frequencies", {}, attributes, precision_of("any", inside="float32"))
    for dtype in (np.float16, ml_dtypes.bfloat16):
        given = exact.astype(dtype)
        assert worst(given, exact, tolerance.of("inverse_frequencies").error) > 1


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({"width": 8}, 1.0),
        ({"width": 8, "scaling": "yarn", "factor": 4.0, "original_length": 99, "attention_factor": 1.5}, 1.5),
        ({"width": 8, "scaling": "yarn", "factor": 1.0, "original_length": 99}, 1.0),
    ],
)
def test_an_attention_factor_has_a_tolerance_of_no_axes(attributes, wanted):
    estimate = bound("rotary_frequencies", {}, attributes, precision_of("any")).of("attention_factor")
    assert estimate.value.shape == np.shape(estimate.error) == ()
    assert estimate.value == wanted
    assert 0 < estimate.error < 1e-14


@pytest.mark.parametrize("dtype", ["float64", "float32", *HALF_PRECISION])
def test_tables_pass_with_phases_in_float32_and_not_in_half_precision(dtype):
    frequencies = np.array([1.0, 0.5, 0.0078125, 0.00048828125])
    inputs = {"position_ids": np.array([[257, 2049, 4095, 40001]]), "inverse_frequencies": frequencies}
    exact = evaluate("rotary_tables", inputs, {"attention_factor": 1.25})
    tolerance = bound("rotary_tables", inputs, {"attention_factor": 1.25}, precision_of(dtype))
    wide = np.float64 if dtype == "float64" else np.float32
    phases = inputs["position_ids"][..., None].astype(wide) * frequencies.astype(wide)
    for name, function in (("cos", np.cos), ("sin", np.sin)):
        allowed = tolerance.of(name)
        np.testing.assert_allclose(allowed.value, exact[name], rtol=0, atol=1e-9)
        assert worst((function(phases) * wide(1.25)).astype(NUMPY[dtype]), exact[name], allowed.error) < 1
        for narrow in (np.float16, ml_dtypes.bfloat16):
            narrowed = function(phases.astype(narrow).astype(wide)) * wide(1.25)
            assert worst(narrowed.astype(NUMPY[dtype]), exact[name], allowed.error) > 1


def test_the_tolerance_of_a_phase_is_that_of_float32_in_half_precision_too():
    inputs = {"position_ids": np.array([[131071]]), "inverse_frequencies": np.array([1.0])}
    single, half = (
        bound("rotary_tables", inputs, {}, precision_of(dtype)).of("sin").error.item()
        for dtype in ("float32", "bfloat16")
    )
    assert 0.001 < single < 0.02
    assert half - single == pytest.approx(3 * 2**-8 * abs(math.sin(131071)), rel=0.1)


def test_an_angle_that_float32_does_not_hold_is_not_graded():
    inputs = {"position_ids": np.array([[3, 1 << 28]]), "inverse_frequencies": np.array([1.0])}
    tolerance = bound("rotary_tables", inputs, {}, precision_of("float32"))
    assert tolerance.ungraded("cos").ravel().tolist() == [False, True]
    assert not bound("rotary_tables", inputs, {}, precision_of("float64")).ungraded("cos").any()


def rotation(dtype, seed=0):
    generator = np.random.default_rng(seed)
    drawn = {"x": (4, 5, 60, 5), "cos": (4, 60, 2), "sin": (4, 60, 2)}
    inputs = {name: generator.standard_normal(shape).astype(NUMPY[dtype]) for name, shape in drawn.items()}
    # Products that nearly cancel.
    inputs["x"][0, ..., 2:4], inputs["sin"][0] = inputs["x"][0, ..., :2], inputs["cos"][0]
    inputs["x"][0, ..., 2:4] += inputs["x"][0, ..., 2:4] * NUMPY[dtype](0.01)
    return inputs


def products_stored(x, cos, sin):
    """A rotation of halves of which every product and every sum is stored in the dtype of its factors."""
    first, second, rest = x[..., :2], x[..., 2:4], x[..., 4:]
    cos, sin = cos[:, None], sin[:, None]
    return np.concatenate([cos * first - sin * second, sin * first + cos * second, rest], axis=-1)


@pytest.mark.parametrize("dtype", NUMPY)
def test_a_rotation_that_stores_its_products_passes_unfused(dtype):
    inputs = rotation(dtype)
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    exact = evaluate("apply_rotary", wide, {})["output"]
    estimate = bound("apply_rotary", wide, {}, precision_of(dtype)).of("output")
    np.testing.assert_allclose(estimate.value, exact, rtol=1e-12, atol=1e-12)
    given = products_stored(**inputs).astype(np.float64)
    error = np.abs(given - exact)[..., :4] / estimate.error[..., :4]
    assert 0.4 < error.max() < 1
    assert not estimate.error[..., 4:].any()


@pytest.mark.parametrize("dtype", HALF_PRECISION)
def test_only_a_rotation_that_rounds_once_passes_fused(dtype):
    inputs = rotation(dtype)
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    exact = evaluate("apply_rotary", wide, {})["output"][..., :4]
    single = {name: array.astype(np.float32) for name, array in inputs.items()}
    once = products_stored(**single).astype(NUMPY[dtype]).astype(np.float64)[..., :4]
    stored = products_stored(**inputs).astype(np.float64)[..., :4]
    tolerance = bound("apply_rotary", wide, {}, precision_of(dtype, fused=True)).of("output").error[..., :4]
    assert worst(once, exact, tolerance) < 1
    assert worst(stored, exact, tolerance) > 2


def test_several_runs_share_one_pass():
    inputs = {name: array.astype(np.float64) for name, array in rotation("bfloat16").items()}
    tables = {"position_ids": np.array([[3, 4]]), "inverse_frequencies": np.array([1.0, 0.5])}
    yarn = {"width": 8, "scaling": "yarn", "factor": 4.0, "original_length": 99}
    questions = [("apply_rotary", inputs, {}), ("rotary_tables", tables, {}), ("rotary_frequencies", {}, yarn)]
    several = [precision_of("float32"), precision_of("bfloat16"), precision_of("bfloat16", fused=True)]
    for operation, given, attributes in questions:
        together = bound(operation, given, attributes, stacked(several))
        for run, precision in enumerate(several):
            alone = bound(operation, given, attributes, precision)
            for output in evaluate(operation, given, attributes):
                np.testing.assert_allclose(together.of(output, run).error, alone.of(output).error, rtol=1e-12)


def test_not_a_number_leaves_other_tolerances_alone():
    inputs = {name: array.astype(np.float64) for name, array in rotation("float32").items()}
    clean = bound("apply_rotary", inputs, {}, precision_of("float32")).of("output").error
    spoilt = {**inputs, "x": inputs["x"].copy()}
    spoilt["x"][1, 1, 1, 0] = np.nan
    tolerance = bound("apply_rotary", spoilt, {}, precision_of("float32")).of("output").error
    assert np.isfinite(tolerance).all()
    changed = np.argwhere(tolerance != clean).tolist()
    assert changed == [[1, 1, 1, 0], [1, 1, 1, 2]]


def test_tables_of_the_factor_zero_must_be_zero():
    inputs = {"position_ids": np.array([[0, 3]]), "inverse_frequencies": np.array([1.0, 0.5])}
    tolerance = bound("rotary_tables", inputs, {"attention_factor": 0.0}, precision_of("float32"))
    for name in ("cos", "sin"):
        assert not tolerance.vacuous(name).any()
