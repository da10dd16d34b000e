"""``python -m attnspec_authoring.third_party [NAME ...]``: run third-party implementations and print what came of each.

Exit status: 0 when every implementation ran and every failure is a known defect, else 1; 2 for a bad argument.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import click

from attnspec.base.errors import AttnspecError
from attnspec.base.extensions import THIRD_PARTY
from attnspec.cases import load_suite
from attnspec.tensors.libraries import OWN_EXTRAS, SHARED_EXTRA, extra_of
from attnspec_authoring.third_party.known_defects import judge, read_known_defects
from attnspec_authoring.third_party.running import run_implementation
from attnspec_authoring.third_party.table import lines


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(THIRD_PARTY)), metavar="[NAME ...]")
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
@click.option("--jobs", type=click.IntRange(min=1), help="How many to run at a time; one a processor by default.")
def main(
    names: tuple[str, ...],
    extra: str,
    profiles: tuple[str, ...],
    select: tuple[str, ...],
    golden: Path | None,
    jobs: int | None,
) -> None:
    """Run the third-party implementations NAME, or all that live together."""
    try:
        known = load_suite(golden, profiles=profiles, select=select).cases
        defects = read_known_defects()
    except AttnspecError as error:
        click.echo(f"attnspec: {error}", err=True)
        sys.exit(2)
    options = [f"--profile={profile}" for profile in profiles]
    options += [f"--golden={golden}"] if golden is not None else []
    options += [f"--select={pattern}" for pattern in select]
    chosen = names or tuple(name for name in THIRD_PARTY if extra_of(name) == extra)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        outcomes = list(pool.map(partial(run_implementation, options=options), chosen))
    findings = judge(outcomes, defects, known)
    for line in lines(outcomes, findings, defects, known):
        click.echo(line)
    sys.exit(0 if findings.is_good else 1)


if __name__ == "__main__":
    main()
