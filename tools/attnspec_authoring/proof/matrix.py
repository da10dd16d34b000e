"""The matrix of cases and of what was tried on them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from attnspec.contract.dtypes import ANY
from attnspec_mistakes.kill_matrix import FORMAT, KEPT_IN, case_bits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


Kind = Literal["mistake", "control"]


@dataclass(frozen=True)
class Trial:
    """Trial of one mistake or one control, run over every case of its operation.

    `clause` is None, and `shows_in` (dtypes in which a mistake must be noticed) empty, for a control. `wrong` has, by
    dtype of a run and id of a case, the check that failed (``values``, ``shape``, ``dtype`` ...), or the status
    (``error``).
    """

    id: str
    kind: Kind
    operation: str
    clause: str | None
    shows_in: tuple[str, ...]
    wrong: Mapping[str, Mapping[str, str]]

    def noticed_by(self, dtype: str) -> Mapping[str, str]:
        """Return id of a case to what was noticed, in one dtype; a case without floats counts in every dtype."""
        return {**self.wrong.get(ANY, {}), **self.wrong.get(dtype, {})}


@dataclass(frozen=True)
class Matrix:
    """Matrix of everything that was tried, on every case; `cases` has operations by id.

    `targets` has, by mistake, the cases that are there to catch it; `trials` are the mistakes in the order of the
    catalogue, then the controls.
    """

    suite_version: str
    suite_digest: str
    dtypes: tuple[str, ...]
    cases: Mapping[str, str]
    targets: Mapping[str, tuple[str, ...]]
    trials: tuple[Trial, ...]
    seconds: float

    @property
    def mistakes(self) -> tuple[Trial, ...]:
        """The mistakes."""
        return tuple(trial for trial in self.trials if trial.kind == "mistake")

    @property
    def controls(self) -> tuple[Trial, ...]:
        """The controls."""
        return tuple(trial for trial in self.trials if trial.kind == "control")


def noticed_document(matrix: Matrix, beside: Path | None = None) -> dict[str, Any]:
    """Return the document: each operation with its cases, its mistakes, and a bit for each of both, in two dtypes.

    Operations of which the matrix ran no mistake are those of the file `beside`.
    """
    cases: dict[str, list[str]] = {}
    for case, operation in sorted(matrix.cases.items()):
        cases.setdefault(operation, []).append(case)
    trials: dict[str, list[Trial]] = {}
    for trial in sorted(matrix.mistakes, key=lambda trial: trial.id):
        trials.setdefault(trial.operation, []).append(trial)
    found = {
        operation: {
            "cases": cases[operation],
            "mistakes": [trial.id for trial in tried],
            "noticed": {
                dtype: case_bits([trial.noticed_by(dtype) for trial in tried], cases[operation]) for dtype in KEPT_IN
            },
        }
        for operation, tried in trials.items()
    }
    kept: dict[str, Any] = {} if beside is None else json.loads(beside.read_bytes())["operations"]
    return {"format": FORMAT, "operations": dict(sorted({**kept, **found}.items()))}
