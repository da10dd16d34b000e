"""The matrix as JSON, which follows ``spec/schemas/mistakes.schema.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.cases import FORMAT

if TYPE_CHECKING:
    from attnspec_authoring.proof.findings import Findings
    from attnspec_authoring.proof.matrix import Matrix


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
