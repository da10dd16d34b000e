"""Programs in other languages: built, run by the protocol or over exported files, and graded like a library."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base import __version__
from attnspec_authoring.third_party.running import Outcome, outcome_of, reported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec_authoring.results import Implementation

_ROOT = Path(__file__).parents[3]

_FILES_OF_A_CALL = 500
"""Files that a program is given at once: a command line holds some hundred thousand characters."""


def run_program(program: Implementation, options: Sequence[str] = ()) -> Outcome:
    """Build and run a program of the table; `options` select cases, as for ``attnspec validate``."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            if program.build is not None:
                _call(shlex.split(program.build.format(folder=folder)))
            command = (program.command or "").format(folder=folder)
            if program.answers is None:
                outcome = _by_protocol(program.name, command, options, Path(folder))
            else:
                outcome = _by_files(program, shlex.split(command), options, Path(folder))
            return _with_tool(outcome, program, time.perf_counter() - start)
        except (OSError, subprocess.CalledProcessError) as error:
            return Outcome(program.name, None, (), time.perf_counter() - start, str(error))


def _by_protocol(name: str, command: str, options: Sequence[str], folder: Path) -> Outcome:
    return reported(name, ["validate", "--command", command, "--quiet", *options], folder / "report.json", cwd=_ROOT)


def _by_files(program: Implementation, command: Sequence[str], options: Sequence[str], folder: Path) -> Outcome:
    cases, form = folder / "cases", program.answers
    widths = ("--dtype=float64", "--dtype=float32")
    _attnspec("export", str(cases), f"--format={form}", f"--operation={program.operation}", *widths, *options)
    files = sorted(path for path in map(str, cases.rglob(f"*.{form}")) if not path.endswith("export.json"))
    for first in range(0, len(files), _FILES_OF_A_CALL):
        _call([*command, *files[first : first + _FILES_OF_A_CALL]])
    return reported(program.name, ["grade", str(cases), "--name", program.name], folder / "report.json", cwd=_ROOT)


def _with_tool(outcome: Outcome, program: Implementation, seconds: float) -> Outcome:
    """Return the outcome with the version of its language; the examples have the version of the suite they are in."""
    if outcome.report is None or program.tool is None:
        return outcome
    said = subprocess.run(shlex.split(program.tool), capture_output=True, text=True, check=True).stdout.splitlines()[0]
    environment = {**outcome.report["environment"], "tool": said}
    implementation = {**outcome.report["implementation"], "version": outcome.version or __version__}
    report = {**outcome.report, "environment": environment, "implementation": implementation}
    return outcome_of(program.name, report, seconds)


def _attnspec(*arguments: str) -> None:
    _call([sys.executable, "-m", "attnspec", *arguments])


def _call(command: Sequence[str]) -> None:
    subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
