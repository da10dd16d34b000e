"""The text of a draw: read as it was written, and refused in a sentence where it is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnspec.base.errors import UsageError
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_draws import Recipe, drawn_of, is_recipe, recipe_from_text
from attnspec_draws.drawing import drawable
from attnspec_draws.generators.limits import Limits

WORD = st.text("abcxyz0189_=.-", min_size=1, max_size=9)
NUMBER = st.integers(0, 999_999_999)
RECIPES = st.builds(
    Recipe,
    st.sampled_from(drawable()),
    st.from_regex(r"[^\s/:]+", fullmatch=True),
    NUMBER,
    st.builds(
        Limits,
        st.sampled_from(FLOAT_DTYPES),
        st.frozensets(WORD, max_size=3),
        elements=st.integers(2, 999_999_999),
        longest=st.integers(1, 999_999_999),
        extents=st.dictionaries(st.sampled_from(("keys", "batch", "value_width")), NUMBER),
        variant=NUMBER,
    ),
)
GOOD = "draw:merge_states/seed/7:float32"


@given(RECIPES)
def test_a_recipe_is_read_as_it_was_written(recipe):
    assert is_recipe(recipe.text)
    assert recipe_from_text(recipe.text) == recipe
    assert not {*recipe.text} & {*" \n\t"}


def test_what_has_its_default_is_not_written():
    assert Recipe("merge_states", "seed", 7, Limits("float32")).text == GOOD
    limits = Limits("bfloat16", frozenset({"b", "a=1"}), 50, 9, {"width": 3, "batch": 2}, 1)
    text = "draw:merge_states/s/0:bfloat16:elements=50:longest=9:variant=1:batch=2:width=3:without=a=1+b"
    assert Recipe("merge_states", "s", 0, limits).text == text


def test_words_may_stand_in_any_order_and_features_in_several_of_them():
    written = recipe_from_text(f"{GOOD}:without=b:width=3:without=a+b:elements=50")
    assert written.text == f"{GOOD}:elements=50:width=3:without=a+b"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("core/plain", "names no draw: write draw:OPERATION/SEED/NUMBER:DTYPE"),
        ("merge_states/seed/7:float32", "names no draw"),
        ("draw:", "names no draw"),
        ("draw:merge_states", "names no draw"),
        ("draw:merge_states/7:float32", "names no draw"),
        ("draw:merge_states/a/b/7:float32", "names no draw"),
        ("draw:merge_states//7:float32", "names no draw"),
        ("draw:merge_states/two words/7:float32", "names no draw"),
        ("draw:merge_states/seed/-7:float32", "names no draw"),
        ("draw:merge_states/seed/seven:float32", "names no draw"),
        ("draw:merge_states/seed/\u0667:float32", "names no draw"),
        (f"draw:merge_states/seed/{'9' * 5000}:float32", "names no draw"),
        ("draw:merge/seed/7:float32", "there is no operation 'merge'"),
        ("draw:merge_states/seed/7", "names no dtype"),
        ("draw:merge_states/seed/7:float", "the dtypes are float64, float32, float16, bfloat16"),
        ("draw:merge_states/seed/7:width=3", "names no dtype"),
        (f"{GOOD}:", "'' is none of AXIS=LENGTH, ATTRIBUTE=VALUE, with=INPUT"),
        (f"{GOOD}:width", "'width' is none of"),
        (f"{GOOD}:=3", "'=3' is none of"),
        (f"{GOOD}:width=", "'width=' is none of"),
        (f"{GOOD}:width=-3", "'width=-3' is none of"),
        (f"{GOOD}:width=3.0", "'width=3.0' is none of"),
        (f"{GOOD}:width={'9' * 5000}", "is none of"),
        (f"{GOOD}:without=", "'without=' is none of"),
        (f"{GOOD}:without=a+", "'without=a+' is none of"),
        (f"{GOOD}:width=3:width=4", "width is said twice"),
        (f"{GOOD}:elements=1", "leave no case"),
        (f"{GOOD}:longest=0", "leave no case"),
    ],
)
def test_a_text_that_names_no_draw_is_quoted_and_reported_why(text, said):
    with pytest.raises(UsageError) as raised:
        recipe_from_text(text)
    assert repr(text) in str(raised.value)
    assert said in str(raised.value)


@pytest.mark.parametrize("seed", ["", "a/b", "a:b", "a b", "a\n", "a\udcff"])
def test_a_seed_that_no_text_could_name_is_refused(seed):
    with pytest.raises(UsageError, match="cannot be written in a recipe: choose a word without space, / and :"):
        Recipe("merge_states", seed, 7, Limits("float32"))


@pytest.mark.parametrize("number", [-1, 10**9])
def test_a_number_that_no_text_could_name_is_refused(number):
    with pytest.raises(UsageError, match="numbers go from 0 to 999999999"):
        Recipe("merge_states", "seed", number, Limits("float32"))


def test_recipes_are_changed_in_one_thing_at_a_time():
    recipe = recipe_from_text(f"{GOOD}:without=a:width=3")
    assert recipe.leaving_out(("b",)).text == f"{GOOD}:width=3:without=a+b"
    assert recipe.in_variant(2).text == f"{GOOD}:variant=2:width=3:without=a"
    assert recipe.with_extents({"width": 2, "batch": 1}).text == f"{GOOD}:batch=1:width=2:without=a"


def test_an_input_that_is_given_is_there_in_every_draw():
    of_axes = {"mask.1nnn": (1, "heads", "queries", "keys"), "mask.nn": ("queries", "keys"), "mask.11": (1, 1)}
    for word, axes in of_axes.items():
        for number in range(6):
            text = f"draw:scaled_dot_product_attention/given/{number}:float32:with={word}+sinks"
            assert recipe_from_text(text).text == text
            drawn = drawn_of(recipe_from_text(f"{text}:without=refused+past_key"))
            lengths = {**drawn.extents, "heads": drawn.extents["shared"] * drawn.extents["group"]}
            assert drawn.inputs["mask"].shape == tuple(lengths.get(axis, axis) for axis in axes)
            assert drawn.inputs["sinks"].shape == (lengths["heads"],)


def test_what_is_given_is_not_taken_away():
    for number in range(40):
        words = "with=mask.nnnn+key_lengths+query_lengths:is_causal=true:without=fully_masked_row+refused+past_key"
        drawn = drawn_of(recipe_from_text(f"draw:scaled_dot_product_attention/given/{number}:float32:{words}"))
        assert {"mask", "key_lengths", "query_lengths"} <= drawn.inputs.keys()
        assert drawn.attributes["is_causal"] is True


def test_a_scale_can_be_given_without_axes():
    drawn = drawn_of(recipe_from_text("draw:scaled_dot_product_attention/given/1:float32:with=key_scale.0"))
    assert drawn.inputs["key_scale"].shape == ()
    assert "value_scale" not in drawn.inputs


@pytest.mark.parametrize("chosen", ["peaked", "large", "rising", "tied", "uniform", "cancelling", "tiny"])
def test_the_class_of_numbers_can_be_stated(chosen):
    text = f"draw:scaled_dot_product_attention/given/2:float32:numbers={chosen}"
    assert recipe_from_text(text).text == text
    assert chosen in drawn_of(recipe_from_text(text)).features


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("numbers=funny", "'funny' is no class of numbers"),
        ("with=unicorn", "with=unicorn names no input that scaled_dot_product_attention may be given"),
        ("with=mask.x", "'mask.x' is no INPUT"),
        ("with=mask.nnnnn", "mask is given 5 axes, of 4 at most"),
    ],
)
def test_what_cannot_be_given_is_reported(words, said):
    with pytest.raises(UsageError, match=said):
        drawn_of(recipe_from_text(f"draw:scaled_dot_product_attention/given/1:float32:{words}"))
