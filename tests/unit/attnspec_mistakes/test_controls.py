"""The controls: each computes in a way of its own, and each is right."""

import re

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference
from attnspec.bounds import precision_of
from attnspec.contract import OPERATIONS
from attnspec.contract.arrangement import Circumstances
from attnspec.families.lookup import family_of
from attnspec_controls import CONTROLS, controls_of
from attnspec_mistakes.patches import by_name

LEFT_OUT = {
    **{control.id: {"value"} for control in CONTROLS if control.id.startswith("single_head.fused")},
    "context_vector.as_attention": {"raw_scores"},
    "sdpa_backward.owed_alone": {"delta", "grad_scores"},
}
OF_QUERIES = ("output", "weights", "logsumexp", "scores", "logits", "grad_query", "delta", "grad_scores")
ROUND_MORE_THAN_ONCE = ("sdpa_backward.heads_rounded_first", "sdpa_backward.rounded_between_phases")
each_control = pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.id)


def in_dtype(arguments, dtype):
    """The same arguments, float tensors in another dtype."""
    return {
        name: value.astype(dtype) if getattr(value, "dtype", None) == np.float64 else value
        for name, value in arguments.items()
    }


def moderate(arguments):
    """The same arguments, queries at most 1, logarithms, masks and sinks at most 50: larger ones round more.

    What a forward pass stored belongs to its queries: it stays with those that are small, and goes with others.
    """
    if "logsumexp" in arguments and np.max(np.abs(arguments["query"]), initial=0) < 4:
        return arguments
    kept = {name: value for name, value in arguments.items() if name not in ("output", "logsumexp")}
    return {name: protected(name, value) for name, value in kept.items()}


def protected(name, value):
    if name in ("mask", "sinks") and value.dtype.kind == "f":
        return np.where(np.isfinite(value), np.clip(value, -50, 50), value)
    if name.startswith("logsumexp_"):
        return np.where(np.isfinite(value), np.clip(value, -50, 50), value)
    if name not in ("x", "query"):
        return value
    return value / (np.max(np.abs(value), initial=0, where=np.isfinite(value)) or 1)


def laid_out(control, arguments):
    """The arguments as a control takes them, or None where its layout has none for them."""
    if control.layout is None:
        return arguments
    inputs = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    attributes = {name: value for name, value in arguments.items() if name not in inputs}
    layout = family_of(control.operation).layouts()[control.layout]
    repacked = layout(control.operation, inputs, attributes, Circumstances())
    return None if isinstance(repacked, str) else {**repacked.inputs, **repacked.attributes}


def outcomes(control, arguments):
    given = laid_out(control, arguments)
    if given is None:
        return {}, {}
    there = attnspec_reference.IN_LAYOUT.get(control.layout, {})
    reference = there.get(control.operation, getattr(attnspec_reference, control.operation))
    return by_name(control.function(**given)), by_name(reference(**given))


def expected_of_somebody(control, arguments, outputs):
    """The outputs with 0 wherever the family of an exact operation lets an implementation write anything."""
    if not all(output.exact for output in OPERATIONS[control.operation].outputs_by_name.values()):
        return outputs
    inputs = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    attributes = {name: value for name, value in arguments.items() if name not in inputs}
    family, declared = family_of(control.operation), {}
    left_open = family.tolerance(control.operation, inputs, attributes, precision_of("float64"), declared).unspecified
    return {name: np.where(left_open.get(name, False), 0, array) for name, array in outputs.items()}


def assert_dtype(control, name, given, wanted):
    """The dtype of the reference, but where the contract says that any will do."""
    assert given.dtype == wanted.dtype or OPERATIONS[control.operation].outputs_by_name[name].dtype == "any"


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
    of_layouts = {function.__name__ for there in attnspec_reference.IN_LAYOUT.values() for function in there.values()}
    operations = {name for name in attnspec_reference.__all__ if name.islower()} - {"glorot_normal"} - of_layouts
    assert {control.operation for control in CONTROLS} == operations
    of_contract = [control for control in CONTROLS if control.layout is None]
    assert sum(len(controls_of(operation)) for operation in operations) == len(of_contract)
    assert controls_of("glorot_normal") == ()


@each_control
def test_a_control_says_what_it_is(control):
    short_name = OPERATIONS[control.operation].short_name
    assert re.fullmatch(rf"{short_name}\.[a-z0-9_]+", control.id)
    assert re.fullmatch(r"[A-Zw].{15,}\.", control.sentence)


@each_control
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_a_control_agrees_with_the_reference(control, dtype, tolerance, probes):
    for probe in probes[control.operation]:
        arguments = in_dtype(moderate(probe), dtype)
        given, wanted = (expected_of_somebody(control, arguments, found) for found in outcomes(control, arguments))
        assert set(given) == set(wanted) - LEFT_OUT.get(control.id, set())
        for name, array in given.items():
            assert_dtype(control, name, array, wanted[name])
            if "query_lengths" not in probe or control.layout == "packed" or name not in OF_QUERIES:
                assert_close(array, wanted[name], tolerance)
            else:
                # Rows of queries that do not count are nobody's business.
                for entry, length in enumerate(probe["query_lengths"]):
                    assert_close(array[entry, :, :length], wanted[name][entry, :, :length], tolerance)


@each_control
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_control_rounds_to_half_precision_once(control, dtype, probes):
    arguments = in_dtype(probes[control.operation][0], dtype)
    given, wanted = (expected_of_somebody(control, arguments, found) for found in outcomes(control, arguments))
    unit = float(ml_dtypes.finfo(dtype).eps) * (2 if control.id in ROUND_MORE_THAN_ONCE else 1)
    for name, array in given.items():
        assert_dtype(control, name, array, wanted[name])
        assert_close(array, wanted[name], unit)


@pytest.mark.parametrize("control", controls_of("scaled_dot_product_attention"), ids=lambda control: control.id)
def test_what_is_excluded_has_no_effect(control):
    key, value = np.zeros((1, 1, 3, 2)), np.arange(3.0).reshape(1, 1, 3, 1)
    key[0, 0, 1], value[0, 0, 1] = np.nan, np.inf
    outputs, _ = outcomes(
        control,
        {"query": np.ones((1, 1, 2, 2)), "key": key, "value": value, "mask": np.array([[True, False, True]])},
    )
    assert outputs["output"].ravel().tolist() == [1.0, 1.0]
