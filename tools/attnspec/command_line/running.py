"""Running what the shared options name, guarded where it is Python, and keeping what there is when a run ends early."""

from __future__ import annotations

import os
import signal
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from attnspec.command_line.console import progress
from attnspec.command_line.guarding import Ended
from attnspec.command_line.target import check_target, implementation_of, invocation_of, load_selected, task_of
from attnspec.errors import AttnspecError, TargetError, Terminated

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from attnspec.adapters import Declaration
    from attnspec.cases import Suite
    from attnspec.command_line.guarding import Guarding
    from attnspec.command_line.target_options import TargetOptions
    from attnspec.guard.journal import Journal, Told
    from attnspec.reports import Report
    from attnspec.reports.wording import EndedEarly
    from attnspec.runner import Result


class Ran(NamedTuple):
    """A report, and the cases that it is about."""

    report: Report
    suite: Suite


def run_target(
    options: TargetOptions,
    console: Console,
    *,
    fail_fast: bool = False,
    check: Callable[[Suite], None] | None = None,
) -> Ran:
    """Run the implementation that the options name over the cases that they select.

    Parameters
    ----------
    options
        What the command line says.
    console
        Where progress is shown.
    fail_fast
        Stop at the first wrong result.
    check
        Called with the cases before they are run; what it raises is passed on.

    Raises
    ------
    AttnspecError
        If it cannot be run, or a report could not be written.
    KeyboardInterrupt
        If it was interrupted; the reports then hold what there was.
    """
    from attnspec.reports import check_writable
    from attnspec.validation import check_asked, pairs

    for path in options.reports:
        check_writable(Path(path))
    check_target(options)
    check_asked(options.dtypes, pairs(options.conventions, "--convention"))
    suite = load_selected(options, check)
    guarding: Guarding = click.get_current_context().obj
    if guarding.ended is not None:
        return Ran(_remains(options, suite, guarding.ended), suite)
    if guarding.way == "fork" and options.is_imported:
        return Ran(_remains(options, suite, _forked(options, suite, console, fail_fast=fail_fast)), suite)
    return Ran(_run_here(options, suite, console, guarding.journal, fail_fast=fail_fast), suite)


def write_reports(options: TargetOptions, report: Report, suite: Suite) -> None:
    """Write the reports that the options ask for."""
    for path in options.reports:
        from attnspec.reports import write_report

        write_report(report, Path(path), suite)


def _forked(options: TargetOptions, suite: Suite, console: Console, *, fail_fast: bool) -> Ended:
    """Run it in a copy of this process, and wait for its end."""
    from attnspec.guard.forked import Forked
    from attnspec.guard.journal import Journal
    from attnspec.guard.watching import Watch

    journal = Journal.anonymous()
    with Watch() as watch:
        child = Forked(task_of(options, fail_fast=fail_fast), suite, journal, watch.release)
        with progress(console, journal, quiet=options.quiet):
            code = watch.wait_for(child)
    return Ended(code, journal.read(), watch.received)


def _run_here(
    options: TargetOptions, suite: Suite, console: Console, journal: Journal | None, *, fail_fast: bool
) -> Report:
    """Run it from this process: a program, a target in a process that is spoken to, or one that is not guarded here."""
    from attnspec.adapters.patience import TIMEOUTS_IN_A_ROW, GaveUpError, Patience
    from attnspec.guard.task import OneProcess
    from attnspec.guard.watching import ending_by_exception
    from attnspec.runner import Kept, beside_their_twins
    from attnspec.validation import closing, in_layout, pairs, run_offered

    follower, process = Kept(journal), os.getpid()
    # In a guarded process, what the target does to itself is an accident; signals from outside are the parent's.
    signals = ending_by_exception() if journal is None else nullcontext()
    # The names of reports are relative to the folder of the user, wherever the target goes.
    with chdir(Path.cwd()), signals, closing(implementation_of(options)) as target:
        alone = OneProcess(in_layout(target, options.layout), process)
        implementation = Patience(alone, options.give_up_after or TIMEOUTS_IN_A_ROW)
        declaration = implementation.declaration
        if journal is not None:
            journal.declares(declaration)
        try:
            with progress(console, follower, quiet=options.quiet):
                results = run_offered(
                    suite,
                    implementation,
                    dtypes=options.dtypes,
                    conventions=pairs(options.conventions, "--convention"),
                    fail_fast=fail_fast,
                    follower=follower,
                )
        except KeyboardInterrupt:
            kept = beside_their_twins(tuple(follower.results.values()), suite, None)
            write_reports(options, _report(options, suite, declaration, kept, "interrupted"), suite)
            raise
        except GaveUpError:
            kept = beside_their_twins(tuple(follower.results.values()), suite, None)
            return _report(options, suite, declaration, kept, "given up")
        if journal is not None:
            journal.ends("finished")
    return _report(options, suite, declaration, results, None)


def _remains(options: TargetOptions, suite: Suite, ended: Ended) -> Report:
    """Return the report of what a guarded process told, however it ended."""
    from attnspec.guard.ending import how_it_ended

    told, declaration = ended.told, ended.told.declaration
    if ended.received is not None or told.ending == "interrupted":
        if declaration is not None:
            write_reports(options, _report_of(options, suite, told, declaration, None), suite)
        raise Terminated(ended.received or signal.SIGINT)
    if told.ending == "refused":
        raise AttnspecError(told.problem)
    if declaration is None or (told.asked is None and told.ending is None):
        when = "while it was imported" if declaration is None else "before it was asked for the first case"
        raise TargetError(
            f"{options.target} {how_it_ended(ended.code)} {when}, so that nothing was validated. "
            "Import it in an interpreter of your own to see why."
        )
    return _report_of(options, suite, told, declaration, ended.code)


def _report_of(options: TargetOptions, suite: Suite, told: Told, declaration: Declaration, code: int | None) -> Report:
    """Return the report of what a journal tells; `code` is how the process ended, None where it was interrupted."""
    from attnspec.guard.remains import results_of
    from attnspec.runner import offered_part, resolved_for
    from attnspec.validation import pairs

    ended_early = None if told.ending == "finished" else "interrupted" if code is None else "crashed"
    results = results_of(
        told,
        offered_part(suite, declaration.operations).suite,
        declaration,
        options.dtypes or declaration.dtypes,
        resolved_for(declaration, pairs(options.conventions, "--convention")),
        ended=None if ended_early is None else code,
    )
    return _report(options, suite, declaration, results, ended_early)


def _report(
    options: TargetOptions,
    suite: Suite,
    declaration: Declaration,
    results: tuple[Result, ...],
    ended_early: EndedEarly | None,
) -> Report:
    from attnspec.runner import offered_part, planned_dtypes
    from attnspec.validation import make_report, pairs

    not_run = None
    if ended_early is not None:
        asked = options.dtypes or declaration.dtypes
        cases = offered_part(suite, declaration.operations).suite.cases.values()
        not_run = sum(len(planned_dtypes(case, asked)) for case in cases) - len(results)
    return make_report(
        suite,
        declaration,
        results,
        conventions=pairs(options.conventions, "--convention"),
        invocation=invocation_of(options),
        not_run=not_run,
        ended_early=ended_early,
    )
