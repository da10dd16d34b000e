"""Published bugs of attention, each as a small wrong function and its mended one, and how attnspec catches it.

``python -m attnspec_authoring.published_bugs`` tries all of them, and says what is not as it is kept; ``--write`` keeps
what it finds. They were recreated from public reports by people who had not seen the cases.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import click

import attnspec
from attnspec.base.files import replace_file
from attnspec.reports.problems import problems_of, whole_of
from attnspec.reports.screen import cause_lines

PUBLISHED_BUGS = Path(__file__).parents[2] / "tests" / "published_bugs.json"


@dataclass(frozen=True)
class PublishedBug:
    """Published bug, recreated: `wrong` is the code of a function that has it, `right` the same without it.

    `seen` is what its users saw, `clause` the rule that it breaks in the words of the one who recreated it. `caught_by`
    is the case and dtype that show it best, None where no golden case does, and `said` the first sentence of a report.
    `first_score` is what came before anyone had looked: named (put down first to a rule of `clause`), caught, missed.
    """

    id: str
    link: str
    year: int
    operation: str
    mistake: str
    clause: str
    seen: str
    wrong: str
    right: str
    first_score: str
    caught_by: str | None = None
    dtype: str | None = None
    said: str = ""
    right_passes: bool = True


def read_published_bugs(path: Path = PUBLISHED_BUGS) -> tuple[PublishedBug, ...]:
    """Return the published bugs, in the order of their ids."""
    return tuple(PublishedBug(**entry) for entry in json.loads(path.read_text(encoding="utf-8")))


def tried(bug: PublishedBug) -> PublishedBug:
    """Return a bug with what all golden cases of its operation say of the wrong function, and of the right one."""
    report, mended = report_on(bug.wrong), report_on(bug.right)
    bug = replace(bug, right_passes=not mended.wrong)
    if not report.wrong:
        return replace(bug, caught_by=None, dtype=None, said="")
    problems = problems_of(report.wrong, report.diagnosis)
    first = problems[0]
    (said, *_) = cause_lines(first, whole_of(report.results), alone=len(problems) == 1)
    return replace(bug, caught_by=first.clearest.case.id, dtype=first.clearest.dtype, said=said)


def report_on(source: str, *, case: str | None = None) -> attnspec.Report:
    """Return the report on the code of a function, over all cases or one."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "published.py"
        path.write_text(source, encoding="utf-8")
        return attnspec.validate(str(path), select=case)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try all published bugs; returns 1 where something is not as it is kept."""
    parser = argparse.ArgumentParser(prog="attnspec_authoring.published_bugs", description=main.__doc__)
    parser.add_argument("--write", action="store_true", help="keep what is found")
    options = parser.parse_args(arguments)
    before = read_published_bugs()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        after = tuple(pool.map(tried, before))
    for old, new in zip(before, after, strict=True):
        if old != new:
            click.echo(f"{new.id}: {new.caught_by or 'missed'}: {new.said}")
        if not new.right_passes:
            click.echo(f"{new.id}: the mended function is accused.")
    caught, passing = (
        sum(found) for found in zip(*((bool(bug.caught_by), bug.right_passes) for bug in after), strict=True)
    )
    click.echo(f"{caught} of {len(after)} published bugs are caught; {passing} mended functions pass.")
    if options.write:
        replace_file(PUBLISHED_BUGS, json.dumps([asdict(bug) for bug in after], indent=1, ensure_ascii=False) + "\n")
        return 0
    return int(before != after)


if __name__ == "__main__":
    raise SystemExit(main())
