"""How many implementations of a blind batch the golden cases tell from right ones.

``python tools/benchmarks/blind_batch.py tests/implementations/batch_7`` validates every implementation of a batch and
prints what came of it; ``--write`` writes ``spec/studies/batch-7.md``. A batch is a folder that holds ``wrong/``
and ``right/``, and ``batch.json``, which says of every wrong one what is wrong with it and whether small fixtures can
be expected to show it. The first score of a batch is the one that counts: its page is written once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from study import STUDIES, Study, publish, table

if TYPE_CHECKING:
    from collections.abc import Sequence

ABOUT = """
Implementations that were written by somebody who had read the pages of the specification and nothing else of the
project: neither the cases, nor the catalogue of mistakes, nor the reports on earlier batches. Each wrong one was shown
to differ within the contract, and its author said before anything was scored whether it is *in reach*: whether the
author of small fixtures could be expected to have a case that shows it. The batch was scored once, before anybody who
works on the cases had seen it, and this is that score. *By one case alone* are those that would have survived without
it.
"""
WRONG = ("fail", "error", "crash", "timeout", "malformed")
NAMED = 5
"""Cases that are named beside a right implementation that they fail."""
SECONDS_ALLOWED = 600
"""For one implementation over all cases, which takes a few seconds; loops in plain Python take a minute."""


@dataclass(frozen=True)
class Outcome:
    """What came of one implementation.

    Attributes
    ----------
    cases
        Ids of the cases that fail it.
    problem
        Why it could not be validated; None where it could.
    """

    cases: tuple[str, ...]
    problem: str | None = None


def validated(path: Path) -> Outcome:
    """Validate one implementation by ``attnspec validate``, in the dtypes that it declares."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "attnspec", "validate", str(path), "--quiet", "--report", str(report)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_ALLOWED, check=False)
        if not report.exists():
            return Outcome((), done.stderr.strip().splitlines()[-1])
        results: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["results"]
    return Outcome(tuple(sorted({result["case"] for result in results if result["status"] in WRONG})))


def figures(batch: Path) -> list[str]:
    """Validate every implementation of a batch, and return the page's tables."""
    wrong: list[dict[str, Any]] = json.loads((batch / "batch.json").read_text(encoding="utf-8"))
    right = sorted((batch / "right").glob("[!_]*.py"))
    with ThreadPoolExecutor(2) as pool:
        outcomes = dict(
            zip(
                [entry["file"] for entry in wrong],
                pool.map(validated, [batch / "wrong" / Path(entry["file"]).name for entry in wrong]),
                strict=True,
            )
        )
        of_right = dict(zip(right, pool.map(validated, right), strict=True))
    lines = _counts(wrong, outcomes)
    for reach, heading in ((True, "Survivors in reach"), (False, "Survivors out of reach")):
        survivors = [entry for entry in wrong if entry["in_reach"] is reach and not outcomes[entry["file"]].cases]
        if survivors:
            rows = [(f"`{_name(entry)}`", entry["sentence"], entry["where"]) for entry in survivors]
            lines += ["", f"## {heading}", "", *_plain_table(("file", "what is wrong", "where it shows"), rows)]
    failing = [(path, outcome) for path, outcome in of_right.items() if outcome.cases or outcome.problem]
    lines += ["", "## Right implementations", "", f"{len(right)} were validated; a case fails {len(failing)} of them."]
    if failing:
        rows = [(f"`{path.stem}`", outcome.problem or _some_of(outcome.cases)) for path, outcome in failing]
        lines += ["", *_plain_table(("file", "failed by"), rows)]
    problems = [(f"`{name}`", outcome.problem) for name, outcome in outcomes.items() if outcome.problem]
    if problems:
        lines += ["", "## Not validated", "", *_plain_table(("file", "why"), problems)]
    return lines


def _some_of(cases: Sequence[str]) -> str:
    """Return the first cases, and how many more there are."""
    more = f", and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    return ", ".join(cases[:NAMED]) + more


def _counts(wrong: Sequence[dict[str, Any]], outcomes: dict[str, Outcome]) -> list[str]:
    """Return the table of how many are killed, an operation a row."""

    def row(name: str, entries: Sequence[dict[str, Any]]) -> tuple[object, ...]:
        within = [outcomes[entry["file"]] for entry in entries if entry["in_reach"]]
        beyond = [outcomes[entry["file"]] for entry in entries if not entry["in_reach"]]
        killed = sum(bool(outcome.cases) for outcome in within)
        share = f"{killed / len(within):.1%}" if within else "none"
        alone = sum(len(outcome.cases) == 1 for outcome in within)
        return name, len(within), killed, share, alone, len(beyond), sum(bool(outcome.cases) for outcome in beyond)

    operations = sorted({entry["operation"] for entry in wrong})
    rows = [row(f"`{name}`", [entry for entry in wrong if entry["operation"] == name]) for name in operations]
    heading = ("operation", "in reach", "killed", "share", "by one case alone", "out of reach", "killed of these")
    return table(heading, [*rows, row("all", wrong)])


def _plain_table(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table of text."""
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (list(heading), ["---"] * len(heading), *cells)]


def _name(entry: dict[str, Any]) -> str:
    return Path(entry["file"]).stem


def main() -> None:
    """Measure, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("batch", type=Path, help="the folder of the batch")
    parser.add_argument("--write", action="store_true", help="write the page of the batch, if there is none yet")
    options = parser.parse_args()
    name = options.batch.resolve().name
    page = STUDIES / f"{name.replace('_', '-')}.md"
    if options.write and page.exists():
        parser.error(f"{page} holds the first score of this batch, which is the one that counts.")
    published = Study(f"Blind {name.replace('_', ' ')}", ABOUT, figures(options.batch))
    publish(published, page if options.write else None)


if __name__ == "__main__":
    main()
