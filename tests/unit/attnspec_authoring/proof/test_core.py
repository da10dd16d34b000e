"""The choice of the smallest core, on sets made by hand."""

import pytest

from attnspec_authoring.proof.smoke import cover, without_superfluous


def of(*names):
    return frozenset((name, "float64") for name in names)


def test_the_case_that_notices_most_comes_first():
    assert cover({"a": of("1"), "b": of("1", "2", "3"), "c": of("4")}) == ["b", "c"]


def test_of_equals_the_first_id_is_chosen():
    assert cover({"b": of("1"), "a": of("1")}) == ["a"]


def test_nothing_to_notice_needs_no_case():
    assert cover({"a": of(), "b": of()}) == []


def test_a_case_that_later_ones_made_superfluous_is_dropped():
    sets = {"a": of("1", "2", "3", "4"), "b": of("1", "2", "5"), "c": of("3", "4", "6")}
    assert cover(sets) == ["a", "b", "c"]
    assert without_superfluous(["a", "b", "c"], sets) == ["b", "c"]


@pytest.mark.parametrize("seed", range(20))
def test_everything_is_noticed_and_nothing_chosen_can_go(seed):
    import random

    draw = random.Random(seed)
    sets = {f"case{i}": of(*(str(draw.randrange(30)) for _ in range(5))) for i in range(15)}
    chosen = without_superfluous(cover(sets), sets)
    everything = frozenset().union(*sets.values())
    assert frozenset().union(*(sets[case] for case in chosen)) == everything
    for case in chosen:
        assert frozenset().union(*(sets[other] for other in chosen if other != case)) != everything
