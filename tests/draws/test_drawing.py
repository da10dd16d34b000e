"""Draws: the same on every machine, within their limits, exact in their dtype, and passed by what is right."""

from functools import partial

import numpy as np
import pytest

import attnspec
from attnspec import capabilities
from attnspec.adapters import load
from attnspec.cases import suite_of
from attnspec.draws import Recipe, draw, drawable, drawn_of, learned, load_selected, recipe_from_text, shrunk
from attnspec.dtypes import FLOAT_DTYPES, follows_run, rounded_to
from attnspec.errors import UsageError
from attnspec.families.attention.drawing.tokens import CLASSES
from attnspec.lattice import REVERSED, Limits
from attnspec.runner import run_suite
from attnspec_authoring.proof.subjects import implementation_of
from attnspec_mistakes import CATALOGUE

OPERATION = "scaled_dot_product_attention"
LEFT_OUT = (
    "mask",
    "float_mask",
    "boolean_mask",
    "broadcast_mask",
    "mask_and_causal",
    "is_causal",
    "causal_alignment",
    "causal_alignment=bottom_right",
    "window",
    "open_window",
    "scale",
    "negative_scale",
    "zero_scale",
    "softcap",
    "past_key",
    "key_lengths",
    "query_lengths",
    "sinks",
    "alibi_slopes",
    "grouped_query",
    "value_width",
    "unequal_lengths",
    "empty_keys",
    "empty_queries",
    "empty_heads",
    "empty_batch",
)
each_operation = pytest.mark.parametrize("operation", drawable())


def recipe(operation=OPERATION, number=0, dtype="float32", **limits):
    return Recipe(operation, "tests", number, Limits(dtype, **limits))


def result_of(case, implementation):
    suite = suite_of([case])
    return run_suite(suite, implementation, dtypes=case.dtypes)[0]


@each_operation
def test_the_same_recipe_draws_the_same_bits(operation):
    for number in range(10):
        first, second = draw(recipe(operation, number)), draw(recipe_from_text(recipe(operation, number).text))
        assert first.inputs.keys() == second.inputs.keys()
        assert all(first.inputs[name].tobytes() == second.inputs[name].tobytes() for name in first.inputs)
        assert (first.attributes, first.presentation) == (second.attributes, second.presentation)


@each_operation
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_every_number_is_one_of_its_dtype(operation, dtype):
    for number in range(60):
        drawn = drawn_of(recipe(operation, number, dtype))
        for array in filter(follows_run, drawn.inputs.values()):
            assert np.array_equal(array, rounded_to(array, dtype), equal_nan=True)


@each_operation
def test_draws_keep_to_their_limits(operation):
    for number in range(150):
        drawn = drawn_of(recipe(operation, number, elements=900, longest=50))
        assert max(array.size for array in drawn.inputs.values()) <= 900
        stated = {axis: length + 1 for axis, length in drawn.extents.items()}
        assert drawn_of(recipe(operation, number, extents=stated)).extents == stated


@pytest.mark.parametrize("feature", LEFT_OUT)
def test_what_is_left_out_is_not_drawn(feature):
    for number in range(150):
        small = recipe(number=number, without=frozenset([feature]), elements=600)
        drawn = drawn_of(small)
        assert feature not in drawn.features
        assert capabilities.lacking(draw(small), [feature]) is None


def test_everything_is_drawn_at_times():
    seen = {feature for number in range(2_500) for feature in drawn_of(recipe(number=number, elements=600)).features}
    numbers = set(CLASSES) - {"plain"}
    assert {*LEFT_OUT, *numbers, "presentation", "excluded_nonfinite", "attended_nan"} - seen == set()


def test_what_is_left_out_moves_nothing_else():
    number = next(number for number in range(99) if {"mask", "scale"} <= {*drawn_of(recipe(number=number)).features})
    whole = drawn_of(recipe(number=number))
    fewer = drawn_of(recipe(number=number, without=frozenset(["mask"])))
    assert "mask" not in fewer.inputs
    assert fewer.attributes == whole.attributes
    assert np.array_equal(fewer.inputs["query"], whole.inputs["query"])


@each_operation
def test_a_variant_has_other_numbers_in_the_same_shapes(operation):
    first, second, backwards = (drawn_of(recipe(operation, 1, variant=variant)) for variant in (0, 1, REVERSED))
    shapes = {name: array.shape for name, array in first.inputs.items()}
    assert shapes == {name: array.shape for name, array in second.inputs.items()}
    assert any(not np.array_equal(first.inputs[name], second.inputs[name]) for name in shapes)
    name = "query" if "query" in shapes else next(iter(shapes))
    assert np.array_equal(np.sort(first.inputs[name], axis=None), np.sort(backwards.inputs[name], axis=None))


@each_operation
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_the_reference_passes(operation, dtype):
    reference = load("reference")
    for number in range(25):
        result = result_of(draw(recipe(operation, number, dtype, elements=4_000)), reference)
        assert result.status in ("pass", "ungraded"), f"{result.case.id}: {result.verdict.message}"


def fails_likewise(case, implementation, check):
    return result_of(case, implementation).verdict.check == check


@each_operation
def test_what_is_wrong_is_found_and_made_small(operation):
    found = 0
    for mistake in [each for each in CATALOGUE if each.operation == operation and each.begin is None][:40:5]:
        wrong = implementation_of(mistake)
        for number in range(60):
            drawn = recipe(operation, number, "float64", elements=2_000)
            failed = result_of(draw(drawn), wrong)
            if not failed.is_wrong:
                continue
            found += 1
            fails = partial(fails_likewise, implementation=wrong, check=failed.verdict.check)
            small = shrunk(drawn, fails, most=120)
            assert fails(draw(small))
            assert sum(drawn_of(small).extents.values()) <= sum(drawn_of(drawn).extents.values())
            break
    assert found >= 3


def test_what_is_declined_is_learned():
    def offered(case):
        return "sinks" not in case.inputs and not ("mask" in case.inputs and "is_causal" in case.attributes)

    found = learned(OPERATION, Limits("float32"), offered, "tests")
    assert found == {"sinks", "mask_and_causal"}


def test_draws_are_selected_by_their_text():
    text = recipe().text
    assert list(load_selected(select=(text,)).cases) == [text]
    assert set(load_selected(select=(text, "core/plain")).cases) == {text, "core/plain"}
    one = attnspec.case(text, "float32")
    one.check(one.expected["output"].astype("float32"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("draw:softmax/1/1:float32", "cases of softmax cannot be drawn"),
        (f"draw:{OPERATION}/1/1:float32:leaves=3", "there is no axis 'leaves'"),
    ],
)
def test_what_cannot_be_drawn_is_told(text, says):
    with pytest.raises(UsageError, match=says):
        load_selected(select=(text,))
