"""What draws find wrong is reported as in any report, from draws that failed and draws that passed."""

from attnspec_draws import drawn_of, recipe_from_text
from attnspec_draws.campaign.explaining_failures import LOOKED_AT, deadly, evidence_of, explained
from attnspec_draws.campaign.outcome import tallied

from .conftest import task


def found(plan, outcomes):
    tally = tallied(outcomes.values())
    return tally, evidence_of(tally, outcomes, plan)


def test_the_clause_and_the_law_are_reported_of_draws_of_a_missing_scale(planned_campaign):
    tally, (evidence,) = found(*planned_campaign("no_scale", 150))
    assert evidence.failed == len(tally.wrong)
    assert len(evidence.failing) <= LOOKED_AT
    problem = explained(task("no_scale"), evidence).problems[0]
    reported = " ".join(problem.lines)
    assert "1/√E" in reported
    assert "Scores are multiplied by 1" in reported
    assert problem.draws > len(evidence.failing) / 2
    small = drawn_of(recipe_from_text(problem.small.recipe))
    assert small.extents["keys"] <= 2
    assert "expected" in problem.small.message


def test_a_layer_that_declines_nearly_everything_is_drawn_what_it_takes(planned_campaign):
    tally, (evidence,) = found(*planned_campaign("particular", 150, operation="multi_head_attention"))
    assert tally.declined <= 0.05 * tally.draws
    assert len(tally.wrong) > 5
    reported = [" ".join(problem.lines) for problem in explained(task("particular"), evidence).problems]
    assert any("The mask was ignored." in lines for lines in reported)


def test_what_failing_draws_have_in_common_holds_of_the_small_one_too(planned_campaign):
    """A factor that is wrong from five features on: no sentence speaks of more than the small draw has."""
    _, (evidence,) = found(*planned_campaign("particular", 150))
    for problem in explained(task("particular"), evidence).problems:
        small = drawn_of(recipe_from_text(problem.small.recipe))
        reported = " ".join(problem.lines)
        for wide in (8, 16, 32, 64, 128):
            assert f"more than {wide} features" not in reported or small.extents["width"] > wide
        assert problem.draws <= len(evidence.failing)


def test_what_failed_and_what_passed_are_kept_apart(planned_campaign):
    tally, (evidence,) = found(*planned_campaign("wrong", 120))
    wrong = {each.recipe for each in tally.wrong}
    assert set(evidence.failing) <= wrong
    assert wrong.isdisjoint(evidence.passing)
    assert len(evidence.passing) == LOOKED_AT


def test_a_draw_that_ends_its_process_is_not_called_again_with_others(crashing):
    tally, evidence = found(*crashing)
    assert evidence == ()
    assert deadly(tally) == {("scaled_dot_product_attention", "crash"): list(tally.wrong)}


def test_what_is_right_has_nothing_to_explain(planned_campaign):
    tally, evidence = found(*planned_campaign("reference", 60))
    assert (evidence, deadly(tally)) == ((), {})
