"""Files of a release: wheel, source archive, test vectors, site, notes and checksums, the same bytes at every build.

``python -m attnspec_authoring.release_files DIR`` writes them from a clean checkout, as ``make release`` does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from attnspec.base import __version__
from attnspec.base.errors import AttnspecError, UsageError
from attnspec.base.files import GOLDEN_FOLDER
from attnspec_authoring.releases import changes_of, section_of
from attnspec_site.building import build_site
from attnspec_site.downloads import VECTORS
from attnspec_vectors.release import CHECKSUMS, check_new, pack

CHECKOUT = Path(__file__).parents[2]
NOTES = "NOTES.md"
SITE = f"attnspec-site-{__version__}.tar.gz"

_UNRELEASED = "Unreleased"


def write_release_files(folder: Path, *, unreleased: bool = False, operations: Collection[str] = ()) -> tuple[str, ...]:
    """Write the files of a release into a new folder, and return their names.

    Parameters
    ----------
    unreleased
        Also of a state that is not released; its notes are those of the changelog's unreleased section.
    operations
        Operations of which the site and the vectors are; all where none is named, as in a release.

    Raises
    ------
    UsageError
        The folder is not new, the checkout has changes that are not committed, or its cases and changelog are not
        those of a release.
    """
    check_new(folder)
    folder.mkdir(parents=True, exist_ok=True)
    time = _git("log", "-1", "--format=%ct").strip()
    if _git("status", "--porcelain"):
        raise UsageError(f"{CHECKOUT} has changes that are not committed: commit what is to be released.")
    (folder / NOTES).write_text(_notes(unreleased=unreleased), encoding="utf-8")
    # Both archives of the package have the time of the commit for that of all their files.
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve()), SOURCE_DATE_EPOCH=time)
    with TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        build_site(site, operations=operations)
        shutil.copyfile(site / VECTORS, folder / Path(VECTORS).name)
        names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file())
        pack(site, names, SITE.removesuffix(".tar.gz"), folder / SITE)
    written = sorted(path.name for path in folder.iterdir())
    sums = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in written)
    (folder / CHECKSUMS).write_text("".join(sums), encoding="ascii")
    return (*written, CHECKSUMS)


def write_twice(folder: Path, *, operations: Collection[str] = ()) -> dict[str, tuple[str, str]]:
    """Write the files of what is committed from two clean clones, and return their checksums by name.

    The clones lie in folders of other names, and their processes differ in all that bytes could depend on by mistake:
    the order of sets, the time zone, and the rights of new files.
    """
    check_new(folder)
    sums: list[dict[str, str]] = []
    for name, zone, seed, umask in (("first", "UTC", "0", 0o022), ("second", "Asia/Tokyo", "1", 0o077)):
        clone, written = folder / name / "clone", folder / name / "files"
        _run("git", "clone", "--quiet", str(CHECKOUT), str(clone))
        packages = os.pathsep.join(str(clone / room) for room in ("tools", "reference_impl"))
        chosen = [f"--operation={operation}" for operation in operations]
        command = (sys.executable, "-m", __spec__.name, str(written), "--unreleased", *chosen)
        _run(*command, umask=umask, PYTHONPATH=packages, TZ=zone, PYTHONHASHSEED=seed)
        lines = (written / CHECKSUMS).read_text(encoding="ascii").splitlines()
        sums.append({file: digest for digest, file in (line.split("  ") for line in lines)})
    first, second = sums
    return {file: (first.get(file, ""), second.get(file, "")) for file in sorted({*first, *second})}


def _notes(*, unreleased: bool) -> str:
    """Return the changelog's section of the version; `UsageError` where the version is not released."""
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    notes = section_of(text, __version__)
    changes = changes_of(GOLDEN_FOLDER)
    if notes is not None and changes.since.release == __version__ and not (changes.added or changes.revised):
        return notes
    if not unreleased:
        raise UsageError(
            f"{__version__} is not released: run `make released`, which writes golden/released.json and the section of "
            "the changelog, and commit both."
        )
    return section_of(text, _UNRELEASED) or ""


def _git(*arguments: str) -> str:
    return _run("git", *arguments)


def _run(*command: str, umask: int = -1, **variables: str) -> str:
    """Return what a program of the checkout prints; `UsageError` where it fails."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, umask=umask, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UsageError(f"`{' '.join(command)}` failed in {CHECKOUT}: {done.stderr.strip()}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of a release, and print their checksums; returns 1 where a dry run gives other bytes twice."""
    parser = argparse.ArgumentParser(prog="python -m attnspec_authoring.release_files", description=main.__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    parser.add_argument("--unreleased", action="store_true", help="write what is not released yet, too")
    parser.add_argument("--dry-run", action="store_true", help="write them twice, from two clean clones, and compare")
    parser.add_argument("--operation", action="append", default=[], help="site and vectors of this operation alone")
    parser.add_argument("--tag", help="the tag that is released; it must be that of the version")
    options = parser.parse_args(arguments)
    try:
        if options.tag not in (None, f"v{__version__}"):
            raise UsageError(f"--tag {options.tag}: the tag of this version is v{__version__}.")
        if options.dry_run:
            sums = write_twice(options.folder.resolve(), operations=options.operation)
            for name, (first, second) in sums.items():
                click.echo(f"{first}  {name}" if first == second else f"{name} differs: {first} and {second}")
            return int(any(first != second for first, second in sums.values()))
        write_release_files(options.folder, unreleased=options.unreleased, operations=options.operation)
    except AttnspecError as error:
        click.echo(error, err=True)
        return 2
    click.echo((options.folder / CHECKSUMS).read_text(encoding="ascii"), nl=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
