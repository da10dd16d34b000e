"""Guarded process where a fork is not safe: the same command once more, in a new process that shares a file.

The child does all of it, report and exit status included, so that the parent need load nothing but this. Only where the
child ends by accident does the parent read the cases, and the journal.
"""

from __future__ import annotations

import mmap
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.guard.journal import SIZE, Journal

if TYPE_CHECKING:
    from collections.abc import Sequence


class Spawned:
    """A new process of Python: `module` with the shared file and `words`; as a context manager, removes the file."""

    def __init__(self, module: str, words: Sequence[str]) -> None:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="attnspec-", ignore_cleanup_errors=True))
            path = Path(folder) / "journal"
            with path.open("wb") as file:
                file.truncate(SIZE)
            self.journal = shared_journal(path)
            # -P: a json.py in the working folder must not stand in for the library's own.
            self._process = subprocess.Popen([sys.executable, "-P", "-m", module, str(path), *words])
            self._stack = stack.pop_all()

    def wait(self) -> int:
        """Wait for its end; return its exit status, or the negated signal."""
        return self._process.wait()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def __enter__(self) -> Spawned:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def shared_journal(path: Path) -> Journal:
    """Return the journal in a file that `Spawned` has made."""
    with path.open("r+b") as file:
        return Journal(mmap.mmap(file.fileno(), SIZE))
