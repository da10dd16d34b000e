"""``attnspec site DIR``: the site, built from this checkout."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from attnspec.base.errors import MissingDependencyError
from attnspec.command_line.command_options import with_options_of

_OPTIONS = Path(__file__).with_name("options.json")
_NEEDED = ("jinja2", "markdown_it")


@click.command()
@with_options_of("site", _OPTIONS)
def site(folder: Path, *, operations: tuple[str, ...], golden: Path | None) -> None:
    """Build the site into DIR: pages that open from disk, without a server.

    They load nothing from elsewhere. Needs the extra `site`: pip install --editable ".[site]".
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise MissingDependencyError(
            "`attnspec site` makes its pages with jinja2 and markdown-it-py, which are not installed; install them "
            'with: pip install --editable ".[site]"'
        )
    from attnspec.specification.clause_links import remember_site
    from attnspec_site.building import build_site

    built = build_site(folder, golden=golden, operations=operations)
    if not operations:
        remember_site(folder)
    click.echo(f"{built.pages:,} pages, {built.size / 1e6:.1f} MB beside the downloads: {folder / 'index.html'}")
