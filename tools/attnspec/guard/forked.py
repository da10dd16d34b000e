"""Guarded process where a fork is safe: a copy of a parent that has read the cases and not yet the target."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, NoReturn

from attnspec.families.lookup import family_of
from attnspec.guard.ending import die_with, flush, leave
from attnspec.guard.task import perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec.cases import Suite
    from attnspec.guard.journal import Journal
    from attnspec.guard.task import Task


class Forked:
    """A copy of this process that does `task`; `at_first` runs in the child first, to undo the parent's settings."""

    def __init__(self, task: Task, suite: Suite, journal: Journal, at_first: Callable[[], None]) -> None:
        parent = os.getpid()
        # A process that drives a program must end that, too.
        self._signal = signal.SIGKILL if task.target.is_imported else signal.SIGTERM
        self._has_ended = False
        for operation in {case.operation for case in suite.cases.values()}:
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
            _perform_and_leave(task, suite, journal)
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


def _perform_and_leave(task: Task, suite: Suite, journal: Journal) -> NoReturn:
    """Do the task and end this process, without coming back to the parent's caller."""
    process = os.getpid()
    try:
        perform(task, suite, journal)
    except KeyboardInterrupt:
        journal.ends("interrupted")
    except BaseException as error:
        if os.getpid() == process:
            sys.excepthook(type(error), error, error.__traceback__)
            flush()
        os._exit(1)
    leave(process)
