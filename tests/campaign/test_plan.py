"""The plan: the same parts for everybody, all draws once, and what is left of it after some are done."""

from itertools import islice

from attnspec.campaign import Kind, PartOutcome, Plan
from attnspec.campaign.plan import PART, VARIED, Part, plan_from_lines
from attnspec.campaign.running import _left
from attnspec.lattice import Limits

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


def test_some_draws_are_asked_with_other_numbers_too():
    recipes = Part(KINDS[0], "7", 0, VARIED + 1).recipes
    assert [recipe.number for recipe in recipes if recipe.limits.variant] == [0, VARIED]
    assert len(recipes) == VARIED + 3


def test_a_plan_is_read_as_it_was_written():
    plan = Plan("7", KINDS, 90)
    assert plan_from_lines("7", plan.as_lines(), 90) == plan


def test_few_draws_reach_all_kinds():
    parts = list(Plan("7", KINDS, 8).parts())
    assert [numbers(parts, kind) for kind in KINDS] == [[0, 1, 2, 3, 4], [0, 1, 2]]


def test_what_is_done_is_not_done_again():
    plan = Plan("7", KINDS, 4 * PART)
    *_, first, second, third, fourth = parts = list(plan.parts())
    half, other = second.halves()
    done = (*parts[:-4], first, half, *third.halves())
    assert list(_left(plan, known(*done))) == [other, fourth]


def test_more_draws_go_on_where_fewer_ended():
    few, many = (Plan("7", KINDS, cases) for cases in (PART + 3, 4 * PART))
    begun = list(few.parts())
    left = list(_left(many, known(*begun)))
    for kind in KINDS:
        assert sorted(numbers(begun, kind) + numbers(left, kind)) == list(range(2 * PART))


def test_fewer_draws_than_are_done_leave_nothing():
    assert list(_left(Plan("7", KINDS, 10), known(*Plan("7", KINDS, 4 * PART).parts()))) == []
