"""Which cases notice each mistake, as the catalogue keeps it for the diagnosis."""

from __future__ import annotations

from base64 import b85encode
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.kill_matrix import FORMAT, KEPT_IN

if TYPE_CHECKING:
    from attnspec_authoring.proof.matrix import Matrix


def noticed_document(matrix: Matrix) -> dict[str, Any]:
    """Return the document: for each operation its cases, and for each mistake a bit a case, in two dtypes."""
    cases: dict[str, list[str]] = {}
    for case, operation in sorted(matrix.cases.items()):
        cases.setdefault(operation, []).append(case)
    noticed: dict[str, dict[str, dict[str, str]]] = {}
    for trial in matrix.mistakes:
        noticed.setdefault(trial.operation, {})[trial.id] = {
            dtype: _bits([case in trial.noticed_by(dtype) for case in cases[trial.operation]]) for dtype in KEPT_IN
        }
    return {
        "format": FORMAT,
        "operations": {
            operation: {"cases": cases[operation], "noticed": mistakes}
            for operation, mistakes in sorted(noticed.items())
        },
    }


def _bits(flags: list[bool]) -> str:
    return b85encode(np.packbits(flags).tobytes()).decode("ascii")
