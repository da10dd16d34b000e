"""Draws have nothing that an implementation does not offer, whether it says so or is found to decline it."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnspec.contract.declarations import resolve_conventions
from attnspec.families.lookup import needed_capabilities
from attnspec.targets import load
from attnspec_draws import draw, drawn_for, learned, not_offered
from attnspec_draws.drawing import drawn_of
from attnspec_draws.generators.limits import Limits

FORWARD, MERGE = "scaled_dot_product_attention", "merge_states"


def declaration(*operations, **more):
    functions = {operation: lambda **arguments: None for operation in operations}
    return load(SimpleNamespace(name="declared", **functions, **more)).declaration


def test_what_is_offered_and_drawable_is_drawn_in_the_order_of_the_contract():
    assert drawn_for(declaration(MERGE, "glorot_normal", "softmax", FORWARD)) == (
        "softmax",
        FORWARD,
        MERGE,
        "glorot_normal",
    )


def test_what_is_declared_is_left_out():
    declared = declaration(FORWARD, without=("float_mask", "sinks"))
    assert not_offered(declared, resolve_conventions({}, FORWARD)) == {"float_mask", "sinks"}


@pytest.mark.parametrize("operation", [FORWARD, "attention_mask"])
def test_other_values_of_an_attribute_that_is_fixed_are_left_out(recipes, operation):
    conventions = resolve_conventions({"causal_alignment": "bottom_right"}, operation)
    without = not_offered(declaration(operation), conventions)
    assert "causal_alignment=top_left" in without
    assert "causal_alignment=bottom_right" not in without
    stated = [drawn_of(recipe).attributes.get("causal_alignment") for recipe in recipes(operation, 60, without=without)]
    assert {*stated} == {None, "bottom_right"}


def test_masks_whose_queries_stand_top_left_are_not_said_to_show_the_other_alignment(recipes):
    drawn = [drawn_of(recipe) for recipe in recipes("attention_mask", 60)]
    shown = [(one.attributes.get("causal_alignment"), "attention_mask.alignment" in one.clauses) for one in drawn]
    assert {*shown} == {(None, False), ("top_left", False), ("bottom_right", True)}


def test_where_the_alignment_is_no_argument_what_is_top_left_is_drawn_still(recipes):
    drawn = [drawn_of(recipe) for recipe in recipes(FORWARD, 200, without=frozenset({"causal_alignment"}))]
    assert not any("causal_alignment" in one.attributes for one in drawn)
    moved = [one for one in drawn if {"is_causal", "unequal_lengths"} <= {*one.features} and not one.is_refused]
    assert len(moved) > 20
    assert all("causal_alignment" in one.conventions for one in moved)
    fixed = frozenset({"causal_alignment", "causal_alignment=top_left"})
    drawn = [drawn_of(recipe) for recipe in recipes(FORWARD, 200, without=fixed)]
    assert not any({"is_causal", "unequal_lengths"} <= {*one.features} for one in drawn)


@pytest.mark.parametrize(
    "lacks", ["mask", "float_mask", "mask_and_causal", "past_key", "scale", "window", "grouped_query", "empty_keys"]
)
@pytest.mark.parametrize("seed", ["seed", "another"])
def test_what_is_declined_is_learned(lacks, seed):
    called = []

    def offered(case):
        called.append(case)
        return lacks not in needed_capabilities(case)

    without = learned(FORWARD, Limits("float32"), offered, seed).without
    assert without == {lacks}
    assert max(case.inputs["query"].size for case in called) <= 256


def test_queries_without_keys_that_are_declined_are_learned():
    def offered(case):
        if case.rejects is not None:
            return True
        logsumexp = case.expected["all"]["logsumexp"]
        return not np.isneginf(logsumexp).any() or not case.inputs["key"].shape[2]

    without = learned(FORWARD, Limits("float32"), offered, "seed").without
    assert "fully_masked_row" in without
    assert {"window", "mask", "is_causal"}.isdisjoint(without)


def test_what_comes_to_no_answer_is_drawn_and_hides_nothing_that_is_declined():
    def offered(case):
        if "softcap" in case.attributes:
            return None
        return "mask" not in case.inputs

    without = learned(FORWARD, Limits("float32"), offered, "seed").without
    assert "mask" in without
    assert "softcap" not in without


def test_two_things_that_are_declined_together_cost_one_of_them():
    def offered(case):
        return "softcap" not in case.attributes or "is_causal" not in case.attributes

    without = learned(FORWARD, Limits("float32"), offered, "seed").without
    assert len(without & {"softcap", "is_causal"}) == 1


def test_several_things_that_are_declined_are_learned_beside_what_is_declared():
    declined = {"mask", "softcap"}

    def offered(case):
        return declined.isdisjoint(needed_capabilities(case))

    without = learned(FORWARD, Limits("float32", frozenset({"sinks"})), offered, "seed").without
    assert without == {"sinks", *declined}


def test_who_declines_nothing_has_nothing_left_out():
    assert learned(MERGE, Limits("float32"), lambda case: True, "seed").without == frozenset()


def test_who_declines_everything_has_nothing_to_be_left_out():
    assert learned(MERGE, Limits("float32"), lambda case: False, "seed").without == frozenset()


def test_what_was_learned_keeps_draws_within_what_is_offered(recipes):
    def offered(case):
        return "mask" not in case.inputs

    without = learned(FORWARD, Limits("float32"), offered, "seed").without
    assert all(offered(draw(recipe)) for recipe in recipes(FORWARD, 40, without=without, elements=300))
