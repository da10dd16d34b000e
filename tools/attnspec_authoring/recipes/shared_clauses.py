"""Clauses that the operations have in common: what a case exercises of them follows from how it is run.

Every case holds its inputs against what they were before the call. That clause is named where an edit would show in
more than one place, because inputs share an array or cannot be written to, and by the case that is there to catch one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS
from attnspec.specification import clauses
from attnspec_mistakes import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

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
        or any(broken_by(target) == unchanged for target in case.targets),
        layout: bool(case.memory_order),
        repeatable: case.changed_argument is not None,
    }
    return tuple(clause for clause, holds in exercised.items() if holds and clause in clauses())


def broken_by(mistake: str) -> str | None:
    """Return the clause that a mistake breaks; None for one that the catalogue lacks."""
    return _broken().get(mistake)


@cache
def _broken() -> Mapping[str, str]:
    return {mistake.id: mistake.clause for mistake in CATALOGUE}
