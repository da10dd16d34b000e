"""Cost of commands in fresh processes: a command and its yardstick in turn, so that a busy machine is busy for both."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Threads that wait for each other spend processor time, more of it where others are busy."""

FAILING_CASE = re.compile(rb"\w+(/\w+)+ \(\w+\)")
"""A failing case as any line names it: the first thing on the console from which a user can go on."""

_LAST_WORDS = 2_000
"""Bytes of a failed command's output that say why."""

_PROGRAMS = {
    "attnspec": [sys.executable, "-m", "attnspec"],
    "python": [sys.executable],
    "yardstick": [sys.executable, str(HERE / "yardstick.py")],
}
_MEGABYTE = 1e6


class BenchError(Exception):
    """A command could not be measured."""


@dataclass(frozen=True)
class Ratio:
    """What is measured, as ``bench.toml`` has it; `goal_seconds` and `yardstick_seconds` are of the two themselves."""

    name: str
    measured: str
    yardstick: str
    runs: int
    of: str = "processor time"
    goal: float | None = None
    goal_seconds: float | None = None
    yardstick_seconds: float | None = None
    needs: str = "attnspec"

    @property
    def is_possible(self) -> bool:
        """Whether what it needs is installed."""
        return find_spec(self.needs) is not None

    @property
    def unit(self) -> str:
        """Unit of what the two cost."""
        return "MB" if self.of == "memory" else "s"


@dataclass(frozen=True)
class Figure:
    """Figure of a ratio: what the command and its yardstick cost, pair by pair."""

    ratio: Ratio
    pairs: tuple[tuple[float, float], ...]

    @property
    def times(self) -> list[float]:
        """Ratio of each pair."""
        return [cost / yardstick for cost, yardstick in self.pairs]

    @property
    def median(self) -> float:
        """Median of the ratios."""
        return statistics.median(self.times)

    @property
    def cost(self) -> float:
        """Median of what the command costs."""
        return statistics.median(cost for cost, _ in self.pairs)

    @property
    def yardstick(self) -> float:
        """Median of what the yardstick costs."""
        return statistics.median(yardstick for _, yardstick in self.pairs)

    @property
    def meets_its_goals(self) -> bool:
        """Whether nothing exceeds a goal that the issue of these figures set."""
        wanted = self.ratio
        limits = (
            (self.median, wanted.goal),
            (self.cost, wanted.goal_seconds),
            (self.yardstick, wanted.yardstick_seconds),
        )
        return all(limit is None or found <= limit for found, limit in limits)


def measure(ratio: Ratio, runs: int, slowdown: float = 0.0) -> Figure:
    """Measure a ratio in so many pairs, every second one the yardstick first; raise `BenchError` where a command fails.

    `slowdown` makes a command slower by this fraction of its time: processor time that is spent and measured, too.
    """
    pairs: list[tuple[float, float]] = []
    for run in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            measured = replace(ratio, measured=_with_own_files(ratio.measured, run, runs, Path(folder)))
            pairs.append(_pair(measured, Path(folder), slowdown, yardstick_first=run % 2 == 0))
    return Figure(ratio, tuple(pairs))


def _with_own_files(command: str, run: int, runs: int, folder: Path) -> str:
    """Write the files that the command of a run names, and return it with their paths."""
    if "{mistake}" in command:
        from ratios.first_failure import drawn_mistakes, write_mistake

        command = command.replace("{mistake}", str(write_mistake(drawn_mistakes(runs)[run], folder)))
    command = command.replace("{new}", str(folder / "new"))
    # A judged function writes beside itself how long its calls take.
    return command.replace("{judged}", str(shutil.copy(HERE / "plain.py", folder)))


def _pair(ratio: Ratio, folder: Path, slowdown: float, *, yardstick_first: bool) -> tuple[float, float]:
    environment = os.environ | ONE_THREAD
    if ratio.of == "harness":
        whole = cost(ratio.measured, ratio.of, environment, slowdown)
        calls = sum(map(float, (folder / "plain.seconds").read_text("utf-8").split()))
        return whole - calls, calls
    if ratio.of == "second run":
        environment |= {"XDG_CACHE_HOME": str(folder), "JAX_COMPILATION_CACHE_DIR": str(folder / "jax")}
        first = cost(ratio.measured, ratio.of, environment)
        return cost(ratio.measured, ratio.of, environment, slowdown), first
    if yardstick_first:
        yardstick = cost(ratio.yardstick, ratio.of, environment)
        return cost(ratio.measured, ratio.of, environment, slowdown), yardstick
    measured = cost(ratio.measured, ratio.of, environment, slowdown)
    return measured, cost(ratio.yardstick, ratio.of, environment)


def cost(command: str, of: str, environment: dict[str, str], slowdown: float = 0.0) -> float:
    """Run a command, to its first failing case where that is measured, and return its cost: seconds, or megabytes."""
    program, *words = shlex.split(command.replace("{here}", str(HERE)))
    # The yardstick of a first failure names none: it runs to its end.
    to_first_failure = of == "first failure" and program == "attnspec"
    start = time.perf_counter()
    process = subprocess.Popen(
        [*_PROGRAMS[program], *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )
    assert process.stdout is not None
    said, found = b"", False
    with process.stdout as lines:
        for line in lines:
            said, found = (said + line)[-_LAST_WORDS:], to_first_failure and FAILING_CASE.search(line) is not None
            if found:
                break
    taken = time.perf_counter() - start
    if found:
        process.kill()
    # What its own processes took is in it once it has waited for them.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if to_first_failure and not found:
        raise BenchError(f"{command} names no failing case.")
    if process.returncode not in (0, 1) and not found:
        raise BenchError(f"{command} ended with {process.returncode}: {said.decode(errors='replace')}")
    if of == "memory":
        return usage.ru_maxrss * 1024 / _MEGABYTE
    seconds = taken if of == "first failure" else usage.ru_utime + usage.ru_stime
    return seconds + (_burn(slowdown * seconds) if slowdown else 0.0)


def _burn(seconds: float) -> float:
    """Spend processor time, and return how much it was."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    return time.process_time() - start
