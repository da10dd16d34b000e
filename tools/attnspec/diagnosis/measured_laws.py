"""What probes measured, beside what the cases tell: a law names its clause, a part of one leaves some clauses over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.diagnosis.suspects import TOLD_BESIDE, Suspect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.diagnosis.diagnosing import Diagnosis
    from attnspec.probing import Law

_MOST_TOLD = 3


def with_laws(diagnosis: Diagnosis, laws: Sequence[Law]) -> Diagnosis:
    """Return a diagnosis with the laws that were measured of its operation.

    Where no mistake gives the very numbers, the clause of a law comes before those that the cases point at. Where only
    a part of the computation is known to go wrong, the clauses about that part do.

    Parameters
    ----------
    diagnosis
        What the cases tell.
    laws
        Laws of its operation.
    """
    if not laws or diagnosis.clause is not None:
        return replace(diagnosis, laws=tuple(laws))
    told = _told(diagnosis, laws[0])
    clauses = {suspect.clause for suspect in told}
    others = tuple(replace(suspect, is_told=False) for suspect in diagnosis.suspects if suspect.clause not in clauses)
    return replace(
        diagnosis,
        laws=tuple(laws),
        suspects=(*told, *others),
        certainty="most likely" if len(told) == 1 else "one of these",
    )


def _told(diagnosis: Diagnosis, law: Law) -> tuple[Suspect, ...]:
    """Return the clauses that are told first."""
    of_law = [suspect for suspect in diagnosis.suspects if suspect.clause in law.clauses]
    if not of_law:
        most = law.clauses[:_MOST_TOLD]
        return tuple(_measured(clause, diagnosis, law) for clause in most)
    if law.is_found:
        return (replace(of_law[0], is_told=True),)
    return tuple(
        replace(suspect, is_told=True)
        for suspect in of_law[:_MOST_TOLD]
        if suspect.likeness >= TOLD_BESIDE * of_law[0].likeness
    )


def _measured(clause: str, diagnosis: Diagnosis, law: Law) -> Suspect:
    """Return a clause for which a law alone speaks."""
    return Suspect(
        clause, likeness=1.0, mistake=None, shared=law.confirmed, failing=diagnosis.explains, others=0, is_told=True
    )
