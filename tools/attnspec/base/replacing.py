"""Writing a file in one step, wherever attnspec writes one."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

from attnspec.base.errors import UsageError

UNFINISHED = ".new"
"""How the name of a file ends that is not yet in its place; such a name starts with a dot."""


def replace_file(path: Path, text: str, *, errors: str = "strict") -> None:
    """Write `text` to `path` in one step: whoever interrupts or reads meanwhile finds the old file or the new one.

    A file that is there keeps its permissions. One that is write-protected is left alone, although a rename could
    take its place: who protects a file means it. A symbolic link stays, and the file that it points to is replaced.
    What is no regular file, such as a device or a pipe, has no old state to keep and is written to directly.

    Parameters
    ----------
    path
        The file, in a folder that exists.
    text
        What it is to hold; written as UTF-8, with its line ends as they are.
    errors
        What is done about what UTF-8 cannot write, as `str.encode` takes it.

    Raises
    ------
    OSError
        If it cannot be written; nothing has changed then, and nothing is left behind.
    """
    content = text.encode("utf-8", errors)
    path = Path(os.path.realpath(path))
    mode = _mode(path)
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
    """Refuse a file that could not be written; found out before a run, not after it, and without touching the file.

    Parameters
    ----------
    path
        The file.
    option
        The option that names it.

    Raises
    ------
    UsageError
        If it is a folder, has none to be in, or the system would refuse it.
    """
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


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
