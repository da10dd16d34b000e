"""The plan: the same parts for everybody, all draws once, and what is left of it after some are done."""

from itertools import islice

from attnspec_draws.campaign.outcome import PartOutcome
from attnspec_draws.campaign.plan import PART, VARIED, Kind, Part, Plan, plan_from_lines
from attnspec_draws.campaign.working import _left
from attnspec_draws.generators.limits import Limits

OPERATION = "scaled_dot_product_attention"
KINDS = (Kind(OPERATION, Limits("float32")), Kind("merge_states", Limits("float16", frozenset(["full_width"]))))


def numbers(parts, kind):
    return [number for part in parts if part.kind == kind for number in range(part.first, part.first + part.count)]


def known(*parts):
    return {part.key: PartOutcome(part.key, {}) for part in parts}


def test_every_draw_is_in_one_part():
    parts = list(Plan("7", KINDS, 4 * PART + 10).parts())
    assert sum(part.count for part in parts) == 4 * PART + 10
    assert numbers(parts, KINDS[0]) == list(range(2 * PART + 10))
    assert numbers(parts, KINDS[1]) == list(range(2 * PART))
    assert len({part.key for part in parts}) == len(parts)


def test_without_a_number_there_are_always_more():
    assert len(list(islice(Plan("7", KINDS, None).parts(), 1_000))) == 1_000


def test_each_eighth_draw_is_the_one_before_it_with_other_numbers():
    recipes = Part(KINDS[0], "7", 0, 2 * VARIED).recipes
    assert len({recipe.text for recipe in recipes}) == 2 * VARIED
    assert [number for number, recipe in enumerate(recipes) if recipe.limits.variant] == [
        VARIED - 1,
        2 * VARIED - 1,
    ]
    for position in (VARIED - 1, 2 * VARIED - 1):
        assert recipes[position] == recipes[position - 1].in_variant(1)


def test_a_draw_and_the_one_with_other_numbers_are_called_by_one_process():
    for part in islice(Plan("7", KINDS, None).parts(), 1_000):
        assert part.numbers.stop % VARIED != VARIED - 1


def test_the_parts_that_are_done_are_known_by_their_keys():
    parts = list(Plan("7", KINDS, 4 * PART).parts())
    done = [*parts[:-1], *parts[-1].one_by_one()]
    assert Plan("7", KINDS, None).parts_done([part.key for part in reversed(done)]) == done


def test_a_plan_is_read_as_it_was_written():
    plan = Plan("7", KINDS, 90)
    assert plan_from_lines("7", plan.as_lines(), 90) == plan


def test_few_draws_are_of_all_kinds():
    parts = list(Plan("7", KINDS, 8).parts())
    assert [numbers(parts, kind) for kind in KINDS] == [[0, 1, 2, 3, 4], [0, 1, 2]]


def test_what_is_done_is_not_done_again():
    plan = Plan("7", KINDS, 4 * PART)
    *_, first, second, third, fourth = parts = list(plan.parts())
    one, *others = second.one_by_one()
    done = (*parts[:-4], first, one, *third.one_by_one())
    left = Part(second.kind, second.seed, others[0].first, len(others))
    assert list(_left(plan, known(*done))) == [left, fourth]


def test_more_draws_go_on_where_fewer_ended():
    few, many = (Plan("7", KINDS, cases) for cases in (PART + 3, 4 * PART))
    begun = list(few.parts())
    left = list(_left(many, known(*begun)))
    for kind in KINDS:
        assert sorted(numbers(begun, kind) + numbers(left, kind)) == list(range(2 * PART))


def test_fewer_draws_than_are_done_leave_nothing():
    assert list(_left(Plan("7", KINDS, 10), known(*Plan("7", KINDS, 4 * PART).parts()))) == []
