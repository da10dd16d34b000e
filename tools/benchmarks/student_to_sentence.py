"""How long from the command to the sentence that names a student's mistake, and where the time goes.

``python tools/benchmarks/student_to_sentence.py [RUNS]`` validates each ``tests/implementations/student_*.py`` in a
process of its own, and prints the median wall time, the share of the diagnosis, and whether the mistake is named that
the file says it makes; ``--write`` writes the table to ``spec/measurements/time-to-sentence.md``.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from measurement_page import MeasurementPage, add_write_option, publish, table

ROOT = Path(__file__).resolve().parents[2]
MARKED = re.compile(r"^mistake = \"(.+)\"$", re.MULTILINE)
ABOUT = """
How long it takes from the command `attnspec validate FILE` to the sentence that names the mistake in a student's file:
the median of the wall times of whole processes, and within one of them, the time of the diagnosis and the time after
the start of Python. Loading NumPy and running the cases twice takes the rest. It backs [decision
21](../decisions/0021-diagnosis.md).
"""
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


def measured(student: Path, runs: int) -> tuple[object, ...]:
    """Return the row of one student's file."""
    told = [validated(student) for _ in range(runs + 1)][1:]
    marked = MARKED.search(student.read_text(encoding="utf-8"))
    right = marked is not None and f"this mistake, {marked[1]}," in told[0][1]
    parts = subprocess.run([sys.executable, "-c", TIMED, str(student)], capture_output=True, text=True, check=False)
    diagnosis, inside = map(float, parts.stderr.split()[-2:])
    median = statistics.median(seconds for seconds, _ in told)
    return f"`{student.stem}`", f"{median:.2f} s", f"{inside:.2f} s", f"{diagnosis:.3f} s", "yes" if right else "no"


def main() -> None:
    """Measure each student, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=7, help="how many processes the median is of")
    add_write_option(parser, "time-to-sentence")
    options = parser.parse_args()
    os.environ["COLUMNS"] = "200"
    students = sorted((ROOT / "tests" / "implementations").glob("student_*.py"))
    heading = ("file", f"median of {options.runs}", "after the start of Python", "diagnosis", "named rightly")
    figures = table(heading, [measured(student, options.runs) for student in students])
    publish(MeasurementPage("From the command to the sentence", ABOUT, figures), options.write)


if __name__ == "__main__":
    main()
