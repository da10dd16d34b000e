"""Whole processes, from the command line to the verdict; golden cases a second, in this process and over the pipe."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import attnspec_reference
from attnspec.cases import load_suite, run_attributes
from attnspec.process.process import isolated
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec.targets.target import Target
from ratios.timing import Measured, Measurement, in_turn

if TYPE_CHECKING:
    from attnspec.cases import Suite

DTYPE = "float32"
_IMPORT = (sys.executable, "-c", "import numpy, jsonschema")
_YARDSTICK = "import numpy, jsonschema"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _attnspec(*words: str) -> functools.partial[None]:
    return functools.partial(_run, sys.executable, "-m", "attnspec", *words)


def _start_up(runs: int) -> list[Measured]:
    commands = {
        "start: attnspec --version": ("--version",),
        "start to verdict: one case": ("validate", "reference", "--select", "core/equal_keys", "--dtype", "float64"),
        "start to verdict: all cases in float64": ("validate", "reference", "--dtype", "float64"),
    }
    yardstick = functools.partial(_run, *_IMPORT)
    return [in_turn(name, _YARDSTICK, runs, _attnspec(*words), yardstick) for name, words in commands.items()]


def _regenerate(runs: int) -> list[Measured]:
    return [
        in_turn(
            "regenerate --check, everything kept",
            "validate reference",
            min(runs, 3),
            _attnspec("regenerate", "--check"),
            _attnspec("validate", "reference"),
        )
    ]


def _calls(suite: Suite) -> None:
    """Call the reference twice for every case, as the runner does, and look at nothing."""
    for case in suite.cases.values():
        if case.rejects is None and not case.generated:
            function: Any = getattr(attnspec_reference, case.operation)
            for _ in range(2):
                function(**case.inputs, **run_attributes("float64", case.attributes))


def _cases(runs: int) -> list[Measured]:
    suite = load_suite(profiles=("core",))
    here, there = load("reference"), isolated(Target("reference"))
    try:
        calls = functools.partial(_calls, suite)
        yardstick = "the calls of the reference alone"
        found: list[Measured] = []
        for name, implementation in (("in process", here), ("over the pipe", there)):
            run = functools.partial(run_suite, suite, implementation, dtypes=(DTYPE,))
            found.append(in_turn(f"cases of profile core, {name}", yardstick, runs, run, calls))
        return found
    finally:
        here.close()
        there.close()


PROCESSES = (
    Measurement("start-up", _start_up),
    Measurement("regenerate", _regenerate),
    Measurement("cases", _cases),
)
