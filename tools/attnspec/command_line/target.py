"""From the shared options to a target: what they may not say together, and what is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.errors import UsageError
from attnspec.guard.ways import way_of_this_system

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec.cases import Suite
    from attnspec.command_line.target_options import TargetOptions
    from attnspec.guard.keeping import KeptJournal
    from attnspec.guard.task import Task
    from attnspec.reports.invocation import Invocation
    from attnspec.runner import Share

_LONGEST_TIMEOUT = 86_400


def load_selected(options: TargetOptions, check: Callable[[Suite], None] | None) -> Suite:
    """Return the cases that the options select, once `check` has seen them."""
    from attnspec.cases import load_selected as selected

    suite = selected(options.golden, profiles=options.profiles, select=options.select)
    if check is not None:
        check(suite)
    return suite


def task_of(options: TargetOptions, share: Share, *, fail_fast: bool) -> Task:
    """Return what a guarded process is to do with its share of the cases."""
    from attnspec.guard.task import Task
    from attnspec.validation import pairs, words

    return Task(
        target=options.target,
        command=options.command,
        operation=options.operation,
        renames=_renames(options),
        device=options.device,
        tensors=options.tensors,
        backward=options.backward,
        without=words(options.without),
        layout=options.layout,
        dtypes=options.dtypes,
        conventions=pairs(options.conventions, "--convention"),
        fail_fast=fail_fast,
        isolate=options.isolate,
        timeout=options.timeout,
        start_timeout=options.start_timeout,
        show_stderr=options.stderr,
        transcript=options.transcript,
        give_up_after=options.give_up_after,
        probes=options.probes,
        share=share,
    )


def kept_by(options: TargetOptions, suite: Suite) -> KeptJournal | None:
    """Return the journal in the file that keeps results; None where the options name none.

    Raises
    ------
    UsageError
        If the file is about another suite, target or options.
    """
    if options.resume is None:
        return None
    from attnspec.guard.keeping import open_kept

    about = {
        "the suite": suite.digest,
        "TARGET": options.target or "",
        "--command": options.command or "",
        "--dtype": ", ".join(options.dtypes),
        "--profile": ", ".join(options.profiles),
        "--select": ", ".join(options.select),
        "--convention": ", ".join(options.conventions),
        "--rename": ", ".join(options.renames),
        "--layout": options.layout or "",
        "--as": options.operation or "",
        "--device": options.device or "",
        "--tensors": options.tensors or "",
        "--backward": options.backward or "",
        "--without": ", ".join(options.without),
        "--timeout": "" if options.timeout is None else f"{options.timeout:g}",
        "--isolate": "given" if options.isolate else "",
    }
    return open_kept(options.resume, about)


def invocation_of(options: TargetOptions) -> Invocation:
    """Return how the target is reached, for the report."""
    from attnspec.reports.invocation import Invocation
    from attnspec.validation import pairs

    return Invocation(
        command=options.command is not None,
        operation=options.operation,
        layout=options.layout,
        renames=pairs(options.renames, "--rename"),
        device=options.device,
        tensors=options.tensors,
        backward=options.backward,
        isolate=options.isolate,
        timeout=options.timeout,
        golden=None if options.golden is None else str(options.golden),
    )


def _renames(options: TargetOptions) -> Mapping[str, str]:
    """Return contract argument to the target's own name."""
    from attnspec.validation import contract_names, pairs

    return contract_names(pairs(options.renames, "--rename"))


def check_target(options: TargetOptions, *, fail_fast: bool = False) -> None:
    """Raise `UsageError` if the options contradict each other; found out before anything is run."""
    target, command, timeout = options.target, options.command, options.timeout
    if (target is None) == (command is None):
        raise UsageError("Say what to validate: either TARGET (such as reference, or ./mine.py) or --command.")
    # Written so that NaN, too, is refused.
    for option, seconds in (("--timeout", timeout), ("--start-timeout", options.start_timeout)):
        if seconds is not None and not seconds <= _LONGEST_TIMEOUT:
            raise UsageError(f"{option} {seconds:g}: give a number of seconds, at most {_LONGEST_TIMEOUT}.")
    if options.give_up_after is not None and options.is_imported:
        raise UsageError(
            f"--give-up-after {options.give_up_after}: no call has a time limit in this process; add --timeout SECONDS."
        )
    if options.jobs > 1:
        _check_jobs(options, fail_fast=fail_fast)
    _renames(options)
    if options.is_imported:
        for option, given in (
            ("--start-timeout", options.start_timeout is not None),
            ("--stderr", options.stderr),
            ("--transcript", options.transcript is not None),
        ):
            if given:
                raise UsageError(f"{option} is for a --command, or for a TARGET with --isolate.")
    if command is not None:
        for option, given in (
            ("--as", options.operation is not None),
            ("--rename", bool(options.renames)),
            ("--device", options.device is not None),
            ("--tensors", options.tensors is not None),
            ("--backward", options.backward is not None),
            ("--isolate", options.isolate),
        ):
            if given:
                raise UsageError(f"{option} is for Python targets; a --command follows the protocol by itself.")


def _check_jobs(options: TargetOptions, *, fail_fast: bool) -> None:
    """Raise `UsageError` if not several jobs can do what is asked for."""
    if fail_fast:
        raise UsageError(f"--jobs {options.jobs} and --fail-fast: which result is the first, only one job can say.")
    if options.resume is not None:
        raise UsageError(f"--jobs {options.jobs} and --resume: only one job can keep its results in a file.")
    if options.transcript is not None:
        raise UsageError(f"--jobs {options.jobs} and --transcript: a transcript holds what one program says.")
    if way_of_this_system() != "fork":
        raise UsageError(f"--jobs {options.jobs}: several jobs need a process that can be copied, and here none can.")
