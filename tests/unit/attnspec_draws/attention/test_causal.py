"""Drawn causal masks: lengths with and without a number of keys, and queries from before all keys to behind them."""

import numpy as np
import pytest

from attnspec_draws import Recipe, draw, drawn_of
from attnspec_draws.generators.limits import Limits

OPERATION = "causal_mask"


@pytest.fixture(scope="module")
def drawn():
    return [drawn_of(Recipe(OPERATION, "reach", number, Limits("float32", longest=64))) for number in range(500)]


def test_every_argument_is_stated_and_left_away(drawn):
    for name in ("key_length", "offset", "additive"):
        stated = sum(name in one.attributes for one in drawn)
        assert 100 < stated < 450
        assert all((name in one.features) == (name in one.attributes) for one in drawn)


def test_the_first_query_stands_before_all_keys_and_behind_them(drawn):
    seen = []
    for number, one in enumerate(drawn):
        mask = draw(Recipe(OPERATION, "reach", number, Limits("float32", longest=64))).expected["all"]["output"]
        assert mask.shape == (one.extents["queries"], one.extents["keys"])
        seen.append(mask if mask.dtype == np.bool_ else mask == 0)
    assert sum(not mask.any() for mask in seen) > 5
    assert sum(bool(mask.all()) for mask in seen) > 20


def test_stated_lengths_hold_whether_there_is_a_number_of_keys_or_not():
    for number in range(60):
        both = drawn_of(Recipe(OPERATION, "reach", number, Limits("float32", extents={"queries": 300, "keys": 7})))
        assert (both.attributes["query_length"], both.attributes["key_length"]) == (300, 7)
        limits = Limits("float32", extents={"queries": 200}, without=frozenset(("key_length",)))
        square = drawn_of(Recipe(OPERATION, "reach", number, limits))
        assert square.attributes["query_length"] == square.extents["keys"] == 200
        assert "key_length" not in square.attributes
