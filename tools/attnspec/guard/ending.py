"""End of a guarded process: by itself, with its parent, or at a request of the user or the system meanwhile."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from types import FrameType
from typing import Any, NoReturn, Protocol

from attnspec.base.errors import Terminated

_SECONDS_TO_END = 10
"""Seconds for what the target leaves to be done at the end of its process; the verdict is reached by then."""
_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h: the signal that a process gets when its parent dies."""


def die_with(parent: int, by: signal.Signals | None = None) -> None:
    """Have the system end this process when its parent is killed, where it can: by SIGKILL, or another signal."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by or signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def leave(process: int) -> NoReturn:
    """Do what the target left to be done at the end, in limited time, and end `process`.

    A copy of that process, from a target that forks, ends at once.
    """
    try:
        if os.getpid() == process:
            if hasattr(signal, "alarm"):
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(_SECONDS_TO_END)
            flush()
            atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - as multiprocessing does for its children
            flush()
    finally:
        os._exit(0)


def flush() -> None:
    """Write out what was printed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def how_it_ended(code: int) -> str:
    """Return how a process ended, by exit status or negated signal, as the rest of a sentence about the target."""
    if code >= 0:
        return f"ended its process with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"ended its process by signal {name}"


class Child(Protocol):
    """A running guarded process."""

    def wait(self) -> int:
        """Wait for its end; return its exit status, or the negated signal."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


_QUICKLY = 2.0
"""Seconds within which a second Ctrl-C means that the first was not enough."""

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Watch:
    """Signal handling of a process that only waits, a context manager; `received` is the signal to end, or None.

    Ctrl-C on a terminal reaches the child as well, which may be in a debugger that uses it. A second one soon after, or
    one that only this process gets, ends the child. So do SIGTERM and SIGHUP.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._child: Child | None = None
        self._interrupted_at = -_QUICKLY
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, *_ENDING):
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Put back the signal handlers of before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait_for(self, child: Child) -> int:
        """Wait for the end of a child; return its exit status, or the negated signal."""
        self._child = child
        if self.received is not None:
            child.kill()
        try:
            return child.wait()
        finally:
            self._child = None

    def _take(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        again = now - self._interrupted_at < _QUICKLY
        if number == signal.SIGINT:
            self._interrupted_at = now
            if _terminal_is_ours() and not again:
                return
        self.received = number
        if self._child is not None:
            self._child.kill()


@contextlib.contextmanager
def ending_by_exception() -> Generator[None]:
    """Turn SIGTERM and SIGHUP into `Terminated`, as Ctrl-C is a KeyboardInterrupt, so that open files are closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: FrameType | None) -> None:
        raise Terminated(number)

    # A process that was started with one of them ignored, as by nohup, keeps it ignored.
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    before = {number: signal.signal(number, end) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminal_is_ours() -> bool:
    """Return whether this process group is in the foreground of a terminal, whose Ctrl-C then reaches all of it."""
    if not hasattr(os, "tcgetpgrp"):
        # A console of Windows signals every process that it has.
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
