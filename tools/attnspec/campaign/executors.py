"""Where parts are worked on: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any, Protocol

from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_AHEAD = 2
"""Parts that each worker of a cluster has before it: one that it works on, one that is on its way."""

_FORM = "write local:N, or dask:tcp://HOST:PORT"


class WorkerLostError(Exception):
    """A worker ended in the middle of its work."""


class Executor(Protocol):
    """Where parts are worked on."""

    capacity: int

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Begin a work; never more of them at a time than the capacity. Returns what stands for it."""
        ...

    def done(self, pending: list[Any]) -> list[Any]:
        """Wait until some works are done, and return those."""
        ...

    def result(self, work: Any) -> Any:
        """Return what came of a work that is done, or raise what it raised; `WorkerLostError` if its worker ended."""
        ...

    def close(self) -> None:
        """End the workers that were started for this; what is still worked on is lost."""
        ...


def open_executor(text: str) -> Executor:
    """Open the executor that a text names.

    Parameters
    ----------
    text
        ``local:N``, or ``dask:`` and the address of a scheduler.

    Raises
    ------
    UsageError
        If it names none, or it cannot be reached.
    """
    kind, _, place = text.partition(":")
    if kind == "local" and place.isdecimal() and 1 <= int(place) <= 256:
        return LocalProcesses(int(place))
    if kind == "dask" and place:
        return DaskCluster(place)
    raise UsageError(f"--executor {text}: {_FORM}.")


class LocalProcesses:
    """Processes of this machine, each by itself: one that ends takes no other with it.

    Parameters
    ----------
    count
        How many.
    """

    def __init__(self, count: int) -> None:
        self.capacity = count
        self._idle = [_process() for _ in range(count)]
        self._busy: dict[Future[Any], ProcessPoolExecutor] = {}

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin a work in a process that is idle."""
        process = self._idle.pop()
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
        for process in (*self._idle, *self._busy.values()):
            for child in list((process._processes or {}).values()):  # pyright: ignore[reportPrivateUsage]
                child.kill()
            process.shutdown(wait=False, cancel_futures=True)


def _process() -> ProcessPoolExecutor:
    # Spawned: a fork copies the locks of threads that do not exist in the copy.
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


class DaskCluster:
    """The workers of a Dask cluster, which may come and go.

    Parameters
    ----------
    address
        That of the scheduler, such as ``tcp://127.0.0.1:8786``.

    Raises
    ------
    UsageError
        If Dask is not installed, or the scheduler cannot be reached.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise UsageError(
                f"--executor dask:{address} needs Dask: install attnspec with its extra `distributed`."
            ) from None
        self._distributed: Any = distributed
        try:
            self._client = self._distributed.Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise UsageError(f"--executor dask:{address}: no scheduler answers there ({error}).") from None
        self.capacity = _AHEAD * max(sum(self._client.nthreads().values()), 1)

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Begin a work on any worker."""
        return self._client.submit(work, *arguments, pure=False)

    def done(self, pending: list[Any]) -> list[Any]:
        """Wait until some works are done."""
        found = self._distributed.wait(pending, return_when="FIRST_COMPLETED")
        return list(found.done)

    def result(self, work: Any) -> Any:
        """Return what came of a work; Dask has tried it on several workers before it gives one up."""
        try:
            return work.result()
        except self._distributed.scheduler.KilledWorker:
            raise WorkerLostError from None

    def close(self) -> None:
        """Leave the cluster as it is."""
        self._client.close()
