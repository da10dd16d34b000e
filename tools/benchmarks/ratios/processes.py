"""Whole processes: from the command line to the verdict."""

from __future__ import annotations

import functools
import subprocess
import sys

from ratios.timing import Measured, Measurement, in_turn

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


PROCESSES = (Measurement("start-up", _start_up), Measurement("regenerate", _regenerate))
