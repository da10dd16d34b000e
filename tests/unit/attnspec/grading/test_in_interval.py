"""What elements are bounded by whose tolerance says nothing: finite numbers, among the values that were attended."""

import numpy as np
import pytest

from attnspec.bounds import precision_of
from attnspec.contract.implementation import Outputs
from attnspec.grading import Values

from .by_hand import grade, tolerance

ATTENTION = "scaled_dot_product_attention"
INF, NAN = np.inf, np.nan


def lost(*values, **others):
    """One query of which float64 cannot say the key that fits best: its scores lie near 10^17."""
    query, key = np.full((1, 1, 1, 2), 1e9), np.full((1, 1, len(values), 2), 1e8)
    return {"query": query, "key": key, "value": np.array(values, dtype=float).reshape(1, 1, -1, 1), **others}


def verdict_on(got, inputs, right=1.5, *, operation=ATTENTION, name="output", shape=(1, 1, 1, 1), **attributes):
    bound = tolerance(operation, inputs, attributes, precision_of("float64"))
    given, expected = (np.full(shape, number) for number in (got, right))
    return grade(operation, "float64", Outputs({name: given}), Values({name: expected}), bound, attributes=attributes)


@pytest.mark.parametrize("got", [1.0, 1.7, 2.0, 2.0 + 1e-9, 1.0 - 1e-9])
def test_an_average_of_the_attended_values_is_never_wrong(got):
    verdict = verdict_on(got, lost(1.0, 2.0))
    assert (verdict.status, verdict.graded, verdict.ungraded, verdict.worst) == ("ungraded", 0, 1, None)
    assert verdict.message == "for every element, the tolerance would pass anything, or nothing is expected of it"


@pytest.mark.parametrize("got", [0.99, 2.01, -1.5, NAN, INF, -INF])
def test_what_lies_elsewhere_is_wrong_however_much_is_lost(got):
    verdict = verdict_on(got, lost(1.0, 2.0))
    assert (verdict.status, verdict.check, verdict.graded, verdict.ungraded) == ("fail", "values", 1, 0)
    assert (verdict.worst.index, verdict.worst.ratio) == ((0, 0, 0, 0), INF)
    assert verdict.message == (
        f"output[0, 0, 0, 0] is {got:.9g}; expected 1.5, "
        "and where so much precision may be lost, any number from 0.999999958 to 2.00000004"
    )


def test_only_values_that_may_be_attended_count():
    mask = np.array([[True, True, False]])
    assert verdict_on(3.0, lost(1.0, 2.0, 9.0)).status == "ungraded"
    assert verdict_on(3.0, lost(1.0, 2.0, 9.0, mask=mask)).status == "fail"


def test_a_sink_draws_the_average_towards_zero():
    sinks = np.array([1e17 * np.sqrt(2)])
    assert verdict_on(0.25, lost(1.0, 2.0)).status == "fail"
    assert verdict_on(0.25, lost(1.0, 2.0, sinks=sinks)).status == "ungraded"
    assert verdict_on(-0.25, lost(1.0, 2.0, sinks=sinks)).status == "fail"


def test_one_lost_element_among_graded_ones_leaves_them_a_pass_or_a_fail():
    inputs = lost(1.0, 2.0)
    inputs["value"] = np.array([[[[1.0, 5.0], [2.0, 5.0]]]])
    expected = Values({"output": np.array([[[[1.5, 5.0]]]])})
    bound = tolerance(ATTENTION, inputs, {}, precision_of("float64"))
    for got, status in (([1.2, 5.0], "pass"), ([NAN, 5.0], "fail"), ([1.2, 4.0], "fail")):
        answer = Outputs({"output": np.array(got).reshape(1, 1, 1, 2)})
        assert grade(ATTENTION, "float64", answer, expected, bound).status == status


def test_where_the_exact_result_is_not_finite_the_kind_is_graded():
    assert verdict_on(1.5, lost(1.0, 2.0), right=NAN).status == "fail"
    assert verdict_on(NAN, lost(1.0, 2.0), right=NAN).status == "pass"


def test_a_context_vector_is_an_average_of_the_states():
    inputs = {"encoder_states": np.array([[1e9, 1.0], [1e9, 2.0]]), "decoder_state": np.array([1e8, 0.0])}
    expected = Values({"context": np.array([1e9, 1.5])})
    bound = tolerance("context_vector", inputs, {}, precision_of("float64"))
    for got, status in ((1.0, "pass"), (2.5, "fail"), (NAN, "fail")):
        answer = Outputs({"context": np.array([1e9, got])})
        assert grade("context_vector", "float64", answer, expected, bound).status == status


def projected(**others):
    """Tokens of which float64 cannot say the one that fits best, and a value of 1 or 2."""
    first = np.diag([1e9, 0.0])
    return {"x": np.array([[1.0, 1.0], [1.0, 2.0]]), "w_query": first, "w_key": first, "w_value": np.eye(2), **others}


def test_an_average_of_projected_values_is_bounded_too_and_a_projection_of_it_is_not():
    expected = Values({"output": np.array([[1.0, 1.5], [1.0, 1.5]])})
    for inputs, bounded in ((projected(), True), (projected(w_output=np.eye(2)), False)):
        bound = tolerance("single_head_attention", inputs, {}, precision_of("float64"))
        assert (bound.interval("output") is not None) == bounded
        for got, status in ((1.7, "pass"), (NAN, "fail")):
            answer = Outputs({"output": np.array([[1.0, got], [1.0, 1.5]])})
            assert grade("single_head_attention", "float64", answer, expected, bound).status == status


@pytest.mark.parametrize(("got", "status"), [(0.0, "ungraded"), (1.0, "ungraded"), (-0.01, "fail"), (1.01, "fail")])
def test_a_weight_lies_between_nothing_and_all(got, status):
    inputs = lost(1.0, 2.0)
    assert verdict_on(got, inputs, 0.5, name="weights", shape=(1, 1, 1, 2)).status == status
    scores = np.array([-1e17, -1e17])
    assert verdict_on(got, {"x": scores}, 0.5, operation="softmax", shape=(2,)).status == status


def test_a_weight_is_compared_to_its_tolerance_as_well():
    keys = np.array([4.7, 0.0]).reshape(1, 1, 2, 1) * 2.0**52
    inputs = {"query": np.ones((1, 1, 1, 1)), "key": keys, "value": keys}
    bound = tolerance(ATTENTION, inputs, {"scale": 2.0**-52}, precision_of("bfloat16"))
    lowest, highest = bound.interval("weights")
    estimate = bound.of("weights")
    assert (lowest >= estimate.value - estimate.error).all()
    assert (highest <= estimate.value + estimate.error).all()


def test_a_cosine_lies_within_the_amplitude():
    inputs = {"position_ids": np.array([[2**40]]), "inverse_frequencies": np.array([1.0])}
    cosine = np.cos(2.0**40)
    bound = tolerance("rotary_tables", inputs, {"attention_factor": 0.5}, precision_of("float32"))
    assert bound.vacuous("cos").all()
    for got, status in ((-0.5, "ungraded"), (0.51, "fail"), (NAN, "fail")):
        answer = Outputs({"cos": np.array([[[got]]])})
        expected = Values({"cos": np.array([[[0.5 * cosine]]])})
        assert grade("rotary_tables", "float32", answer, expected, bound).status == status


def test_what_nobody_owes_may_hold_anything():
    inputs = {name: np.ones((1, 1, 2, 1)) for name in ("query", "key", "value")}
    inputs["query_lengths"] = np.array([1])
    bound = tolerance(ATTENTION, inputs, {}, precision_of("float64"))
    answer = Outputs({"output": np.array([1.0, NAN]).reshape(1, 1, 2, 1)})
    verdict = grade(ATTENTION, "float64", answer, Values({"output": np.ones((1, 1, 2, 1))}), bound)
    assert (verdict.status, verdict.graded, verdict.ungraded) == ("pass", 1, 1)


@pytest.mark.parametrize(("got", "status"), [([1.5, 7.0], "pass"), ([1.5, NAN], "pass"), ([1.4, 7.0], "fail")])
def test_a_query_whose_every_score_is_minus_infinity_gets_what_it_likes(got, status):
    """The first query may attend both keys, the second one alone that of the score minus infinity."""
    inputs = {
        "query": np.ones((1, 1, 2, 1)),
        "key": np.array([[[[-INF], [0.5]]]]),
        "value": np.array([[[[7.0], [1.5]]]]),
    }
    inputs["mask"] = np.array([[True, True], [True, False]])
    bound = tolerance(ATTENTION, inputs, {}, precision_of("float64"))
    given, expected = (np.array(numbers).reshape(1, 1, 2, 1) for numbers in (got, [1.5, 0.0]))
    assert grade(ATTENTION, "float64", Outputs({"output": given}), Values({"output": expected}), bound).status == status


def test_a_sink_beside_scores_of_minus_infinity_takes_all():
    inputs = {"query": np.ones((1, 1, 1, 1)), "key": np.array([[[[-INF]]]]), "value": np.ones((1, 1, 1, 1))}
    bound = tolerance(ATTENTION, {**inputs, "sinks": np.zeros(1)}, {}, precision_of("float64"))
    for got, status in ((0.0, "pass"), (NAN, "fail")):
        answer, expected = Outputs({"output": np.full((1, 1, 1, 1), got)}), Values({"output": np.zeros((1, 1, 1, 1))})
        assert grade(ATTENTION, "float64", answer, expected, bound).status == status
