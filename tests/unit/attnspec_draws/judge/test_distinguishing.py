"""What a draw says of an answer: distinguished, undecided, the same, aside; and which draws count."""

from dataclasses import replace

import numpy as np
import pytest

from attnspec.base.errors import UsageError
from attnspec.cases.generator import Generated
from attnspec.cases.tensor_json import Inputs
from attnspec.validation.one_case import case as golden_case
from attnspec.validation.one_case import run_of
from attnspec_draws import Recipe, draw
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import TrivialAnswer
from attnspec_draws.judge.distinguishing import (
    ASIDE,
    DISTINGUISHED,
    NO_ANSWER,
    THE_SAME,
    UNDECIDED,
    DrawReported,
    answering_of,
    distinguish,
)

OPERATION = "scaled_dot_product_attention"
PLAIN = Limits("float32", elements=200, longest=8, extents={"queries": 3, "keys": 4, "batch": 2})
SEEDS = "telling"


def drawn_run(number=0, limits=PLAIN, conventions=None):
    return run_of(draw(Recipe(OPERATION, SEEDS, number, limits)), limits.dtype, conventions or {})


def planted(answer, dtypes=("float32",)):
    """Return a trivial answer that gives an answer, as the only one."""
    return (TrivialAnswer("planted", "what was planted", answer, dtypes),)


def reported_of(answer, *, limits=PLAIN, dtypes=("float32",)):
    return distinguish(drawn_run(limits=limits), trivial_answers=planted(answer, dtypes)).trivial_answers["planted"]


def tolerance_of(number=0):
    run = drawn_run(number)
    return run.bound.of("output", run.bound_index).error


def off_by(tolerances):
    return lambda call: {"output": call.right["output"] + tolerances * tolerance_of()}


@pytest.mark.parametrize(
    ("tolerances", "telling"),
    [
        (0.0, THE_SAME),
        (1e-10, THE_SAME),
        (0.5, UNDECIDED),
        (3.9, UNDECIDED),
        (-4.1, DISTINGUISHED),
        (1e6, DISTINGUISHED),
    ],
)
def test_what_is_said_of_an_answer_that_is_off(tolerances, telling):
    reported = reported_of(off_by(tolerances))
    assert reported.telling == telling
    assert reported.ratio == pytest.approx(abs(tolerances), abs=1e-6)


@pytest.mark.parametrize(("tolerances", "telling"), [(0.4, THE_SAME), (0.6, UNDECIDED)])
def test_half_a_tolerance_of_float64_is_the_error_of_what_is_expected(tolerances, telling):
    def answer(call):
        run = run_of(draw(Recipe(OPERATION, SEEDS, 0, wide)), "float64", {})
        return {"output": call.right["output"] + tolerances * run.bound.of("output", run.bound_index).error}

    wide = replace(PLAIN, dtype="float64")
    assert reported_of(answer, limits=wide, dtypes=("float64",)).telling == telling


def test_one_element_is_enough():
    def answer(call):
        output = call.right["output"].copy()
        output[-1, -1, -1, -1] += 1.0
        return {"output": output}

    assert reported_of(answer).telling == DISTINGUISHED


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_no_number_speaks_for_no_numbers(number):
    assert reported_of(lambda call: {"output": np.full_like(call.right["output"], number)}).telling == ASIDE


def test_rows_that_owe_an_exact_0_are_set_aside():
    keyless = replace(PLAIN, extents={**PLAIN.extents, "keys": 0, "past": 0})
    reported = reported_of(lambda call: {"output": np.ones_like(call.right["output"])}, limits=keyless)
    assert (reported.telling, reported.ratio) == (ASIDE, 0.0)


def test_an_exact_0_is_far_from_every_number_and_says_nothing():
    def ones_for_zeros(call):
        return {"output": call.right["output"] + (call.right["output"] == 0)}

    small = Limits("float32", elements=200, longest=8)
    for number in range(100):
        run = drawn_run(number, small)
        expected = run.expected.outputs["output"]
        if ((expected == 0) & (run.bound.of("output", run.bound_index).error > 0)).any() and (expected != 0).any():
            reported = distinguish(run, trivial_answers=planted(ones_for_zeros)).trivial_answers["planted"]
            assert (reported.telling, reported.ratio) == (ASIDE, 0.0)
            return
    pytest.fail("no draw expects an exact 0")


@pytest.mark.parametrize(
    ("positions", "telling"), [([0, 1, 2], THE_SAME), ([1, 0, 2], DISTINGUISHED), ([0, 1, 1], DISTINGUISHED)]
)
def test_where_numbers_only_move_every_other_number_is_distinguished(positions, telling):
    limits = Limits("float32", extents={"heads": 3, "tokens": 2, "width": 2, "batch": 1})
    run = run_of(draw(Recipe("combine_heads", SEEDS, 0, limits)), "float32", {})
    joined = random_cases_of("combine_heads").trivial_answers["combine_heads"][0]
    moving = replace(
        joined, answer=lambda call: {"output": call.right["output"][:, :, np.repeat(positions, 2) * 2 + [0, 1] * 3]}
    )
    assert distinguish(run, trivial_answers=(moving,)).trivial_answers[joined.name].telling == telling


def test_what_is_left_out_is_right_and_no_answer_is_none():
    assert reported_of(lambda call: {"logsumexp": call.right["logsumexp"] + 1}).telling == THE_SAME
    assert reported_of(lambda _: {}).telling == NO_ANSWER


def test_outputs_that_are_named_are_looked_at():
    more = planted(lambda call: {"logsumexp": call.right["logsumexp"] + 1})
    reported = distinguish(drawn_run(), outputs=("output", "logsumexp"), trivial_answers=more)
    assert reported.trivial_answers["planted"].telling == DISTINGUISHED


def test_what_is_right_stays_right_under_conventions():
    run, right = drawn_run(conventions={"logsumexp_base": "2"}), planted(lambda call: dict(call.right))
    assert (
        distinguish(run, outputs=("output", "logsumexp"), trivial_answers=right).trivial_answers["planted"].telling
        == THE_SAME
    )


def test_a_trivial_answer_that_only_rounds_is_none_in_that_dtype():
    assert distinguish(drawn_run(), trivial_answers=planted(off_by(9), dtypes=("float64",))).trivial_answers == {}


def test_the_call_before_is_handed_on():
    run, again = drawn_run(), planted(lambda call: {"output": call.before["output"]} if call.before else {})
    assert distinguish(run, trivial_answers=again).trivial_answers["planted"].telling == NO_ANSWER
    before = {"output": np.zeros_like(run.case.golden("float32")["output"])}
    assert distinguish(run, before, trivial_answers=again).trivial_answers["planted"].telling == DISTINGUISHED


def test_padding_is_not_ungraded():
    padded = [
        run
        for number in range(200)
        if "query_lengths" in (run := drawn_run(number)).case.inputs
        and run.bound.unspecified
        and (run.case.inputs["query_lengths"] < run.case.inputs["query"].shape[2]).any()
    ]
    assert padded
    for run in padded:
        reported = distinguish(run, trivial_answers=())
        assert reported.expected < run.case.golden("float32")["output"].size
        assert reported.counts == (reported.graded == reported.expected > 0)


@pytest.mark.parametrize(("graded", "expected", "counts"), [(99, 100, True), (98, 100, False), (0, 0, False)])
def test_a_draw_of_which_more_than_a_hundredth_is_not_graded_does_not_count(graded, expected, counts):
    assert DrawReported("draw", graded, expected, {}).counts == counts


def test_certified_values_are_refused():
    run = golden_case("core/plain")._run
    with pytest.raises(UsageError, match="core/plain expects no values of the reference"):
        distinguish(run)


def test_of_a_large_case_a_part_is_answered():
    extents = {"batch": 2, "shared": 3, "group": 2, "queries": 40, "keys": 30, "width": 4, "value_width": 5}
    run = drawn_run(limits=Limits("float32", elements=1_000, rows=8, extents=extents))
    assert run.case.generated
    of_the_part = planted(lambda call: {"output": call.right["output"] + (call.inputs["value"].shape == (1, 2, 30, 5))})
    reported = distinguish(run, trivial_answers=of_the_part)
    assert reported.trivial_answers["planted"].telling == DISTINGUISHED
    assert reported.counts
    answering = answering_of(run)
    part = answering.part
    assert part is not None
    assert answering.call.right["output"].shape == (1, 4, 40, 5)
    right = answering.call.right["output"].reshape(-1)[part.elements["output"]]
    assert np.allclose(right, run.case.golden("float32")["output"][part.positions["output"]], rtol=1e-12)
    assert 0 < right.size < run.case.golden("float32")["output"].size


def test_what_is_too_large_even_in_parts_is_refused():
    run = drawn_run()
    generated = Inputs({}, {"query": Generated("bell", "seed", (1, 1, 2, 2), 5, 1.0)})
    with pytest.raises(ValueError, match="too large for trivial answers"):
        distinguish(run._replace(case=run.case._replace(inputs=generated)))
