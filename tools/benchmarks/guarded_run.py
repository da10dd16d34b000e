"""What a guarded run costs: the same command guarded and not, in turn, processor time of all processes and wall time.

``python tools/benchmarks/guarded_run.py [--pairs N] [--write]`` prints, and writes to ``spec/studies``, the median
over the pairs of guarded divided by unguarded. Beside it stands what two unguarded runs differ by: the noise.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from study import Study, add_write_option, publish, table

RUNS = {
    "float64 of the reference": ("--dtype", "float64"),
    "all dtypes of the reference": (),
    "the smoke profile": ("--profile", "smoke"),
}
PROGRAM = "import sys; from attnspec.command_line import main; sys.exit(main(sys.argv[2:], guard=sys.argv[1]))"
ABOUT = """
`attnspec validate` and `attnspec gate` run a Python target in a copy of their process
([decision 24](../decisions/0024-a-guarded-run.md)). Here the same command was run with the guard and without it, in
turn, the first of each pair changing places. Time of the processor is that of all processes together; the figures are
medians over the pairs, and of their ratios. *Noise* is the ratio of two runs without the guard.
"""


class Took(NamedTuple):
    """What one command took, in seconds: of the processor, with all child processes, and on the clock."""

    processor: float
    wall: float


def took(guard: str, options: tuple[str, ...]) -> Took:
    """Return what one run took."""
    command = [sys.executable, "-c", PROGRAM, guard, "validate", "reference", "--quiet", *options]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def pairs(first: str, second: str, options: tuple[str, ...], count: int) -> list[tuple[Took, Took]]:
    """Run a command under two guards in turn; the order changes from pair to pair."""
    found: list[tuple[Took, Took]] = []
    for number in range(count):
        if number % 2:
            later = took(second, options)
            found.append((took(first, options), later))
        else:
            found.append((took(first, options), took(second, options)))
    return found


def rows(name: str, options: tuple[str, ...], count: int) -> list[tuple[object, ...]]:
    """Measure one run, and return a row for the processor and one for the clock."""
    guarded, noise = pairs("none", "fork", options, count), pairs("none", "none", options, count)
    return [
        (
            f"{name}, {'processor' if field == 'processor' else 'clock'}",
            f"{statistics.median(getattr(without, field) for without, _ in guarded):.3f} s",
            f"{statistics.median(getattr(with_guard, field) for _, with_guard in guarded):.3f} s",
            *(
                f"{statistics.median(getattr(second, field) / getattr(first, field) for first, second in found):.3f}"
                for found in (guarded, noise)
            ),
        )
        for field in Took._fields
    ]


def main() -> None:
    """Measure, print, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=41, metavar="N", help="pairs of runs; 41 if not said")
    add_write_option(parser, "guarded-run")
    options = parser.parse_args()
    took("none", ()), took("fork", ())
    figures = table(
        ("run", "unguarded", "guarded", "ratio", "noise"),
        [row for name, words in RUNS.items() for row in rows(name, words, options.pairs)],
    )
    publish(Study("What a guarded run costs", ABOUT, [*figures, "", f"{options.pairs} pairs."]), options.write)


if __name__ == "__main__":
    main()
