"""Guarded processes: copies of this one where a fork is safe, new processes of Python elsewhere; waited for together.

A copy is made of a parent that has read the cases and not yet the target. A new process runs the same command once more
and shares a file: it does all of it, report and exit status included, so that the parent need load nothing but this.
Only where it ends by accident does the parent read the cases, and the journal.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

from attnspec.guard.ending import Child, die_with, flush, leave
from attnspec.guard.journal import SIZE, Journal, JournalEntry, Reported

if TYPE_CHECKING:
    from attnspec.cases import Suite
    from attnspec.guard.task import Task
    from attnspec.runner import Key
    from attnspec.targets import Declaration

Way = Literal["fork", "subprocess"]
"""How the guarded process is made."""


def way_of_this_system() -> Way:
    """Return how a guarded process is made here."""
    # Frameworks of macOS do not survive a fork; Windows has none.
    return "fork" if sys.platform.startswith(("linux", "freebsd")) else "subprocess"


class Forked:
    """A copy of this process that does `task`; `at_first` runs in the child first, to undo the parent's settings."""

    def __init__(self, task: Task, suite: Suite, journal: Journal, at_first: Callable[[], None]) -> None:
        from attnspec.families.lookup import family_of
        from attnspec.guard.task import perform

        parent = os.getpid()
        # A process that drives a program must end that, too.
        self._signal = signal.SIGKILL if task.target.is_imported else signal.SIGTERM
        self._has_ended = False
        only = task.target.operation
        for operation in {case.operation for case in suite.cases.values() if only in (None, case.operation)}:
            family_of(operation)  # both processes need it, and one import serves both
        flush()  # or both would write what is still buffered
        # Objects that exist now are left alone by the collector, so that their pages stay shared.
        gc.freeze()
        with warnings.catch_warnings():
            # Libraries of NumPy have threads; they are prepared for a fork, and nothing else runs here.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            at_first()
            die_with(parent, self._signal)
            _do_and_leave(partial(perform, task, suite, journal), journal)
        gc.unfreeze()

    def wait(self) -> int:
        """Wait for its end; return its exit status, or the negated signal."""
        _, status = os.waitpid(self._pid, 0)
        self._has_ended = True
        return os.waitstatus_to_exitcode(status)

    def kill(self) -> None:
        """End it at once."""
        if not self._has_ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, self._signal)


def _do_and_leave(task: Callable[[], None], journal: Journal) -> NoReturn:
    """Do a task and end this process, without coming back to the parent's caller."""
    process = os.getpid()
    try:
        task()
    except KeyboardInterrupt:
        journal.keep_ending("interrupted")
    except BaseException as error:
        if os.getpid() == process:
            sys.excepthook(type(error), error, error.__traceback__)
            flush()
        os._exit(1)
    leave(process)


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


class Part(NamedTuple):
    """The journal of one process, and its exit status or the negated signal."""

    reported: Reported
    code: int


class Together:
    """Running processes and their journals, waited for and ended together."""

    def __init__(self, children: Sequence[Child], journals: Sequence[Journal]) -> None:
        self._children = children
        self._journals = journals
        self._codes: list[int] = []
        self._read = [0 for _ in journals]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The journal and ending of each, once all have ended."""
        return tuple(Part(journal.read(), code) for journal, code in zip(self._journals, self._codes, strict=True))

    @property
    def count(self) -> int:
        """How many (case, dtype) have a result."""
        return sum(journal.count for journal in self._journals)

    def news(self) -> list[tuple[Key, JournalEntry]]:
        """Return the results that came since this was called last."""
        found: list[tuple[Key, JournalEntry]] = []
        for number, journal in enumerate(self._journals):
            entries, self._read[number] = journal.entries_since(self._read[number])
            found += entries
        return found

    @property
    def declaration(self) -> Declaration | None:
        """The implementation's declaration, as soon as one of them has loaded it."""
        return next(filter(None, (journal.declaration for journal in self._journals)), None)

    def wait(self) -> int:
        """Wait for the end of all; return the first exit status, or negated signal, that is not 0."""
        self._codes = [child.wait() for child in self._children]
        return next(filter(None, self._codes), 0)

    def kill(self) -> None:
        """End them at once."""
        for child in self._children:
            child.kill()
