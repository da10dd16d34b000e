"""The harness's own time: microseconds a case in the runner, less what the implementation takes; and start to verdict.

``python tools/benchmarks/harness_time.py [RUNS]`` validates the reference in float64 in this process, with a clock
round every call of it, and prints the median over the runs: for reading the cases, for the runner's own work (two
passes, tolerances and verdicts), and for the diagnosis and the report. Then it times a whole process from start to
verdict against ``import numpy, jsonschema``, in turn.
"""

from __future__ import annotations

import functools
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attnspec_reference
from attnspec.adapters import load
from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.validation import run_and_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec.cases import Suite

VALIDATE = [sys.executable, "-m", "attnspec", "validate", "reference", "--dtype", "float64"]
IMPORT = [sys.executable, "-c", "import numpy, jsonschema"]


class Clock:
    """Adds up the time inside functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with the clock running while it does."""

        @functools.wraps(function)
        def call(**arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(**arguments)
            finally:
                self.seconds += time.perf_counter() - start

        return call


def own_seconds(suite: Suite) -> tuple[float, float]:
    """Return the time of one run of the suite, without the implementation's; and the implementation's."""
    clock = Clock()
    functions = {name: clock.timed(getattr(attnspec_reference, name)) for name in OPERATIONS}
    implementation = load(SimpleNamespace(**functions, name="timed reference"))
    start = time.perf_counter()
    report = run_and_report(suite, implementation)
    total = time.perf_counter() - start
    if report.wrong:
        raise SystemExit(f"{report.wrong[0].case.id}: {report.wrong[0].verdict.message}")
    return total - clock.seconds, clock.seconds


def seconds(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    suite = load_suite()
    own_seconds(suite)
    own, inside = (statistics.median(column) for column in zip(*(own_seconds(suite) for _ in range(runs)), strict=True))
    reading = statistics.median(seconds(load_suite) for _ in range(runs))
    cases = len(suite.cases)
    print(f"cases              {cases}")  # noqa: T201
    print(f"reading            {1e6 * reading / cases:6.0f} us a case")  # noqa: T201
    print(f"harness            {1e6 * own / cases:6.0f} us a case (two calls, tolerances, verdicts)")  # noqa: T201
    print(f"implementation     {1e6 * inside / cases:6.0f} us a case (two calls)")  # noqa: T201
    pairs = [
        tuple(seconds(functools.partial(_quietly, command)) for command in (VALIDATE, IMPORT)) for _ in range(runs + 1)
    ][1:]
    validate, imports = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(first / second for first, second in pairs)
    print(f"start to verdict   {validate:6.3f} s, {ratio:.2f} x import numpy, jsonschema ({imports:.3f} s)")  # noqa: T201


def _quietly(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
