"""Workers that are processes of this machine: one that ends takes no other with it, and none outlives its campaign."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any


class LocalProcesses:
    """Processes of this machine, each by itself: one that ends takes no other with it."""

    def __init__(self, count: int) -> None:
        self.capacity = count
        self._idle = [_process() for _ in range(count)]
        self._busy: dict[Future[Any], ProcessPoolExecutor] = {}

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin a work in a process that is idle."""
        process = self._idle.pop()
        with _spared_from_interruption():
            future = process.submit(work, *arguments)
        self._busy[future] = process
        return future

    def done(self, pending: list[Future[Any]]) -> list[Future[Any]]:
        """Wait until some works are done."""
        return list(wait(pending, return_when=FIRST_COMPLETED).done)

    def result(self, work: Future[Any]) -> Any:
        """Return what came of a work; a process that has ended is replaced."""
        process = self._busy.pop(work)
        try:
            found = work.result()
        except BrokenProcessPool:
            process.shutdown(wait=False)
            self._idle.append(_process())
            raise WorkerLostError from None
        except BaseException:
            self._idle.append(process)
            raise
        self._idle.append(process)
        return found

    def close(self) -> None:
        """End all processes at once."""
        processes = (*self._idle, *self._busy.values())
        for process in processes:
            for child in list((process._processes or {}).values()):  # pyright: ignore[reportPrivateUsage]
                child.kill()
        for process in processes:
            # Awaited: the interpreter, as it exits, would write to the pipe that the pool's thread is closing.
            process.shutdown(cancel_futures=True)


def _process() -> ProcessPoolExecutor:
    # Spawned: a fork copies the locks of threads that do not exist in the copy.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=end_with_the_parent)


@contextmanager
def _spared_from_interruption() -> Generator[None]:
    """Have what is started meanwhile not be interrupted: Ctrl-C is for the campaign, which then ends its workers."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerLostError(Exception):
    """A worker ended in the middle of its work."""


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
