"""How long from the command to the sentence that names a student's mistake, and where the time goes.

``python tools/benchmarks/student_to_sentence.py [RUNS]`` validates each ``tests/implementations/student_*.py`` in a
process of its own, and prints the median wall time, the share of the diagnosis, and whether the right clause is named.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARKED = re.compile(r"^mistake = \"(.+)\"$", re.MULTILINE)
TIMED = """
import sys, time
start = time.perf_counter()
from attnspec import validation
from attnspec.command_line import main
diagnosed = validation._diagnosis
spent = []
def timed(results):
    start = time.perf_counter()
    found = diagnosed(results)
    spent.append(time.perf_counter() - start)
    return found
validation._diagnosis = timed
main(["validate", sys.argv[1], "--quiet"])
print(sum(spent), time.perf_counter() - start, file=sys.stderr)
"""


def validated(student: Path) -> tuple[float, str]:
    """Return the wall time of one command and what it said."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "attnspec", "validate", str(student)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return time.perf_counter() - start, " ".join(said.split())


def main() -> None:
    """Measure each student and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    os.environ["COLUMNS"] = "200"
    for student in sorted((ROOT / "tests" / "implementations").glob("student_*.py")):
        told = [validated(student) for _ in range(runs + 1)][1:]
        marked = MARKED.search(student.read_text(encoding="utf-8"))
        right = marked is not None and f"this mistake, {marked[1]}," in told[0][1]
        parts = subprocess.run([sys.executable, "-c", TIMED, str(student)], capture_output=True, text=True, check=False)
        diagnosis, inside = map(float, parts.stderr.split()[-2:])
        median = statistics.median(seconds for seconds, _ in told)
        print(  # noqa: T201
            f"{student.stem:34} {median:.3f} s, diagnosis {diagnosis:.3f} s of "
            f"{inside:.3f} s after the start of Python, {'named rightly' if right else 'NOT named'}"
        )


if __name__ == "__main__":
    main()
