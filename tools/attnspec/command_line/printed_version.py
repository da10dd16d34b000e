"""``attnspec --version``: the version, and the digests of the fixtures and of the rules."""

from __future__ import annotations

import click

from attnspec.base import __version__


def print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print the version and both digests, and stop."""
    if not asked or context.resilient_parsing:
        return
    from attnspec.base.files import GOLDEN_FOLDER
    from attnspec.cases import read_index
    from attnspec.cases.reading import suite_digest
    from attnspec.specification import clauses, specification_digest

    entries = read_index(GOLDEN_FOLDER)
    click.echo(f"attnspec, version {__version__}")
    click.echo(f"suite {suite_digest(entries)}  the content of {len(entries)} fixtures")
    click.echo(f"spec  {specification_digest()}  the words of {len(clauses())} clauses")
    context.exit()
