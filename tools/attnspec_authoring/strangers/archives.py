"""Archives of blind batches: one deterministic tar.xz a batch, unpacked into the cache where somebody needs its files.

A batch is the work of strangers, so that an archive is read with care: plain files of plain names under the folder of
the batch, and nothing else, are ever written to disk.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import re
import shutil
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.errors import AttnspecError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

ROOT = Path(__file__).parents[3]
STRANGERS = ROOT / "tests" / "strangers"
CACHE = ROOT / ".cache" / "strangers"
ENDING = ".tar.xz"

LARGEST = 8 * 2**20
"""Bytes of a batch without compression; the largest of the first seventy has one million."""
_READER_MEMORY = 128 * 2**20
"""Bytes that xz may use to read an archive; its strongest setting asks for 65 MiB."""
_BATCH = re.compile(r"batch_[0-9]+")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A folder or a file in an archive: no name that points elsewhere on any system, and none that is hidden."""


class ArchiveError(AttnspecError):
    """An archive of a blind batch is not there, is damaged, or holds something that no batch may hold."""


def batch_names(archives: Path = STRANGERS) -> tuple[str, ...]:
    """Return the batches that are put away, in the order of their numbers."""
    names = (path.name.removesuffix(ENDING) for path in archives.glob(f"batch_*{ENDING}"))
    return tuple(sorted(names, key=batch_number))


def batch_number(name: str) -> int:
    """Return the number in the name of a batch."""
    return int(name.rpartition("_")[2])


def unpacked(name: str, archives: Path = STRANGERS, cache: Path = CACHE) -> Path:
    """Return the folder of a batch in the cache, unpacked from its archive where it is not there yet.

    The archive's bytes say where it goes, and it appears there whole or not at all, so that any number of processes may
    call this at once. `ArchiveError` where it is missing, unreadable, or holds what no batch may hold.
    """
    archive = archives / f"{name}{ENDING}"
    if not _BATCH.fullmatch(name) or not archive.is_file():
        known = ", ".join(batch_names(archives)) or "another folder"
        raise ArchiveError(f"There is no batch {name!r} in {archives}; take one of {known}.")
    packed = archive.read_bytes()
    home = cache / hashlib.sha256(packed).hexdigest()[:16]
    if not home.is_dir():
        files = _files_of(archive, packed, name)
        try:
            _write(files, home)
        except OSError as error:
            raise ArchiveError(f"{archive} cannot be unpacked into {cache}: {error.strerror}.") from None
    return home / name


def batch_folder(named: Path) -> Path:
    """Return the folder of a batch named by a folder, or by an archive such as ``batch_7``.

    A folder that exists is taken as it is; `ArchiveError` where an archive is meant and cannot be unpacked.
    """
    return unpacked(str(named)) if str(named) in batch_names() and not named.is_dir() else named


def put_away(batch: Path, archives: Path = STRANGERS) -> Path:
    """Pack the folder of a batch, which stays; the same files give the same bytes, whenever and wherever that is done.

    `ArchiveError` where the archive exists, or a file or the folder has a name that no batch may hold.
    """
    archive = archives / f"{batch.resolve().name}{ENDING}"
    if not _BATCH.fullmatch(batch.resolve().name):
        raise ArchiveError(f"{batch} is not named like a batch; call the folder batch_ and its number.")
    if archive.exists():
        raise ArchiveError(f"{archive} is there already: a batch is put away once. Give the new one another number.")
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as writing:
        for name, content in files_in(batch).items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            writing.addfile(member, io.BytesIO(content))
    if len(tar.getvalue()) > LARGEST:
        raise ArchiveError(f"{batch} has more than {LARGEST} bytes; take out what is no implementation.")
    archive.write_bytes(lzma.compress(tar.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    return archive


def files_in(batch: Path) -> dict[str, bytes]:
    """Return the files of a batch by their names in the archive, sorted, without what Python compiled.

    `ArchiveError` for anything that is no plain file, or has a name that no batch may hold.
    """
    batch = batch.resolve()
    paths = [path for path in batch.rglob("*") if "__pycache__" not in path.parts]
    for path in paths:
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise ArchiveError(f"{path} is no plain file, and cannot be put away; leave it out, or copy what it names.")
    names = {path.relative_to(batch.parent).as_posix(): path for path in paths if path.is_file()}
    for name in names:
        _check_name(name, batch.name, str(batch))
    return {name: names[name].read_bytes() for name in sorted(names)}


@contextmanager
def modules_of_its_own(batch: Path) -> Generator[None]:
    """Forget modules and paths that a file imported from its batch: other batches use the same names."""
    path = [*sys.path]
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in [*sys.modules.items()]:
            file = getattr(module, "__file__", None)
            if file is not None and Path(file).is_relative_to(batch.resolve()):
                del sys.modules[name]


def _files_of(archive: Path, packed: bytes, batch: str) -> dict[str, bytes]:
    """Read an archive into memory, and refuse it where any part of it is not as `put_away` makes it."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_decompressed(archive, packed)), mode="r:") as reading:
            for member in reading:
                if member.type != tarfile.REGTYPE or member.issparse():
                    raise ArchiveError(f"{archive}: {member.name!r} is no plain file, and is not unpacked.")
                _check_name(member.name, batch, str(archive))
                if member.name in files:
                    raise ArchiveError(f"{archive} holds {member.name!r} twice; put the batch away anew.")
                content = reading.extractfile(member)
                files[member.name] = b"" if content is None else content.read()
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise ArchiveError(f"{archive} is damaged ({error}); take it from the repository again.") from None
    if not files:
        raise ArchiveError(f"{archive} is empty; take it from the repository again.")
    return files


def _decompressed(archive: Path, packed: bytes) -> bytes:
    reading = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_READER_MEMORY)
    tar = reading.decompress(packed, max_length=LARGEST)
    if not reading.eof and not reading.needs_input:
        raise ArchiveError(f"{archive} comes to more than {LARGEST} bytes, and is not unpacked.")
    if not reading.eof:
        raise EOFError("it ends too early")
    if reading.unused_data:
        raise EOFError("it goes on behind its end")
    return tar


def _check_name(name: str, batch: str, where: str) -> None:
    first, *others = name.split("/")
    if first != batch or not others or not all(_PART.fullmatch(part) for part in others):
        raise ArchiveError(f"{where}: {name!r} is no name of a file in {batch}, and is left alone.")


def _write(files: Mapping[str, bytes], home: Path) -> None:
    """Write files beside their home and move them there together; a second process finds them there already."""
    home.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".", dir=home.parent))
    try:
        for name, content in files.items():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
        try:
            beside.rename(home)
        except OSError:
            if not home.is_dir():
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
