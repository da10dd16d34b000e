"""Which cases notice the wrong implementations of blind batches, as it is kept beside the catalogue.

A batch is a folder, or one that is put away as an archive, whose ``clauses.json`` says of each wrong file which clauses
it breaks.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec.base.errors import UsageError
from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Wrapped
from attnspec.runner import Resolved, planned_runs, run_once
from attnspec.targets import Outputs, load
from attnspec_authoring.strangers import batch_folder, modules_of_its_own
from attnspec_mistakes.kill_matrix import case_bits
from attnspec_mistakes.labelled_mistakes import FORMAT, KEPT_IN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from attnspec.cases import Suite
    from attnspec.runner import Run
    from attnspec.targets import Answer, Declaration, Request

CLAUSES = "clauses.json"


class Tried(NamedTuple):
    """Wrong implementation that was run over the cases, by folder and file name.

    `clauses` are those that judges say it breaks; `noticed` has, by operation, the ids of the cases that notice it.
    """

    id: str
    clauses: tuple[str, ...]
    noticed: Mapping[str, frozenset[str]]


class _ExpectedAlone(Wrapped):
    """Implementation that gives the expected outputs alone: errors in others say nothing about clauses."""

    def run(self, request: Request) -> Answer:
        """Answer a request, and drop outputs that are not expected."""
        answer = super().run(request)
        if not isinstance(answer, Outputs):
            return answer
        required = OPERATIONS[request.operation].required(request.inputs)
        return answer._replace(values={name: array for name, array in answer.values.items() if name in required})


def judged_files(folders: Iterable[Path]) -> dict[Path, tuple[str, ...]]:
    """Return the wrong files of batches (folders, or archives such as ``batch_7``) with the clauses that they break.

    `UsageError` where a folder lacks its file of clauses, `ArchiveError` where an archive cannot be unpacked.
    """
    found: dict[Path, tuple[str, ...]] = {}
    for named in folders:
        folder = batch_folder(named)
        path = folder / CLAUSES
        if not path.is_file():
            raise UsageError(f"--judged {named}: there is no {CLAUSES} in it, which says which clauses are broken.")
        judged: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found |= {folder.resolve() / name: tuple(entry["accepted"]) for name, entry in sorted(judged.items())}
    return found


def try_judged(
    files: Mapping[Path, tuple[str, ...]], golden: Path | None = None, processes: int | None = None
) -> list[Tried]:
    """Run wrong implementations over the cases of their operations, each once, for the expected outputs.

    `processes` None means one for each core that may be used; 1 runs in this process.
    """
    count = processes or len(os.sched_getaffinity(0))
    if count == 1:
        found = [_noticed(path, golden) for path in files]
    else:
        # Spawned, not forked: a fork copies the locks of threads that do not exist in the copy.
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
            found = list(pool.map(_noticed, files, [golden] * len(files)))
    return [
        Tried(f"{path.parents[1].name}/{path.stem}", clauses, noticed)
        for (path, clauses), noticed in zip(files.items(), found, strict=True)
    ]


def judged_document(tried: Sequence[Tried], golden: Path | None = None) -> dict[str, Any]:
    """Return the document: for each operation its cases, and for each implementation its clauses and a bit a case."""
    cases: dict[str, list[str]] = {}
    for case in sorted(_suite(golden).cases.values(), key=lambda case: case.id):
        cases.setdefault(case.operation, []).append(case.id)
    judged: dict[str, list[Tried]] = {}
    for entry in sorted(tried, key=lambda entry: entry.id):
        for operation, noticed in entry.noticed.items():
            if noticed:
                judged.setdefault(operation, []).append(entry)
    return {
        "format": FORMAT,
        "operations": {
            operation: {
                "cases": cases[operation],
                "judged": {entry.id: list(entry.clauses) for entry in entries},
                "noticed": case_bits([entry.noticed[operation] for entry in entries], cases[operation]),
            }
            for operation, entries in sorted(judged.items())
        },
    }


@cache
def _suite(golden: Path | None) -> Suite:
    return load_suite(golden)


def _noticed(path: Path, golden: Path | None) -> dict[str, frozenset[str]]:
    """Return each operation that a file offers to the ids of its cases that notice the implementation."""
    suite = _suite(golden)
    with modules_of_its_own(path.parents[1]):
        implementation = _ExpectedAlone(load(str(path)))
        return {
            operation: frozenset(
                result.case.id
                for result in run_once(_runs(operation, suite, implementation.declaration), suite, implementation)
                if result.is_wrong
            )
            for operation in implementation.declaration.operations
        }


def _runs(operation: str, suite: Suite, declaration: Declaration) -> list[Run]:
    """Prepare the cases of an operation for an implementation, which may follow conventions of its own."""
    resolved = Resolved(declaration.conventions)
    cases = (case for case in suite.cases.values() if case.operation == operation)
    return [run for case in cases for run in planned_runs(case, (KEPT_IN,), declaration, resolved)]
