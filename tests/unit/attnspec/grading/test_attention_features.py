"""The bound of attention with every feature: its values are the oracle's, right computations pass, wrong ones fail."""

import numpy as np
import pytest

from attnspec.bounds import precision_of, stacked
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Outputs
from attnspec.grading import Values
from attnspec_controls import controls_of
from attnspec_mistakes.patches import in_working_precision
from attnspec_oracle import evaluate
from attnspec_reference import scaled_dot_product_attention

from .by_hand import grade, tolerance

OPERATION = "scaled_dot_product_attention"
DTYPES = ("float64", "float32", "float16", "bfloat16")


def inputs(seed=0, *, batch=2, heads=4, shared=2, queries=5, keys=7, width=3, value_width=4, **more):
    draw = np.random.default_rng(seed).standard_normal
    return {
        "query": draw((batch, heads, queries, width)),
        "key": draw((batch, shared, keys, width)),
        "value": draw((batch, shared, keys, value_width)),
        **more,
    }


def past(tokens, seed=1):
    draw = np.random.default_rng(seed).standard_normal
    return {"past_key": draw((2, 2, tokens, 3)), "past_value": draw((2, 2, tokens, 4))}


KEY_LENGTHS, QUERY_LENGTHS = np.array([7, 4]), np.array([5, 2])
SINKS, SLOPES = np.array([-1.0, 0.0, 2.5, 40.0]), np.array([0.5, 0.25, 3.0, 0.0])
HIDDEN = np.random.default_rng(5).random((5, 7)) < 0.4

FEATURES = {
    "past, causal": (inputs(**past(3)), {"is_causal": True}),
    "past of none": (inputs(**past(0)), {"is_causal": True}),
    "bottom right": (inputs(queries=3), {"is_causal": True, "causal_alignment": "bottom_right"}),
    "bottom right, more queries": (inputs(keys=3), {"is_causal": True, "causal_alignment": "bottom_right"}),
    "key lengths": (inputs(key_lengths=KEY_LENGTHS), {}),
    "key lengths, none": (inputs(key_lengths=np.array([7, 0])), {}),
    "both lengths, bottom right": (
        inputs(key_lengths=KEY_LENGTHS, query_lengths=QUERY_LENGTHS),
        {"is_causal": True, "causal_alignment": "bottom_right"},
    ),
    "window": (inputs(), {"window": [1, 2]}),
    "window, open on the left": (inputs(), {"window": [None, 0]}),
    "window, open on the right": (inputs(), {"window": [0, None]}),
    "window, past, causal": (inputs(**past(4)), {"window": [2, None], "is_causal": True}),
    "window, lengths, bottom right": (
        inputs(key_lengths=KEY_LENGTHS),
        {"window": [1, 0], "causal_alignment": "bottom_right"},
    ),
    "softcap": (inputs(), {"softcap": 0.5}),
    "softcap, scores far above it": (inputs(), {"softcap": 2.0, "scale": 30.0}),
    "softcap, mask": (inputs(mask=np.where(HIDDEN, -np.inf, 3.0)), {"softcap": 1.0}),
    "softcap of zero": (inputs(), {"softcap": 0.0}),
    "alibi": (inputs(alibi_slopes=SLOPES), {}),
    "alibi, causal, past": (inputs(alibi_slopes=SLOPES, **past(3)), {"is_causal": True}),
    "alibi, lengths, bottom right": (
        inputs(alibi_slopes=SLOPES, key_lengths=KEY_LENGTHS),
        {"causal_alignment": "bottom_right"},
    ),
    "sinks": (inputs(sinks=SINKS), {}),
    "sinks, rows without keys": (inputs(sinks=SINKS, mask=np.zeros((5, 7), dtype=bool)), {}),
    "sinks, causal, window": (inputs(sinks=SINKS), {"is_causal": True, "window": [1, None]}),
    "sinks, no keys": (inputs(sinks=SINKS, keys=0), {}),
    "no keys": (inputs(keys=0), {}),
    "no queries": (inputs(queries=0), {}),
    "negative scale": (inputs(), {"scale": -1.5}),
    "everything": (
        inputs(sinks=SINKS, alibi_slopes=SLOPES, mask=np.where(HIDDEN, -np.inf, 0.5), key_lengths=KEY_LENGTHS),
        {"is_causal": True, "causal_alignment": "bottom_right", "softcap": 1.5, "window": [3, 1], "scale": 0.75},
    ),
}


def bound_of(feature, dtype="float64", **conventions):
    given, attributes = FEATURES[feature]
    return tolerance(OPERATION, given, attributes, precision_of(dtype), conventions)


@pytest.mark.parametrize("feature", FEATURES)
def test_the_values_of_the_bound_are_those_of_the_oracle(feature):
    given, attributes = FEATURES[feature]
    expected, bound = evaluate(OPERATION, given, attributes), bound_of(feature)
    for name in OPERATIONS[OPERATION].outputs:
        estimate = bound.of(name)
        assert estimate.value.shape == estimate.error.shape == expected[name].shape, name
        assert np.isfinite(estimate.error).all(), name
        left_out = bound.ungraded(name) if name != "output" else None
        counted = np.isfinite(expected[name]) & ~(
            np.zeros(expected[name].shape, bool) if left_out is None else left_out
        )
        if name == "output" and "query_lengths" in given:
            counted &= np.arange(5)[:, None] < given["query_lengths"].reshape(-1, 1, 1, 1)
        np.testing.assert_allclose(estimate.value[counted], expected[name][counted], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("feature", FEATURES)
def test_right_computations_pass(feature, dtype, graded):
    given, attributes = FEATURES[feature]
    case = graded(OPERATION, given, attributes, dtype)
    computations = {control.id: control.function for control in controls_of(OPERATION)}
    for name, function in {"reference": scaled_dot_product_attention, **computations}.items():
        verdict = case.verdict_on(function)
        assert verdict.status == "pass", f"{name}: {verdict.message}"


WRONG = {
    "past, causal": {"is_causal": False},
    "bottom right": {"causal_alignment": "top_left"},
    "both lengths, bottom right": {"causal_alignment": "top_left"},
    "window": {"window": [1, 1]},
    "window, past, causal": {"window": [1, None]},
    "window, lengths, bottom right": {"causal_alignment": "top_left"},
    "softcap": {"softcap": 0.501},
    "softcap, mask": {"softcap": None},
    "alibi": {"alibi_slopes": SLOPES.astype(np.float32)[::-1].copy()},
    "alibi, lengths, bottom right": {"causal_alignment": "top_left"},
    "sinks": {"sinks": None},
    "sinks, causal, window": {"sinks": SINKS.astype(np.float32) + np.float32(0.001)},
    "key lengths": {"key_lengths": np.array([7, 5])},
}


@pytest.mark.parametrize("feature", WRONG)
def test_a_feature_that_is_left_out_or_a_little_wrong_is_found_in_float32(feature, graded):
    case = graded(OPERATION, *FEATURES[feature], "float32")

    def wrong(**arguments):
        return {"output": scaled_dot_product_attention(**{**arguments, **WRONG[feature]}).output}

    verdict = case.verdict_on(wrong)
    assert (verdict.status, verdict.check) == ("fail", "values")


def test_a_cap_shrinks_the_error_of_the_scores_that_it_flattens():
    capped = bound_of("softcap, scores far above it", "float32")
    scores, logits = capped.of("scores"), capped.of("logits")
    flat, steep = np.abs(scores.value) > 40, np.abs(scores.value) < 0.5
    assert flat.any()
    assert steep.any()
    assert (logits.error[flat] < 0.05 * scores.error[flat]).all()
    # tanh and the product are rounded, however flat the cap is.
    assert (logits.error[flat] >= 2.0**-24 * 2.0).all()
    assert (logits.error[steep] >= 0.9 * scores.error[steep]).all()


def test_a_bias_adds_the_rounding_of_its_size_to_the_logits():
    given, attributes = FEATURES["alibi"]
    near = tolerance(OPERATION, given, attributes, precision_of("float32")).of("logits")
    steeper = {**given, "alibi_slopes": 1000 * SLOPES}
    far = tolerance(OPERATION, steeper, attributes, precision_of("float32")).of("logits")
    size = np.abs(far.value)
    assert (far.error >= near.error).all()
    assert (far.error[size > 1000] >= 2.0**-23 * size[size > 1000]).all()


def test_a_sink_brings_an_error_of_its_own():
    given, attributes = FEATURES["sinks"]
    huge = {**given, "sinks": np.array([1e4, 0.0, 0.0, 0.0]), "query": 1e4 * given["query"]}
    bound = tolerance(OPERATION, huge, attributes, precision_of("float32"))
    shares = bound.of("weights")
    mixed = (shares.value > 1e-3) & (shares.value < 1 - 1e-3)
    assert not mixed[:, 0].any() or (shares.error[:, 0][mixed[:, 0]] > 2.0**-24 * 1e4 * 1e-3).all()
    assert (bound.of("logsumexp").error[:, 0] >= 2.0**-24 * 1e4).all()


def test_a_row_without_keys_that_has_a_sink_is_not_fully_masked():
    bound = bound_of("sinks, rows without keys")
    assert not bound.fully_masked
    assert not bound.of("output").value.any()
    assert not bound.of("weights").value.any()
    assert (bound.of("logsumexp").value == SINKS[:, None]).all()
    # Nothing is left to be wrong, but a flush to zero.
    assert (bound.of("output").error <= 2.0**-1022).all()


def test_rows_without_keys_are_fully_masked_by_lengths_masks_and_windows():
    lengths, window = bound_of("key lengths, none"), bound_of("bottom right, more queries")
    assert lengths.fully_masked["logsumexp"].tolist() == [[[False] * 5] * 4, [[True] * 5] * 4]
    assert window.fully_masked["output"][0, 0, :, 0].tolist() == [True, True, False, False, False]
    assert not lengths.has_no_keys
    assert bound_of("no keys").has_no_keys
    assert bound_of("no keys").fully_masked["output"].all()


@pytest.mark.parametrize("name", ["output", "weights", "logsumexp", "scores", "logits"])
def test_padding_is_not_graded_and_is_counted(name):
    given, attributes = FEATURES["both lengths, bottom right"]
    bound, expected = bound_of("both lengths, bottom right"), evaluate(OPERATION, given, attributes)
    ungraded = bound.ungraded(name)
    rows = np.arange(5) >= QUERY_LENGTHS[:, None, None]
    padding = np.broadcast_to(rows if name == "logsumexp" else rows[..., None], ungraded.shape)
    assert (ungraded >= padding).all()
    garbage = {"output": expected["output"], name: np.where(padding, 7.0, expected[name])}
    verdict = grade(OPERATION, "float64", Outputs(garbage), Values(expected), bound)
    assert verdict.status == "pass", verdict.message
    assert verdict.ungraded >= padding.sum()
    off_by_one = {**garbage, name: np.where(np.roll(padding, -1, axis=2), 7.0, expected[name])}
    assert grade(OPERATION, "float64", Outputs(off_by_one), Values(expected), bound).status == "fail"


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_what_is_present_is_exact(dtype, graded):
    case = graded(OPERATION, *FEATURES["past, causal"], dtype)

    def present_key_off_by_a_bit(**arguments):
        returned = in_working_precision(scaled_dot_product_attention)(**arguments)
        key = returned["present_key"].copy()
        key.reshape(-1).view(f"u{key.itemsize}")[3] += 1
        return {**returned, "present_key": key}

    def present_value_widened(**arguments):
        returned = in_working_precision(scaled_dot_product_attention)(**arguments)
        return {**returned, "present_value": returned["present_value"].astype(np.longdouble)}

    verdict = case.verdict_on(present_key_off_by_a_bit)
    assert (verdict.check, verdict.output, verdict.worst.index) == ("values", "present_key", (0, 0, 1, 0))
    verdict = case.verdict_on(present_value_widened)
    assert (verdict.check, verdict.output) == ("dtype", "present_value")


def test_base_2_and_columns_change_logits_and_logsumexp_alone():
    normative = bound_of("alibi, causal, past", "float32")
    bits = bound_of("alibi, causal, past", "float32", logsumexp_base="2")
    column = bound_of("alibi, causal, past", "float32", alibi_bias="column")
    log2 = np.log2(np.e)
    np.testing.assert_allclose(bits.of("logsumexp").value, log2 * normative.of("logsumexp").value)
    assert (bits.of("logsumexp").error > log2 * normative.of("logsumexp").error).all()
    for name in ("output", "weights", "scores"):
        np.testing.assert_allclose(column.of(name).value, normative.of(name).value, rtol=1e-12, atol=1e-15)
    shift = column.shift
    assert shift.shape == (1, 4, 5, 1)
    assert shift[0, 0, :, 0].tolist() == [1.5, 2.0, 2.5, 3.0, 3.5]
    np.testing.assert_allclose(column.of("logsumexp").value, normative.of("logsumexp").value + shift[..., 0])
    assert normative.shift is None
    assert bound_of("alibi", alibi_bias="column").shift is None


def test_a_stacked_bound_holds_the_same_tolerances_as_one_run_alone():
    given, attributes = FEATURES["everything"]
    together = tolerance(OPERATION, given, attributes, stacked([precision_of(dtype) for dtype in DTYPES]))
    for position, dtype in enumerate(DTYPES):
        alone = bound_of("everything", dtype)
        for name in OPERATIONS[OPERATION].outputs:
            np.testing.assert_allclose(together.of(name, position).error, alone.of(name).error, rtol=1e-9, atol=1e-320)
            np.testing.assert_array_equal(together.ungraded(name, position), alone.ungraded(name))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["query", "key", "value"])
def test_a_number_that_is_not_finite_takes_its_course_and_leaves_other_tolerances_sound(number, where, graded):
    given = inputs()
    given[where][1, 1, 2, 0] = number
    case = graded(OPERATION, given, {}, "float32")
    for function in (scaled_dot_product_attention, *(control.function for control in controls_of(OPERATION))):
        verdict = case.verdict_on(function)
        assert verdict.status == "pass", verdict.message
    for name in OPERATIONS[OPERATION].outputs:
        assert np.isfinite(case.bound.of(name).error).all()


def test_a_key_that_no_query_can_stretch_to_infinity_takes_no_share():
    """A score of minus infinity is a share of 0, and the tolerance of the others must know it."""
    given = inputs(batch=1, heads=1, shared=1)
    given["query"][..., 0], given["key"][0, 0, 2, 0] = 1.0, -np.inf
    bound = tolerance(OPERATION, given, {}, precision_of("float64"))
    assert (bound.of("weights").value[..., 2] == 0).all()
    np.testing.assert_allclose(bound.of("output").value, evaluate(OPERATION, given, {})["output"], rtol=1e-12)


def test_a_tight_row_next_to_far_ones_keeps_its_tolerance():
    """Rows are centred together, so one of huge values must not blow up (or swallow) the bound of the others."""
    given = inputs(batch=1, heads=1, shared=1, queries=2, keys=4)
    given["value"][0, 0, 2:] *= 1e6
    given["mask"] = np.array([[True, True, False, False], [False, False, True, True]])
    together = tolerance(OPERATION, given, {}, precision_of("float64")).of("output").error[0, 0, 0]
    alone = {**given, "mask": given["mask"][:1], "query": given["query"][:, :, :1]}
    error = tolerance(OPERATION, alone, {}, precision_of("float64")).of("output").error[0, 0, 0]
    assert (together >= 0.999 * error).all()
    assert (together <= 1.1 * error).all()
