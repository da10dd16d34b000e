"""First failure: seconds from the start of ``attnspec validate FILE`` to its line in a pipe, for drawn mistakes.

``PYTHONPATH=tools/benchmarks python -m ratios.first_failure [COUNT]`` prints each mistake with its seconds.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from attnspec_mistakes import CATALOGUE
from ratios.timing import Measured, Measurement, seconds

_DRAWN, _SEED = 40, 28
_WITHIN = 2.0
_FILE = """\
from attnspec_mistakes import CATALOGUE

mistake = next(mistake for mistake in CATALOGUE if mistake.id == {id!r})
globals()[mistake.operation] = mistake.function if mistake.begin is None else mistake.begin()
dtypes = mistake.shows_in
if mistake.layout is not None:
    layout = mistake.layout
"""


def first_failures(count: int = _DRAWN) -> dict[str, float]:
    """Return each drawn mistake with the seconds to its first failure or verdict; infinity where neither came."""
    drawn = random.Random(_SEED).sample([mistake.id for mistake in CATALOGUE], count)
    with TemporaryDirectory() as folder:
        return {mistake: _seconds(mistake, Path(folder) / "wrong.py") for mistake in drawn}


def _seconds(mistake: str, path: Path) -> float:
    path.write_text(_FILE.format(id=mistake), "utf-8")
    command = (sys.executable, "-m", "attnspec", "validate", str(path), "--no-probes")
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # A short run says nothing early: its end is its verdict, with the failure in it.
        said = any(line.startswith("first failure: ") for line in process.stderr)
        taken = time.perf_counter() - start
        failed = said or process.wait() == 1
        process.kill()
    return taken if failed else float("inf")


def _measure(runs: int) -> list[Measured]:
    """Measure the slowest but two of the drawn mistakes, as a multiple of the imports that every run makes."""
    amounts = [sorted(first_failures().values())[-3] for _ in range(min(runs, 3))]
    imports = (sys.executable, "-c", "import numpy, jsonschema")
    yardsticks = tuple(seconds(lambda: subprocess.run(imports, check=True)) for _ in amounts)
    return [
        Measured(
            "first failure of 38 of 40 mistakes", None, "import numpy, jsonschema", "s", tuple(amounts), yardsticks
        )
    ]


FIRST_FAILURE = (Measurement("first failure of 38 of 40 mistakes", _measure),)

if __name__ == "__main__":
    found = first_failures(int(sys.argv[1]) if len(sys.argv) > 1 else _DRAWN)
    for mistake, taken in found.items():
        sys.stdout.write(f"{taken:5.2f} s  {mistake}\n")
    sys.stdout.write(f"{sum(taken <= _WITHIN for taken in found.values())} of {len(found)} within {_WITHIN:g} s\n")
