"""``--rerun-failed REPORT.json``: the (case, dtype) that went wrong in an earlier run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attnspec.base.errors import UsageError
from attnspec.contract.dtypes import ANY
from attnspec.grading import WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from attnspec.cases import Suite
    from attnspec.command_line.run_options import RunOptions
    from attnspec.reports.report import Report

_NAMED = 3


@dataclass(frozen=True)
class Failed:
    """Failures of an earlier run: case id to the dtypes in which it went wrong, and the dtypes to run in.

    `digest` is of the suite of that run; `conventions` and `without` are its declarations.
    """

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
        return f"{said}{self._another_declaration(report)}{self._another_suite(suite)}"

    def _another_declaration(self, report: Report) -> str:
        names = sorted({*self.conventions, *report.conventions})
        other = [name for name in names if self.conventions.get(name) != report.conventions.get(name)]
        other += sorted({*self.without} ^ {*report.declaration.without})
        return f" Declared otherwise than in that run: {', '.join(other)}." if other else ""

    def _another_suite(self, suite: Suite) -> str:
        return " The report was made with another suite." if suite.digest != self.digest else ""


def read_failed(path: Path, options: RunOptions) -> Failed:
    """Return the failures of a report.json, in the dtypes that the options name, or else all.

    `ReportError` if it is none; `UsageError` if nothing went wrong in it, or results are kept in a file, which may hold
    those that are to be run again.
    """
    from attnspec.reports.written_reports import read_report

    if options.resume is not None:
        raise UsageError("--rerun-failed and --resume: one runs again what the other keeps. Leave out one of them.")
    document = read_report(path)
    wrong: dict[str, tuple[str, ...]] = {}
    for result in document["results"]:
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
