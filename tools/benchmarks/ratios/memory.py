"""Memory against length: the peak of a process that draws and grades, beside the inputs and outputs themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ratios.timing import Measured, Measurement

LENGTHS = (4_096, 16_384, 65_536, 262_144)
MEGABYTE = 1e6
_WIDTH = 64
_TENSORS = 4
"""Query, key, value and output: what any check must hold."""

_PROGRAM = """
from attnspec.cases import suite_of
from attnspec_draws import Recipe, draw
from attnspec_draws.generators.limits import Limits
from attnspec.runner import run_suite
from attnspec.targets import load
from ratios import nobody
from ratios.draws import LARGE, OPERATION, _PLAIN

def peak():
    status = open("/proc/self/status", encoding="utf-8").read()
    return int(status.partition("VmHWM:")[2].split()[0])

answers = load(nobody)
before = peak()
extents = {**LARGE, "batch": 1, "shared": 1, "queries": LENGTH, "keys": LENGTH}
limits = Limits("float32", _PLAIN | {"mask"}, extents=extents, rows=32)
run_suite(suite_of([draw(Recipe(OPERATION, "bench", 0, limits))]), answers, dtypes=("float32",), goes_on=True)
print(peak() - before)
"""


def _measured(_runs: int) -> list[Measured]:
    found: list[Measured] = []
    for length in LENGTHS:
        program = _PROGRAM.replace("LENGTH", str(length))
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).resolve().parents[1],
        )
        taken = int(done.stdout) * 1024 / MEGABYTE
        held = _TENSORS * 4 * length * _WIDTH / MEGABYTE
        found.append(
            Measured(
                "peak memory of a large draw by tokens, one head",
                length,
                "its inputs and its output",
                "MB",
                (taken,),
                (held,),
            )
        )
    return found


MEMORY = (Measurement("memory by length", _measured),)
