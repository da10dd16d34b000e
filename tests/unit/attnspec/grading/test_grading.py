"""Verdicts, element by element: what is equal, what is near enough, and what is never either."""

import ml_dtypes
import numpy as np
import pytest

from attnspec.bounds import precision_of
from attnspec.contract.implementation import Crashed, Declined, Malformed, Outputs, Raised, TimedOut
from attnspec.grading import MustRefuse, NotGraded, Values

from .by_hand import grade, tolerance

INF, NAN = np.inf, np.nan


def verdict_on(got, expected, dtype="float64", operation="softmax", inputs=None, name="output", **attributes):
    """The verdict on one output of an operation; the tolerance is that of softmax over [0, 0, 0] unless said."""
    inputs = {"x": np.zeros(np.shape(expected))} if inputs is None else inputs
    bound = tolerance(operation, inputs, attributes, precision_of(dtype))
    return grade(operation, dtype, Outputs({name: np.asarray(got)}), Values({name: np.asarray(expected)}), bound)


@pytest.mark.parametrize(
    ("got", "expected", "status"),
    [
        ([0.5, INF], [0.5, INF], "pass"),
        ([0.5, INF], [0.5, -INF], "fail"),
        ([0.5, INF], [0.5, 1.0], "fail"),
        ([0.5, 1.0], [0.5, INF], "fail"),
        ([0.5, NAN], [0.5, NAN], "pass"),
        ([0.5, NAN], [0.5, 0.5], "fail"),
        ([0.5, 0.5], [0.5, NAN], "fail"),
        ([0.5, INF], [0.5, NAN], "fail"),
        ([0.5, -0.0], [0.5, 0.0], "pass"),
    ],
)
def test_infinities_and_nan_equal_only_themselves(got, expected, status):
    verdict = verdict_on(got, expected)
    assert verdict.status == status
    assert verdict.worst.index == ((1,) if status == "fail" else verdict.worst.index)
    assert (verdict.worst.ratio <= 1) == (status == "pass")


def test_a_single_wrong_element_among_many_is_found_and_named():
    expected = np.full((4, 6), 1 / 6)
    got = expected.copy()
    got[2, 5] += 1e-12
    got[1, 0] += 1e-15
    verdict = verdict_on(got, expected)
    assert (verdict.status, verdict.check, verdict.output) == ("fail", "values", "output")
    assert verdict.worst.index == (2, 5)
    assert verdict.worst.expected == 1 / 6
    assert verdict.worst.got == got[2, 5]
    assert verdict.worst.error == pytest.approx(1e-12, rel=1e-3)
    assert verdict.worst.ratio == verdict.worst.error / verdict.worst.tolerance
    assert verdict.graded == 24
    assert "output[2, 5] is 0.166666667; expected 0.166666667 within" in verdict.message


def test_wrong_numbers_in_a_wrong_dtype_are_reported_both():
    expected = np.full(3, 1 / 3)
    verdict = verdict_on(expected.astype(np.float32), expected)
    assert (verdict.check, verdict.output) == ("values", "output")
    assert verdict.message.endswith("times that). Its dtype is wrong too: output is float32; expected float64")
    assert "dtype" not in verdict_on(expected + 1e-8, expected).message


def test_the_ratio_decides_at_one():
    expected = np.full(3, 1 / 3)
    allowed = tolerance("softmax", {"x": np.zeros(3)}, {}, precision_of("float32")).of("output").error[0]
    inside, outside = expected.copy(), expected.copy()
    inside[1] += 0.99 * allowed
    outside[1] += 1.01 * allowed
    # In the dtype float32 the numbers themselves could not be distinguished this finely.
    bound = tolerance("softmax", {"x": np.zeros(3)}, {}, precision_of("float32"))

    def verdict(numbers):
        return grade("softmax", "float32", Outputs({"output": numbers}), Values({"output": expected}), bound)

    assert verdict(inside).check == "dtype"
    assert verdict(outside).check == "values"


def test_nothing_but_equality_passes_where_the_tolerance_is_zero():
    x = np.arange(8.0).reshape(1, 2, 4)
    heads = x.reshape(1, 2, 2, 2).transpose(0, 2, 1, 3)
    right = verdict_on(heads, heads, operation="split_heads", inputs={"x": x}, num_heads=2)
    wrong = verdict_on(
        heads + [[[[0, 0], [0, 1e-300]]]] + heads * 1e-16,
        heads,
        operation="split_heads",
        inputs={"x": x},
        num_heads=2,
    )
    assert (right.status, right.worst.ratio) == ("pass", 0.0)
    assert (wrong.status, wrong.worst.ratio) == ("fail", INF)


ATTENTION = {name: np.ones((1, 1, 1, 1)) for name in ("query", "key", "value")}


@pytest.mark.parametrize(
    ("got", "expected", "dtype", "status"),
    [
        (INF, 1e39, "float32", "pass"),
        (-INF, -1e39, "float32", "pass"),
        (-INF, 1e39, "float32", "fail"),
        (INF, 3e38, "float32", "fail"),
        (INF, 70000.0, "float16", "pass"),
        (INF, 60000.0, "float16", "fail"),
        (INF, 3.4e38, "bfloat16", "pass"),
        (INF, 3.38e38, "bfloat16", "fail"),
        (INF, 1e300, "float64", "fail"),
        (NAN, 1e39, "float32", "fail"),
    ],
)
def test_what_is_expected_beyond_the_largest_number_of_a_dtype_may_be_infinite(got, expected, dtype, status):
    number = {"bfloat16": ml_dtypes.bfloat16}.get(dtype, dtype)
    got = np.full((1, 1, 1, 1), got).astype(number)
    verdict = verdict_on(got, np.full((1, 1, 1, 1), expected), dtype, "scaled_dot_product_attention", ATTENTION)
    assert verdict.status == status


@pytest.mark.parametrize(
    ("got", "expected", "status"), [(INF, 65500.0, "pass"), (-INF, 65500.0, "fail"), (INF, 6e4, "fail")]
)
def test_what_may_stray_beyond_the_largest_number_of_a_dtype_may_be_infinite(got, expected, status):
    inputs = {**ATTENTION, "query": np.full((1, 1, 1, 1), expected / 250), "key": np.full((1, 1, 1, 1), 250.0)}
    got, expected = np.full((1, 1, 1, 1), got, "float16"), np.full((1, 1, 1, 1), expected)
    operation = "scaled_dot_product_attention"
    assert verdict_on(got, expected, "float16", operation, inputs, "scores", scale=1.0).status == status


@pytest.mark.parametrize(
    ("name", "got", "status"),
    [
        ("output", "float32", "pass"),
        ("output", "float64", "fail"),
        ("output", "float16", "fail"),
        ("weights", "float32", "pass"),
        ("weights", "float64", "pass"),
        ("weights", "float16", "fail"),
        ("weights", "bool", "fail"),
        ("logsumexp", "float64", "pass"),
        ("logsumexp", "int64", "fail"),
    ],
)
def test_only_the_other_outputs_may_be_wider_than_the_run(name, got, status):
    expected = {"output": np.ones((1, 1, 1, 1)), "weights": np.ones((1, 1, 1, 1)), "logsumexp": np.ones((1, 1, 1))}
    given = {other: array.astype("float32") for other, array in expected.items()}
    given[name] = expected[name].astype(got)
    bound = tolerance("scaled_dot_product_attention", ATTENTION, {}, precision_of("float32"))
    verdict = grade("scaled_dot_product_attention", "float32", Outputs(given), Values(expected), bound)
    assert verdict.status == status
    if status == "fail":
        assert (verdict.check, verdict.output) == ("dtype", name)
        assert f"{name} is {got}; expected float32" in verdict.message


def test_another_half_precision_is_not_a_wider_one():
    expected = {"output": np.ones((1, 1, 1, 1)), "weights": np.ones((1, 1, 1, 1))}
    given = {"output": expected["output"].astype(ml_dtypes.bfloat16), "weights": expected["weights"].astype("float16")}
    bound = tolerance("scaled_dot_product_attention", ATTENTION, {}, precision_of("bfloat16"))
    verdict = grade("scaled_dot_product_attention", "bfloat16", Outputs(given), Values(expected), bound)
    assert (verdict.status, verdict.check, verdict.output) == ("fail", "dtype", "weights")


def test_a_double_in_a_single_precision_run_is_reported_its_usual_cause():
    verdict = verdict_on(np.full(3, 1 / 3), np.full(3, 1 / 3), "float32")
    assert (verdict.status, verdict.check) == ("fail", "dtype")
    assert "output is float64; expected float32" in verdict.message
    assert "np.sqrt(4)" in verdict.message


def test_a_causal_mask_is_graded_by_value_alone():
    expected = np.tri(2, dtype=bool)
    for dtype in (bool, np.int64, np.float32):
        verdict = verdict_on(expected.astype(dtype), expected, "any", "causal_mask", {}, query_length=2)
        assert verdict.status == "pass"
    assert verdict_on(~expected, expected, "any", "causal_mask", {}, query_length=2).status == "fail"


def test_a_wrong_shape_is_said_before_any_value():
    verdict = verdict_on(np.zeros((1, 3)), np.zeros(3))
    assert (verdict.status, verdict.check, verdict.output) == ("fail", "shape", "output")
    assert verdict.message == "output has the shape (1, 3); expected (3,)"


def test_the_output_that_is_required_comes_first_and_the_step_that_diverges_is_named():
    ones = np.ones((1, 1, 1, 1))
    expected = {"output": ones, "weights": ones, "scores": ones}
    bound = tolerance("scaled_dot_product_attention", ATTENTION, {}, precision_of("float64"))

    def verdict(**changed):
        given = {**expected, **changed}
        return grade("scaled_dot_product_attention", "float64", Outputs(given), Values(expected), bound)

    assert verdict().status == "pass"
    early = verdict(output=2 * ones, scores=3 * ones)
    assert (early.output, early.first_step, early.agreeing_steps) == ("output", "scores", ())
    late = verdict(output=2 * ones)
    assert (late.output, late.first_step, late.agreeing_steps) == ("output", "output", ("scores", "weights"))
    aside = verdict(weights=2 * ones)
    assert (aside.output, aside.first_step, aside.agreeing_steps) == ("weights", "weights", ("scores",))


def test_inputs_that_the_other_process_saw_changed_are_a_fail_of_their_own():
    bound = tolerance("softmax", {"x": np.zeros(3)}, {}, precision_of("float64"))
    expected = np.full(3, 1 / 3)
    answer = Outputs({"output": expected}, inputs_changed=("x",))
    verdict = grade("softmax", "float64", answer, Values({"output": expected}), bound)
    assert (verdict.status, verdict.check) == ("fail", "inputs_unchanged")
    assert "'x'" in verdict.message


REFUSAL = MustRefuse("the widths differ", "input_checks=strict")


@pytest.mark.parametrize(
    ("answer", "on_values", "on_refusal"),
    [
        (Outputs({"output": np.full(3, 1 / 3)}), "pass", "fail"),
        (Raised("ValueError: no"), "error", "pass"),
        (Declined("not offered"), "unsupported", "unsupported"),
        (Malformed("returned None"), "malformed", "malformed"),
        (Crashed("it ended"), "crash", "crash"),
        (TimedOut("it took long"), "timeout", "timeout"),
    ],
)
def test_every_answer_has_its_status(answer, on_values, on_refusal):
    bound = tolerance("softmax", {"x": np.zeros(3)}, {}, precision_of("float64"))
    expected = Values({"output": np.full(3, 1 / 3)}, under="accumulation=float32")
    on_valid_input = grade("softmax", "float64", answer, expected, bound)
    assert (on_valid_input.status, on_valid_input.under) == (on_values, "accumulation=float32")
    on_invalid_input = grade("softmax", "float64", answer, REFUSAL, None)
    assert (on_invalid_input.status, on_invalid_input.under) == (on_refusal, "input_checks=strict")
    assert (on_invalid_input.check == "rejects") == (on_refusal == "fail")
    assert grade("softmax", "float64", answer, NotGraded("says nothing"), None).status == "unsupported"


def test_a_result_without_elements_passes_and_grades_nothing():
    verdict = verdict_on(np.zeros((0, 3)), np.zeros((0, 3)))
    assert (verdict.status, verdict.graded, verdict.worst, verdict.median) == ("pass", 0, None, None)
