"""The options that say what is validated, on which cases, and where reports go; shared by `validate` and `gate`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnspec.command_line.console import progress
from attnspec.contract import LAYOUTS
from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from attnspec.adapters import Implementation
    from attnspec.cases import Suite
    from attnspec.reports import Report
    from attnspec.reports.invocation import Invocation

_LONGEST_TIMEOUT = 86_400

_OPTIONS = (
    click.argument("target", required=False),
    click.option("--command", metavar="COMMAND", help="A program that speaks the process protocol, instead of TARGET."),
    click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="Run in this dtype. Repeatable."),
    click.option("--profile", "profiles", multiple=True, metavar="PROFILE", help="Run this profile. Repeatable."),
    click.option("--select", multiple=True, metavar="GLOB", help="Run the cases whose id matches. Repeatable."),
    click.option("--convention", "conventions", multiple=True, metavar="K=V", help="What it follows. Repeatable."),
    click.option("--rename", "renames", multiple=True, metavar="OWN=ARGUMENT", help="Its own name for an argument."),
    click.option("--layout", metavar="LAYOUT", help=f"{', '.join(LAYOUTS)}; {LAYOUTS[0]} if not said."),
    click.option("--as", "operation", metavar="OPERATION", help="TARGET is one function: this operation."),
    click.option("--device", metavar="DEVICE", help="Where TARGET is to run, if it takes one, such as cuda."),
    click.option(
        "--timeout", type=click.FloatRange(min=0.001), metavar="SECONDS", help="For each call; implies --isolate."
    ),
    click.option("--isolate", is_flag=True, help="Run TARGET in a process of its own, so that it may crash."),
    click.option("--report", "reports", multiple=True, metavar="FILE", help="FILE.json, .xml, .md, .html, badge.json."),
    click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files."),
    click.option("--quiet", is_flag=True, help="Print one closing line only."),
)


@dataclass(frozen=True)
class TargetOptions:
    """What the shared options say; the names are those of the command line."""

    target: str | None
    command: str | None
    dtypes: tuple[str, ...]
    profiles: tuple[str, ...]
    select: tuple[str, ...]
    conventions: tuple[str, ...]
    renames: tuple[str, ...]
    layout: str | None
    operation: str | None
    device: str | None
    timeout: float | None
    isolate: bool
    reports: tuple[str, ...]
    golden: Path | None
    quiet: bool


def target_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the shared options to a command, which gets them as one `TargetOptions` before its own."""

    @wraps(function)
    def with_options(**given: Any) -> int:
        shared = {field.name: given.pop(field.name) for field in fields(TargetOptions)}
        return function(TargetOptions(**shared), **given)

    decorated: Callable[..., int] = with_options
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def load_selected(options: TargetOptions) -> Suite:
    """Return the cases that the options select; whether the reports can be written is found out first."""
    from attnspec.cases import load_suite
    from attnspec.reports import check_writable

    for path in options.reports:
        check_writable(Path(path))
    return load_suite(options.golden, profiles=options.profiles, select=options.select)


def run_target(options: TargetOptions, suite: Suite, console: Console, *, fail_fast: bool = False) -> Report:
    """Run the implementation that the options name over the cases."""
    from attnspec.validation import closing, in_layout, pairs, run_and_report

    implementation = _implementation(options)
    with closing(implementation), progress(console, quiet=options.quiet) as advance:
        return run_and_report(
            suite,
            in_layout(implementation, options.layout),
            dtypes=options.dtypes,
            conventions=pairs(options.conventions, "--convention"),
            fail_fast=fail_fast,
            progress=advance,
            invocation=_invocation(options),
        )


def write_reports(options: TargetOptions, report: Report, suite: Suite) -> None:
    """Write the reports that the options ask for."""
    for path in options.reports:
        from attnspec.reports import write_report

        write_report(report, Path(path), suite)


def _invocation(options: TargetOptions) -> Invocation:
    from attnspec.reports.invocation import Invocation
    from attnspec.validation import pairs

    return Invocation(
        command=options.command is not None,
        operation=options.operation,
        layout=options.layout,
        renames=pairs(options.renames, "--rename"),
        device=options.device,
        isolate=options.isolate,
        timeout=options.timeout,
        golden=None if options.golden is None else str(options.golden),
    )


def _implementation(options: TargetOptions) -> Implementation:
    from attnspec.validation import contract_names, open_target, pairs

    target, command, timeout = options.target, options.command, options.timeout
    renames = pairs(options.renames, "--rename")
    if (target is None) == (command is None):
        raise UsageError("Say what to validate: either TARGET (such as reference, or ./mine.py) or --command.")
    # Written so that NaN, too, is refused.
    if timeout is not None and not timeout <= _LONGEST_TIMEOUT:
        raise UsageError(f"--timeout {timeout:g}: give a number of seconds, at most {_LONGEST_TIMEOUT}.")
    wanted = contract_names(renames)
    if command is not None:
        for option, given in (
            ("--as", options.operation is not None),
            ("--rename", bool(renames)),
            ("--device", options.device is not None),
            ("--isolate", options.isolate),
        ):
            if given:
                raise UsageError(f"{option} is for Python targets; a --command follows the protocol by itself.")
    return open_target(
        target,
        command,
        operation=options.operation,
        renames=wanted,
        device=options.device,
        timeout=timeout,
        isolate=options.isolate,
    )
