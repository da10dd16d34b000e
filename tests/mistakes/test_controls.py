"""The controls: each computes in a way of its own, and each is right."""

import re

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference
from attnspec_controls import CONTROLS, controls_of
from attnspec_mistakes.departures import by_name

SHORT_NAMES = {
    "scaled_dot_product_attention": "sdpa",
    "single_head_attention": "single_head",
    "multi_head_attention": "multi_head",
}
LEFT_OUT = {
    **{control.id: {"value"} for control in CONTROLS if control.id.startswith("single_head.fused")},
    "context_vector.as_attention": {"raw_scores"},
}
each_control = pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.id)


def in_dtype(arguments, dtype):
    """The same arguments, float tensors in another dtype."""
    return {
        name: value.astype(dtype) if getattr(value, "dtype", None) == np.float64 else value
        for name, value in arguments.items()
    }


def moderate(arguments):
    """The same arguments, the queries at most 1: the larger a score, the more of it rounding takes."""
    return {
        name: value / np.max(np.abs(value)) if name in ("x", "query") else value for name, value in arguments.items()
    }


def outcomes(control, arguments):
    reference = by_name(getattr(attnspec_reference, control.operation)(**arguments))
    return by_name(control.function(**arguments)), reference


def assert_close(given, wanted, tolerance):
    """Within the tolerance, relative to the largest finite number of the output."""
    assert given.shape == wanted.shape
    given, wanted = given.astype(float), wanted.astype(float)
    size = max(1.0, np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted)))
    np.testing.assert_allclose(given, wanted, rtol=0, atol=tolerance * size)


def test_there_is_a_control_for_each_deterministic_operation_and_ids_are_unique():
    ids = [control.id for control in CONTROLS]
    assert len(ids) >= 20
    assert sorted(set(ids)) == sorted(ids)
    operations = {name for name in attnspec_reference.__all__ if name.islower()} - {"glorot_normal"}
    assert {control.operation for control in CONTROLS} == operations
    assert sum(len(controls_of(operation)) for operation in operations) == len(ids)
    assert controls_of("glorot_normal") == ()


@each_control
def test_a_control_says_what_it_is(control):
    short_name = SHORT_NAMES.get(control.operation, control.operation)
    assert re.fullmatch(rf"{short_name}\.[a-z0-9_]+", control.id)
    assert re.fullmatch(r"[A-Zw].{15,}\.", control.sentence)


@each_control
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_a_control_agrees_with_the_reference(control, dtype, tolerance, probes):
    for probe in probes[control.operation]:
        given, wanted = outcomes(control, in_dtype(moderate(probe), dtype))
        assert set(given) == set(wanted) - LEFT_OUT.get(control.id, set())
        for name, array in given.items():
            assert array.dtype == wanted[name].dtype
            if "query_lengths" not in probe:
                assert_close(array, wanted[name], tolerance)
            else:
                # Rows of queries that do not count are nobody's business.
                for entry, length in enumerate(probe["query_lengths"]):
                    rows = slice(None) if name.startswith("present") else slice(length)
                    assert_close(array[entry, :, rows], wanted[name][entry, :, rows], tolerance)


@each_control
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_control_rounds_to_half_precision_once(control, dtype, probes):
    given, wanted = outcomes(control, in_dtype(probes[control.operation][0], dtype))
    unit = float(ml_dtypes.finfo(dtype).eps)
    for name, array in given.items():
        assert array.dtype == wanted[name].dtype
        assert_close(array, wanted[name], unit)


@pytest.mark.parametrize("control", controls_of("scaled_dot_product_attention"), ids=lambda control: control.id)
def test_what_is_excluded_has_no_effect(control):
    key, value = np.zeros((1, 1, 3, 2)), np.arange(3.0).reshape(1, 1, 3, 1)
    key[0, 0, 1], value[0, 0, 1] = np.nan, np.inf
    outputs, _ = outcomes(
        control,
        {"query": np.ones((1, 1, 2, 2)), "key": key, "value": value, "mask": np.array([[True, False, True]] * 2)},
    )
    assert outputs["output"].tolist() == [[[[1.0], [1.0]]]]
