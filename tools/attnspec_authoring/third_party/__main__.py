"""``python -m attnspec_authoring.third_party [NAME ...]``: run third-party implementations and print what came of each.

``--write`` writes what came into the table of implementations, ``spec/results/NAME/VERSION.json``.

Exit status: 0 when every implementation ran and every failure is a known defect, else 1; 2 for a bad argument.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import click

from attnspec.base.errors import AttnspecError
from attnspec.base.extensions import BUILT_IN, THIRD_PARTY
from attnspec.cases import load_suite
from attnspec.tensors.libraries import OWN_EXTRAS, SHARED_EXTRA, extra_of
from attnspec_authoring.results import read_defects
from attnspec_authoring.third_party.known_defects import judge
from attnspec_authoring.third_party.recording import recorded, write_result
from attnspec_authoring.third_party.running import outcome_of, run_implementation
from attnspec_authoring.third_party.table import lines


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BUILT_IN)), metavar="[NAME ...]")
@click.option(
    "--extra",
    type=click.Choice([SHARED_EXTRA, *dict.fromkeys(OWN_EXTRAS.values())]),
    default=SHARED_EXTRA,
    show_default=True,
    help="Without NAME: run those whose library this extra of attnspec installs.",
)
@click.option("--profile", "profiles", multiple=True, metavar="PROFILE", help="Run this profile. Repeatable.")
@click.option("--select", multiple=True, metavar="GLOB", help="Run the cases whose id matches. Repeatable.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
@click.option("--write", is_flag=True, help="Write what came into the table, spec/results/NAME/VERSION.json.")
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Take the report.json of a run that is over, for the one NAME.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="How many to run at a time; one a processor by default.")
def main(
    names: tuple[str, ...],
    extra: str,
    profiles: tuple[str, ...],
    select: tuple[str, ...],
    golden: Path | None,
    write: bool,
    report: Path | None,
    jobs: int | None,
) -> None:
    """Run the third-party implementations NAME, or all that live together."""
    try:
        known = load_suite(golden, profiles=profiles, select=select).cases
        defects = read_defects()
    except AttnspecError as error:
        click.echo(f"attnspec: {error}", err=True)
        sys.exit(2)
    options = [f"--profile={profile}" for profile in profiles]
    options += [f"--golden={golden}"] if golden is not None else []
    options += [f"--select={pattern}" for pattern in select]
    chosen = names or tuple(name for name in THIRD_PARTY if extra_of(name) == extra)
    if report is not None:
        if len(names) != 1:
            raise click.UsageError("--report is the report of one NAME.")
        outcomes = [outcome_of(names[0], json.loads(report.read_text(encoding="utf-8")))]
    else:
        with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
            outcomes = list(pool.map(partial(run_implementation, options=options), chosen))
    findings = judge(outcomes, defects, known)
    for line in lines(outcomes, findings, defects, known):
        click.echo(line)
    if write:
        for outcome in outcomes:
            if outcome.problem is None:
                path = write_result(recorded(outcome, defects, known, date=datetime.date.today()))
                click.echo(f"Wrote {path.name} of {outcome.name}.")
    sys.exit(0 if findings.is_good else 1)


if __name__ == "__main__":
    main()
