"""Saying of each case which mistakes it is there to catch, from a table that a family keeps."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.errors import RecipeError
from attnspec_mistakes import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec_authoring.recipes.authoring import AuthoredCase

TARGETS = "TARGETS"
"""What a family's table is called in its file."""


def with_targets(
    cases: Sequence[AuthoredCase], targets: Mapping[str, tuple[str, ...]], file: str
) -> tuple[AuthoredCase, ...]:
    """Say of each case of a family which mistakes it is there to catch.

    Parameters
    ----------
    cases
        The cases of the family.
    targets
        Id of a case to the ids of the mistakes that it is there to catch.
    file
        The file that holds the table, in which a case may stand twice without anybody seeing it.

    Raises
    ------
    RecipeError
        If a case or a mistake does not exist, or stands there twice.
    """
    by_id = {case.id: case for case in cases}
    mistakes = {mistake.id: mistake.operation for mistake in CATALOGUE}
    for case_id, lines in _lines_of_cases(Path(file)).items():
        if len(lines) > 1:
            written = " and ".join(f"line {line}" for line in lines)
            raise RecipeError(
                f"{_shown(file)}: {case_id!r} stands in {TARGETS} more than once, in {written}. "
                "Only the last one counts; put their mistakes together."
            )
    for case_id, named in targets.items():
        if case_id not in by_id:
            raise RecipeError(f"{case_id!r} is there to catch {', '.join(named)}, but no recipe makes it.")
        twice = [mistake for mistake, count in Counter((*by_id[case_id].targets, *named)).items() if count > 1]
        if twice:
            raise RecipeError(f"{_shown(file)}: {case_id!r} is there to catch {twice[0]} twice. Leave one out.")
        for mistake in named:
            if mistakes.get(mistake) != by_id[case_id].operation:
                what = "there is no such mistake" if mistake not in mistakes else f"that is one of {mistakes[mistake]}"
                raise RecipeError(f"{_shown(file)}: {case_id!r} is there to catch {mistake}, but {what}.")
    return tuple(replace(case, targets=(*case.targets, *targets.get(case.id, ()))) for case in cases)


def _lines_of_cases(file: Path) -> dict[str, list[int]]:
    """Return the lines of the table on which each case stands; a dict that is read has forgotten all but the last."""
    found: dict[str, list[int]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict(keys=keys)) if name == TARGETS:
                for key in keys:
                    if isinstance(key, ast.Constant):
                        found.setdefault(str(key.value), []).append(key.lineno)
            case _:
                pass
    return found


def _shown(file: str) -> str:
    path = Path(file)
    return f"{path.parent.name}/{path.name}"
