"""Draws keep to what their recipe says, and the same recipe is the same case."""

from dataclasses import replace

import numpy as np
import pytest

from attnspec.base.errors import UsageError
from attnspec.cases import run_attributes
from attnspec.contract import CAPABILITIES
from attnspec.contract.declarations import is_capability
from attnspec.contract.dtypes import FLOAT_DTYPES, follows_run, rounded_to
from attnspec.families.lookup import needed_capabilities
from attnspec.grading.expectation import reference_outputs
from attnspec_draws import draw, drawable, recipe_from_text
from attnspec_draws.drawing import case_of, drawn_of
from attnspec_reference import scaled_dot_product_attention

SMALL = {"elements": 1_000, "longest": 64}
STEADY = {"mask", "sinks", "alibi_slopes", "key_lengths", "query_lengths", "grad_logsumexp"}
"""Inputs that are the same in every variant."""

each_operation = pytest.mark.parametrize("operation", drawable())
BY_PROPERTIES = {"glorot_normal"}
"""What is graded by properties has no values, and no axis that could be shorter."""

of_values = pytest.mark.parametrize("operation", [name for name in drawable() if name not in BY_PROPERTIES])


def in_16_bits(mask, dtype):
    """Read a mask by flat indices that are kept in 16 bits."""
    flat = np.arange(mask.size).astype(dtype).astype(np.int64)
    return mask.reshape(-1)[flat].reshape(mask.shape)


def in_16_bits_a_row(mask, dtype):
    """Read a mask by columns that are kept in 16 bits."""
    return mask[..., np.arange(mask.shape[-1]).astype(dtype).astype(np.int64)]


@pytest.mark.parametrize(
    ("name", "reading", "dtype"),
    [
        ("1/532:float64:elements=150000:longest=70000", in_16_bits, np.uint16),
        ("1/56:float64:elements=600000:longest=70000", in_16_bits_a_row, np.int16),
    ],
)
def test_long_axes_have_masks_beyond_16_bits(name, reading, dtype):
    case = draw(recipe_from_text(f"draw:scaled_dot_product_attention/{name}"))
    expected = scaled_dot_product_attention(**case.inputs, **case.attributes).output
    given = {**case.inputs, "mask": reading(case.inputs["mask"], dtype)}
    wrong = scaled_dot_product_attention(**given, **case.attributes).output
    assert not np.allclose(wrong, expected, rtol=1e-6)


def of_same_bits(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def same(one, other):
    """Return the inputs in which two draws agree."""
    names = one.keys() & other.keys()
    return {name for name in names if of_same_bits(one[name], other[name])}


def features(recipes, operation, count=600):
    """Return every feature that the case generator of an operation knows: all that some draw of many has."""
    drawn = (drawn_of(recipe) for recipe in recipes(operation, count, **SMALL))
    return sorted({feature for one in drawn for feature in one.features})


def test_cases_are_drawn_of_some_operations():
    assert {"scaled_dot_product_attention", "merge_states"} <= {*drawable()}


@each_operation
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_every_number_is_one_of_the_dtype(operation, dtype, recipes):
    for recipe in recipes(operation, 100, dtype):
        for name, array in drawn_of(recipe).inputs.items():
            if follows_run(array):
                assert np.array_equal(array, rounded_to(array, dtype), equal_nan=True), (recipe.text, name)


@each_operation
def test_the_same_recipe_gives_the_same_bits(operation, recipes):
    for recipe in recipes(operation, 60):
        one, other = draw(recipe), draw(recipe_from_text(recipe.text))
        assert same(one.inputs, other.inputs) == {*one.inputs} == {*other.inputs}
        assert one.attributes == other.attributes
        assert one.memory_order == other.memory_order
        assert one.properties == other.properties
        if one.properties is None:
            assert same(one.expected["all"], other.expected["all"]) == {*one.expected["all"]}


@each_operation
def test_numbers_seeds_and_dtypes_give_other_draws(operation, recipes):
    drawn = [drawn_of(recipe) for recipe in recipes(operation, 40)]
    others = [
        *map(drawn_of, recipes(operation, 40, seed="other")),
        *map(drawn_of, recipes(operation, 40, "float16")),
    ]
    contents = [
        (b"".join(array.tobytes() for array in one.inputs.values()), repr(one.attributes)) for one in (*drawn, *others)
    ]
    assert len({*contents}) > 0.9 * len(contents)


@of_values
@pytest.mark.parametrize(("elements", "longest"), [(60_000, 4_096), (1_000, 64), (300, 3), (2, 4_096), (500, 1)])
def test_no_draw_is_larger_than_its_limits(operation, elements, longest, recipes):
    reached = axes = 0
    for recipe in recipes(operation, 150, elements=elements, longest=longest):
        drawn = drawn_of(recipe)
        assert max(drawn.extents.values()) <= longest
        outputs = (
            reference_outputs(operation, drawn.inputs, run_attributes("float64", drawn.attributes))
            if not drawn.is_refused and (elements <= 1_000 or not drawn.inputs)
            else {}
        )
        # Steps in between count as well: the scores are outputs, too.
        largest = max((array.size for array in (*drawn.inputs.values(), *outputs.values())), default=0)
        assert largest <= elements
        reached, axes = max(reached, largest), max(axes, len(drawn.extents))
    assert longest < 9 or reached > min(elements, longest**axes) / 10


@each_operation
def test_no_draw_has_what_is_left_out(operation, recipes):
    for feature in features(recipes, operation):
        for recipe in recipes(operation, 60, without=frozenset({feature}), **SMALL):
            drawn = drawn_of(recipe)
            assert feature not in drawn.features, recipe.text
            assert feature not in drawn.inputs.keys() | drawn.attributes.keys(), recipe.text


@each_operation
def test_no_draw_needs_a_capability_that_is_left_out(operation, recipes):
    known = {*features(recipes, operation)} & {*CAPABILITIES, *filter(is_capability, CAPABILITIES)}
    for word in (*sorted(known), None):
        without = frozenset({word}) if word else frozenset(known)
        for recipe in recipes(operation, 40, without=without, **SMALL):
            assert needed_capabilities(case_of(recipe, drawn_of(recipe))).isdisjoint(without), recipe.text


@each_operation
def test_leaving_a_feature_out_leaves_other_inputs_alone(operation, recipes):
    moved = {}
    for recipe in recipes(operation, 80, **SMALL):
        whole = drawn_of(recipe)
        stated = recipe.with_extents(whole.extents)
        # Without a past there are fewer keys, and masks are of another shape.
        for feature in ({*whole.features} & whole.inputs.keys()) - {"past_key", "past_latent"}:
            less = drawn_of(stated.leaving_out((feature,)))
            if whole.is_refused or less.is_refused:
                # Which argument is made wrong is one of those that there are.
                continue
            left = {name: array for name, array in whole.inputs.items() if name in less.inputs}
            if differing := left.keys() - same(left, less.inputs):
                moved[recipe.text, feature] = differing
            assert {*less.inputs} <= {*whole.inputs}
            laid_out = {name: layout for name, layout in whole.memory_order.items() if name in less.inputs}
            # A section of an array whose other sections are left out is an array.
            alone = laid_out.keys() - less.memory_order if "fused" in laid_out.values() else set()
            assert len(alone) <= 1
            assert {name: layout for name, layout in laid_out.items() if name not in alone} == {**less.memory_order}
    # NaN and infinity stand where no query may look, which hangs on what excludes keys, and in rows that do not count,
    # which hangs on lengths; what was stored, on the rest.
    for (_, feature), moves in moved.items():
        scaled = {feature.removesuffix("_scale")} if feature.endswith("_scale") else set()
        rows = {"query", "grad_output", "grad_logsumexp"} if feature in ("query_lengths", "grad_logsumexp") else set()
        assert moves <= {"key", "value", "past_key", "past_value", "output", "logsumexp"} | scaled | rows


@each_operation
def test_a_variant_has_other_numbers_at_the_same_positions(operation, recipes):
    for recipe in recipes(operation, 60, **SMALL):
        one, other = drawn_of(recipe), drawn_of(recipe.in_variant(1))
        assert {name: array.shape for name, array in one.inputs.items()} == {
            name: array.shape for name, array in other.inputs.items()
        }
        for field in ("attributes", "features", "extents", "clauses", "conventions", "memory_order"):
            assert getattr(one, field) == getattr(other, field)
        kept = same(one.inputs, other.inputs)
        assert one.inputs.keys() & STEADY <= kept
        assert not any(one.inputs[name].size > 8 for name in one.inputs.keys() - STEADY) or kept != {*one.inputs}


@each_operation
def test_axes_that_are_stated_have_their_lengths(operation, recipes):
    for recipe in recipes(operation, 60, **SMALL):
        axes = drawn_of(recipe).extents
        for axis in axes:
            fixed = replace(recipe, limits=replace(recipe.limits, extents={axis: 5}))
            assert drawn_of(fixed).extents[axis] == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "draw:glorot_normal/1/1:float32:fan_in=64:fan_out=63",
            "Weights are graded by properties of 4096 elements and more, and these are 64 by 63: state more rows",
        ),
        ("draw:merge_states/1/1:float32:without=unicorns", "'unicorns' is nothing that a draw could leave out"),
        ("draw:merge_states/1/1:float32:keys=3", "there is no axis 'keys'; the axes are batch, heads, queries, width."),
        ("draw:merge_states/1/1:float32:width=999999999", "With width=999999999, the largest tensor has 999999999 ele"),
        ("draw:scaled_dot_product_attention/1/1:float32:keys=999999999", "and 60000 is the limit: shorten an axis"),
        ("draw:scaled_dot_product_attention/1/1:float32:elements=9:batch=10", "and 9 is the limit"),
        (
            "draw:scaled_dot_product_attention_backward/1/1:float32:past=3",
            "there is no axis 'past'; the axes are batch",
        ),
    ],
)
def test_a_recipe_of_nothing_is_reported_why(text, said):
    with pytest.raises(UsageError) as raised:
        draw(recipe_from_text(text))
    assert str(raised.value).startswith(f"{text}: ")
    assert said in str(raised.value)


@each_operation
def test_a_draw_says_what_it_is(operation, recipes):
    (recipe,) = recipes(operation, 1, "bfloat16", **SMALL)
    case = draw(recipe)
    assert case.id == recipe.text
    assert case.dtypes == (("bfloat16",) if case.inputs else ())
    assert not case.is_certified
    assert (case.operation, case.profile) == (operation, "draws")


def test_axes_of_softmax_that_are_stated_say_how_many_there_are():
    for number in range(20):
        recipe = recipe_from_text(f"draw:softmax/rank/{number}:float32:axis_0=2:axis_2=3")
        shape = drawn_of(recipe).inputs["x"].shape
        assert (len(shape), shape[0], shape[2]) == (3, 2, 3)


def test_queries_and_keys_without_features_are_not_drawn_together():
    """The page says nothing of them, so that nobody has to refuse them."""
    short = "batch=1:group=1:keys=1:past=0:queries=1:shared=1:value_width=1:width=1"
    case = draw(
        recipe_from_text(
            f"draw:scaled_dot_product_attention/spring/6257:float32:{short}:without=empty_heads+full_width+heavy+key_lengths+mixed_quantization+query_scale+softcap"
        )
    )
    assert case.rejects is not None
    assert (case.inputs["query"].shape[-1], case.inputs["key"].shape[-1]) == (0, 1)
