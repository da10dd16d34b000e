"""Draws at real sizes: sampled rows of what is right pass, and what is wrong fails, in a row or out of its hull."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnspec.adapters import load
from attnspec.cases import suite_of
from attnspec.draws import Recipe, draw, recipe_from_text
from attnspec.dtypes import FLOAT_DTYPES
from attnspec.lattice import Limits
from attnspec.runner import run_suite
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
        for name, held in case.golden("float64").items():
            assert np.allclose(held, getattr(whole, name).reshape(-1)[case.sample[name]], rtol=1e-12, atol=1e-12)


def test_the_last_row_of_every_head_is_held():
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
