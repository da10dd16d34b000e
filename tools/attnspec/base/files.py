"""Files: where golden files, schemas and spec pages lie, in the wheel or in a checkout; and writing one in one step."""

import errno
import os
import secrets
import stat
from pathlib import Path

from attnspec.base.errors import UsageError

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "_data"
_ROOT = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parents[1]
"""The folder that holds ``golden/`` and ``spec/``."""

GOLDEN_FOLDER = _ROOT / "golden"
"""The certified fixtures."""

SCHEMA_FOLDER = _ROOT / "spec" / "schemas"
"""The JSON Schemas."""

ERRATA_PAGE = _ROOT / "spec" / "errata.md"
"""The page of errata."""

OPERATION_PAGES = _ROOT / "spec" / "operations"
"""The pages of the operations, which hold the clauses, in a folder for each family."""

UNFINISHED = ".new"
"""Suffix of a file that is still being written; its name starts with a dot."""


def replace_file(path: Path, text: str | bytes, *, errors: str = "strict") -> None:
    """Write `text`, in UTF-8, to `path` in one step: a reader or an interruption finds the old file or the new one.

    A file keeps its permissions; one that is protected against writing is meant to stay, although a rename could
    replace it; of a symbolic link the target is replaced; a device or pipe has no old state and is written to directly.
    Raises `OSError`, with nothing changed and nothing left behind.
    """
    content = text if isinstance(text, bytes) else text.encode("utf-8", errors)
    path = Path(os.path.realpath(path))
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if mode is not None and not stat.S_ISREG(mode):
        path.write_bytes(content)
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_replaceable(path: Path, option: str) -> None:
    """Raise `UsageError`, naming `option`, for a file that could not be written: before a run, without touching it."""
    import tempfile

    folder = path.parent
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file.")
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {folder}.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{option} {path} cannot be written: permission denied.")
    if path.exists() and not path.is_file():
        return
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written: {error.strerror}.") from None
