"""Measured laws beside the cases: a law names its clause, a part of one leaves some clauses over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.diagnosis.suspects import REPORTED_BESIDE, Suspect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.runner.result import Law

_MOST_REPORTED = 3


def suspects_by_law(suspects: Sequence[Suspect], law: Law, failing: int) -> tuple[Suspect, ...]:
    """Return the suspected clauses once a law was measured over `failing` failures, the likeliest first.

    The clause of a law comes before those that the cases point at. Where only a part of the computation is known to go
    wrong, the clauses about that part come first.
    """
    of_law = [suspect for suspect in suspects if suspect.clause in law.clauses]
    if law.is_found:
        first = of_law[0] if of_law else _measured(law.clauses[0], law, failing)
        reported = [replace(first, is_reported=True)]
    elif of_law and any(suspect.is_reported for suspect in suspects):
        near = REPORTED_BESIDE * of_law[0].likeness
        reported = [
            replace(suspect, is_reported=True) for suspect in of_law[:_MOST_REPORTED] if suspect.likeness >= near
        ]
    else:
        return tuple(suspects)
    clauses = {suspect.clause for suspect in reported}
    others = [replace(suspect, is_reported=False) for suspect in suspects if suspect.clause not in clauses]
    return (*reported, *sorted(others, key=lambda suspect: suspect.clause not in law.clauses))


def _measured(clause: str, law: Law, failing: int) -> Suspect:
    """Return a clause for which a law alone speaks."""
    return Suspect(
        clause, likeness=1.0, mistake=None, shared=law.confirmed, failing=failing, others=0, is_reported=True
    )
