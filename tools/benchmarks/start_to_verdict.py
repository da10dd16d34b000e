"""How long from start to verdict, as a ratio to importing numpy and jsonschema, taken in turn in one run.

``python tools/benchmarks/start_to_verdict.py [RUNS [PROFILE]]`` prints both medians and the median of the ratios,
pair by pair; the profile is ``smoke`` where none is named.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

PROFILE = sys.argv[2] if len(sys.argv) > 2 else "smoke"
VALIDATE = [sys.executable, "-m", "attnspec", "validate", "reference", "--profile", PROFILE]
IMPORT = [sys.executable, "-c", "import numpy, jsonschema"]


def seconds(command: list[str]) -> float:
    """Return the wall time of one process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Measure in turn and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    seconds(VALIDATE), seconds(IMPORT)
    pairs = [(seconds(VALIDATE), seconds(IMPORT)) for _ in range(runs)]
    validate, imports = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(first / second for first, second in pairs)
    print(f"start to verdict   {validate:.3f} s (median of {runs})")  # noqa: T201
    print(f"numpy, jsonschema  {imports:.3f} s")  # noqa: T201
    print(f"ratio              {ratio:.2f} (median of pairs), {validate / imports:.2f} (of medians)")  # noqa: T201


if __name__ == "__main__":
    main()
