"""``python -m attnspec_authoring.third_party [NAME ...]``: run third-party implementations and print what came of each.

``--write`` writes what came into the table of implementations, ``spec/results/NAME/VERSION.json``; ``--version`` makes
an environment with that version of the library first, and removes it afterwards.

Exit status: 0 when every implementation ran and every failure is a known defect, else 1; 2 for a bad argument.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import AttnspecError
from attnspec.base.extensions import THIRD_PARTY
from attnspec.cases import load_suite
from attnspec.tensors.libraries import OWN_EXTRAS, SHARED_EXTRA, extra_of
from attnspec_authoring.results import read_defects, read_implementations
from attnspec_authoring.results.page import write_pages
from attnspec_authoring.third_party.environments import environment_with, pinned
from attnspec_authoring.third_party.known_defects import judge
from attnspec_authoring.third_party.programs import run_program, witnesses_of_program
from attnspec_authoring.third_party.recording import recorded, write_result
from attnspec_authoring.third_party.running import outcome_of, run_implementation
from attnspec_authoring.third_party.table import lines
from attnspec_authoring.third_party.witnesses import witnesses_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.cases import Case
    from attnspec_authoring.results import Defect
    from attnspec_authoring.third_party.running import Outcome

IMPLEMENTATIONS = read_implementations()


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(IMPLEMENTATIONS)), metavar="[NAME ...]")
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
@click.option("--version", metavar="VERSION", help="Run the NAMEs with this version of their library.")
@click.option("--python", metavar="FILE", default=sys.executable, help="Run the NAMEs by this interpreter.")
@click.option(
    "--search",
    metavar="MINUTES",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="With --write: how long to search for the random cases with the largest error / tolerance.",
)
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
    version: str | None,
    python: str,
    search: float,
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
    if write and select:
        raise click.UsageError("--write is for whole profiles: leave --select out.")
    if version is not None and len({IMPLEMENTATIONS[name].packages for name in names}) != 1:
        raise click.UsageError("--version is the version of one library: name implementations of one.")
    if report is not None and len(names) != 1:
        raise click.UsageError("--report is the report of one NAME.")
    own = nullcontext(python)
    if version is not None:
        own = environment_with(pinned(IMPLEMENTATIONS[names[0]].packages, version))
    try:
        with own as interpreter:
            if report is None:
                with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
                    outcomes = [*pool.map(partial(_outcome, options=options, python=interpreter), chosen)]
            else:
                outcomes = [outcome_of(chosen[0], json.loads(report.read_text(encoding="utf-8")))]
            written = [
                _written(outcome, interpreter, search, defects, known, profiles) for outcome in outcomes if write
            ]
    except AttnspecError as error:
        click.echo(f"attnspec: {error}", err=True)
        sys.exit(1)
    if write:
        write_pages()
    findings = judge(outcomes, defects, known)
    for line in (*lines(outcomes, findings, defects, known), *written):
        click.echo(line)
    sys.exit(0 if findings.is_good else 1)


def _outcome(name: str, *, options: Sequence[str], python: str) -> Outcome:
    implementation = IMPLEMENTATIONS[name]
    if implementation.command is not None:
        return run_program(implementation, options)
    return run_implementation(name, options, python=python)


def _written(
    outcome: Outcome,
    python: str,
    minutes: float,
    defects: Sequence[Defect],
    cases: Mapping[str, Case],
    profiles: Sequence[str],
) -> str:
    """Write an outcome into the table, once its witnesses are searched, and say so."""
    if outcome.problem is not None:
        return f"Wrote nothing of {outcome.name}."
    implementation = IMPLEMENTATIONS[outcome.name]
    tried, found = 0, ()
    if minutes and implementation.command is not None:
        tried, found = witnesses_of_program(implementation, 60 * minutes)
    elif minutes:
        tried, found = witnesses_in(python, outcome.name, minutes)
    today = datetime.date.today()
    document = recorded(outcome, defects, cases, profiles=profiles, date=today, searched=tried, witnesses=found)
    return f"Wrote {write_result(document).name} of {outcome.name}."


if __name__ == "__main__":
    main()
