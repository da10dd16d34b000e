"""Orphans: workers end with the campaign that started them, whatever ended that; no signal reports it to them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading

_SET_PARENT_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of ``prctl``."""

_ORPHANED = 1
"""The exit status of a worker whose parent is gone; nobody reads it."""


def end_with_the_parent() -> None:
    """Have this process end as soon as the one that spawned it is gone."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        # A target that never lets go of the interpreter leaves no thread a chance.
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)

    def watch() -> None:
        parent.join()
        os._exit(_ORPHANED)

    threading.Thread(target=watch, name="orphans", daemon=True).start()
