"""Tolerances: finite everywhere, zero where nothing is rounded, and honest about where they say nothing."""

import numpy as np
import pytest

from attnspec.bounds import precision_of, stacked
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Outputs
from attnspec.grading import Values

from .by_hand import grade, tolerance

DRAW = np.random.default_rng(0).standard_normal
SQUARE = {f"w_{name}": DRAW((4, 4)) for name in ("query", "key", "value", "output")}
ATTENTION = {"query": DRAW((2, 2, 3, 4)), "key": DRAW((2, 2, 5, 4)), "value": DRAW((2, 2, 5, 3))}
LATENTS = {"query_rotary": DRAW((2, 2, 3, 2)), "latent": DRAW((2, 5, 3)), "key_rotary": DRAW((2, 5, 2))}
SOME_KEYS = np.array([[True, True, False, False, True], [False] * 5, [True] * 5])

CALLS = {
    "softmax": ({"x": DRAW((3, 4))}, {}),
    "causal_mask": ({}, {"query_length": 3, "key_length": 4, "additive": True}),
    "split_heads": ({"x": DRAW((2, 3, 4))}, {"num_heads": 2}),
    "combine_heads": ({"x": DRAW((2, 2, 3, 4))}, {}),
    "scaled_dot_product_attention": ({**ATTENTION, "mask": SOME_KEYS}, {}),
    "scaled_dot_product_attention_backward": (
        {
            "grad_output": DRAW((2, 2, 3, 3)),
            **ATTENTION,
            "grad_logsumexp": DRAW((2, 2, 3)),
            "mask": np.where(SOME_KEYS, DRAW((2, 3, 5)), -np.inf),
            "sinks": DRAW(2),
        },
        {"softcap": 3.0},
    ),
    "single_head_attention": ({"x": DRAW((3, 4)), **SQUARE}, {}),
    "multi_head_attention": (
        {**{name: DRAW((2, 3, 4)) for name in ("query", "key", "value")}, **SQUARE, "b_key": DRAW(4)},
        {"num_heads": 2},
    ),
    "latent_attention": (
        {
            "query_content": DRAW((2, 2, 3, 4)),
            **LATENTS,
            "w_key": DRAW((2, 3, 4)),
            "w_value": DRAW((2, 3, 2)),
            "mask": SOME_KEYS,
        },
        {},
    ),
    "absorbed_latent_attention": ({"query_latent": DRAW((2, 2, 3, 3)), **LATENTS, "mask": SOME_KEYS}, {"scale": 0.5}),
    "context_vector": ({"encoder_states": DRAW((3, 4)), "decoder_state": DRAW(4)}, {}),
    "merge_states": (
        {
            f"{name}_{side}": DRAW(shape)
            for side in "ab"
            for name, shape in (("output", (2, 2, 3, 4)), ("logsumexp", (2, 2, 3)))
        },
        {},
    ),
}
EXACT = ("causal_mask", "split_heads", "combine_heads")
DTYPES = ("float64", "float32", "float16", "bfloat16")


def with_number(array, number):
    array = array.copy()
    array.flat[1] = number
    return array


def bound_of(operation, dtype="float64", changes=None, **attributes):
    inputs, defaults = CALLS[operation]
    return tolerance(operation, {**inputs, **(changes or {})}, {**defaults, **attributes}, precision_of(dtype))


def test_every_operation_but_the_random_one_has_a_tolerance():
    of_attention = {name for name, operation in OPERATIONS.items() if operation.family == "attention"}
    assert set(CALLS) == of_attention - {"glorot_normal"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", [name for name in CALLS if name not in EXACT])
def test_a_tolerance_is_finite_and_positive_and_has_the_shape_of_its_output(operation, dtype):
    bound = bound_of(operation, dtype)
    for name in OPERATIONS[operation].outputs:
        estimate = bound.of(name)
        assert estimate.error.shape == estimate.value.shape
        assert np.isfinite(estimate.error).all()
        assert (estimate.error >= 0).all()
        if name.startswith("present_"):
            assert not estimate.error.any()
            continue
        alive = np.isfinite(estimate.value) & (estimate.value != 0)
        assert alive.any()
        assert (estimate.error[alive] > 0).all()


@pytest.mark.parametrize("operation", EXACT)
def test_operations_that_only_move_numbers_have_the_tolerance_zero(operation):
    error = bound_of(operation, "bfloat16").of("output").error
    assert error.size > 0
    assert not error.any()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operation", [name for name, (inputs, _) in CALLS.items() if inputs])
def test_what_is_not_finite_in_the_inputs_leaves_every_tolerance_finite(operation, number):
    first = next(iter(CALLS[operation][0]))
    bound = bound_of(operation, changes={first: with_number(CALLS[operation][0][first], number)})
    for name in OPERATIONS[operation].outputs:
        assert np.isfinite(bound.of(name).error).all(), name
    if operation in EXACT:
        assert not bound.of("output").error.any()


def test_large_and_tiny_numbers_leave_tolerances_finite():
    extremes = {
        "query": DRAW((2, 2, 3, 4)) * 1e60,
        "key": DRAW((2, 2, 5, 4)) * 1e60,
        "value": DRAW((2, 2, 5, 3)) * 1e-300,
    }
    bound = bound_of("scaled_dot_product_attention", changes=extremes)
    for name in OPERATIONS["scaled_dot_product_attention"].outputs:
        assert np.isfinite(bound.of(name).error).all(), name


def test_a_query_without_keys_owes_exact_zeros():
    bound = bound_of("scaled_dot_product_attention")
    for name in ("output", "weights", "logsumexp"):
        assert (bound.of(name).error[..., 1, :] if name != "logsumexp" else bound.of(name).error[..., 1]).max() == 0
    assert bound.fully_masked["logsumexp"][..., 1].all()
    assert bound.fully_masked["logsumexp"].sum() == 4


@pytest.mark.parametrize("operation", [name for name in CALLS if name not in EXACT])
def test_a_coarser_dtype_has_a_wider_tolerance(operation):
    name = OPERATIONS[operation].outputs[0]
    widths = [bound_of(operation, dtype).of(name).error.max() for dtype in DTYPES]
    assert widths == sorted(widths)
    assert len(set(widths)) == 4


def test_computing_float64_inside_in_float32_is_allowed_where_it_is_declared():
    inputs, attributes = CALLS["softmax"]
    plain = tolerance("softmax", inputs, attributes, precision_of("float64")).of("output").error
    declared = tolerance("softmax", inputs, attributes, precision_of("float64", inside="float32"))
    assert declared.of("output").error.min() > 1e6 * plain.max()


def large_scores():
    """Scores near 10^17: float64 cannot say which key fits best."""
    query, key = np.full((1, 1, 1, 2), 1e9), np.full((1, 1, 2, 2), 1e8)
    return {"query": query, "key": key, "value": np.array([[[[1.0, 5.0], [2.0, 5.0]]]])}


def test_an_element_whose_tolerance_says_nothing_is_not_graded_and_counted():
    bound = tolerance("scaled_dot_product_attention", large_scores(), {}, precision_of("float64"))
    # Both values of the second feature are 5, so that whatever the weights are, it is 5.
    assert bound.ungraded("output").tolist() == [[[[True, False]]]]

    def verdict(output):
        expected = Values({"output": np.array([[[[1.5, 5.0]]]])})
        return grade("scaled_dot_product_attention", "float64", Outputs({"output": np.array(output)}), expected, bound)

    assert verdict([[[[1.0, 5.0]]]]).status == "pass"
    assert (verdict([[[[1.0, 5.0]]]]).graded, verdict([[[[1.0, 5.0]]]]).ungraded) == (1, 1)
    assert verdict([[[[1.0, 9.0]]]]).status == "fail"


def test_ordinary_elements_are_all_graded():
    for operation in CALLS:
        bound = bound_of(operation)
        for name in OPERATIONS[operation].outputs:
            ungraded = bound.ungraded(name)
            assert ungraded is None or not ungraded.any(), (operation, name)


def test_rows_without_keys_may_owe_the_mean_of_all_values():
    inputs, attributes = CALLS["scaled_dot_product_attention"]
    bound = tolerance(
        "scaled_dot_product_attention", inputs, attributes, precision_of("float64"), {"fully_masked_row": "uniform"}
    )
    np.testing.assert_allclose(bound.of("output").value[..., 1, :], inputs["value"].mean(axis=-2))
    assert (bound.of("output").error[..., 1, :] > 0).all()


@pytest.mark.parametrize("operation", CALLS)
def test_one_pass_for_several_dtypes_gives_what_a_pass_for_each_gives(operation):
    inputs, attributes = CALLS[operation]
    precisions = [precision_of(dtype) for dtype in DTYPES]
    together = tolerance(operation, inputs, attributes, stacked(precisions))
    for run, precision in enumerate(precisions):
        alone = tolerance(operation, inputs, attributes, precision)
        for name in OPERATIONS[operation].outputs:
            np.testing.assert_array_equal(together.of(name, run).value, alone.of(name).value)
            np.testing.assert_allclose(together.of(name, run).error, alone.of(name).error, rtol=1e-12)
            ungraded = together.ungraded(name, run)
            assert (ungraded is None) == (alone.ungraded(name) is None)
            assert ungraded is None or np.array_equal(ungraded, alone.ungraded(name))
