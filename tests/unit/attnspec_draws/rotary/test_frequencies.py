"""Drawn rotary frequencies cover every scaling and clause, and require nothing that the page leaves open."""

import math

import pytest

from attnspec.specification import clauses
from attnspec_draws import Recipe, draw, drawn_of
from attnspec_draws.generators.limits import Limits

OPERATION = "rotary_frequencies"
NOT_DRAWN = ("inputs_unchanged", "repeatable")


def draws(count, **limits):
    return [drawn_of(Recipe(OPERATION, "reach", number, Limits("float32", **limits))) for number in range(count)]


@pytest.fixture(scope="module")
def drawn():
    return draws(2_000)


def test_every_clause_is_reached(drawn):
    of_page = {clause.removeprefix(f"{OPERATION}.") for clause in clauses() if clause.startswith(f"{OPERATION}.")}
    reached = {clause.removeprefix(f"{OPERATION}.") for one in drawn for clause in one.clauses}
    assert reached == {clause for clause in of_page if not clause.startswith(NOT_DRAWN)}


def test_a_scaling_that_is_left_out_is_not_drawn(drawn):
    scalings = {word for one in drawn for word in one.features if word.startswith("scaling=")}
    assert len(scalings) == 7
    for word in sorted(scalings):
        assert not any(word in one.features for one in draws(200, without=frozenset((word,))))
    assert not any("scaling" in one.attributes for one in draws(200, without=frozenset(("scaling",))))


@pytest.mark.parametrize("name", ["factor", "original_length", "long_factors", "theta", "truncate", "proportion"])
def test_a_parameter_that_is_left_out_is_not_stated(name):
    assert not any(name in one.attributes for one in draws(300, without=frozenset((name,))))


def test_the_reference_answers_every_draw(drawn):
    for number in (number for number in range(300) if not drawn[number].is_refused):
        case = draw(Recipe(OPERATION, "reach", number, Limits("float32")))
        expected = case.expected["all"]
        assert case.dtypes == ()
        assert expected["inverse_frequencies"].shape == (drawn[number].extents["pairs"],)
        assert not math.isnan(expected["inverse_frequencies"].sum())


def test_no_range_of_yarn_is_empty_or_rounded_by_chance(drawn):
    found = [one.attributes for one in drawn if one.attributes.get("scaling") == "yarn" and not one.is_refused]
    assert len(found) > 200
    for attributes in found:
        width, length = attributes["width"], attributes["original_length"]
        ends = [
            width
            * math.log(length / (2 * math.pi * attributes.get(name, usual)))
            / (2 * math.log(attributes.get("theta", 1e4)))
            for name, usual in (("beta_fast", 32.0), ("beta_slow", 1.0))
        ]
        if attributes.get("truncate", True):
            assert min(end % 1 for end in ends) > 0.01
            assert max(end % 1 for end in ends) < 0.99
            ends = [math.floor(ends[0]), math.ceil(ends[1])]
        assert max(ends[0], 0) <= min(ends[1], width - 1)


def test_under_yarn_what_makes_the_range_is_not_changed_alone(drawn):
    changed = {one.changed for one in drawn if one.attributes.get("scaling") == "yarn"}
    assert "factor" in changed
    assert changed.isdisjoint(("theta", "beta_fast", "beta_slow"))
