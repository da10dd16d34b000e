"""Shrinking: the fewest features and the shortest axes with which a draw still fails."""

from collections.abc import Callable, Iterator
from itertools import combinations

from attnspec.cases import Case
from attnspec_draws.drawing import case_of, drawn_of
from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.seed_text import Recipe

MOST = 400
"""How many smaller draws are tried at most: a small case is found after some fifty."""


def shrunk(recipe: Recipe, fails: Callable[[Case], bool], *, most: int = MOST) -> Recipe:
    """Shrink a failing draw to one that `fails` in the same way, trying at most `most` draws.

    Features are left out and axes shortened one at a time, until none can be left out or shortened alone.
    """
    tried = {recipe.text}
    drawn = drawn_of(recipe)
    shorter = True
    while shorter:
        shorter = False
        for smaller in _smaller(recipe, drawn):
            if smaller.text in tried:
                continue
            if len(tried) > most:
                return recipe
            tried.add(smaller.text)
            made = drawn_of(smaller)
            if _exchanges(drawn, made) or _weight(made) >= _weight(drawn):
                continue
            if fails(case_of(smaller, made)):
                recipe, drawn, shorter = smaller, made, True
                break
    return recipe


def _exchanges(drawn: Drawn, made: Drawn) -> bool:
    """Return whether what was left out only gave way to something else, as a mask of one kind to one of another."""
    return made.extents == drawn.extents and not {*made.features} <= {*drawn.features}


def _weight(drawn: Drawn) -> tuple[int, int]:
    """Say how much a case is to look at: its numbers, and what it has."""
    return sum(drawn.extents.values()) + 4 * len(drawn.features), len(drawn.features)


def _smaller(recipe: Recipe, drawn: Drawn) -> Iterator[Recipe]:
    """Give smaller draws, those first that leave out most: long axes, then features, then axes by one."""
    stated = recipe.with_extents(drawn.extents)
    # An axis that was drawn moves others that depend on it: all are stated, so that these alone change.
    for length, axes in _by_length(drawn):
        for shorter in sorted({1, 2, length // 4, length // 2} & set(range(1, length))):
            yield stated.with_extents(dict.fromkeys(axes, shorter))
    for feature in drawn.features:
        yield stated.leaving_out((feature,))
    for length, axes in _by_length(drawn):
        if length > 1:
            yield stated.with_extents(dict.fromkeys(axes, length - 1))


def _by_length(drawn: Drawn) -> list[tuple[int, tuple[str, ...]]]:
    """Return what may be shortened together, the longest first: two axes of one length, which must stay so, or one."""
    pairs = combinations(drawn.extents, 2)
    together = [pair for pair in pairs if drawn.extents[pair[0]] == drawn.extents[pair[1]]]
    alone = [(axis,) for axis in drawn.extents]
    return sorted(((drawn.extents[axes[0]], axes) for axes in (*together, *alone)), key=lambda each: -each[0])
