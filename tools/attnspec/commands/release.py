"""``attnspec release``: write down the released cases, or the changes since."""

from __future__ import annotations

from pathlib import Path

import click

from attnspec.base import __version__
from attnspec.commands.authoring import authoring


@click.command()
@click.option("--changes", "only_changes", is_flag=True, help="Print what changed since the last release instead.")
@click.option(
    "--changelog",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write what changed into this changelog, under 'Unreleased', instead.",
)
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
def release(*, only_changes: bool, changelog: Path | None, golden: Path | None) -> int:
    """Write released.json: the id, revision and meaning of every case, as of this version.

    From then on, `attnspec check` fails when one of them means something else under the same revision, or is gone
    without a tombstone in retired.json.
    """
    releases = authoring("releases", wanted_by="attnspec release")
    from attnspec.base.errors import UsageError
    from attnspec.base.files import GOLDEN_FOLDER, replace_file
    from attnspec.cases.reading import RELEASED
    from attnspec.cases.releases import broken_promises

    folder = golden or GOLDEN_FOLDER
    broken = broken_promises(folder)
    for sentence in broken:
        click.echo(sentence, err=True)
    if broken:
        return 1
    if only_changes or changelog is not None:
        section = releases.fixtures_section(releases.changes_of(folder))
        if changelog is not None:
            releases.write_section(changelog, section)
        if only_changes:
            click.echo(section, nl=False)
        return 0
    released = releases.next_release(folder, __version__)
    try:
        replace_file(folder / RELEASED, releases.released_text(released))
    except OSError as error:
        raise UsageError(f"{folder / RELEASED} cannot be written: {error.strerror}.") from None
    click.echo(f"{folder / RELEASED}: {len(released.cases)} cases, released as {__version__}.")
    return 0
