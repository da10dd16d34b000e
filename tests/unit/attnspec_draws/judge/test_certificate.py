"""The certificate of a set of draws: complete, incomplete, of nothing; its sentence and its JSON."""

import json

import pytest

from attnspec.base.errors import UsageError
from attnspec.validation.one_case import run_of
from attnspec_draws import Recipe, draw, recipe_from_text
from attnspec_draws.generators.limits import Limits
from attnspec_draws.judge.certificate import DRAWS, certificate, certify
from attnspec_draws.judge.distinguishing import (
    ASIDE,
    DISTINGUISHED,
    NO_ANSWER,
    THE_SAME,
    UNDECIDED,
    DrawReported,
    Reported,
    distinguish,
)

OPERATION = "merge_states"
SMALL = Limits("float32", elements=2000, longest=200)


def recipes(operation, limits=SMALL, many=DRAWS):
    return [Recipe(operation, "certified", number, limits) for number in range(many)]


def reported_of(case, *, graded=10, **tellings):
    every = {
        trivial_answer.name: Reported(THE_SAME, 0.0)
        for trivial_answer in certificate(OPERATION, "float32", []).trivial_answers
    }
    said = {name: Reported(telling, ratio) for name, (telling, ratio) in tellings.items()}
    return DrawReported(case, graded, 10, {**every, **said})


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_so_many_draws_of_attention_distinguish_every_trivial_answer(dtype):
    found = certify(recipes("scaled_dot_product_attention", Limits(dtype, elements=2000, longest=200)), {})
    assert found.is_complete, found.sentence()
    assert found.graded_share > 0.99
    assert f"distinguish every one of {len(found.trivial_answers)} cheap wrong answers" in found.sentence()
    for trivial_answer in found.trivial_answers:
        recipe = recipe_from_text(trivial_answer.first)
        before = (
            draw(recipes(recipe.operation, recipe.limits)[recipe.number - 1]).golden(dtype) if recipe.number else None
        )
        reported = distinguish(run_of(draw(recipe), dtype, {}), before).trivial_answers[trivial_answer.name]
        assert reported.telling == DISTINGUISHED
        assert reported.ratio <= trivial_answer.best_ratio


@pytest.mark.parametrize(
    "operation", ["scaled_dot_product_attention_backward", "merge_states", "causal_mask", "rotary_frequencies"]
)
def test_so_do_draws_of_others(operation):
    found = certify(recipes(operation, Limits("float32", elements=500, longest=60)), {})
    assert found.is_complete, found.sentence()


def test_what_cannot_differ_at_a_shape_does_not_apply():
    one_key = Limits("float32", extents={"keys": 1, "past": 0, "group": 1}, without=frozenset({"is_causal", "sinks"}))
    found = certify(recipes("scaled_dot_product_attention", one_key, 20), {})
    named = {trivial_answer.name for trivial_answer in found.not_applicable}
    assert {"heads_tiled", "keys_reversed", "not_causal", "last_key_dropped", "mean_of_values"} <= named
    assert "zeros" in {trivial_answer.name for trivial_answer in found.distinguished}


def test_what_could_pass_is_named():
    reported = [
        reported_of("one", zeros=(DISTINGUISHED, 9.0), base_2=(UNDECIDED, 2.0), exchanged=(ASIDE, 0.0)),
        reported_of("two", zeros=(DISTINGUISHED, 12.0), base_2=(THE_SAME, 0.1), previous_answer=(NO_ANSWER, 0.0)),
    ]
    found = certificate(OPERATION, "float32", reported)
    assert not found.is_complete
    assert [trivial_answer.name for trivial_answer in found.not_distinguished] == ["base_2"]
    assert "exchanged" in {trivial_answer.name for trivial_answer in found.not_applicable}
    zeros = found.trivial_answers[0]
    assert (zeros.distinguished, zeros.best_ratio, zeros.first) == (2, 12.0, "one")
    assert found.sentence() == (
        "In float32, 2 draws distinguish 1 of 2 cheap wrong answers from the right ones; these could have passed: "
        "both parts, weighed by powers of 2."
    )


def test_a_draw_that_is_hardly_graded_is_left_out():
    found = certificate(
        OPERATION, "float32", [reported_of("one", graded=9, zeros=(DISTINGUISHED, 9.0)), reported_of("two")]
    )
    assert (found.draws, found.left_out, found.graded_share) == (1, ("one",), 1.0)
    assert not found.is_complete
    said = "In float32, 1 draw distinguishes nothing: every cheap wrong answer that was tried is right there."
    assert found.sentence() == said


def test_a_set_of_nothing_is_worth_nothing():
    found = certificate(OPERATION, "float32", [])
    assert not found.is_complete
    assert found.sentence() == "In float32, no draw counts: in each of them, too much is not graded."


def test_its_json_is_json():
    document = certify(recipes(OPERATION, many=20), {}).as_json()
    read = json.loads(json.dumps(document, allow_nan=False))
    assert read == document
    assert read["draws"] + len(read["left_out"]) == 20
    names = [*read["told_apart"], *read["not_told_apart"], *read["not_applicable"]]
    assert sorted(names) == sorted(trivial_answer["name"] for trivial_answer in read["impostors"])


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        ([], "these are of none"),
        (
            recipes(OPERATION, many=1) + recipes(OPERATION, Limits("float16"), 1),
            "merge_states in float16, merge_states in",
        ),
    ],
)
def test_draws_of_several_kinds_are_refused(drawn, message):
    with pytest.raises(UsageError, match=message):
        certify(drawn, {})
