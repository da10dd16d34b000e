"""``attnspec regenerate`` and ``release``: commands of a checkout, which has the recipes of the cases."""

from importlib.util import find_spec
from pathlib import Path

import click

from attnspec.base import __version__
from attnspec.base.errors import MissingDependencyError, UsageError
from attnspec.base.files import GOLDEN_FOLDER
from attnspec.cases.reading import RELEASED
from attnspec.cases.releases import broken_promises
from attnspec.cases.selecting import check_profile
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.terminal import write_file
from attnspec.contract import PROFILES
from attnspec_authoring import releases

_OPTIONS = Path(__file__).with_name("options.json")


@click.command()
@with_options_of("regenerate", _OPTIONS)
def regenerate(
    *, check_only: bool, everything: bool, profiles: tuple[str, ...], cached: bool, golden: Path | None
) -> int:
    """Fill the golden files with certified values.

    Cases of a profile that is run on request alone are recomputed where that profile is named, or they have changed.
    They are certified row by row: a command that was interrupted goes on where it was.

    Needs the extra `regenerate`: pip install "attnspec[regenerate]".
    """
    if find_spec("flint") is None:
        raise MissingDependencyError(
            "`attnspec regenerate` certifies its values with python-flint, which is not installed; install it with: "
            'pip install --editable ".[regenerate]"'
        )
    for profile in profiles:
        check_profile(profile, PROFILES)
    if profiles and not everything:
        raise UsageError("--profile says which cases --all recomputes; give --all, too.")
    from attnspec_authoring import regeneration

    make = regeneration.check if check_only else regeneration.regenerate
    outcome = make(golden, everything=everything, profiles=profiles, cached=cached)
    if check_only:
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
    for difference in outcome.differences:
        click.echo(f"{'removed' if difference.kind == 'orphan' else 'written'}: {difference.path}")
    click.echo(f"cases: {outcome.cases}, computed: {outcome.computed}, files changed: {len(outcome.differences)}")
    return 0


@click.command()
@with_options_of("release", _OPTIONS)
def release(*, only_changes: bool, changelog: Path | None, final: bool, golden: Path | None) -> int:
    """Write released.json: the id, revision and meaning of every case, as of this version.

    From then on, `attnspec check` fails when one of them means something else under the same revision, or is gone
    without a tombstone in retired.json.
    """
    if final and (changelog is None or only_changes):
        raise UsageError("--final releases: give --changelog FILE with it, and no --changes.")
    folder = golden or GOLDEN_FOLDER
    broken = broken_promises(folder)
    for sentence in broken:
        click.echo(sentence, err=True)
    if broken:
        return 1
    if only_changes or changelog is not None:
        section = releases.fixtures_section(releases.changes_of(folder))
        if changelog is not None:
            releases.write_section(changelog, section, version=__version__ if final else None)
        if only_changes:
            click.echo(section, nl=False)
        if not final:
            return 0
    released = releases.next_release(folder, __version__)
    write_file(folder / RELEASED, releases.released_text(released))
    click.echo(f"{folder / RELEASED}: {len(released.cases)} cases, released as {__version__}.")
    return 0
