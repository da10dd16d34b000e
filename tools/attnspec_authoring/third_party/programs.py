"""Programs in other languages: built, run by the protocol or over exported files, and graded like a library.

A search for witnesses asks them for drawn cases one at a time, in the same two ways.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, cast

from attnspec.base import __version__
from attnspec.cases import suite_of_random
from attnspec.offline import declaration_of_answers, export, graded_answers
from attnspec.targets.target import Target
from attnspec_authoring.third_party.running import Outcome, outcome_of, reported
from attnspec_authoring.third_party.witnesses import SEED, Search, search_for, witnesses_of, worst_of_pass
from attnspec_draws import draw, learned
from attnspec_draws.campaign.plan import Kind
from attnspec_draws.generators.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Case
    from attnspec.offline.manifest import TensorFormat
    from attnspec.runner import Result
    from attnspec_authoring.results import Implementation, Witness

_ROOT = Path(__file__).parents[3]

_WIDTHS = ("float64", "float32")
"""Dtypes of the files: the languages have numbers of these."""

_FILES_OF_A_CALL = 500
"""Files that a program is given at once: a command line holds some hundred thousand characters."""


def run_program(program: Implementation, options: Sequence[str] = ()) -> Outcome:
    """Build and run a program of the table; `options` select cases, as for ``attnspec validate``."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            command = _built(program, folder)
            if program.answers is None:
                outcome = _by_protocol(program.name, command, options, Path(folder))
            else:
                outcome = _by_files(program, shlex.split(command), options, Path(folder))
            return _with_tool(outcome, program, time.perf_counter() - start)
        except (OSError, subprocess.CalledProcessError) as error:
            return Outcome(program.name, None, (), time.perf_counter() - start, str(error))


def witnesses_of_program(program: Implementation, seconds: float) -> tuple[int, tuple[Witness, ...]]:
    """Build a program and search its witnesses; returns how many cases were graded, too."""
    with tempfile.TemporaryDirectory() as folder:
        command = _built(program, folder)
        if program.answers is None:
            return witnesses_of(Target(command=command), seconds)
        return _witnesses_by_files(program, shlex.split(command), seconds, Path(folder))


def _built(program: Implementation, folder: str) -> str:
    """Build a program into a folder, and return its command."""
    if program.build is not None:
        _call(shlex.split(program.build.format(folder=folder)))
    return (program.command or "").format(folder=folder)


def _by_protocol(name: str, command: str, options: Sequence[str], folder: Path) -> Outcome:
    return reported(name, ["validate", "--command", command, "--quiet", *options], folder / "report.json", cwd=_ROOT)


def _by_files(program: Implementation, command: Sequence[str], options: Sequence[str], folder: Path) -> Outcome:
    cases, form = folder / "cases", program.answers
    widths = [f"--dtype={dtype}" for dtype in _WIDTHS]
    _attnspec("export", str(cases), f"--format={form}", f"--operation={program.operation}", *widths, *options)
    files = sorted(path for path in map(str, cases.rglob(f"*.{form}")) if not path.endswith("export.json"))
    for first in range(0, len(files), _FILES_OF_A_CALL):
        _call([*command, *files[first : first + _FILES_OF_A_CALL]])
    return reported(program.name, ["grade", str(cases), "--name", program.name], folder / "report.json", cwd=_ROOT)


def _witnesses_by_files(
    program: Implementation, command: Sequence[str], seconds: float, folder: Path
) -> tuple[int, tuple[Witness, ...]]:
    numbers = count()

    def answered(case: Case) -> Result:
        suite, cases = suite_of_random([case]), folder / str(next(numbers))
        manifest = export(suite, cases, cast("TensorFormat", program.answers), dtypes=case.dtypes).manifest
        _call([*command, *(str(cases / entry.file) for entry in manifest.cases)])
        declaration = declaration_of_answers(manifest, cases, name=program.name, adapter=program.name)
        (result,) = graded_answers(suite, manifest, declaration, cases)
        shutil.rmtree(cases)
        return result

    def is_offered(case: Case) -> bool:
        return answered(case).status != "unsupported"

    operation = str(program.operation)
    # The same is read in every dtype.
    offered = learned(operation, Limits(_WIDTHS[0]), is_offered, f"{SEED}-offers")
    kinds = [Kind(operation, replace(offered, dtype=dtype)) for dtype in _WIDTHS]
    search = Search(lambda recipe: worst_of_pass(answered(draw(recipe))))
    search_for(seconds, search, kinds)
    return search.graded, search.worst()


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
