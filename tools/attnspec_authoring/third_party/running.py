"""Running one implementation in a process of its own, so that what breaks it breaks no other."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Outcome:
    """Outcome of one implementation, named as a built-in adapter, with the results of its report.

    `version` is None where it could not be run; `problem` says why there is no `report`, None where there is one.
    """

    name: str
    version: str | None
    results: tuple[Mapping[str, Any], ...]
    seconds: float
    problem: str | None = None
    report: Mapping[str, Any] | None = None

    @property
    def has_passed(self) -> bool:
        """Whether it passed anything: else it offers nothing of what was run, or was not run."""
        return any(result["status"] == "pass" for result in self.results)


def run_implementation(
    name: str, options: Sequence[str] = (), *, python: str = sys.executable, timeout: float = 3600.0
) -> Outcome:
    """Validate a built-in implementation by ``attnspec validate`` with further options; timeout in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["validate", name, "--quiet", *options]
        return reported(name, arguments, Path(folder) / "report.json", python=python, timeout=timeout)


def reported(
    name: str,
    arguments: Sequence[str],
    report: Path,
    *,
    python: str = sys.executable,
    timeout: float = 3600.0,
    cwd: Path | None = None,
) -> Outcome:
    """Return the outcome of a command of attnspec that writes a report to `report`."""
    start = time.perf_counter()
    command = [python, "-m", "attnspec", *arguments, "--report", str(report)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, cwd=cwd)
    except subprocess.TimeoutExpired:
        return Outcome(name, None, (), time.perf_counter() - start, f"it took more than {timeout:g} seconds")
    seconds = time.perf_counter() - start
    if not report.exists():
        return Outcome(name, None, (), seconds, _last_words(done))
    return outcome_of(name, json.loads(report.read_text(encoding="utf-8")), seconds)


def outcome_of(name: str, report: Mapping[str, Any], seconds: float = 0.0) -> Outcome:
    """Return the outcome that a report.json holds."""
    return Outcome(name, report["implementation"]["version"], tuple(report["results"]), seconds, report=report)


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return f"its process was ended by signal {-done.returncode}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1].removeprefix("attnspec: ") if lines else f"its process ended with status {done.returncode}"
