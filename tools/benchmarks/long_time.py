"""What a long case costs beside the call: the harness's share of the time, and the memory that it takes.

``python tools/benchmarks/long_time.py [TARGET] [--case ID] [--dtype DTYPE]`` validates one case of profile
`long` in this process, with a clock round each call, and prints the time of the calls and of all else, by the wall and
by the processor. TARGET is a built-in implementation, such as torch; without one, attention in tiles is asked in NumPy.
Then a function that returns zeros is asked in a process of its own, so that the peak of memory is the harness's: less
what the interpreter had before, the inputs once and the outputs once.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters import load
from attnspec.cases import load_suite
from attnspec.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec.runner import run_suite
from attnspec_mistakes.attention.long_tiles import Tiles

if TYPE_CHECKING:
    from collections.abc import Mapping

CASE = "long/beyond/causal_131072"
MEGABYTE = 1e6


class Clocked:
    """An implementation with a clock round its calls."""

    def __init__(self, implementation: Any) -> None:
        self._implementation = implementation
        self.declaration = implementation.declaration
        self.wall = self.processor = 0.0

    def run(self, request: Any) -> Any:
        """Answer a request, with the clocks running."""
        wall, processor = time.perf_counter(), time.process_time()
        try:
            return self._implementation.run(request)
        finally:
            self.wall += time.perf_counter() - wall
            self.processor += time.process_time() - processor

    def close(self) -> None:
        """Release what it holds."""
        self._implementation.close()


def zeros(query: Any, key: Any, value: Any, **_: Any) -> Any:
    """Return an output of zeros."""
    del key
    return np.zeros((*query.shape[:3], value.shape[3]), query.dtype)


def in_tiles(query: Any, key: Any, value: Any, **others: Any) -> Mapping[str, Any]:
    """Attend in tiles of 1,024 keys."""
    return Tiles(tile=1024)(query=query, key=key, value=value, **others)


def time_of(target: str | None, case: str, dtype: str) -> str:
    """Return how long the calls of a target take, and all else."""
    holder = SimpleNamespace(scaled_dot_product_attention=in_tiles, name="NumPy in tiles", dtypes=FLOAT_DTYPES)
    clocked = Clocked(load(target or holder))
    start, processor = time.perf_counter(), time.process_time()
    (result,) = run_suite(load_suite(select=(case,)), clocked, dtypes=(dtype,))
    wall, processor = time.perf_counter() - start - clocked.wall, time.process_time() - processor - clocked.processor
    share = wall / clocked.wall
    return (
        f"{case} in {dtype}, {clocked.declaration.name}: {result.status}; the call {clocked.wall:.1f} s "
        f"({clocked.processor:.1f} s of processors), the harness {wall:.1f} s ({processor:.1f} s): {share:.0%}"
    )


def memory_of(case: str, dtype: str) -> str:
    """Return how much memory the harness takes beside inputs and outputs."""
    suite = load_suite(select=(case,))
    (found,) = suite.cases.values()
    width = numpy_dtype(dtype).itemsize
    inputs = width * found.size / MEGABYTE
    outputs = width * math.prod(found.thinned["output"]) / MEGABYTE
    holder = SimpleNamespace(scaled_dot_product_attention=zeros, name="zeros", dtypes=FLOAT_DTYPES)
    implementation = load(holder)
    before = peak()
    (result,) = run_suite(suite, implementation, dtypes=(dtype,))
    taken = peak() - before
    return (
        f"{case} in {dtype}: {result.status}; {taken:.0f} MB beyond the start, of which inputs {inputs:.0f} MB and the "
        f"output {outputs:.0f} MB: beside them {taken - inputs - outputs:.0f} MB"
    )


def peak() -> float:
    """Return the most memory that this process has held so far, in MB; Linux alone tells it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / MEGABYTE


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description="Measure what a long case costs beside the call.")
    parser.add_argument("target", nargs="?")
    parser.add_argument("--case", default=CASE)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--memory", action="store_true", help="Memory alone, in this process.")
    asked = parser.parse_args()
    if asked.memory:
        sys.stdout.write(f"{memory_of(asked.case, asked.dtype)}\n")
        return
    sys.stdout.write(f"{time_of(asked.target, asked.case, asked.dtype)}\n")
    sys.stdout.flush()
    subprocess.run([sys.executable, __file__, "--memory", "--case", asked.case, "--dtype", asked.dtype], check=True)


if __name__ == "__main__":
    main()
