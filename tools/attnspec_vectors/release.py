"""Release of the test vectors: a folder with its schema, checksums and README, and a deterministic archive of it."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attnspec.base import __version__
from attnspec.base.errors import UsageError
from attnspec.base.files import SCHEMA_FOLDER, replace_file
from attnspec_vectors.documents import SCHEMA, vector_files

if TYPE_CHECKING:
    from attnspec.cases import Suite

CHECKSUMS = "SHA256SUMS"
README = "README.md"

_README = Path(__file__).with_name("release_readme.md")


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _xz(content: bytes) -> bytes:
    # A higher preset saves another fifth, and takes six times as long.
    return lzma.compress(content, preset=2)


_COMPRESSED: Mapping[str, Callable[[bytes], bytes]] = {".tar.gz": _gzip, ".tar.xz": _xz}
"""Suffix of an archive to what compresses its content, with no name and no time inside."""


class Release(NamedTuple):
    """What was written: names of the files, sorted, tests by operation, and how many bytes all files have."""

    files: tuple[str, ...]
    tests: Counter[str]
    size: int


def write_release(suite: Suite, folder: Path) -> Release:
    """Write the vectors of a suite into a new folder; `UsageError` if it is not new or cannot be written."""
    tests: Counter[str] = Counter()
    sums: dict[str, str] = {}
    size = 0
    try:
        check_new(folder)

        def write(name: str, content: bytes) -> None:
            nonlocal size
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            sums[name] = hashlib.sha256(content).hexdigest()
            size += len(content)

        for file in vector_files(suite):
            write(file.name, file.text.encode())
            tests[file.operation] += len(file.document["tests"])
        write(SCHEMA, (SCHEMA_FOLDER / SCHEMA).read_bytes())
        write(README, _readme(tests, suite.digest).encode())
        listed = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
        (folder / CHECKSUMS).write_text(listed, encoding="ascii")
    except OSError as error:
        raise UsageError(f"The vectors could not be written to {folder}: {error.strerror}.") from None
    return Release((*sorted(sums), CHECKSUMS), tests, size + len(listed))


def check_new(folder: Path) -> None:
    """Raise `UsageError` for a folder that holds something."""
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: name a new folder, so that nothing of an older release stays.")


def check_archive_name(path: Path) -> None:
    """Raise `UsageError` for an archive of another suffix than those that are written."""
    if not path.name.endswith(tuple(_COMPRESSED)):
        raise UsageError(f"--archive {path}: the archive is a FILE.tar.gz or a FILE.tar.xz.")


def write_archive(folder: Path, release: Release, path: Path) -> int:
    """Write a release into one file, and return its size in bytes."""
    return pack(folder, release.files, f"attnspec-vectors-{__version__}", path)


def pack(folder: Path, files: Sequence[str], inside: str, path: Path) -> int:
    """Write files of a folder into one archive, without times and owners, and return its size in bytes.

    In the archive they lie in the folder `inside`, in their order here.
    """
    check_archive_name(path)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in files:
            data = (folder / name).read_bytes()
            entry = tarfile.TarInfo(f"{inside}/{name}")
            entry.size, entry.mode, entry.mtime = len(data), 0o644, 0
            archive.addfile(entry, io.BytesIO(data))
    compress = next(compress for suffix, compress in _COMPRESSED.items() if path.name.endswith(suffix))
    packed = compress(content.getvalue())
    try:
        replace_file(path, packed)
    except OSError as error:
        raise UsageError(f"--archive {path} cannot be written: {error.strerror}.") from None
    return len(packed)


def _readme(tests: Counter[str], digest: str) -> str:
    counts = f"{tests.total():,} vectors of {len(tests)} operations, each with a folder of its own."
    text = _README.read_text(encoding="utf-8")
    for name, value in {"VERSION": __version__, "DIGEST": digest[:12], "COUNTS": counts}.items():
        text = text.replace("{" + name + "}", value)
    return text
