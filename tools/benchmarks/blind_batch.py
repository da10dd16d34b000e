"""How many implementations of a blind batch the golden cases kill.

``python tools/benchmarks/blind_batch.py FOLDER`` validates every implementation of a batch and prints what came of it;
the batch may be a folder or the name of one that is put away, such as ``batch_7``. ``--put-away`` packs the folder into
``tests/strangers``, and ``--write`` writes its first score to the index and the page of all batches: once, for the
first score of a batch is the one that counts. ``spec/guides/blind-batches.md`` says what a batch holds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from study import table

from attnspec.base.errors import AttnspecError
from attnspec.base.files import replace_file
from attnspec.cases import load_suite
from attnspec_authoring.strangers import (
    INDEX,
    PAGE,
    Stranger,
    batch_folder,
    index_text,
    put_away,
    read_batch,
    read_index,
    strangers_page,
    with_first_score,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WRONG = ("fail", "error", "crash", "timeout", "malformed")
NAMED = 5
"""Cases that are named beside a right implementation that they fail."""
SECONDS_ALLOWED = 600
"""For one implementation over all cases, which takes a few seconds; loops in plain Python take a minute."""


@dataclass(frozen=True)
class Outcome:
    """What came of one implementation.

    `cases`: ids of the cases that fail it; `problem`: why it could not be validated; None where it could.
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


def lines_of(strangers: Sequence[Stranger], outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return what came of a batch: counts, survivors, right ones that fail, and what could not be validated."""
    wrong = [stranger for stranger in strangers if not stranger.is_right]
    lines = _counts(wrong, outcomes)
    for small, heading in ((True, "Survivors that small cases should show"), (False, "Survivors beyond small cases")):
        survivors = [each for each in wrong if each.shown_by_small_cases is small and not outcomes[each.file].cases]
        rows = [(each.file, each.sentence) for each in survivors]
        lines += _section(heading, ("file", "what is wrong"), rows)
    failing = [(each.file, outcomes[each.file].cases) for each in strangers if each.is_right]
    rows = [(file, _some_of(cases)) for file, cases in failing if cases]
    lines += _section("Right implementations that fail", ("file", "failed by"), rows)
    problems = [(file, outcome.problem) for file, outcome in outcomes.items() if outcome.problem]
    return lines + _section("Not validated", ("file", "why"), problems)


def _section(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> list[str]:
    return ["", f"## {heading}", "", *table(columns, rows)] if rows else []


def _some_of(cases: Sequence[str]) -> str:
    """Return the first cases, and how many more there are."""
    more = f", and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    return ", ".join(cases[:NAMED]) + more


def _counts(wrong: Sequence[Stranger], outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the table of how many are killed, an operation a row."""

    def row(name: str, strangers: Sequence[Stranger]) -> tuple[object, ...]:
        within = [outcomes[each.file].cases for each in strangers if each.shown_by_small_cases]
        beyond = [outcomes[each.file].cases for each in strangers if not each.shown_by_small_cases]
        killed = sum(map(bool, within))
        share = f"{killed / len(within):.1%}" if within else "none"
        alone = sum(len(cases) == 1 for cases in within)
        return name, len(within), killed, share, alone, len(beyond), sum(map(bool, beyond))

    operations = sorted({each.operation or "" for each in wrong})
    rows = [row(f"`{name}`", [each for each in wrong if each.operation == name]) for name in operations]
    heading = ("operation", "for small cases", "killed", "share", "by one case alone", "beyond them", "killed of these")
    return table(heading, [*rows, row("all", wrong)])


def main() -> int:
    """Score a batch, print what came of it, and put away what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batch", type=Path, help="the folder of the batch, or the name of one that is put away")
    parser.add_argument("--put-away", action="store_true", help="pack the folder into tests/strangers")
    parser.add_argument("--write", action="store_true", help="write the first score to the index, if there is none yet")
    options = parser.parse_args()
    try:
        folder = batch_folder(options.batch)
        batch, strangers = read_batch(folder)
        suite = load_suite()
        batch = replace(batch, cases=len(suite.cases), suite=suite.digest)
        if options.write:
            # Whether there is a first score already is found out before an hour of validating.
            with_first_score(read_index(), batch, strangers, {each.file: () for each in strangers})
        if options.put_away:
            print(f"{put_away(folder)} holds the batch; its folder may go.")  # noqa: T201
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(validated, [folder / each.file for each in strangers])
            outcomes = dict(zip([each.file for each in strangers], found, strict=True))
        print(*lines_of(strangers, outcomes), sep="\n")  # noqa: T201
        if options.write:
            failing = {file: outcome.cases for file, outcome in outcomes.items()}
            index = with_first_score(read_index(), batch, strangers, failing)
            replace_file(INDEX, index_text(index))
            replace_file(PAGE, strangers_page(index))
    except AttnspecError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
