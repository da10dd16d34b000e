"""``attnspec validate``: run an implementation over the cases and print the verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from attnspec.command_line.run_options import RunOptions, run_options
from attnspec.command_line.running_target import run_target, write_reports
from attnspec.command_line.terminal import make_console, telling


@click.command()
@run_options
@click.option("--fail-fast", is_flag=True, help="Stop at the first wrong result.")
@click.option(
    "--rerun-failed",
    "failed",
    metavar="REPORT.json",
    type=click.Path(path_type=Path),
    help="Run only what was wrong in this report, in the dtypes in which it was.",
)
def validate(options: RunOptions, *, fail_fast: bool, failed: Path | None) -> int:
    """Validate TARGET against the golden cases.

    TARGET is a built-in implementation (reference, torch, jax, onnxruntime ...), a module (package.module), a file
    (./mine.py, or ./mine.py:MyAdapter), or, with --as, one function (./mine.py:attention).
    """
    from attnspec.reports.formats import print_report

    console = make_console()
    again = None
    if failed is not None:
        from attnspec.command_line.rerunning import read_failed

        again = read_failed(failed, options)
        options = replace(options, dtypes=again.dtypes)
    report, suite = run_target(options, console, fail_fast=fail_fast, narrowed=again and again.among)
    try:
        write_reports(options, report, suite)
    finally:
        with telling():
            if again is not None and not options.quiet:
                click.echo(again.sentence(suite, report))
            print_report(report, console, quiet=options.quiet, verbose=options.verbose)
    return 0 if report.conforms else 1
