"""Running every mistake and every control over the cases, in several processes."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, cast

from attnspec.cases import load_suite
from attnspec.dtypes import ANY, FLOAT_DTYPES
from attnspec.runner import prepare_suite, run_once, run_suite
from attnspec.version import __version__
from attnspec_authoring.proof.matrix import Kind, Matrix, Trial
from attnspec_authoring.proof.subjects import implementation_of, kind_of, remembers, subject_of, subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from attnspec.cases import Suite
    from attnspec.runner import Result, Run
    from attnspec_authoring.proof.subjects import Subject


def run_matrix(
    folder: Path | None = None,
    *,
    dtypes: Sequence[str] = FLOAT_DTYPES,
    select: Sequence[str] = (),
    only: Sequence[str] | None = None,
    enough: int | None = None,
    processes: int | None = None,
    progress: Callable[[Trial], None] | None = None,
) -> Matrix:
    """Run mistakes and controls over the cases.

    Parameters
    ----------
    folder
        The golden folder; the shipped one if None.
    dtypes
        Dtypes to run in.
    select
        Shell patterns of the ids of the cases; all if empty.
    only
        Ids of the mistakes and controls to try; all if None.
    enough
        Leave a mistake alone when all cases that target it have run and this many cases have noticed it in each
        dtype in which it shows; run every mistake over every case if None. Controls always meet every case.
    processes
        How many processes to run; one for each core that may be used if None. 1 runs in this process.
    progress
        Called with each trial when it is done.
    """
    start = time.perf_counter()
    suite = load_suite(folder, select=select)
    chosen = [subject for subject in subjects() if only is None or subject.id in only]
    # The longest ones first, so that no process is left with one of them at the end.
    length = _cases_by_operation(suite)
    order = sorted(chosen, key=lambda subject: (not remembers(subject), -length.get(subject.operation, 0)))
    done: dict[tuple[str, str], Trial] = {}
    for trial in _trials(order, _Selection(folder, tuple(dtypes), tuple(select)), enough, processes):
        done[trial.kind, trial.id] = trial
        if progress is not None:
            progress(trial)
    targets: dict[str, tuple[str, ...]] = {}
    for case in suite.cases.values():
        for mistake in case.targets:
            targets[mistake] = (*targets.get(mistake, ()), case.id)
    return Matrix(
        suite_version=__version__,
        suite_digest=suite.digest,
        dtypes=tuple(dtypes),
        cases={case.id: case.operation for case in suite.cases.values()},
        targets=targets,
        trials=tuple(done[kind_of(subject), subject.id] for subject in chosen),
        seconds=time.perf_counter() - start,
    )


def _cases_by_operation(suite: Suite) -> dict[str, int]:
    counts: dict[str, int] = {}
    for case in suite.cases.values():
        counts[case.operation] = counts.get(case.operation, 0) + 1
    return counts


@dataclass(frozen=True)
class _Selection:
    """What a process needs to prepare the same runs as the others."""

    folder: Path | None
    dtypes: tuple[str, ...]
    select: tuple[str, ...]


def _trials(
    order: Sequence[Subject], selection: _Selection, enough: int | None, processes: int | None
) -> Iterable[Trial]:
    keys = [(kind_of(subject), subject.id) for subject in order]
    count = processes or len(os.sched_getaffinity(0))
    if count == 1:
        for kind, identifier in keys:
            yield _try(kind, identifier, selection, enough)
        return
    # Spawned, not forked: a fork copies the locks of threads that do not exist in the copy.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        waiting = [pool.submit(_try, kind, identifier, selection, enough) for kind, identifier in keys]
        for future in waiting:
            yield future.result()


@cache
def _suite(selection: _Selection) -> Suite:
    return load_suite(selection.folder, select=selection.select)


@cache
def _runs(operation: str, selection: _Selection) -> tuple[Run, ...]:
    return prepare_suite(_suite(selection), operation, selection.dtypes)


def _try(kind: str, identifier: str, selection: _Selection, enough: int | None) -> Trial:
    """Run one mistake or control over the cases of its operation."""
    subject, suite = subject_of(identifier, kind), _suite(selection)
    trial = Trial(
        id=subject.id,
        kind=cast("Kind", kind),
        operation=subject.operation,
        clause=getattr(subject, "clause", None),
        shows_in=getattr(subject, "shows_in", ()),
        wrong={},
    )
    implementation = implementation_of(subject)
    if remembers(subject):
        own = {case.id: case for case in suite.cases.values() if case.operation == subject.operation}
        dtypes = [dtype for dtype in selection.dtypes if enough is None or dtype in trial.shows_in]
        results = run_suite(replace(suite, cases=own), implementation, dtypes=dtypes)
        return replace(trial, wrong=_wrong(results))
    runs = _runs(subject.operation, selection)
    if kind == "control" or enough is None:
        return replace(trial, wrong=_wrong(run_once(runs, suite, implementation)))
    seen: list[Result] = []
    for part in _likeliest_first(trial, runs):
        seen += run_once(part, suite, implementation)
        trial = replace(trial, wrong=_wrong(seen))
        if all(len(trial.noticed_by(dtype)) >= enough for dtype in trial.shows_in if dtype in selection.dtypes):
            break
    return trial


_PART = 96
"""How many runs are asked for before it is seen whether enough cases have noticed a mistake."""


def _likeliest_first(trial: Trial, runs: Sequence[Run]) -> Iterable[list[Run]]:
    """Cut runs into parts: first the cases that target the mistake, then those of its clause, then the others."""
    shown = [run for run in runs if run.dtype in (*trial.shows_in, ANY)]
    targeting = [run for run in shown if trial.id in run.case.targets]
    others = [run for run in shown if trial.id not in run.case.targets]
    ordered = sorted(others, key=lambda run: trial.clause not in run.case.clauses)
    yield targeting
    for start in range(0, len(ordered), _PART):
        yield ordered[start : start + _PART]


def _wrong(results: Iterable[Result]) -> dict[str, dict[str, str]]:
    """Return dtype to id of a case to the check that failed, or to the status where there was nothing to check."""
    wrong: dict[str, dict[str, str]] = {}
    for result in results:
        if result.is_wrong:
            wrong.setdefault(result.dtype, {})[result.case.id] = result.verdict.check or result.status
    return wrong
