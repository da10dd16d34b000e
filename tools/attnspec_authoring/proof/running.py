"""Running every mistake and every control over the cases, in several processes."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from attnspec.base import __version__
from attnspec.cases import load_suite
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.runner import prepare_suite, run_once, run_suite
from attnspec_authoring.proof.matrix import Kind, Matrix, Trial
from attnspec_authoring.proof.subjects import implementation_of, kind_of, remembers, subject_of, subjects
from attnspec_authoring.shared_verdicts import SharedVerdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from attnspec.cases import Suite
    from attnspec.runner import Result, Run
    from attnspec_authoring.proof.cache import Cache, Checks
    from attnspec_authoring.proof.subjects import Subject


def run_matrix(
    folder: Path | None = None,
    *,
    dtypes: Sequence[str] = FLOAT_DTYPES,
    select: Sequence[str] = (),
    only: Sequence[str] | None = None,
    enough: int | None = None,
    whole_in: Sequence[str] = FLOAT_DTYPES,
    cache: Cache | None = None,
    processes: int | None = None,
    progress: Callable[[Trial], None] | None = None,
) -> Matrix:
    """Run mistakes and controls over the cases; controls always meet every case.

    `select` and `only` are shell patterns of cases and ids of subjects. With `enough`, a mistake is left alone when all
    cases that target it have run and so many have noticed it in each dtype in which it shows; that is not cached.
    `whole_in` are dtypes, beside those in which it shows, in which it meets every case; in the others it is left alone
    when one has noticed it. `processes` None means one a core, one where there is little to do; 1 runs in this process.
    """
    start = time.perf_counter()
    suite = load_suite(folder, select=select)
    length = _cases_by_operation(suite)
    chosen = [subject for subject in subjects() if only is None or subject.id in only]
    # The longest ones first, so that no process is left with one of them at the end.
    order = sorted(chosen, key=lambda subject: (not remembers(subject), -length.get(subject.operation, 0)))
    selection = _Selection(folder, tuple(dtypes), tuple(select))
    kept_in = cache if enough is None else None
    known = {} if kept_in is None else {subject.id: kept_in.known(subject, suite) for subject in order}
    tasks = [
        _Task(kind_of(subject), subject.id, selection, enough, tuple(whole_in), known.get(subject.id, {}))
        for subject in order
    ]
    # What is new is counted as if nothing were known: too many processes cost little where there is much.
    if processes is None and sum(length.get(subject.operation, 0) for subject in order) <= _FEW:
        processes = 1
    done: dict[tuple[str, str], Trial] = {}
    settled = {task.id: trial for task in tasks if task.known and (trial := _settled(task, suite)) is not None}
    new = iter(_trials([task for task in tasks if task.id not in settled], processes))
    for subject in order:
        trial, seen = (settled[subject.id], {}) if subject.id in settled else next(new)
        done[trial.kind, trial.id] = trial
        if kept_in is not None and seen:
            kept_in.keep(subject, suite, seen)
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


_FEW = 3_000
"""How many (mistake, case) one process tries in less time than it takes to start several."""


@dataclass(frozen=True)
class _Selection:
    """Inputs by which a process prepares the same runs as the others."""

    folder: Path | None
    dtypes: tuple[str, ...]
    select: tuple[str, ...]


class _Task(NamedTuple):
    """One mistake or control to try: on what, how far, and what is known of it already."""

    kind: str
    id: str
    selection: _Selection
    enough: int | None
    whole_in: tuple[str, ...]
    known: Checks


_Tried = tuple[Trial, "Checks"]
"""Outcome of a mistake or control, and the part of it that was not known before."""


def _trials(tasks: Sequence[_Task], processes: int | None) -> Iterable[_Tried]:
    count = processes or len(os.sched_getaffinity(0))
    if count == 1:
        yield from map(_try, tasks)
        return
    # Spawned, not forked: a fork copies the locks of threads that do not exist in the copy.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        for future in [pool.submit(_try, task) for task in tasks]:
            yield future.result()


@cache
def _suite(selection: _Selection) -> Suite:
    # By id: the order in which cases are called is computed from the matrix, and must not decide what is in it.
    return replace(load_suite(selection.folder, select=selection.select), called_first=())


@cache
def _runs(operation: str, selection: _Selection) -> tuple[Run, ...]:
    return prepare_suite(_suite(selection), operation, selection.dtypes)


@cache
def _verdicts(selection: _Selection) -> SharedVerdicts:  # noqa: ARG001 - kept for each selection
    return SharedVerdicts()


def _try(task: _Task) -> _Tried:
    """Run one mistake or control over the cases of its operation."""
    subject, suite = subject_of(task.id, task.kind), _suite(task.selection)
    trial = _untried(subject)
    if remembers(subject):
        return _try_from_the_start(task, trial, subject, suite)
    implementation = implementation_of(subject)
    runs = _runs(subject.operation, task.selection)
    judge = _verdicts(task.selection).judge

    def ask(part: Sequence[Run]) -> Checks:
        return _checks(run_once(part, suite, implementation, judge))

    if task.enough is not None and task.kind == "mistake":
        return _until_enough(task, trial, runs, ask), {}
    return _every_case(task, trial, runs, ask)


def _untried(subject: Subject) -> Trial:
    return Trial(
        id=subject.id,
        kind=cast("Kind", kind_of(subject)),
        operation=subject.operation,
        clause=getattr(subject, "clause", None),
        shows_in=getattr(subject, "shows_in", ()),
        wrong={},
    )


def _whole_in(task: _Task, trial: Trial) -> set[str]:
    """Return the dtypes in which a mistake or a control meets every case."""
    return {*FLOAT_DTYPES, ANY} if task.kind == "control" else {*trial.shows_in, *task.whole_in, ANY}


def _settled(task: _Task, suite: Suite) -> Trial | None:
    """Return what came of a mistake or a control of which everything is known that is wanted; else None."""
    subject = subject_of(task.id, task.kind)
    trial = _untried(subject)
    own = {case.id: case for case in suite.cases.values() if case.operation == trial.operation}
    trial = replace(trial, wrong=_wrong(task.known, own))
    dtypes = [dtype for dtype in (*task.selection.dtypes, ANY) if remembers(subject) or dtype in _whole_in(task, trial)]
    dtypes += [dtype for dtype in task.selection.dtypes if dtype not in dtypes and not trial.wrong.get(dtype)]
    wanted = [(case.id, dtype) for case in own.values() for dtype in case.runs if dtype in dtypes]
    return trial if all(dtype in task.known.get(case_id, {}) for case_id, dtype in wanted) else None


def _try_from_the_start(task: _Task, trial: Trial, subject: Subject, suite: Suite) -> _Tried:
    """Run what depends on earlier calls: all of it, in the order in which a run asks."""
    own = {case.id: case for case in suite.cases.values() if case.operation == trial.operation}
    dtypes = [dtype for dtype in task.selection.dtypes if task.enough is None or dtype in trial.shows_in]
    seen = _checks(run_suite(replace(suite, cases=own), implementation_of(subject), dtypes=dtypes))
    return replace(trial, wrong=_wrong(seen, own)), seen


def _every_case(task: _Task, trial: Trial, runs: Sequence[Run], ask: Callable[[Sequence[Run]], Checks]) -> _Tried:
    """Run what is not known; of a dtype that need not be whole, until a case has noticed the mistake in it."""
    cases = dict.fromkeys(run.case.id for run in runs)
    new = [run for run in runs if run.dtype not in task.known.get(run.case.id, {})]
    whole = _whole_in(task, trial)
    seen = ask([run for run in new if run.dtype in whole])
    for dtype in (dtype for dtype in task.selection.dtypes if dtype not in whole):
        for part in _likeliest_first(trial, [run for run in new if run.dtype == dtype], (dtype,)):
            if _wrong(_together(task.known, seen), cases).get(dtype):
                break
            seen = _together(seen, ask(part))
    return replace(trial, wrong=_wrong(_together(task.known, seen), cases)), seen


def _until_enough(task: _Task, trial: Trial, runs: Sequence[Run], ask: Callable[[Sequence[Run]], Checks]) -> Trial:
    seen: Checks = {}
    cases = dict.fromkeys(run.case.id for run in runs)
    for part in _likeliest_first(trial, runs, (*trial.shows_in, ANY)):
        seen = _together(seen, ask(part))
        trial = replace(trial, wrong=_wrong(seen, cases))
        dtypes = [dtype for dtype in trial.shows_in if dtype in task.selection.dtypes]
        if all(len(trial.noticed_by(dtype)) >= (task.enough or 0) for dtype in dtypes):
            break
    return trial


_PART = 96
"""How many runs are run before it is seen whether enough cases have noticed a mistake."""


def _likeliest_first(trial: Trial, runs: Sequence[Run], dtypes: Sequence[str]) -> Iterable[list[Run]]:
    """Cut runs into parts: first the cases that target the mistake, then those of its clause, then the others."""
    shown = [run for run in runs if run.dtype in dtypes]
    targeting = [run for run in shown if trial.id in run.case.targets]
    others = [run for run in shown if trial.id not in run.case.targets]
    ordered = sorted(others, key=lambda run: trial.clause not in run.case.clauses)
    yield targeting
    for start in range(0, len(ordered), _PART):
        yield ordered[start : start + _PART]


def _checks(results: Iterable[Result]) -> Checks:
    """Return what each case found, in each dtype."""
    checks: dict[str, dict[str, str | None]] = {}
    for result in results:
        failed = (result.verdict.check or result.status) if result.is_wrong else None
        checks.setdefault(result.case.id, {})[result.dtype] = failed
    return checks


def _together(one: Checks, other: Checks) -> Checks:
    return {case: {**one.get(case, {}), **other.get(case, {})} for case in (*one, *other)}


def _wrong(checks: Checks, cases: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """Return dtype to id of a case to what it noticed, in the order of `cases`."""
    wrong: dict[str, dict[str, str]] = {}
    for case in cases:
        for dtype, failed in checks.get(case, {}).items():
            if failed is not None:
                wrong.setdefault(dtype, {})[case] = failed
    return wrong
