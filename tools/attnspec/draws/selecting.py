"""Selecting cases of which some are draws: those that are named by their text join the golden ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.cases import load_suite, suite_of
from attnspec.draws.drawing import draw
from attnspec.draws.recipe import is_recipe, recipe_from_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from attnspec.cases import Case, Suite


def load_selected(
    folder: Path | None = None, *, profiles: Sequence[str] = (), select: Sequence[str] = (), whole: bool = False
) -> Suite:
    """Read golden cases and draw those that are named by a recipe.

    Parameters
    ----------
    folder, profiles, select, whole
        As `attnspec.cases.load_suite` takes them; a text of `select` may be the recipe of a draw.

    Raises
    ------
    FixtureError
        If a golden file is damaged.
    UsageError
        If a profile is unknown, a pattern matches nothing, or a recipe is none.
    """
    patterns = [text for text in select if not is_recipe(text)]
    drawn = suite_of_draws(draw(recipe_from_text(text)) for text in select if is_recipe(text))
    if not drawn.cases:
        return load_suite(folder, profiles=profiles, select=select, whole=whole)
    suite = load_suite(folder, profiles=profiles, select=patterns, whole=whole)
    if not patterns and not profiles:
        return replace(suite, cases=drawn.cases, twins=drawn.twins)
    return replace(suite, cases={**suite.cases, **drawn.cases}, twins={**suite.twins, **drawn.twins})


def suite_of_draws(cases: Iterable[Case]) -> Suite:
    """Return draws as a suite, with the valid twins of those that must be refused.

    Parameters
    ----------
    cases
        What was drawn.
    """
    suite = suite_of(cases)
    twins = dict.fromkeys(case.rejects.twin for case in suite.cases.values() if case.rejects is not None)
    return replace(suite, twins={twin: draw(recipe_from_text(twin)) for twin in twins if twin not in suite.cases})
