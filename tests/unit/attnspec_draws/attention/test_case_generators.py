"""What the case generators of attention promise: all of it is reached, and what is drawn is what its words say."""

from collections import Counter

import numpy as np
import pytest

from attnspec.contract import OPERATIONS
from attnspec.specification import clauses
from attnspec_draws import Recipe, draw
from attnspec_draws.attention.parts.tokens import CLASSES
from attnspec_draws.drawing import drawn_of
from attnspec_draws.generators.limits import Limits

FORWARD, BACKWARD, MERGE = "scaled_dot_product_attention", "scaled_dot_product_attention_backward", "merge_states"
BOTH = (
    *(name for name in CLASSES if name != "plain"),
    *("mask", "key_lengths", "query_lengths", "sinks", "alibi_slopes"),
    *("is_causal", "scale", "softcap", "window", "causal_alignment"),
    *("boolean_mask", "float_mask", "mask_and_causal", "broadcast_mask", "open_window", "zero_scale", "negative_scale"),
    *("grouped_query", "value_width", "unequal_lengths", "fully_masked_row", "presentation"),
    *("alike", "one_array", "one_part_for_many", "refused", "refused_twice", "changed_argument", "beyond_float16"),
    *("empty_keys", "empty_queries", "empty_heads", "empty_batch"),
    *("causal_alignment=top_left", "causal_alignment=bottom_right"),
    *("excluded_nonfinite", "attended_nan", "nan_in_mask", "padded_nonfinite"),
    *(f"mask.{form}" for form in ("nn", "11nn", "n1nn", "n11n", "nnn", "1nnn", "nn1n", "1n", "nnnn")),
)
WORDS = {
    FORWARD: {
        *BOTH,
        *("past_key", "infinite_scores", "shared_prefix", "heavy"),
        *("query_scale", "key_scale", "value_scale", "scale_per_head", "scale_per_batch_entry", "mixed_quantization"),
        *("float8_e4m3fn", "float8_e5m2", "int8"),
    },
    BACKWARD: {*BOTH, "grad_logsumexp", "output", "logsumexp", "nan_in_gradient"},
    MERGE: {
        "full_width",
        "empty_parts",
        "excluded_nonfinite",
        "attended_nan",
        "nearly_largest",
        "heavy",
        "empty_queries",
        "presentation",
        "refused",
        "refused_twice",
        "beyond_float16",
        "changed_argument",
    },
}
LAYOUTS = {"fortran", "heads_last", "heads_last_gapped", "reversed", "gapped", "inside", "readonly", "fused", "prefix"}
SHARING_MEMORY = {"shared", "broadcast", "heads_broadcast", "tokens_broadcast", "features_broadcast"}
SMALL = Limits("float32", elements=1_000, longest=64)
each_operation = pytest.mark.parametrize("operation", WORDS)


@pytest.fixture(scope="module")
def drawn():
    """Draw 2,000 small cases of each operation."""
    return {operation: [drawn_of(Recipe(operation, "reach", n, SMALL)) for n in range(2_000)] for operation in WORDS}


def is_answered(one):
    return not one.is_refused


@each_operation
def test_every_feature_and_every_layout_is_reached(operation, drawn):
    assert {feature for one in drawn[operation] for feature in one.features} == WORDS[operation]
    assert {layout for one in drawn[operation] for layout in one.memory_order.values()} == LAYOUTS | (
        set() if operation == MERGE else SHARING_MEMORY
    )


@each_operation
def test_every_convention_that_changes_results_is_reached(operation, drawn):
    reached = {name for one in drawn[operation] for name in one.conventions}
    assert reached <= {*OPERATIONS[operation].conventions}
    assert {"empty_logsumexp", "logsumexp_base"} <= reached


@each_operation
def test_clauses_are_of_the_page_and_each_once(operation, drawn):
    known = clauses()
    for one in drawn[operation]:
        assert len({*one.clauses}) == len(one.clauses)
        assert {*one.clauses} <= known.keys()


@each_operation
def test_features_are_said_once(operation, drawn):
    assert all(len({*one.features}) == len(one.features) for one in drawn[operation])


@pytest.mark.parametrize("operation", [FORWARD, BACKWARD])
def test_features_are_what_the_case_has(operation, drawn):
    for one in filter(is_answered, drawn[operation]):
        query, key, value = (one.inputs[name] for name in ("query", "key", "value"))
        past = one.inputs["past_key"].shape[2] if "past_key" in one.inputs else 0
        columns = key.shape[2] + past
        mask, scale = one.inputs.get("mask"), one.attributes.get("scale")
        has = {
            "value_width": value.shape[3] != key.shape[3],
            "unequal_lengths": query.shape[2] != columns,
            "empty_keys": columns == 0,
            "empty_queries": query.shape[2] == 0,
            "empty_batch": query.shape[0] == 0,
            "empty_heads": query.shape[1] == 0,
            "boolean_mask": mask is not None and mask.dtype == np.bool_,
            "float_mask": mask is not None and mask.dtype == np.float64,
            "mask_and_causal": mask is not None and "is_causal" in one.attributes,
            "negative_scale": scale is not None and scale < 0,
            "zero_scale": scale == 0,
            "open_window": None in (one.attributes.get("window") or ()),
            "past_key": past > 0,
            **{name: name in one.inputs for name in ("mask", "sinks", "alibi_slopes", "key_lengths", "query_lengths")},
            **{name: name in one.attributes for name in ("is_causal", "window", "softcap", "causal_alignment")},
        }
        assert {name for name, holds in has.items() if holds} == {*one.features} & has.keys()


@pytest.mark.parametrize("operation", [FORWARD, BACKWARD])
def test_queries_without_keys_are_what_the_reference_leaves_empty(operation):
    seen = Counter()
    for number in range(150):
        case = draw(Recipe(operation, "empty", number, SMALL))
        one = drawn_of(Recipe(operation, "empty", number, SMALL))
        weights = case.expected["all"].get("weights")
        not_finite = {"attended_nan", "infinite_scores", "nan_in_mask"} & {*one.features}
        if weights is None or not weights.size or "sinks" in one.inputs or not_finite:
            continue
        counted = np.ones(weights.shape[:3], np.bool_)
        if "query_lengths" in one.inputs:
            counted = np.broadcast_to(
                np.arange(weights.shape[2]) < one.inputs["query_lengths"].reshape(-1, 1, 1), counted.shape
            )
        empty = bool((counted & ~weights.any(axis=-1) & np.isneginf(case.expected["all"]["logsumexp"])).any())
        assert empty == ("fully_masked_row" in one.features), case.id
        seen[empty] += 1
    assert operation == BACKWARD or min(seen[True], seen[False]) > 5


def test_the_axes_of_a_case_are_its_shapes(drawn):
    for one in filter(is_answered, drawn[FORWARD]):
        axes = one.extents
        heads = axes["shared"] * axes["group"]
        assert one.inputs["query"].shape == (axes["batch"], heads, axes["queries"], axes["width"])
        assert one.inputs["value"].shape == tuple(axes[name] for name in ("batch", "shared", "keys", "value_width"))


def test_a_backward_pass_has_fewer_elements():
    """Its grading takes longer: at its default, a forward draw comes to more than a backward draw may."""
    largest = {
        operation: max(
            max(array.size for array in drawn_of(Recipe(operation, "large", number, Limits("float32"))).inputs.values())
            for number in range(200)
        )
        for operation in (FORWARD, BACKWARD)
    }
    assert largest[BACKWARD] <= 15_000 < largest[FORWARD] <= 60_000
    stated = Recipe(BACKWARD, "large", 1, Limits("float32", extents={"queries": 20, "keys": 2_000, "batch": 1}))
    assert drawn_of(stated).extents["keys"] == 2_000


def test_parts_that_are_empty_hold_nothing_that_counts(drawn):
    clauses_of = {"merge.empty.one", "merge.empty.ignored", "merge.empty.both"}
    for one in filter(is_answered, drawn[MERGE]):
        none = [np.isneginf(one.inputs[f"logsumexp_{side}"]) for side in "ab"]
        has_one, has_both = bool((none[0] ^ none[1]).any()), bool((none[0] & none[1]).any())
        assert ("empty_parts" in one.features) == (has_one or has_both)
        expected = {"merge.empty.one", "merge.empty.ignored"} if has_one else set()
        assert clauses_of & {*one.clauses} == expected | ({"merge.empty.both"} if has_both else set())
        for side, empty in zip("ab", none, strict=True):
            attended = ~np.isfinite(one.inputs[f"output_{side}"][~empty])
            assert attended.sum() <= ("attended_nan" in one.features)


def test_a_mask_of_nan_reaches_what_it_is_added_to_and_nothing_else():
    found = 0
    for number in range(900):
        recipe = Recipe(FORWARD, "masked", number, SMALL)
        one = drawn_of(recipe)
        mask = one.inputs.get("mask", np.zeros(1))
        if one.is_refused or "nan_in_mask" not in one.features:
            assert not np.isnan(mask.astype(np.float64)).any()
            continue
        found += 1
        assert np.isnan(mask).sum() == 1
        answer = draw(recipe).expected["all"]
        met = np.isnan(np.broadcast_to(mask, answer["weights"].shape)).any(axis=-1)
        counted = np.ones(met.shape, np.bool_)
        if "query_lengths" in one.inputs:
            counted &= np.arange(met.shape[2]) < one.inputs["query_lengths"].reshape(-1, 1, 1)
        assert (np.isnan(answer["output"]).all(axis=-1) == met)[counted].all()
    assert found > 3


@pytest.mark.parametrize("operation", [FORWARD, BACKWARD])
def test_what_does_not_count_changes_nothing_that_does(operation):
    """With finite numbers instead, every expected element stays, but for rows where none is expected."""
    found = 0
    for number in range(900):
        recipe = Recipe(operation, "padded", number, SMALL)
        if "padded_nonfinite" not in drawn_of(recipe).features or drawn_of(recipe).is_refused:
            continue
        found += 1
        spoilt, finite = (draw(one).expected["all"] for one in (recipe, recipe.leaving_out(("padded_nonfinite",))))
        for name in {"grad_key", "grad_value", "grad_mask", "grad_sinks"} & {*finite}:
            np.testing.assert_array_equal(spoilt[name], finite[name])
        lengths = drawn_of(recipe).inputs["query_lengths"]
        first = next(iter(finite))
        counted = np.arange(finite[first].shape[2]) < lengths.reshape(-1, 1, 1)
        rows = np.broadcast_to(counted, finite[first].shape[:3])
        np.testing.assert_array_equal(spoilt[first][rows], finite[first][rows])
    assert found > 3


@pytest.mark.parametrize("feature", ["excluded_nonfinite", "attended_nan", "infinite_scores"])
def test_what_is_not_finite_is_where_its_feature_says(feature):
    found = 0
    for number in range(400):
        recipe = Recipe(FORWARD, "spoilt", number, SMALL)
        one = drawn_of(recipe)
        tokens = [array for name, array in one.inputs.items() if name.endswith(("key", "value"))]
        spoilt = any(not np.isfinite(array).all() for array in tokens)
        assert spoilt <= bool({"excluded_nonfinite", "attended_nan", "infinite_scores"} & {*one.features})
        if feature in one.features and spoilt:
            found += 1
            answers = draw(recipe).expected["all"]
            if feature != "attended_nan":
                assert np.isfinite(answers["output"]).all()
    assert found > 3


def test_entries_that_begin_alike_do_and_no_others():
    found = 0
    for number in range(1_500):
        one = drawn_of(Recipe(FORWARD, "prefix", number, SMALL))
        if "shared_prefix" in one.features and "excluded_nonfinite" not in one.features:
            found += 1
            for name in ("key", "value"):
                assert (one.inputs[name][:, :, :1] == one.inputs[name][:1, :, :1]).all()
    assert found > 10
