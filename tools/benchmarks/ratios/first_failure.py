"""First failure: seconds from the start of ``attnspec validate FILE`` to its line in a pipe, for drawn mistakes.

``python tools/benchmarks/ratios/first_failure.py [COUNT]`` prints each mistake with its seconds; the exit status is 1
where fewer than 38 of 40 are reported within two seconds.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from attnspec_mistakes import CATALOGUE

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


def first_failures(count: int = _DRAWN) -> dict[str, float]:
    """Return each drawn mistake with the seconds to its first failure or earlier verdict; infinity for neither."""
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


if __name__ == "__main__":
    found = first_failures(int(sys.argv[1]) if len(sys.argv) > 1 else _DRAWN)
    for mistake, taken in found.items():
        sys.stdout.write(f"{taken:5.2f} s  {mistake}\n")
    within = sum(taken <= _WITHIN for taken in found.values())
    sys.stdout.write(f"{within} of {len(found)} within {_WITHIN:g} s\n")
    sys.exit(within < _SHARE * len(found))
