"""Variants of a draw, and attributes that every draw states."""

import numpy as np
import pytest

from attnspec.base.errors import UsageError
from attnspec.contract import OPERATIONS
from attnspec_draws import Recipe, drawable, drawn_of, recipe_from_text
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.words import REVERSED, Words

OPERATION = "scaled_dot_product_attention"
ALIKE = frozenset({"alike"})
NUMBER = {"rotary_tables": 0}
"""A draw whose positions do not follow one another."""

each_operation = pytest.mark.parametrize(
    "operation", [operation for operation in drawable() if OPERATIONS[operation].inputs]
)


@each_operation
def test_a_variant_has_other_numbers_in_the_same_shapes_or_its_own_in_the_opposite_order(operation):
    # What is alike everywhere is one of its numbers, and another one in the opposite order.
    first, second, backwards = (
        drawn_of(Recipe(operation, "variants", NUMBER.get(operation, 2), Limits("float32", ALIKE, variant=variant)))
        for variant in (0, 1, REVERSED)
    )
    shapes = {name: array.shape for name, array in first.inputs.items()}
    assert shapes == {name: array.shape for name, array in second.inputs.items()}
    assert any(not np.array_equal(first.inputs[name], second.inputs[name]) for name in shapes)
    name = "query" if "query" in shapes else next(iter(shapes))
    assert not np.array_equal(first.inputs[name], backwards.inputs[name])
    assert np.array_equal(np.sort(first.inputs[name], axis=None), np.sort(backwards.inputs[name], axis=None))


def test_the_words_of_the_last_variant_come_in_the_opposite_order():
    first, backwards = (Words("softly/7", variant) for variant in (0, REVERSED))
    assert first.varied("key").words(4).tolist() == backwards.varied("key").words(4).tolist()[::-1]
    assert first.of("mask").word() == backwards.of("mask").word()


@pytest.mark.parametrize(
    ("name", "value"),
    [("is_causal", True), ("scale", -0.5), ("window", [3, None]), ("causal_alignment", "bottom_right")],
)
def test_a_stated_attribute_is_stated_in_every_draw_and_in_its_text(name, value):
    for number in range(20):
        recipe = Recipe(OPERATION, "stated", number, Limits("float32", stated={name: value}))
        assert recipe_from_text(recipe.text) == recipe
        assert drawn_of(recipe).attributes[name] == value


def test_a_backward_pass_that_is_too_large_is_reported():
    text = f"draw:{OPERATION}_backward/1/1:float32:rows=4:batch=64:shared=64:queries=4096:keys=4096"
    with pytest.raises(UsageError, match="A backward pass is drawn whole"):
        drawn_of(recipe_from_text(text))


def test_lengths_that_no_memory_holds_are_reported():
    with pytest.raises(UsageError, match="the largest tensor has"):
        drawn_of(recipe_from_text(f"draw:{OPERATION}/1/1:float32:keys=100000000"))
