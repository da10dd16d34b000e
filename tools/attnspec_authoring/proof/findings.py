"""Findings of the matrix, survivors, unjust failures and gaps of cases and mistakes; and both as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnspec.cases import FORMAT
from attnspec.contract.dtypes import HALF_PRECISION
from attnspec.grading import is_clause_of_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attnspec_authoring.proof.matrix import Matrix, Trial

ENOUGH = 2
"""How many cases must notice a mistake, in each dtype in which it shows."""


@dataclass(frozen=True)
class Findings:
    """Findings of a matrix; the first six must be empty.

    `surviving`: (mistake, dtype) that fewer than two cases notice. `missed_targets`: (case, mistake) that the case is
    there to catch, and does not. `untargeted`: mistakes that no case is there to catch. `failing_controls`: (control,
    dtype, case). `unexercised`, `unbroken`: clauses without a case, without a mistake. `redundant`: case to another
    that notices all that it notices. `unseen`: mistake to the dtypes of half precision in which no case notices it.
    """

    surviving: tuple[tuple[str, str], ...]
    missed_targets: tuple[tuple[str, str], ...]
    untargeted: tuple[str, ...]
    failing_controls: tuple[tuple[str, str, str], ...]
    unexercised: tuple[str, ...]
    unbroken: tuple[str, ...]
    redundant: Mapping[str, str]
    unseen: Mapping[str, tuple[str, ...]]

    @property
    def is_sound(self) -> bool:
        """Whether nothing survives, nothing right fails and nothing is left out."""
        return not (
            self.surviving
            or self.missed_targets
            or self.untargeted
            or self.failing_controls
            or self.unexercised
            or self.unbroken
        )


def find(matrix: Matrix, clauses: Iterable[str], exercised: Iterable[str]) -> Findings:
    """Read the findings of a whole matrix, by the ids of all clauses and of those that a case exercises."""
    # What is of a whole run is of no case, and no mistake of the catalogue breaks it.
    clauses = tuple(clause for clause in clauses if not is_clause_of_run(clause))
    exercised = set(exercised)
    broken = {trial.clause for trial in matrix.mistakes}
    return Findings(
        surviving=tuple(
            (trial.id, dtype)
            for trial in matrix.mistakes
            for dtype in trial.shows_in
            if dtype in matrix.dtypes and len(trial.noticed_by(dtype)) < ENOUGH
        ),
        missed_targets=_missed_targets(matrix),
        untargeted=tuple(trial.id for trial in matrix.mistakes if trial.id not in matrix.targets),
        failing_controls=tuple(
            (trial.id, dtype, case)
            for trial in matrix.controls
            for dtype, cases in trial.wrong.items()
            for case in cases
        ),
        unexercised=tuple(clause for clause in clauses if clause not in exercised),
        unbroken=tuple(clause for clause in clauses if clause not in broken),
        redundant=_redundant(matrix),
        unseen={
            trial.id: dtypes
            for trial in matrix.mistakes
            if (dtypes := tuple(d for d in HALF_PRECISION if d in matrix.dtypes and not trial.noticed_by(d)))
        },
    )


def _missed_targets(matrix: Matrix) -> tuple[tuple[str, str], ...]:
    """Find the cases that do not notice, in a dtype in which it shows, what they are there to catch."""
    trials = {trial.id: trial for trial in matrix.mistakes}
    return tuple(
        (case, mistake)
        for mistake, cases in matrix.targets.items()
        for case in cases
        if mistake not in trials or not _catches(trials[mistake], case, matrix.dtypes)
    )


def _catches(trial: Trial, case: str, dtypes: tuple[str, ...]) -> bool:
    return any(case in trial.noticed_by(dtype) for dtype in trial.shows_in if dtype in dtypes)


def noticed(matrix: Matrix) -> dict[str, frozenset[tuple[str, str]]]:
    """Return case to the (mistake, dtype) that it notices, in the dtypes in which each shows."""
    found: dict[str, set[tuple[str, str]]] = {case: set() for case in matrix.cases}
    for trial in matrix.mistakes:
        for dtype in trial.shows_in:
            for case in trial.noticed_by(dtype):
                found[case].add((trial.id, dtype))
    return {case: frozenset(pairs) for case, pairs in found.items()}


def _redundant(matrix: Matrix) -> dict[str, str]:
    """Find for each case another one of its operation that notices everything that it notices, and more or as much."""
    by_operation: dict[str, list[str]] = {}
    for case, operation in matrix.cases.items():
        by_operation.setdefault(operation, []).append(case)
    sets = noticed(matrix)
    found: dict[str, str] = {}
    for cases in by_operation.values():
        # Of two cases that notice the same, the first one stays.
        order = sorted(cases, key=lambda case: -len(sets[case]))
        for index, case in enumerate(order):
            larger = next((other for other in order[:index] if other not in found and sets[case] <= sets[other]), None)
            if larger is not None:
                found[case] = larger
    return found


def matrix_json(matrix: Matrix, findings: Findings) -> dict[str, Any]:
    """Return the matrix and its findings as a JSON object."""
    return {
        "format": FORMAT,
        "suite": {"version": matrix.suite_version, "digest": matrix.suite_digest, "cases": len(matrix.cases)},
        "dtypes": list(matrix.dtypes),
        "seconds": round(matrix.seconds, 3),
        "sound": findings.is_sound,
        "trials": [
            {
                "id": trial.id,
                "kind": trial.kind,
                "operation": trial.operation,
                "clause": trial.clause,
                "shows_in": list(trial.shows_in),
                "targeted_by": list(matrix.targets.get(trial.id, ())),
                "wrong": {dtype: dict(cases) for dtype, cases in trial.wrong.items()},
            }
            for trial in matrix.trials
        ],
        "findings": {
            "surviving": [{"mistake": mistake, "dtype": dtype} for mistake, dtype in findings.surviving],
            "missed_targets": [{"case": case, "mistake": mistake} for case, mistake in findings.missed_targets],
            "untargeted": list(findings.untargeted),
            "failing_controls": [
                {"control": control, "dtype": dtype, "case": case} for control, dtype, case in findings.failing_controls
            ],
            "unexercised_clauses": list(findings.unexercised),
            "unbroken_clauses": list(findings.unbroken),
            "redundant_cases": dict(findings.redundant),
            "unseen_in_half_precision": {mistake: list(dtypes) for mistake, dtypes in findings.unseen.items()},
        },
    }
