"""``attnspec validate``: run an implementation over the cases and print the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.command_options import RunOptions, with_options_of, with_run_options
from attnspec.command_line.running_target import run_target, write_reports
from attnspec.command_line.terminal import make_console, printing_verdict
from attnspec.contract.dtypes import ANY
from attnspec.grading import WRONG

if TYPE_CHECKING:
    from attnspec.cases import Suite
    from attnspec.reports.report import Report


@click.command()
@with_run_options
@with_options_of("validate")
def validate(options: RunOptions, *, fail_fast: bool, failed: Path | None) -> int:
    """Validate TARGET against the golden cases.

    TARGET is a built-in implementation (reference, torch, jax, onnxruntime ...), a module (package.module), a file
    (./mine.py, or ./mine.py:MyAdapter), or, with --as, one function (./mine.py:attention).
    """
    from attnspec.reports.formats import print_report

    console = make_console()
    again = None
    if failed is not None:
        again = read_failed(failed, options)
        options = replace(options, dtypes=again.dtypes)
    report, suite = run_target(options, console, fail_fast=fail_fast, narrowed=again and again.among)
    try:
        write_reports(options, report, suite)
    finally:
        with printing_verdict():
            if again is not None and not options.quiet:
                click.echo(again.sentence(suite, report))
            print_report(report, console, quiet=options.quiet, verbose=options.verbose)
    return 0 if report.conforms else 1


_NAMED = 3


@dataclass(frozen=True)
class Failed:
    """Failures of an earlier run (case id to dtypes), the dtypes to run in, and that run's suite and declarations."""

    path: Path
    digest: str
    wrong: Mapping[str, tuple[str, ...]]
    dtypes: tuple[str, ...]
    conventions: Mapping[str, str]
    without: tuple[str, ...]

    def among(self, suite: Suite) -> Suite:
        """Return the failed part of a suite, each case in its failed dtypes alone; `UsageError` if there is none."""
        cases = {
            case.id: case._replace(dtypes=tuple(dtype for dtype in case.dtypes if dtype in self.wrong[case.id]))
            for case in suite.cases.values()
            if case.id in self.wrong
        }
        # A case that has lost its dtypes would read as one without floats.
        kept = {case_id: case for case_id, case in cases.items() if case.dtypes or not suite.cases[case_id].dtypes}
        if not kept:
            raise UsageError(
                f"--rerun-failed {self.path}: of the {_cases(len(self.wrong))} that went wrong there, none is selected "
                f"here.{self._another_suite(suite)}"
            )
        return replace(suite, cases=kept)

    def sentence(self, suite: Suite, report: Report) -> str:
        """Return a sentence on the cases run again, those not, and changed declarations."""
        missing = [case_id for case_id in self.wrong if case_id not in suite.cases]
        said = f"Run again: the {_cases(len(suite.cases))} that went wrong in {self.path}."
        if missing:
            more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
            said += f" Not selected, or not there any more: {', '.join(missing[:_NAMED])}{more}."
        names = sorted({*self.conventions, *report.conventions})
        other = [name for name in names if self.conventions.get(name) != report.conventions.get(name)]
        other += sorted({*self.without} ^ {*report.declaration.without})
        declared = f" Declared otherwise than in that run: {', '.join(other)}." if other else ""
        return f"{said}{declared}{self._another_suite(suite)}"

    def _another_suite(self, suite: Suite) -> str:
        return " The report was made with another suite." if suite.digest != self.digest else ""


def read_failed(path: Path, options: RunOptions) -> Failed:
    """Return the failures of a report.json, in the dtypes that the options name, or else all; an error if none is."""
    from attnspec.reports.entries import is_of_run
    from attnspec.reports.written_reports import read_report

    if options.resume is not None:
        raise UsageError("--rerun-failed and --resume: one runs again what the other keeps. Leave out one of them.")
    document = read_report(path)
    wrong: dict[str, tuple[str, ...]] = {}
    for result in document["results"]:
        if is_of_run(result["case"]):
            continue
        if result["status"] in WRONG and result["dtype"] in (*(options.dtypes or (result["dtype"],)), ANY):
            wrong[result["case"]] = (*wrong.get(result["case"], ()), result["dtype"])
    if not wrong:
        where = f" in {' or '.join(options.dtypes)}" if options.dtypes else ""
        raise UsageError(
            f"--rerun-failed {path}: nothing went wrong there{where}, so that there is nothing to run again. "
            "Leave out --rerun-failed to run everything."
        )
    found = dict.fromkeys(dtype for dtypes in wrong.values() for dtype in dtypes if dtype != ANY)
    implementation = document["implementation"]
    return Failed(
        path,
        document["suite"]["digest"],
        wrong,
        options.dtypes or tuple(found),
        implementation["conventions"],
        tuple(implementation.get("without", ())),
    )


def _cases(count: int) -> str:
    return "one case" if count == 1 else f"{count} cases"
