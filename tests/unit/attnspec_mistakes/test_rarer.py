"""Mistakes beside the catalogue: in words that the specification knows, and each one of its own."""

from collections import Counter

import numpy as np
import pytest

import attnspec_reference
from attnspec.contract import OPERATIONS
from attnspec.specification import clauses
from attnspec_mistakes import CATALOGUE, rarer_mistakes
from attnspec_mistakes.patches import by_name

RARER = rarer_mistakes()

WIDTH, HEADS, SHOWN = 6, 3, 10
"""More digits than a finite number for a hidden score changes."""


def draw(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def given(**more):
    names = ("query", "key", "value", "output")
    tokens = {name: draw(4, 5, WIDTH, seed=seed) for seed, name in enumerate(names[:3])}
    matrices = {f"w_{name}": draw(WIDTH, WIDTH, seed=10 + seed) for seed, name in enumerate(names)}
    biases = {f"b_{name}": draw(WIDTH, seed=20 + seed) for seed, name in enumerate(names)}
    return {**tokens, **matrices, **biases, "num_heads": HEADS, **more}


PROBES = (
    given(),
    given(is_causal=True),
    given(mask=draw(4, 1, 5, 5, seed=30) > -1, is_causal=True),
    given(mask=draw(HEADS, 5, 5, seed=31) > -1),
    given(mask=draw(4, 1, 1, 5, seed=33) > -1),
    given(query=300 * draw(4, 5, WIDTH, seed=32)),
    given(**{name: draw(HEADS, HEADS, WIDTH, seed=40 + seed) for seed, name in enumerate(("query", "key", "value"))}),
)


def printed(function):
    """What a computation gives for every probe, to some digits; None where it gives nothing."""
    found = []
    for probe in PROBES:
        try:
            with np.errstate(all="ignore"):
                outputs = by_name(
                    function(
                        **{name: np.copy(value) if name != "num_heads" else value for name, value in probe.items()}
                    )
                )
        except (ArithmeticError, ValueError):
            found.append(None)
            continue
        found.append(tuple(f"{number:.{SHOWN}e}" for number in outputs["output"].ravel().tolist()))
    return tuple(found)


def test_a_rarer_mistake_bears_a_name_of_its_own_and_that_of_a_clause():
    ids = [mistake.id for mistake in (*RARER, *CATALOGUE)]
    assert len(RARER) > 60
    assert len(set(ids)) == len(ids)
    for mistake in RARER:
        assert mistake.id.startswith(f"{OPERATIONS[mistake.operation].short_name}.")
        assert mistake.clause in clauses(), mistake.id


def test_a_rarer_mistake_is_reported_in_three_plain_sentences():
    for mistake in RARER:
        for sentence in (mistake.sentence, mistake.engineer, mistake.remedy):
            assert sentence.endswith("."), mistake.id
            assert 15 < len(sentence) < 120, (mistake.id, sentence)
    of_layers = [mistake for mistake in (*RARER, *CATALOGUE) if mistake.operation == "multi_head_attention"]
    assert [said for said, count in Counter(mistake.sentence for mistake in of_layers).items() if count > 1] == []


def test_no_rarer_mistake_is_right_or_another_one():
    known = [mistake for mistake in CATALOGUE if mistake.operation == "multi_head_attention" and mistake.begin is None]
    others = {printed(attnspec_reference.multi_head_attention), *(printed(mistake.function) for mistake in known)}
    prints = {mistake.id: printed(mistake.function) for mistake in RARER}
    assert [name for name, seen in prints.items() if seen in others] == []
    assert [name for name, seen in prints.items() if [*prints.values()].count(seen) > 1] == []
    assert [name for name, seen in prints.items() if not any(seen)] == []


@pytest.mark.parametrize("mistake", [each for each in RARER if each.other_ways], ids=lambda one: one.id)
def test_another_way_of_a_rarer_mistake_has_its_name(mistake):
    assert {way.listed_as for way in mistake.in_other_ways()} == {mistake.id}
    right = printed(attnspec_reference.multi_head_attention)
    assert all(printed(way.function) != right for way in mistake.in_other_ways())
