"""Grading of answers that lie in files: the verdicts of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.grading import grade
from attnspec.offline.answers import answer_files, read_answer
from attnspec.offline.exporting import not_shown
from attnspec.runner import Result, offered_part, planned_runs, resolved_for
from attnspec.targets import Declaration, Declined, Outputs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attnspec.cases import Suite
    from attnspec.grading import Run
    from attnspec.offline.manifest import Manifest
    from attnspec.runner import Key


def answered(manifest: Manifest, folder: Path, *, name: str, adapter: str) -> Declaration:
    """Return an implementation's declaration: the operations with an answer in the folder, in the exported dtypes.

    Where there is no answer at all, every operation is expected, and none is answered. `name` and `adapter` are for
    reports.
    """
    entries = [entry for entry in manifest.cases if answer_files(folder, entry.case, entry.dtype)]
    operations = {entry.operation for entry in entries or manifest.cases}
    dtypes = {entry.dtype for entry in manifest.cases}
    return Declaration(
        name=name,
        version=None,
        adapter=adapter,
        operations=tuple(operation for operation in OPERATIONS if operation in operations),
        dtypes=tuple(dtype for dtype in FLOAT_DTYPES if dtype in dtypes),
        conventions=manifest.conventions,
    )


def graded_answers(suite: Suite, manifest: Manifest, declaration: Declaration, folder: Path) -> tuple[Result, ...]:
    """Return a result for each exported (case, dtype) of the suite, and for each that was left out of the export."""
    return tuple(_result(run, folder) for run in _runs(suite, manifest, declaration))


def _result(run: Run, folder: Path) -> Result:
    reason = not_shown(run)
    answer = read_answer(folder, run) if reason is None else Declined(f"not exported: {reason}")
    got = answer.values if isinstance(answer, Outputs) else None
    return Result(run, grade(run, answer), 0.0, got, numbers_alone=True)


def _runs(suite: Suite, manifest: Manifest, declaration: Declaration) -> Iterator[Run]:
    known: set[Key] = {(entry.case, entry.dtype) for entry in (*manifest.cases, *manifest.left_out)}
    resolved = resolved_for(declaration, None)
    for case in offered_part(suite, declaration.operations).suite.cases.values():
        dtypes = [dtype for dtype in case.runs if (case.id, dtype) in known or dtype == ANY]
        yield from planned_runs(case, dtypes, declaration, resolved)
