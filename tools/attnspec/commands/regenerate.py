"""``attnspec regenerate``: make the golden files from the recipes, or check them against these."""

from __future__ import annotations

from pathlib import Path

import click

from attnspec.base.errors import UsageError
from attnspec.cases.selecting import check_profile
from attnspec.commands.authoring import authoring
from attnspec.contract import PROFILES


@click.command()
@click.option("--check", "check_only", is_flag=True, help="Compare byte for byte, write nothing.")
@click.option("--all", "everything", is_flag=True, help="Recompute also the cases whose authored part is unchanged.")
@click.option("--profile", "profiles", multiple=True, metavar="PROFILE", help="With --all: this profile. Repeatable.")
@click.option("--no-cache", "cached", flag_value=False, default=True, help="Take no rows that were certified before.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
def regenerate(
    *, check_only: bool, everything: bool, profiles: tuple[str, ...], cached: bool, golden: Path | None
) -> int:
    """Fill the golden files with certified values.

    Cases of a profile that is run on request alone are recomputed where that profile is named, or they have changed.
    They are certified row by row: a command that was interrupted goes on where it was.

    Needs the extra `regenerate`: pip install "attnspec[regenerate]".
    """
    regeneration = authoring("regeneration", wanted_by="attnspec regenerate")
    for profile in profiles:
        check_profile(profile, PROFILES)
    if profiles and not everything:
        raise UsageError("--profile says which cases --all recomputes; give --all, too.")
    which = {"everything": everything, "profiles": profiles, "cached": cached}
    if check_only:
        outcome = regeneration.check(golden, **which)
        for difference in outcome.differences:
            click.echo(f"{difference.kind}: {difference.path}", err=True)
        if outcome.differences:
            found = len(outcome.differences)
            click.echo(
                f"{'1 file is' if found == 1 else f'{found} files are'} not what the recipes and the oracle give. "
                "`attnspec regenerate --all` writes anew what differs and removes orphans.",
                err=True,
            )
            return 1
        click.echo(f"cases: {outcome.cases}, computed: {outcome.computed}; every file is the same, byte for byte.")
        return 0
    outcome = regeneration.regenerate(golden, **which)
    for difference in outcome.differences:
        click.echo(f"{'removed' if difference.kind == 'orphan' else 'written'}: {difference.path}")
    click.echo(f"cases: {outcome.cases}, computed: {outcome.computed}, files changed: {len(outcome.differences)}")
    return 0
