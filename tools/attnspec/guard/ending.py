"""End of a guarded process, by itself, and the sentence for it."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from typing import NoReturn

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
