"""Running the target of the shared options, guarded where it is Python, with partial results when a run ends early."""

from __future__ import annotations

import signal
from contextlib import chdir, closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from attnspec.base.errors import AttnspecError, TargetError, Terminated
from attnspec.command_line.chosen_target import (
    check_target,
    kept_by,
    load_selected,
    task_of,
)
from attnspec.command_line.guarding import Ended
from attnspec.command_line.run_options import STDOUT
from attnspec.command_line.terminal import print_document, progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from attnspec.cases import Suite
    from attnspec.command_line.guarding import Guarding
    from attnspec.command_line.run_options import RunOptions
    from attnspec.guard.journal import Journal, Reported
    from attnspec.guard.kept_journal import KeptJournal
    from attnspec.reports.report import Report
    from attnspec.reports.wording import EndedEarly
    from attnspec.runner import Result
    from attnspec.runner.result import Measured
    from attnspec.targets import Declaration


class Ran(NamedTuple):
    """Report, and the cases that it is about."""

    report: Report
    suite: Suite


def run_target(
    options: RunOptions,
    console: Console,
    *,
    fail_fast: bool = False,
    check: Callable[[Suite], None] | None = None,
    narrowed: Callable[[Suite], Suite] | None = None,
) -> Ran:
    """Run the implementation that the options name over the cases that they select.

    `check` sees the cases before the run, and its errors pass; `narrowed` gives the part that is run, all if None.
    `AttnspecError` if it cannot be run or a report not written; `KeyboardInterrupt` after reports of the partial
    results.
    """
    from attnspec.reports.formats import check_writable
    from attnspec.targets.target import pairs
    from attnspec.validation import check_request

    for path in options.reports:
        if path != STDOUT:
            check_writable(Path(path))
    check_target(options, fail_fast=fail_fast)
    check_request(options.dtypes, pairs(options.conventions, "--convention"))
    suite = load_selected(options, check)
    if narrowed is not None:
        suite = narrowed(suite)
    guarding: Guarding = click.get_current_context().obj
    kept = kept_by(options, suite)
    if guarding.ended is not None:
        return Ran(_remains(options, suite, guarding.ended, kept), suite)
    if options.jobs > 1 or (guarding.way == "fork" and options.target.is_imported):
        ended = _forked(options, suite, console, kept, fail_fast=fail_fast)
        return Ran(_remains(options, suite, ended, kept), suite)
    return Ran(_run_here(options, suite, console, guarding.journal, kept, fail_fast=fail_fast), suite)


def write_reports(options: RunOptions, report: Report, suite: Suite) -> None:
    """Write the reports that the options ask for, each once."""
    for path in dict.fromkeys(options.reports):
        from attnspec.reports.formats import report_text, write_report

        if path == STDOUT:
            print_document(report_text(report))
        else:
            write_report(report, Path(path), suite)


def _forked(options: RunOptions, suite: Suite, console: Console, kept: KeptJournal | None, *, fail_fast: bool) -> Ended:
    """Run it in copies of this process, one a job, and wait for their end."""
    from attnspec.guard.ending import Watch
    from attnspec.guard.guarded_process import Forked, Together
    from attnspec.guard.journal import Journal
    from attnspec.runner import Share

    journals = [Journal.anonymous() for _ in range(options.jobs)] if kept is None else [kept]
    with Watch() as watch:
        tasks = [task_of(options, Share(job, options.jobs), fail_fast=fail_fast) for job in range(options.jobs)]
        children = [Forked(task, suite, journal, watch.release) for task, journal in zip(tasks, journals, strict=True)]
        together = Together(children, journals)
        planned = _planned(options, suite, lambda: together.declaration)
        with progress(console, together, planned, quiet=options.quiet):
            watch.wait_for(together)
    return Ended(together.parts, watch.received)


def _run_here(
    options: RunOptions,
    suite: Suite,
    console: Console,
    journal: Journal | None,
    kept: KeptJournal | None,
    *,
    fail_fast: bool,
) -> Report:
    """Run it from this process: a program, a target in a process by messages, or one that is not guarded here."""
    from attnspec.guard.ending import ending_by_exception
    from attnspec.guard.task import measure, opened
    from attnspec.process.opening import GaveUpError
    from attnspec.runner import Kept, Share, beside_counterparts
    from attnspec.validation import run_offered

    journals = tuple(filter(None, (journal, kept)))
    follower = Kept(*journals)
    task = task_of(options, Share(0, 1), fail_fast=fail_fast)

    def so_far(ended_early: EndedEarly) -> Report:
        if kept is not None:
            return _report_of(options, suite, kept.read(), declaration, ended_early)
        results = beside_counterparts(tuple(follower.results.values()), suite)
        return _report(options, suite, declaration, results, ended_early)

    # In a guarded process, what the target does to itself is an accident; signals from outside are the parent's.
    signals = ending_by_exception() if journal is None else nullcontext()
    # The names of reports are relative to the folder of the user, wherever the target goes.
    with chdir(Path.cwd()), signals, closing(opened(task)) as implementation:
        declaration = implementation.declaration
        for each in journals:
            each.declares(declaration)
        try:
            planned = _planned(options, suite, lambda: declaration)
            with progress(console, follower, planned, quiet=options.quiet):
                results = run_offered(
                    suite,
                    implementation,
                    dtypes=task.dtypes,
                    conventions=task.conventions,
                    fail_fast=task.fail_fast,
                    follower=follower,
                    known=None if kept is None else kept.known,
                )
        except KeyboardInterrupt:
            write_reports(options, so_far("interrupted"), suite)
            raise
        except GaveUpError:
            return so_far("given up")
        for each in journals:
            each.ends("finished")
        measured = None
        with suppress(GaveUpError):
            measured = measure(task, implementation, results, journals)
    return _report(options, suite, declaration, results, None, measured)


def _remains(options: RunOptions, suite: Suite, ended: Ended, kept: KeptJournal | None) -> Report:
    """Return the report of the recovered results of guarded processes, however they ended."""
    from attnspec.guard.ending import how_it_ended
    from attnspec.guard.recovered import as_one, with_crash

    reported = as_one([part.reported for part in ended.parts])
    if ended.received is not None or reported.ending == "interrupted":
        if reported.declaration is not None:
            write_reports(options, _report_of(options, suite, reported, reported.declaration, "interrupted"), suite)
        raise Terminated(ended.received or signal.SIGINT)
    if reported.ending == "refused":
        raise AttnspecError(reported.problem)
    for part in ended.parts:
        declaration = part.reported.declaration
        if declaration is None or (part.reported.requested is None and part.reported.ending is None):
            when = "while it was imported" if declaration is None else "before it was asked for the first case"
            raise TargetError(
                f"{options.target.name} {how_it_ended(part.code)} {when}, so that nothing was validated. "
                "Import it in an interpreter of your own to see why."
            )
    reported = as_one([with_crash(*part) for part in ended.parts])
    if kept is not None and reported.ending is None and reported.requested is not None:
        kept.adds(reported, {(reported.requested.case, reported.requested.dtype)})
    assert reported.declaration is not None
    ended_early = None if reported.ending == "finished" else "given up" if reported.ending == "given up" else "crashed"
    return _report_of(options, suite, reported, reported.declaration, ended_early)


def _report_of(
    options: RunOptions, suite: Suite, reported: Reported, declaration: Declaration, ended_early: EndedEarly | None
) -> Report:
    """Return the report of the results in a journal."""
    from attnspec.guard.recovered import results_of
    from attnspec.runner import offered_part, resolved_for
    from attnspec.targets.target import pairs

    results = results_of(
        reported,
        offered_part(suite, declaration.operations).suite,
        declaration,
        options.dtypes or declaration.dtypes,
        resolved_for(declaration, pairs(options.conventions, "--convention")),
    )
    measured = reported.measured
    if options.jobs > 1 and ended_early is None:
        measured = _measured_apart(options, suite, results)
    return _report(options, suite, declaration, results, ended_early, measured)


def _measured_apart(options: RunOptions, suite: Suite, results: tuple[Result, ...]) -> Measured | None:
    """Measure failures of several jobs, in a process of its own."""
    from attnspec.guard.ending import Watch
    from attnspec.guard.guarded_process import Forked
    from attnspec.guard.journal import Journal
    from attnspec.runner import Share

    if not options.probes or not any(result.is_wrong for result in results):
        return None
    task = replace(task_of(options, Share(0, options.jobs), fail_fast=False), settled=results)
    journal = Journal.anonymous()
    with Watch() as watch:
        watch.wait_for(Forked(task, suite, journal, watch.release))
    return journal.read().measured


def _report(
    options: RunOptions,
    suite: Suite,
    declaration: Declaration,
    results: tuple[Result, ...],
    ended_early: EndedEarly | None,
    measured: Measured | None = None,
) -> Report:
    from attnspec.reports.invocation import invocation_of
    from attnspec.targets.target import pairs
    from attnspec.validation import make_report

    not_run = None if ended_early is None else _planned_runs(options, suite, declaration) - len(results)
    return make_report(
        suite,
        declaration,
        results,
        conventions=pairs(options.conventions, "--convention"),
        measured=measured,
        invocation=invocation_of(options.target, options.golden),
        not_run=not_run,
        ended_early=ended_early,
    )


def _planned(options: RunOptions, suite: Suite, declared: Callable[[], Declaration | None]) -> Callable[[], int | None]:
    """Return a counter of the planned (case, dtype), None until the target has declared itself; counted once."""
    counted: list[int] = []

    def planned() -> int | None:
        declaration = None if counted else declared()
        if declaration is not None:
            counted.append(_planned_runs(options, suite, declaration))
        return counted[0] if counted else None

    return planned


def _planned_runs(options: RunOptions, suite: Suite, declaration: Declaration) -> int:
    """Return the number of (case, dtype) of a run that reaches its end."""
    from attnspec.runner import offered_part, planned_dtypes

    cases = offered_part(suite, declaration.operations).suite.cases.values()
    return sum(len(planned_dtypes(case, options.dtypes or declaration.dtypes)) for case in cases)
