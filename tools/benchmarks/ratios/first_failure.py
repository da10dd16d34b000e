"""First failure: seconds from the start of ``attnspec validate FILE`` to its line in a pipe, for drawn mistakes.

``python -m ratios.first_failure [COUNT]``, in ``tools/benchmarks``, prints each mistake with its seconds; it
ends with 1 where fewer than 38 of 40 are reported in two seconds. Of the first few, ``make bench`` keeps the median.
"""

from __future__ import annotations

import os
import random
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from attnspec_mistakes import CATALOGUE
from ratios.measuring import BenchError, cost

_DRAWN, _SEED = 40, 28
_WITHIN, _SHARE = 2.0, 0.95
_FILE = """\
from attnspec_mistakes import CATALOGUE

mistake = next(mistake for mistake in CATALOGUE if mistake.id == {id!r})
globals()[mistake.operation] = mistake.function if mistake.begin is None else mistake.begin()
dtypes = mistake.shows_in
if mistake.layout is not None:
    layout = mistake.layout
"""


@cache
def drawn_mistakes(count: int = _DRAWN) -> list[str]:
    """Return the ids of so many mistakes, the same ones each time."""
    return random.Random(_SEED).sample([mistake.id for mistake in CATALOGUE], count)


def write_mistake(mistake: str, folder: Path) -> Path:
    """Write a file that a user would have validated into a folder, and return its path."""
    path = folder / "wrong.py"
    path.write_text(_FILE.format(id=mistake), "utf-8")
    return path


def seconds_to_first_failure(mistake: str) -> float:
    """Return the seconds until a case that the mistake fails is on the console; infinity where none is."""
    with TemporaryDirectory() as folder:
        path = write_mistake(mistake, Path(folder))
        try:
            return cost(f"attnspec validate {path} --no-probes", "first failure", dict(os.environ))
        except BenchError:
            return float("inf")


if __name__ == "__main__":
    drawn = drawn_mistakes(*map(int, sys.argv[1:2]))
    within = 0
    for mistake in drawn:
        taken = seconds_to_first_failure(mistake)
        within += taken <= _WITHIN
        sys.stdout.write(f"{taken:5.2f} s  {mistake}\n")
    sys.stdout.write(f"{within} of {len(drawn)} within {_WITHIN:g} s\n")
    sys.exit(within < _SHARE * len(drawn))
