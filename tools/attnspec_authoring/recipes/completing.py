"""Completing a case: the mistakes that it is there to catch, and the clauses that operations have in common.

Every case holds its inputs against what they were before the call. That clause is named where an edit would show in
more than one element, because inputs share an array or cannot be written to, and by the case made to catch one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.errors import RecipeError
from attnspec.contract import OPERATIONS
from attnspec.specification import clauses
from attnspec_mistakes import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from attnspec_authoring.recipes.authoring import AuthoredCase


def read_targets(table: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each case of a table with its mistakes; a line that is indented goes on with the one above it."""
    for line in table.strip().replace("\n    ", " ").splitlines():
        case_id, _, mistakes = line.partition(": ")
        yield case_id, tuple(mistakes.split())


def with_targets(cases: Sequence[AuthoredCase], table: str, file: str) -> tuple[AuthoredCase, ...]:
    """Say of each case of a family which mistakes it is there to catch.

    Parameters
    ----------
    cases
        The cases of the family.
    table
        A line a case: its id, a colon, and the mistakes without the short name of the operation that they belong to.
    file
        The file that holds the table, for messages.

    Raises
    ------
    RecipeError
        If a case or a mistake does not exist, or stands there twice.
    """
    by_id = {case.id: case for case in cases}
    mistakes = {mistake.id for mistake in CATALOGUE}
    targets: dict[str, tuple[str, ...]] = {}
    for case_id, named in read_targets(table):
        if case_id in targets:
            raise RecipeError(
                f"{_shown(file)}: {case_id!r} stands there more than once, in {_lines_of(case_id, file)}. "
                "Put its mistakes together."
            )
        if case_id not in by_id:
            raise RecipeError(
                f"{_shown(file)}: {case_id!r} is there to catch {', '.join(named)}, but no recipe makes it: take out "
                "the line, or list the module of the case in the packages above it."
            )
        case = by_id[case_id]
        targets[case_id] = tuple(f"{OPERATIONS[case.operation].short_name}.{mistake}" for mistake in named)
        for mistake, count in Counter((*case.targets, *targets[case_id])).items():
            if count > 1:
                raise RecipeError(f"{_shown(file)}: {case_id!r} is there to catch {mistake} twice. Leave one out.")
            if mistake not in mistakes:
                raise RecipeError(
                    f"{_shown(file)}: {case_id!r} is there to catch {mistake}, but there is no such mistake."
                )
    return tuple(replace(case, targets=(*case.targets, *targets.get(case.id, ()))) for case in cases)


def _lines_of(case_id: str, file: str) -> str:
    """Say on which lines of its file a case stands."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return " and ".join(f"line {number}" for number, line in enumerate(lines, 1) if line.startswith(f"{case_id}: "))


def _shown(file: str) -> str:
    path = Path(file)
    return f"{path.parent.name}/{path.name}"


SHOWING_EDITS = frozenset({"shared", "readonly"})
"""The memory layouts in which an edited input shows elsewhere, too, or raises."""


def with_shared_clauses(cases: Iterable[AuthoredCase]) -> tuple[AuthoredCase, ...]:
    """Name the clauses that each case exercises by its memory layouts and by the call that follows it."""
    return tuple(replace(case, clauses=tuple(dict.fromkeys((*case.clauses, *clauses_of(case))))) for case in cases)


def clauses_of(case: AuthoredCase) -> tuple[str, ...]:
    """Return the ids of the shared clauses that a case exercises, of those that the page of its operation has."""
    short_name = OPERATIONS[case.operation].short_name
    unchanged, layout, repeatable = (
        f"{short_name}.{name}" for name in ("inputs_unchanged", "memory_layout", "repeatable")
    )
    exercised = {
        unchanged: not SHOWING_EDITS.isdisjoint(case.memory_order.values())
        or any(broken().get(target) == unchanged for target in case.targets),
        layout: bool(case.memory_order),
        repeatable: case.changed_argument is not None,
    }
    return tuple(clause for clause, holds in exercised.items() if holds and clause in clauses())


@cache
def broken() -> Mapping[str, str]:
    """Return each mistake of the catalogue with the clause that it breaks."""
    return {mistake.id: mistake.clause for mistake in CATALOGUE}
