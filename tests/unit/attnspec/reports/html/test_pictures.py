"""The numbers behind the pictures: what is cut, compared, hatched and left out."""

import base64
import copy
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnspec_reference
from attnspec.contract import OPERATIONS
from attnspec.reports.html.pictures import Pictures, axes_of, bits, decode, numbers, window_round

SQUARE = "causal/square"
EVERYTHING = 10**9


def result_of(document, case_id, dtype="float64"):
    return next(entry for entry in document["results"] if (entry["case"], entry["dtype"]) == (case_id, dtype))


def by_name(pictures):
    return {picture["name"]: picture for picture in pictures}


@given(
    st.lists(st.integers(0, 70), min_size=0, max_size=4).flatmap(
        lambda shape: st.tuples(st.just(shape), st.tuples(*(st.integers(0, max(0, length - 1)) for length in shape)))
    ),
    st.integers(1, 500),
)
def test_a_window_is_small_lies_inside_and_holds_its_centre(shape_and_centre, most):
    shape, centre = shape_and_centre
    window = window_round(shape, centre, most)
    assert math.prod(window.lengths) <= most
    for whole, position, start, length in zip(shape, centre, window.offsets, window.lengths, strict=True):
        assert 0 <= start <= start + length <= whole
        assert whole == 0 or start <= position < start + length


def test_a_window_stays_inside_what_is_known():
    window = window_round((600, 50), (431, 7), 64, ((400, 0), (100, 50)))
    assert 400 <= window.offsets[0] <= 431 < window.offsets[0] + window.lengths[0] <= 500
    assert window.offsets[1] <= 7 < window.offsets[1] + window.lengths[1]


def test_expected_got_and_error_are_those_of_the_case(wrong, suite):
    case, result = suite.cases[SQUARE], result_of(wrong, SQUARE)
    drawn = by_name(Pictures(case, EVERYTHING).compared("float64", result, {}))
    output = drawn["output"]
    expected = case.golden("float64")["output"]
    got = np.array(output["got"]).reshape(output["shape"])
    assert output["expected"] == numbers(expected)
    assert np.allclose(np.array(output["error"]).reshape(expected.shape), np.abs(got - expected), rtol=1e-2, atol=1e-7)
    worst = tuple(result["worst"]["index"])
    flat = np.ravel_multi_index(worst, expected.shape)
    assert output["error"][flat] == pytest.approx(result["worst"]["error"], rel=1e-2)
    assert output["tolerance"][flat] == pytest.approx(result["worst"]["tolerance"], rel=1e-2)
    assert output["axes"] == ["batch entry", "query head", "query", "feature"]
    assert output["excluded"] is None


def test_an_output_that_the_case_does_not_store_is_compared_with_computed_values(wrong, suite):
    drawn = by_name(Pictures(suite.cases[SQUARE], EVERYTHING).compared("float64", result_of(wrong, SQUARE), {}))
    weights = drawn["weights"]
    assert set(weights["verdicts"]) == {"a", "d"}, "nobody requested it, so nothing in it is right or wrong"
    assert set(drawn["output"]["verdicts"]) == {"w"}
    _, expected, _ = attnspec_reference.scaled_dot_product_attention(
        **suite.cases[SQUARE].inputs, **suite.cases[SQUARE].attributes
    )[:3]
    assert np.allclose(weights["expected"], expected.ravel(), atol=1e-6)
    assert weights["excluded"] == bits(np.triu(np.ones((2, 5, 5), np.bool_), 1))


def test_the_verdicts_of_a_picture_are_those_of_the_report(wrong, slightly_off, suite):
    seen = Counter()
    for document in (wrong, slightly_off):
        for result in document["results"][::3]:
            case = suite.cases[result["case"]]
            if "got" not in result or result["check"] in ("shape", "rejects") or case.properties is not None:
                continue
            pictures = Pictures(case, EVERYTHING)
            drawn = pictures.compared(result["dtype"], result, document["implementation"]["conventions"])
            compared = {picture["name"]: picture for picture in drawn if "verdicts" in picture}
            verdicts = Counter("".join(picture["verdicts"] for picture in compared.values()))
            assert verdicts["r"] + verdicts["w"] == result["graded"], result["case"]
            assert (verdicts["w"] > 0) == (result["check"] == "values"), result["case"]
            if result["check"] == "values":
                worst = compared[result["output"]]
                assert worst["worst"] == np.ravel_multi_index(result["worst"]["index"], worst["shape"])
                assert not any("w" in compared[name]["verdicts"] for name in result["agreeing_steps"])
            seen[result["check"]] += 1
            seen.update(verdicts.keys())
    assert seen["values"] > 50
    assert {"r", "w", "o", "a", "d"} <= seen.keys()


def test_a_tensor_beyond_the_limit_is_cropped_round_its_worst_element(wrong, suite):
    result = result_of(wrong, SQUARE)
    output = by_name(Pictures(suite.cases[SQUARE], 8).compared("float64", result, {}))["output"]
    assert len(output["got"]) == len(output["expected"]) == len(output["error"]) == math.prod(output["lengths"]) <= 8
    for position, start, length in zip(result["worst"]["index"], output["offsets"], output["lengths"], strict=True):
        assert start <= position < start + length


def test_inputs_are_cropped_round_what_the_worst_element_came_from(suite):
    worst = {"output": "output", "index": [0, 1, 4, 2]}
    drawn = by_name(Pictures(suite.cases[SQUARE], 4).inputs(worst))
    query = drawn["query"]
    for position, start, length in zip(worst["index"], query["offsets"], query["lengths"], strict=True):
        assert start <= position < start + length
    assert len(query["values"]) == math.prod(query["lengths"]) <= 4


def test_who_may_attend_whom_is_drawn_for_attention_alone(suite):
    attended = Pictures(suite.cases[SQUARE], EVERYTHING).attended()
    assert attended["attendable"] == bits(np.broadcast_to(np.tri(5, dtype=np.bool_), (1, 2, 5, 5)))
    assert attended["axes"] == ["batch entry", "query head", "query", "key"]
    softmax = next(case for case in suite.cases.values() if case.operation == "softmax")
    assert Pictures(softmax, EVERYTHING).attended() is None


def test_every_case_of_the_suite_can_be_drawn_without_an_answer(suite):
    for case in suite.cases.values():
        pictures = Pictures(case, 64)
        assert {picture["name"] for picture in pictures.inputs(None)} == set(case.inputs)
        assert all(len(picture["expected"]) <= 64 for picture in pictures.expected())
        pictures.attended()


class Short:
    """Forgets the last feature of every output."""

    dtypes = ("float64",)

    def scaled_dot_product_attention(self, query, key, value, is_causal=False):
        return value[..., :-1]


def test_another_shape_is_drawn_beside_what_is_expected(suite, document_of):
    document = document_of(Short(), SQUARE)
    (output,) = Pictures(suite.cases[SQUARE], EVERYTHING).compared("float64", document["results"][0], {})
    assert output["shape"] == [1, 2, 5, 3]
    assert output["got"] is None
    assert "error" not in output
    assert output["got_alone"]["shape"] == [1, 2, 5, 2]
    assert output["got_alone"]["expected"] is None


class AcceptsAll:
    dtypes = ("float64",)

    def scaled_dot_product_attention(self, query, key, value):
        return value


def test_what_came_back_where_nothing_was_expected_is_drawn_alone(suite, document_of):
    case_id = "documents/002/refuses_query_of_rank_2"
    document = document_of(AcceptsAll(), case_id)
    assert document["results"][0]["check"] == "rejects"
    drawn = Pictures(suite.cases[case_id], EVERYTHING).compared("float64", document["results"][0], {})
    assert [(picture["name"], picture["expected"]) for picture in drawn] == [("output", None)]


class NotANumber:
    """Declares NaN for a query without keys, and gives it everywhere."""

    dtypes = ("float64",)
    conventions = {"fully_masked_row": "nan"}  # noqa: RUF012 - adapters are written like this

    def scaled_dot_product_attention(self, query, key, value, mask=None, is_causal=False):
        return np.full((*query.shape[:-1], value.shape[-1]), np.nan)


def test_what_is_expected_follows_the_declared_conventions(suite, document_of):
    case_id = "causal/square_dead_row"
    document = document_of(NotANumber(), case_id)
    drawn = Pictures(suite.cases[case_id], EVERYTHING).compared(
        "float64", document["results"][0], document["implementation"]["conventions"]
    )
    output = drawn[0]
    dead = [position for position, value in enumerate(output["expected"]) if value == "nan"]
    assert dead
    assert all(output["error"][position] == 0 for position in dead)
    assert {output["error"][position] for position in range(len(output["error"])) if position not in dead} == {"inf"}


def encoded(array, shape=None, crop=None):
    data = base64.b64encode(array.tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(shape or array.shape), "crop": crop, "data": data}


SOUND = encoded(np.arange(6.0).reshape(2, 3))


def test_what_came_back_is_decoded():
    window, values = decode(SOUND)
    assert window.shape == (2, 3)
    assert values.tolist() == [[0, 1, 2], [3, 4, 5]]
    part = encoded(np.arange(4.0).reshape(2, 2), (2, 9), {"offsets": [0, 7], "shape": [2, 2]})
    window, values = decode(part)
    assert (window.offsets, window.lengths) == ((0, 7), (2, 2))


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "AAAA"},
        {"data": "no base64 !"},
        {"shape": [2, 4]},
        {"dtype": "float128000"},
        {"dtype": "object"},
        {"dtype": "complex64"},
        {"crop": {"offsets": [0], "shape": [2]}},
        {"crop": {"offsets": [1, 0], "shape": [2, 3]}},
    ],
)
def test_an_answer_that_contradicts_itself_is_left_out(changes):
    assert decode({**copy.deepcopy(SOUND), **changes}) is None


def test_numbers_are_short_and_never_bare_words():
    assert numbers(np.array([1 / 3, 0.0, -2.0, np.nan, np.inf, -np.inf, 1e300])) == [
        0.3333333,
        0,
        -2,
        "nan",
        "inf",
        "-inf",
        1e300,
    ]
    assert numbers(np.array([True, False])) == [1, 0]


def test_axes_have_names_where_the_operation_has_them():
    assert axes_of(OPERATIONS["scaled_dot_product_attention"], "mask", 2) == ["query", "key"]
    assert axes_of(OPERATIONS["scaled_dot_product_attention"], "logsumexp", 3) == ["batch entry", "query head", "query"]
    assert axes_of(OPERATIONS["multi_head_attention"], "output", 3) == ["batch entry", "query", "feature"]
    assert axes_of(OPERATIONS["softmax"], "x", 2) == ["axis 0", "axis 1"]
