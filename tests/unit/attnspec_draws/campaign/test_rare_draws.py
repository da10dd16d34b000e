"""Draws that a campaign makes now and then: larger, wider or plainer ones, which chance makes too seldom or never."""

import numpy as np
import pytest

from attnspec_draws import draw, drawn_of
from attnspec_draws.campaign.plan import PART, Kind, Part
from attnspec_draws.generators.limits import Limits
from attnspec_reference import scaled_dot_product_attention

FORWARD = "scaled_dot_product_attention"


def rare(limits, operation=FORWARD, count=42):
    """The rare draws of the first parts, which are those whose recipes say more than the limits do."""
    parts = [Part(Kind(operation, limits), "rare", PART * number, PART) for number in range(count)]
    return [recipe for part in parts for recipe in part.recipes if recipe.limits.extents]


def columns_in(dtype):
    def wrong(mask=None, **given):
        if mask is not None:
            mask = mask[..., np.arange(mask.shape[-1]).astype(dtype)]
        return scaled_dot_product_attention(mask=mask, **given)

    return wrong


def offsets_in(dtype):
    def wrong(mask=None, **given):
        if mask is not None:
            mask = mask.ravel()[np.arange(mask.size).astype(dtype)].reshape(mask.shape)
        return scaled_dot_product_attention(mask=mask, **given)

    return wrong


def rows_of_128(key, **given):
    if key.dtype.name == "int8":
        key = np.concatenate([key[..., :128], np.zeros_like(key[..., 128:])], axis=-1)
    return scaled_dot_product_attention(key=key, **given)


def one_tile_of_values(**given):
    found = scaled_dot_product_attention(**given)._asdict()
    return {**found, "output": np.where(np.arange(found["output"].shape[-1]) < 256, found["output"], 0)}


def slopes_forget_the_past(alibi_slopes=None, **given):
    if alibi_slopes is not None and "past_key" in given and given["query"].shape[2] == 1:
        alibi_slopes = alibi_slopes * 0
    return scaled_dot_product_attention(alibi_slopes=alibi_slopes, **given)


WRONG = {
    "columns of a mask in 16 bits with a sign": columns_in(np.int16),
    "columns of a mask in 16 bits": columns_in(np.uint16),
    "elements of a mask in 16 bits": offsets_in(np.uint16),
    "quantized rows of 128 features": rows_of_128,
    "one tile of value features": one_tile_of_values,
    "slopes that forget the past of one query": slopes_forget_the_past,
}


@pytest.fixture(scope="module")
def cases():
    return [draw(recipe) for recipe in rare(Limits("float64"))]


@pytest.mark.parametrize("name", WRONG)
def test_they_show_it(name, cases, results):
    wrong = [result for result in results(cases, WRONG[name]) if result.is_wrong]
    assert wrong


def test_nothing_right_is_wrong_there(cases, results):
    assert not [one for one in results(cases, scaled_dot_product_attention) if one.is_wrong]


def test_each_part_has_one():
    assert len(rare(Limits("float32"))) == 42
    assert len(rare(Limits("float32"), "multi_head_attention", 3)) == 3
    assert not rare(Limits("float32"), "softmax", 3)


def test_what_is_left_out_and_what_is_said_of_sizes_holds_of_them_too():
    for recipe in rare(Limits("float32", frozenset({"mask", "past_key", "unequal_lengths"}))):
        made = drawn_of(recipe)
        assert {"mask", "past_key"}.isdisjoint(made.inputs)
        assert made.extents["queries"] == made.extents["keys"]
    for recipe in rare(Limits("float32", elements=5_000, longest=300)):
        made = drawn_of(recipe)
        assert max(made.extents.values()) <= 300
        assert max(array.size for array in made.inputs.values()) <= 5_000
