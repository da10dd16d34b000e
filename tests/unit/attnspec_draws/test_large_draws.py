"""Draws at real sizes: sampled rows of what is right pass, and what is wrong fails, in a row or out of its hull."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnspec.cases import generator, suite_of
from attnspec.contract.dtypes import FLOAT_DTYPES, rounded_to
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_draws import Recipe, draw, recipe_from_text
from attnspec_draws.generators.limits import Limits
from attnspec_reference import scaled_dot_product_attention

OPERATION = "scaled_dot_product_attention"
EXTENTS = {"batch": 2, "shared": 2, "group": 2, "keys": 513, "width": 8, "value_width": 5, "past": 0}


def large(number, dtype="float32", queries=300, **limits):
    return Recipe(OPERATION, "large", number, Limits(dtype, extents={**EXTENTS, "queries": queries}, rows=20, **limits))


def verdict(case, function):
    implementation = load(SimpleNamespace(**{OPERATION: function}, dtypes=FLOAT_DTYPES))
    return run_suite(suite_of([case]), implementation, dtypes=case.dtypes)[0].verdict


def right(**arguments):
    return scaled_dot_product_attention(**arguments)[::2]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_the_reference_passes(dtype):
    for number in range(8):
        case = draw(large(number, dtype, queries=(300, 257)[number % 2]))
        found = verdict(case, scaled_dot_product_attention)
        assert found.status == "pass", found.message
        assert found.graded > 0


def test_the_sample_is_that_of_the_whole_reference():
    for number in range(12):
        case = draw(large(number, "float64"))
        whole = scaled_dot_product_attention(**case.inputs, **case.attributes)
        for name, stored in case.golden("float64").items():
            assert np.allclose(stored, getattr(whole, name).reshape(-1)[case.sample[name]], rtol=1e-12, atol=1e-12)


def test_the_last_row_of_every_head_is_stored():
    case = draw(large(0, without=frozenset(["query_lengths"])))
    rows = case.sample["logsumexp"].reshape(-1)
    assert {(entry * 4 + head) * 300 + 299 for entry in range(2) for head in range(4)} <= set(rows.tolist())


def broken(change):
    def computed(**arguments):
        output = scaled_dot_product_attention(**arguments).output.copy()
        change(output)
        return output

    return computed


def last_tile_of_one_head(output):
    output[1, 2, -44:] = 0


def one_number_anywhere(output):
    output[0, 1, 17, 3] = 50


def not_a_number_anywhere(output):
    output[1, 0, 23, 1] = np.nan


@pytest.mark.parametrize("change", [last_tile_of_one_head, one_number_anywhere, not_a_number_anywhere])
def test_what_is_wrong_fails(change):
    case = draw(large(1, without=frozenset(["query_lengths", "key_lengths"])))
    assert verdict(case, scaled_dot_product_attention).status == "pass"
    assert verdict(case, broken(change)).status == "fail"


def test_rows_are_sampled_only_of_what_is_too_large():
    assert draw(large(0)).thinned
    assert not draw(large(0, elements=10**9)).thinned


def test_stated_attributes_and_rows_are_part_of_the_text():
    recipe = large(3, stated={"is_causal": True, "causal_alignment": "bottom_right"})
    assert recipe_from_text(recipe.text) == recipe
    case = draw(recipe)
    assert case.attributes["is_causal"] is True
    assert case.attributes["causal_alignment"] == "bottom_right"


ONE_HEAD = {"queries": 300, "keys": 300, "width": 32, "value_width": 32, "past": 0}
ONE_HEAD |= dict.fromkeys(("batch", "shared", "group"), 1)
PLAIN = frozenset(("key_lengths", "query_lengths", "sinks", "alibi_slopes", "window", "softcap", "scale", "is_causal"))


def tokens(chosen, dtype="float32", number=0):
    limits = Limits(dtype, PLAIN, extents=ONE_HEAD, rows=20, numbers=chosen)
    case = draw(Recipe(OPERATION, "classes", number, limits))
    return case, {name: np.asarray(case.inputs[name], dtype=np.float64) for name in ("query", "key", "value")}


def scores(found):
    return found["query"][0, 0] @ found["key"][0, 0].T / np.sqrt(32)


def test_large_draws_have_scores_that_no_exponential_holds():
    _, found = tokens("large")
    assert scores(found).max() > 100


def test_large_draws_have_weights_that_are_alike():
    _, found = tokens("uniform")
    assert not scores(found).any()


def test_large_draws_have_scores_that_rise_or_fall():
    means = [scores(tokens("rising", number=number)[1]).mean(axis=0) for number in range(12)]
    assert all(abs(mean[-20:].mean() - mean[:20].mean()) > 8 for mean in means)
    assert {bool(mean[-1] > mean[0]) for mean in means} == {True, False}


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 53), ("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_large_draws_fill_their_dtype_on_both_sides_of_0(dtype, digits):
    _, found = tokens("full_width", dtype)
    for numbers in found.values():
        mantissas = np.frexp(numbers)[0] * 2.0**digits
        # Half of all numbers need the last digit; in float64, whose numbers below 1 lie on a grid, a quarter.
        assert 0.2 < (mantissas % 2 != 0).mean() < 0.6
        assert 0.4 < (numbers > 0).mean() < 0.6
        assert np.array_equal(rounded_to(numbers, dtype).astype(np.float64), numbers)


def test_large_draws_have_values_far_above_and_far_below_others():
    assert np.abs(tokens("wide")[1]["value"]).max() > 16
    assert np.abs(tokens("tiny")[1]["value"]).max() < 2.0**-58


def test_rows_can_be_sampled_by_a_seed_that_the_inputs_do_not_show():
    one, other = (draw(large(0, sample=sample)) for sample in ("a", "b"))
    assert all(
        np.array_equal(np.asarray(one.inputs[name]), np.asarray(other.inputs[name])) for name in ("query", "key")
    )
    assert not np.array_equal(one.sample["output"], other.sample["output"])


def test_numbers_are_drawn_once_for_answers_call_and_tolerance(monkeypatch):
    counted, hashed_counters = [], generator.hashed_counters

    def counting(base, first, count):
        counted.append(count)
        return hashed_counters(base, first, count)

    monkeypatch.setattr(generator, "hashed_counters", counting)
    case = draw(large(0, "bfloat16", sample="counted"))
    verdict(case, scaled_dot_product_attention)
    assert sum(counted) == sum(made.size for made in case.generated.values())


def test_kept_numbers_are_nobodys_to_change():
    case = draw(large(0, "float32", sample="kept"))
    first = case.inputs["key"]
    case.generated["key"].whole("float32")[...] = 0
    case.generated["key"].rows(0, 3)[...] = 0
    assert np.array_equal(case.inputs["key"], first)
    assert first.any()
