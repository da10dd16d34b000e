"""``attnspec validate``: run an implementation over the cases and say what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from attnspec.adapters import Implementation
    from attnspec.reports import Report
    from attnspec.runner import Result

_LONGEST_TIMEOUT = 86_400


@click.command()
@click.argument("target", required=False)
@click.option("--command", metavar="COMMAND", help="A program that speaks the process protocol, instead of TARGET.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="Run in this dtype. Repeatable.")
@click.option("--profile", "profiles", multiple=True, metavar="PROFILE", help="Run this profile. Repeatable.")
@click.option("--select", multiple=True, metavar="GLOB", help="Run the cases whose id matches. Repeatable.")
@click.option("--convention", "conventions", multiple=True, metavar="K=V", help="What it follows. Repeatable.")
@click.option("--rename", "renames", multiple=True, metavar="OWN=ARGUMENT", help="Its own name for an argument.")
@click.option("--layout", metavar="LAYOUT", help="bhse (default), bshe, hse, se or features_first.")
@click.option("--as", "operation", metavar="OPERATION", help="TARGET is one function: this operation.")
@click.option("--device", metavar="DEVICE", help="Where TARGET is to run, if it takes one, such as cuda.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.001), metavar="SECONDS", help="For each call; implies --isolate."
)
@click.option("--isolate", is_flag=True, help="Run TARGET in a process of its own, so that it may crash.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first wrong result.")
@click.option("--report", "reports", multiple=True, metavar="FILE", help="FILE.json, .xml, .md, .html, badge.json.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
@click.option("--quiet", is_flag=True, help="Print one closing line only.")
def validate(
    target: str | None,
    command: str | None,
    dtypes: tuple[str, ...],
    profiles: tuple[str, ...],
    select: tuple[str, ...],
    conventions: tuple[str, ...],
    renames: tuple[str, ...],
    layout: str | None,
    operation: str | None,
    device: str | None,
    timeout: float | None,
    isolate: bool,
    fail_fast: bool,
    reports: tuple[str, ...],
    golden: Path | None,
    quiet: bool,
) -> int:
    """Validate TARGET against the golden cases.

    TARGET is a built-in implementation (reference, torch, jax, onnxruntime ...), a module (package.module), a file
    (./mine.py, or ./mine.py:MyAdapter), or, with --as, one function (./mine.py:attention).
    """
    from attnspec.cases import load_suite
    from attnspec.reports import check_writable, write_report
    from attnspec.validation import closing, in_layout, pairs, run_and_report

    report_paths = [Path(report) for report in reports]
    for path in report_paths:
        check_writable(path)
    suite = load_suite(golden, profiles=profiles, select=select)
    implementation = _implementation(
        target, command, operation, pairs(renames, "--rename"), device=device, timeout=timeout, isolate=isolate
    )
    console = make_console()
    with closing(implementation), _progress(console, quiet=quiet) as progress:
        report = run_and_report(
            suite,
            in_layout(implementation, layout),
            dtypes=dtypes,
            conventions=pairs(conventions, "--convention"),
            fail_fast=fail_fast,
            progress=progress,
        )
    _print(report, console, quiet=quiet)
    for path in report_paths:
        write_report(report, path, suite)
    return 0 if report.conforms else 1


def make_console() -> Console:
    """Return the console for stdout; 100 columns where it is no terminal, so that logs read well."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 100, highlight=False, markup=False, emoji=False)


def _implementation(
    target: str | None,
    command: str | None,
    operation: str | None,
    renames: dict[str, str],
    *,
    device: str | None,
    timeout: float | None,
    isolate: bool,
) -> Implementation:
    from attnspec.validation import contract_names

    if (target is None) == (command is None):
        raise UsageError("Say what to validate: either TARGET (such as reference, or ./mine.py) or --command.")
    # Written so that NaN, too, is refused.
    if timeout is not None and not timeout <= _LONGEST_TIMEOUT:
        raise UsageError(f"--timeout {timeout:g}: give a number of seconds, at most {_LONGEST_TIMEOUT}.")
    wanted = contract_names(renames)
    if target is not None and not isolate and timeout is None:
        from attnspec.adapters import load

        return load(target, bare_operation=operation, renames=wanted, device=device)
    from attnspec.adapters.process import ProcessImplementation, isolated

    if command is not None:
        for option, given in (
            ("--as", operation is not None),
            ("--rename", bool(renames)),
            ("--device", device is not None),
            ("--isolate", isolate),
        ):
            if given:
                raise UsageError(f"{option} is for Python targets; a --command follows the protocol by itself.")
        return ProcessImplementation(command, timeout=timeout or 30.0)
    assert target is not None
    return isolated(target, bare_operation=operation, renames=wanted, device=device, timeout=timeout or 30.0)


class _progress:  # noqa: N801 - a context manager, used like a function
    """Show a progress bar on a terminal; give None where there is none to show."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._status = None if quiet or not console.is_terminal else console.status("validating")
        self._count = 0

    def __enter__(self) -> Callable[[Result], None] | None:
        if self._status is None:
            return None
        self._status.start()
        return self._advance

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def _advance(self, result: Result) -> None:
        assert self._status is not None
        self._count += 1
        self._status.update(f"validating: {self._count} done, {result.case.operation}")


def _print(report: Report, console: Console, *, quiet: bool) -> None:
    from attnspec.reports import print_report

    print_report(report, console, quiet=quiet)
