"""Downloads of the site, apart from its pages: each case as JSON and as a script, and test vectors in one archive."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from attnspec.base import __version__
from attnspec.contract import ON_REQUEST
from attnspec_site.content import Content
from attnspec_vectors import write_archive, write_release

DOWNLOADS = "downloads"
"""The folder of what is not read but used."""

VECTORS = f"{DOWNLOADS}/attnspec-vectors-{__version__}.tar.gz"
"""Address of the archive of test vectors, the same as `attnspec vectors DIR --archive FILE` writes."""


def write_downloads(folder: Path, content: Content) -> None:
    """Write what the pages of a site offer for download into its folder."""
    for case in content.cases.values():
        target = folder / DOWNLOADS / f"{case.id}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(content.suite.folder / f"{case.id}.json", target)
        target.with_suffix(".py").write_text(content.scripts[case.id], encoding="utf-8")
    cases = {name: case for name, case in content.cases.items() if case.profile not in ON_REQUEST}
    with TemporaryDirectory() as scratch:
        vectors = Path(scratch) / "vectors"
        write_archive(vectors, write_release(replace(content.suite, cases=cases), vectors), folder / VECTORS)
