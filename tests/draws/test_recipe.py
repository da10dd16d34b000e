"""The text of a draw: it is read as it was written, and what is none is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnspec.draws import Recipe, is_recipe, recipe_from_text
from attnspec.dtypes import FLOAT_DTYPES
from attnspec.errors import UsageError
from attnspec.lattice import Limits

OPERATION = "scaled_dot_product_attention"
WORDS = st.text("abcdefgh_0123456789", min_size=1, max_size=8)
LIMITS = st.builds(
    Limits,
    st.sampled_from(FLOAT_DTYPES),
    st.frozensets(st.sampled_from(["mask", "causal_alignment=bottom_right", "full_width"])),
    elements=st.integers(1, 10**9),
    longest=st.integers(1, 10**6),
    extents=st.dictionaries(st.sampled_from(["keys", "batch"]), st.integers(0, 5_000)),
    variant=st.integers(0, 3),
    rows=st.integers(0, 99),
    stated=st.dictionaries(
        st.sampled_from(["is_causal", "scale", "window", "causal_alignment"]),
        st.one_of(st.booleans(), st.floats(-4, 4), st.just([3, None]), st.just("bottom_right")),
    ),
)


@given(st.builds(Recipe, st.just(OPERATION), WORDS, st.integers(0, 10**12), LIMITS))
def test_it_is_read_as_it_was_written(recipe):
    assert is_recipe(recipe.text)
    assert recipe_from_text(recipe.text) == recipe


def test_what_is_as_usual_is_not_written():
    assert Recipe(OPERATION, "7", 42, Limits("float32")).text == f"draw:{OPERATION}/7/42:float32"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("draw:", "names no draw"),
        (f"draw:{OPERATION}/7", "names no draw"),
        (f"draw:{OPERATION}/7/x:float32", "names no draw"),
        ("draw:adding/7/1:float32", "there is no operation 'adding'"),
        (f"draw:{OPERATION}/7/1", "names no dtype"),
        (f"draw:{OPERATION}/7/1:float7", "names no dtype"),
        (f"draw:{OPERATION}/7/1:float32:keys=many", "'keys=many' is neither"),
        (f"draw:{OPERATION}/7/1:float32:keys", "'keys' is neither"),
    ],
)
def test_what_is_no_recipe_is_told(text, says):
    with pytest.raises(UsageError, match=says):
        recipe_from_text(text)
