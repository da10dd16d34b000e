"""What draws cover, counted like golden cases."""

from attnspec.cases import load_suite
from attnspec_draws import drawn_of
from attnspec_draws.campaign.covering import coverage_page, covered, together


def test_every_draw_that_is_not_refused_is_counted_once(planned_campaign):
    plan, outcomes = planned_campaign("reference", 120)
    parts = plan.parts_done(outcomes)
    assert sum(len(part.recipes) for part in parts) == 120
    found = together(map(covered, parts))
    valid = [drawn for part in parts for drawn in map(drawn_of, part.recipes) if not drawn.is_refused]
    (of_attention,) = found.values()
    assert of_attention.levels["batch entry"].total() == len(valid)
    assert of_attention.levels["sinks"]["none"] == sum("sinks" not in drawn.inputs for drawn in valid)


def test_the_page_tells_golden_cases_and_draws_apart(planned_campaign):
    plan, outcomes = planned_campaign("reference", 60)
    page = coverage_page(tuple(load_suite().cases.values()), together(map(covered, plan.parts_done(outcomes))))
    row = next(line for line in page.splitlines() if line.startswith("| is_causal | true |"))
    golden, draws = (int(cell.replace(",", "")) for cell in row.split("|")[3:5])
    assert golden > 100
    assert 5 < draws < 60
    assert "of these in draws alone" in page


def test_what_was_not_drawn_is_not_counted(planned_campaign):
    plan, _ = planned_campaign("reference", 30)
    assert together(map(covered, plan.parts_done({}))) == {}
