"""The drawn implementations are right but for what was drawn."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from drawn.attention import Steps, attention
from drawn.drawing import HOW_MANY, KINDS, OF_EACH_KIND, draw

import attnspec

OPERATION = "scaled_dot_product_attention"
RIGHT = attention(Steps())
DRAWN = draw(0)


def call(queries, keys, *, past=0, size=1.0, **others):
    """Return the arguments of a call of two batch entries, fourteen query heads and seven key heads."""
    rng = np.random.default_rng(7)
    arrays = {
        "query": rng.normal(size=(2, 14, queries, 6)) * size,
        "key": rng.normal(size=(2, 7, keys, 6)) * size,
        "value": rng.normal(size=(2, 7, keys, 5)),
    }
    if past:
        arrays |= {"past_key": rng.normal(size=(2, 7, past, 6)), "past_value": rng.normal(size=(2, 7, past, 5))}
    return arrays | others


@cache
def calls():
    """Return calls in which every fault shows, and the last in which only a few can."""
    rng = np.random.default_rng(8)
    slopes, sinks, numbers = rng.uniform(0.1, 1, 14), rng.normal(size=14), rng.normal(size=(9, 9)) * 8
    truths = rng.random((9, 9)) < 0.6
    truths[4] = False
    windows = [
        call(4, 30, window=[10, 5], causal_alignment=alignment, is_causal=causal)
        for alignment in ("top_left", "bottom_right")
        for causal in (False, True)
    ]
    return (
        call(3, 97),
        call(3, 97, size=4.0),
        call(3, 9, scale=2.5),
        call(9, 9, softcap=2.0, size=3.0),
        call(9, 9, is_causal=True),
        call(5, 9, is_causal=True, causal_alignment="bottom_right"),
        call(2, 5, past=4, is_causal=True),
        call(5, 9, alibi_slopes=slopes, sinks=sinks),
        call(9, 9, mask=numbers),
        call(9, 9, mask=numbers, softcap=2.0),
        call(9, 9, mask=truths),
        call(9, 9, mask=truths, size=3.0),
        *windows,
        call(2, 9, mask=np.zeros((2, 9)), scale=0.0, sinks=np.full(14, 400.0)) | {"value": np.ones((2, 7, 9, 5))},
    )


def differences(function):
    return [np.abs(function(**arguments)["output"] - RIGHT(**arguments)["output"]).max() for arguments in calls()]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_right_one_conforms(dtype):
    right = replace(DRAWN[0], function=RIGHT).implementation
    assert attnspec.validate(right, dtypes=dtype, profile="smoke").conforms


@pytest.mark.parametrize("drawn", DRAWN, ids=lambda drawn: drawn.name)
def test_it_is_wrong_where_its_fault_shows_and_right_elsewhere(drawn):
    apart = differences(drawn.function)
    assert max(apart) > 1e-9
    assert min(apart) < 1e-15


def test_a_set_holds_each_kind_and_no_form_twice():
    assert len({drawn.name for drawn in DRAWN}) == len(DRAWN) == HOW_MANY
    assert all(sum(drawn.kind == kind for drawn in DRAWN) >= OF_EACH_KIND for kind in KINDS)


def test_a_seed_names_a_set():
    def without_functions(drawing):
        return [(drawn.name, drawn.kind, drawn.parameter, drawn.clauses, drawn.equivalent) for drawn in drawing]

    assert without_functions(draw(0)) == without_functions(DRAWN)
    assert without_functions(draw(1)) != without_functions(DRAWN)


def test_the_clauses_are_those_of_the_page():
    cases = attnspec.cases.load_suite().cases.values()
    assert {clause for drawn in DRAWN for clause in drawn.clauses} <= {
        clause for case in cases for clause in case.clauses
    }


def test_both_doors_find_one_wrong():
    assert not attnspec.validate(DRAWN[0].implementation, dtypes="float32", select="core/*").conforms
    assert not attnspec.validate(DRAWN[0].function, operation=OPERATION, select="core/*").conforms
