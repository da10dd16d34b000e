"""Target of the shared options: combinations that are refused, and the opened target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.base.errors import UsageError
from attnspec.guard.guarded_process import way_of_this_system

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec.cases import Suite
    from attnspec.command_line.run_options import RunOptions
    from attnspec.guard.kept_journal import KeptJournal
    from attnspec.guard.task import Task
    from attnspec.runner import Share

_LONGEST_TIMEOUT = 86_400


def load_selected(options: RunOptions, check: Callable[[Suite], None] | None) -> Suite:
    """Return the cases that the options select, once `check` has seen them."""
    from attnspec.cases import load_selected as selected

    suite = selected(options.golden, profiles=options.profiles, select=options.select)
    if check is not None:
        check(suite)
    return suite


def task_of(options: RunOptions, share: Share, *, fail_fast: bool) -> Task:
    """Return the task of a guarded process for its share of the cases."""
    from attnspec.guard.task import Task
    from attnspec.targets.target import pairs

    return Task(
        options.target,
        dtypes=options.dtypes,
        conventions=pairs(options.conventions, "--convention"),
        fail_fast=fail_fast,
        give_up_after=options.give_up_after,
        probes=options.probes,
        share=share,
    )


def kept_by(options: RunOptions, suite: Suite) -> KeptJournal | None:
    """Return the journal in the file that keeps results; None where the options name none.

    `UsageError` if the file is about another suite, target or options.
    """
    if options.resume is None:
        return None
    from attnspec.guard.kept_journal import open_kept
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
    return open_kept(options.resume, about)


def check_target(options: RunOptions, *, fail_fast: bool = False) -> None:
    """Raise `UsageError` if the options contradict each other; found out before anything is run."""
    target = options.target
    if (target.python is None) == (target.command is None):
        raise UsageError("Say what to validate: either TARGET (such as reference, or ./mine.py) or --command.")
    # Written so that NaN, too, is refused.
    for option, seconds in (("--timeout", target.timeout), ("--start-timeout", target.start_timeout)):
        if seconds is not None and not seconds <= _LONGEST_TIMEOUT:
            raise UsageError(f"{option} {seconds:g}: give a number of seconds, at most {_LONGEST_TIMEOUT}.")
    if options.give_up_after is not None and target.is_imported:
        raise UsageError(
            f"--give-up-after {options.give_up_after}: no call has a time limit in this process; add --timeout SECONDS."
        )
    if options.jobs > 1:
        _check_jobs(options, fail_fast=fail_fast)
    if target.is_imported:
        for option in target.options_for("process"):
            raise UsageError(f"{option} is for a --command, or for a TARGET with --isolate.")
    if target.command is not None:
        for option in target.options_for("python"):
            raise UsageError(f"{option} is for Python targets; a --command follows the protocol by itself.")


def _check_jobs(options: RunOptions, *, fail_fast: bool) -> None:
    """Raise `UsageError` if several jobs cannot do the request."""
    if fail_fast:
        raise UsageError(f"--jobs {options.jobs} and --fail-fast: which result is the first, only one job can say.")
    if options.resume is not None:
        raise UsageError(f"--jobs {options.jobs} and --resume: only one job can keep its results in a file.")
    if options.target.transcript is not None:
        raise UsageError(f"--jobs {options.jobs} and --transcript: a transcript holds what one program says.")
    if way_of_this_system() != "fork":
        raise UsageError(f"--jobs {options.jobs}: several jobs need a process that can be copied, and here none can.")
