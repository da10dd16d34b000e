"""Draws are graded like golden cases: what is right passes all of them, and what is wrong is found and made small."""

import numpy as np
import pytest

import attnspec_reference
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_controls import controls_of
from attnspec_draws import draw, drawable, shrunk
from attnspec_draws.drawing import drawn_of
from attnspec_mistakes import mistakes_of

SMALL = {"elements": 1_000, "longest": 64}
FORWARD, BACKWARD, MERGE = "scaled_dot_product_attention", "scaled_dot_product_attention_backward", "merge_states"
each_operation = pytest.mark.parametrize("operation", drawable())

FOUND = {
    "sdpa.heads_tiled": (FORWARD, {"grouped_query"}),
    "sdpa.causal_ignored": (FORWARD, {"is_causal"}),
    "sdpa.last_keys_dropped_of_8": (FORWARD, set()),
    "sdpa.sink_not_shifted": (FORWARD, {"sinks"}),
    "sdpa.excluded_value_leaks": (FORWARD, {"excluded_nonfinite"}),
    "sdpa.direction_ignored": (FORWARD, {"presentation"}),
    "sdpa_backward.delta_dropped": (BACKWARD, set()),
    "sdpa_backward.group_averaged": (BACKWARD, {"grouped_query"}),
    "sdpa_backward.scale_twice_for_keys": (BACKWARD, set()),
    "sdpa_backward.cap_derivative_missing": (BACKWARD, {"softcap"}),
    "merge.averaged": (MERGE, set()),
    "merge.weights_in_powers_of_two": (MERGE, set()),
    "merge.both_empty_nan": (MERGE, {"empty_parts"}),
    "merge.first_output_unchecked": (MERGE, {"refused"}),
    "attention_mask.tree_ignored": ("attention_mask", {"parents"}),
    "attention_mask.chunk_from_one": ("attention_mask", {"chunk"}),
    "attention_mask.no_document_sees_itself": ("attention_mask", {"query_documents", "key_documents"}),
    "append.new_first": ("append_cache", set()),
    "scatter.clamped_under_circular": ("scatter_cache", {"mode"}),
    "slots.saturated_at_240": ("write_slots", {"quantized_cache"}),
    "pages.of_first_sequence": ("write_paged_cache", set()),
    "window.ring_of_the_whole_window": ("write_window", {"keep"}),
    "rms_norm.offset_ignored": ("rms_norm", {"weight_offset"}),
    "qk_norm.after_rotation": ("qk_norm", {"cos"}),
}
"""Mistakes, and the features of the draw that is left when it is made small."""


@each_operation
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_the_reference_passes_every_draw(operation, dtype, recipes, results):
    cases = [draw(recipe) for recipe in recipes(operation, 60, dtype, **SMALL)]
    statuses = [result.status for result in results(cases, getattr(attnspec_reference, operation))]
    assert {*statuses} <= {"pass", "ungraded"}
    assert statuses.count("pass") > 50


@each_operation
def test_computing_in_another_way_passes_every_draw(operation, recipes, results):
    cases = [draw(recipe) for dtype in FLOAT_DTYPES for recipe in recipes(operation, 8, dtype, **SMALL)]
    for control in controls_of(operation):
        wrong = [result for result in results(cases, control.function) if result.is_wrong]
        assert not wrong, control.id


@pytest.mark.parametrize("mistake", FOUND)
def test_a_mistake_is_found_and_made_small(mistake, recipes, results):
    operation, needed = FOUND[mistake]
    (wrong,) = (each.function for each in mistakes_of(operation) if each.id == mistake)

    def fails(case):
        return any(result.is_wrong for result in results([case], wrong))

    failing = next(recipe for recipe in recipes(operation, 400, **SMALL) if fails(draw(recipe)))
    small = shrunk(failing, fails)
    drawn = drawn_of(small)
    assert fails(draw(small))
    assert needed <= {*drawn.features}
    assert len(drawn.features) <= len(needed) + 3
    assert max(drawn.extents.values()) <= 9
    assert sum(drawn.extents.values()) <= sum(drawn_of(failing).extents.values())
    # What was made small cannot be made smaller.
    assert shrunk(small, fails) == small


def test_what_keeps_results_under_too_few_arguments_is_found_and_made_small(recipes, results):
    kept = {}

    def remembers(**arguments):
        known = tuple((name, np.asarray(given).tobytes()) for name, given in arguments.items() if name != "value")
        if known not in kept:
            kept[known] = attnspec_reference.scaled_dot_product_attention(**arguments)
        return kept[known]

    def fails(case):
        kept.clear()
        return any(result.verdict.check == "repeatable" for result in results([case], remembers))

    failing = next(recipe for recipe in recipes(FORWARD, 400, **SMALL) if fails(draw(recipe)))
    small = drawn_of(shrunk(failing, fails))
    assert small.changed == "value"
    assert {*small.features} <= {"changed_argument", "unequal_lengths"}


def test_what_is_off_by_the_error_of_the_values_passes_in_float64(recipes, results):
    """The values are the reference's, which rounds as well: twice the tolerance is theirs and the implementation's."""
    cases = [draw(recipe) for recipe in recipes(FORWARD, 20, "float64", **SMALL)]

    def nudged(**arguments):
        returned = attnspec_reference.scaled_dot_product_attention(**arguments)
        return returned._replace(output=returned.output * (1 + 2.0**-52))

    def off(**arguments):
        returned = attnspec_reference.scaled_dot_product_attention(**arguments)
        return returned._replace(output=returned.output * (1 + 1e-6))

    assert not any(result.is_wrong for result in results(cases, nudged))
    wrong = sum(result.is_wrong for result in results(cases, off))
    assert wrong > len(cases) / 2


def test_shrinking_stops_after_so_many_draws(recipes):
    (recipe,) = recipes(FORWARD, 1, extents={"keys": 40, "queries": 30})
    called = []

    def fails(case):
        called.append(case.id)
        return True

    shrunk(recipe, fails, most=5)
    assert 0 < len(called) <= 5
    assert len({*called}) == len(called)


def test_shrinking_without_anything_smaller_that_fails_leaves_a_draw_as_it_is(recipes):
    (recipe,) = recipes(FORWARD, 1, **SMALL)
    assert shrunk(recipe, lambda case: False) == recipe


def test_whatever_fails_is_made_as_small_as_it_goes(recipes):
    for recipe in recipes(MERGE, 5, **SMALL):
        drawn = drawn_of(shrunk(recipe, lambda case: True))
        assert drawn.features == ()
        assert {*drawn.extents.values()} == {1}


def test_axes_and_a_past_are_made_as_short_as_they_go(recipes):
    def fails(case):
        return case.inputs["key"].shape[2] >= 3

    failing = [recipe for recipe in recipes(FORWARD, 60, **SMALL) if drawn_of(recipe).extents["keys"] >= 3]
    assert any(drawn_of(recipe).extents["past"] for recipe in failing)
    for recipe in failing[:20]:
        extents = drawn_of(shrunk(recipe, fails)).extents
        assert extents["keys"] == 3
        assert extents["past"] == 0
        assert {extents[axis] for axis in ("batch", "group", "width", "value_width")} <= {0, 1}


def test_what_is_left_is_not_exchanged_for_another_kind(recipes):
    """A Boolean mask without `boolean_mask` is one of numbers, which is no smaller."""

    def fails(case):
        return "mask" in case.inputs

    failing = [recipe for recipe in recipes(FORWARD, 60, **SMALL) if "mask" in drawn_of(recipe).inputs]
    kinds = [(drawn_of(one), drawn_of(shrunk(one, fails))) for one in failing[:10]]
    assert {one.inputs["mask"].dtype.name for one, _ in kinds} == {"bool", "float64"}
    assert all(one.inputs["mask"].dtype == small.inputs["mask"].dtype for one, small in kinds)
