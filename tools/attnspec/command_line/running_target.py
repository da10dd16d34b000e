"""Running the target of the shared options, guarded where it is Python, with partial results when a run ends early."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import chdir, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import AttnspecError, TargetError, Terminated
from attnspec.command_line.command_options import STDOUT, RunOptions, check_run_options
from attnspec.command_line.early_verdict import Came, EarlyVerdict, Planned, say_on_stderr, saying_early
from attnspec.command_line.guarding import Ended, Guarding
from attnspec.command_line.terminal import print_document, showing_progress
from attnspec.guard.ending import Watch, ending_by_exception, how_it_ended
from attnspec.guard.guarded_process import Forked, Together
from attnspec.guard.journal import Journal, Reported

if TYPE_CHECKING:
    from rich.console import Console

    from attnspec.cases import Suite
    from attnspec.guard.kept_journal import KeptJournal
    from attnspec.guard.task import Task
    from attnspec.reports.report import Report
    from attnspec.reports.wording import EndedEarly
    from attnspec.runner import Result, Share
    from attnspec.runner.result import Measured
    from attnspec.targets import Declaration


def run_target(
    options: RunOptions,
    console: Console,
    *,
    fail_fast: bool = False,
    check: Callable[[Suite], None] | None = None,
    narrowed: Callable[[Suite], Suite] | None = None,
) -> tuple[Report, Suite]:
    """Run the implementation that the options name over the cases that they select; return the report and these cases.

    `check` sees the cases before the run, and its errors pass; `narrowed` gives the part that is run, all if None.
    `AttnspecError` if it cannot be run or a report not written; `KeyboardInterrupt` after reports of the partial
    results.
    """
    from attnspec.cases import load_selected
    from attnspec.reports.formats import check_writable
    from attnspec.targets.target import pairs
    from attnspec.validation import check_dtypes_and_conventions

    for path in options.reports:
        if path != STDOUT:
            check_writable(Path(path))
    check_run_options(options, fail_fast=fail_fast)
    check_dtypes_and_conventions(options.dtypes, pairs(options.conventions, "--convention"))
    suite = load_selected(options.golden, profiles=options.profiles, select=options.select)
    if check is not None:
        check(suite)
    if narrowed is not None:
        suite = narrowed(suite)
    guarding: Guarding = click.get_current_context().obj
    run = _Run(options, suite, _kept_by(options, suite), fail_fast)
    if guarding.ended is not None:
        return _recovered(run, guarding.ended), suite
    if options.jobs > 1 or (guarding.way == "fork" and options.target.is_imported):
        return _recovered(run, _run_in_copies(run, console)), suite
    return _run_here(run, console, guarding.journal), suite


def write_reports(options: RunOptions, report: Report, suite: Suite) -> None:
    """Write the reports that the options ask for, each once."""
    for path in dict.fromkeys(options.reports):
        from attnspec.reports.formats import report_text, write_report

        if path == STDOUT:
            print_document(report_text(report))
        else:
            write_report(report, Path(path), suite)


@dataclass(frozen=True)
class _Run:
    """Run of the target over the selected cases; `kept` is the journal in the file that keeps results, if any."""

    options: RunOptions
    suite: Suite
    kept: KeptJournal | None
    fail_fast: bool

    @cached_property
    def conventions(self) -> Mapping[str, str]:
        """The conventions that the command line states."""
        from attnspec.targets.target import pairs

        return pairs(self.options.conventions, "--convention")

    def task(self, share: Share) -> Task:
        """Return the task of a process for its share of the cases."""
        from attnspec.guard.task import Task

        options = self.options
        return Task(
            options.target,
            dtypes=options.dtypes,
            conventions=self.conventions,
            fail_fast=self.fail_fast,
            give_up_after=options.give_up_after,
            probes=options.probes,
            share=share,
        )

    def planned_runs(self, declaration: Declaration) -> int:
        """Return the number of (case, dtype) of a run that reaches its end."""
        from attnspec.contract.dtypes import ANY
        from attnspec.runner import offered_part

        cases = offered_part(self.suite, declaration.operations).suite.cases.values()
        requested = (*(self.options.dtypes or declaration.dtypes), ANY)
        return sum(dtype in requested for case in cases for dtype in case.runs)

    def planned(self, declaration: Declaration) -> Planned:
        """Return the number of results of a run that reaches its end, and of its core."""
        core = {case_id: self.suite.cases[case_id] for case_id in self.suite.core}
        of_core = replace(self, suite=replace(self.suite, cases=core)).planned_runs(declaration) if core else 0
        return Planned(self.planned_runs(declaration), of_core)

    @contextmanager
    def progress(
        self,
        console: Console,
        done: Callable[[], int],
        declared: Callable[[], Declaration | None],
        news: Callable[[], Sequence[Came]],
    ) -> Generator[None]:
        """Show the progress and say early what is known; the plan is counted once the target has declared itself."""
        counted: list[Planned] = []

        def planned() -> Planned | None:
            declaration = None if counted else declared()
            if declaration is not None:
                counted.append(self.planned(declaration))
            return counted[0] if counted else None

        def planned_results() -> int | None:
            found = planned()
            return None if found is None else found.all

        quiet = self.options.quiet
        early = EarlyVerdict(news, planned, frozenset(self.suite.core), say_on_stderr)
        with showing_progress(console, done, planned_results, quiet=quiet), saying_early(early, quiet=quiet):
            yield

    def report(
        self,
        declaration: Declaration,
        results: tuple[Result, ...],
        ended_early: EndedEarly | None,
        measured: Measured | None = None,
    ) -> Report:
        """Return the report of some results."""
        from attnspec.reports.report import invocation_of
        from attnspec.validation import make_report

        return make_report(
            self.suite,
            declaration,
            results,
            conventions=self.conventions,
            measured=measured,
            invocation=invocation_of(self.options.target, self.options.golden),
            not_run=None if ended_early is None else self.planned_runs(declaration) - len(results),
            ended_early=ended_early,
        )

    def report_of(self, reported: Reported, declaration: Declaration, ended_early: EndedEarly | None) -> Report:
        """Return the report of the results in a journal."""
        from attnspec.guard.recovered import recovered_results
        from attnspec.runner import Resolved, Share, offered_part

        results = recovered_results(
            reported,
            offered_part(self.suite, declaration.operations).suite,
            declaration,
            self.options.dtypes or declaration.dtypes,
            Resolved({**declaration.conventions, **self.conventions}),
        )
        jobs, measured = self.options.jobs, reported.measured
        if jobs > 1 and ended_early is None:
            measured = None
        if jobs > 1 and ended_early is None and self.options.probes and any(result.is_wrong for result in results):
            # Failures of several jobs are measured in a process of its own.
            journal = Journal.anonymous()
            task = replace(self.task(Share(0, jobs)), fail_fast=False, settled=results)
            with Watch() as watch:
                watch.wait_for(Forked(task, self.suite, journal, watch.release))
            measured = journal.read().measured
        return self.report(declaration, results, ended_early, measured)


def _kept_by(options: RunOptions, suite: Suite) -> KeptJournal | None:
    """Return the journal in the file of ``--resume``; `UsageError` if it is about another suite, target or options."""
    if options.resume is None:
        return None
    from attnspec.guard.kept_journal import open_kept
    from attnspec.targets.sources import digests
    from attnspec.targets.target import written_options

    about = {
        "the suite": suite.digest,
        "TARGET": "" if options.target.python is None else options.target.name,
        "--dtype": ", ".join(options.dtypes),
        "--profile": ", ".join(options.profiles),
        "--select": ", ".join(options.select),
        "--convention": ", ".join(options.conventions),
        **written_options(options.target),
    }
    journal, said = open_kept(options.resume, about, digests(options.target))
    if said:
        # Though --quiet is given: a verdict that rests on results of before says so.
        say_on_stderr(said)
    return journal


def _run_in_copies(run: _Run, console: Console) -> Ended:
    """Run it in copies of this process, one a job, and wait for their end."""
    from attnspec.runner import Share

    jobs = run.options.jobs
    journals = [Journal.anonymous() for _ in range(jobs)] if run.kept is None else [run.kept]
    with Watch() as watch:
        children = [
            Forked(run.task(Share(job, jobs)), run.suite, journal, watch.release)
            for job, journal in enumerate(journals)
        ]
        together = Together(children, journals)

        def news() -> list[Came]:
            return [Came(*key, entry.verdict, entry.seconds) for key, entry in together.news()]

        with run.progress(console, lambda: together.count, lambda: together.declaration, news):
            watch.wait_for(together)
    return Ended(together.parts, watch.received)


def _run_here(run: _Run, console: Console, journal: Journal | None) -> Report:
    """Run it from this process: a program, a target in a process by messages, or one that is not guarded here."""
    from attnspec.guard.task import measure_laws, opened_target
    from attnspec.process.opening import GaveUpError
    from attnspec.runner import Kept, Share, beside_counterparts
    from attnspec.validation import run_offered

    suite, kept = run.suite, run.kept
    journals = tuple(filter(None, (journal, kept)))
    follower = Kept(*journals)
    task = run.task(Share(0, 1))

    def so_far(ended_early: EndedEarly) -> Report:
        if kept is not None:
            return run.report_of(kept.read(), declaration, ended_early)
        return run.report(declaration, beside_counterparts(tuple(follower.results.values()), suite), ended_early)

    def news() -> list[Came]:
        came, read[0] = follower.results_since(read[0])
        return [Came(result.case.id, result.dtype, result.verdict, result.seconds) for result in came]

    read = [0]
    # In a guarded process, what the target does to itself is an accident; signals from outside are the parent's.
    signals = ending_by_exception() if journal is None else nullcontext()
    # The names of reports are relative to the folder of the user, wherever the target goes.
    with chdir(Path.cwd()), signals, closing(opened_target(task)) as implementation:
        declaration = implementation.declaration
        for each in journals:
            each.keep_declaration(declaration)
        try:
            with run.progress(console, lambda: follower.count, lambda: declaration, news):
                results = run_offered(
                    suite,
                    implementation,
                    dtypes=task.dtypes,
                    conventions=task.conventions,
                    fail_fast=task.fail_fast,
                    follower=follower,
                    known=None if kept is None else kept.known_result,
                )
        except KeyboardInterrupt:
            write_reports(run.options, so_far("interrupted"), suite)
            raise
        except GaveUpError:
            return so_far("given up")
        for each in journals:
            each.keep_ending("finished")
        measured = None
        with suppress(GaveUpError):
            measured = measure_laws(task, implementation, results, journals)
    return run.report(declaration, results, None, measured)


def _recovered(run: _Run, ended: Ended) -> Report:
    """Return the report of the recovered results of guarded processes, however they ended."""
    from attnspec.guard.recovered import journal_with_crash, merged_journals

    reported = merged_journals([part.reported for part in ended.parts])
    if ended.received is not None or reported.ending == "interrupted":
        if reported.declaration is not None:
            write_reports(run.options, run.report_of(reported, reported.declaration, "interrupted"), run.suite)
        raise Terminated(ended.received or signal.SIGINT)
    if reported.ending == "refused":
        raise AttnspecError(reported.problem)
    for part in ended.parts:
        declaration = part.reported.declaration
        if declaration is None or (part.reported.requested is None and part.reported.ending is None):
            when = "while it was imported" if declaration is None else "before it was called for the first case"
            raise TargetError(
                f"{run.options.target.name} {how_it_ended(part.code)} {when}, so that nothing was validated. "
                "Import it in an interpreter of your own to see why."
            )
    reported = merged_journals([journal_with_crash(*part) for part in ended.parts])
    if run.kept is not None and reported.ending is None and reported.requested is not None:
        run.kept.add_results(reported, {(reported.requested.case, reported.requested.dtype)})
    assert reported.declaration is not None
    ended_early = None if reported.ending == "finished" else "given up" if reported.ending == "given up" else "crashed"
    return run.report_of(reported, reported.declaration, ended_early)
