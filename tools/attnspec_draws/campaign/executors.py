"""Where parts are worked on: processes of this machine, or the workers of a Dask cluster."""

from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Protocol

from attnspec.base.errors import UsageError
from attnspec_draws.campaign.workers import WorkerLostError

_FORM = "write local:N, or dask:tcp://HOST:PORT"


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
        """End the workers that were started for this; unfinished work is lost."""
        ...


def open_executor(text: str) -> Executor:
    """Open ``local:N``, or ``dask:`` and a scheduler's address; `UsageError` for another or an unreachable one."""
    kind, _, address = text.partition(":")
    if kind == "local" and address.isdecimal() and 1 <= int(address) <= 256:
        from attnspec_draws.campaign.workers import LocalProcesses

        return LocalProcesses(int(address))
    if kind == "dask" and address:
        return DaskCluster(address)
    raise UsageError(f"--executor {text}: {_FORM}.")


_AHEAD = 2
"""Parts that each worker has before it: one that it works on, one that is on its way."""

_STARTS = 2
"""How often Dask may try to begin: a loaded or paused machine can miss its limit of 10 seconds for a thread to run."""

_SECONDS_TO_ANSWER = 5
_SECONDS_TO_JOIN = 10
_SECONDS_ALONE = 60
"""How long a scheduler may take to answer, its first worker to be there, and all workers to be away at a time."""


class DaskCluster:
    """Workers of a Dask cluster, by the scheduler's address such as ``tcp://127.0.0.1:8786``.

    `UsageError` where Dask is not installed or cannot begin, the scheduler cannot be reached, or it has no worker.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise UsageError(
                f"--executor dask:{address} needs Dask: install attnspec with its extra `distributed`."
            ) from None
        self._distributed: Any = distributed
        self._address = address
        try:
            self._client = self._begun()
        except (OSError, ValueError) as error:
            raise UsageError(f"--executor dask:{address}: no scheduler answers there ({error}).") from None
        try:
            self._client.wait_for_workers(1, timeout=_SECONDS_TO_JOIN)
        except TimeoutError:
            self.close()
            raise UsageError(f"--executor dask:{address}: the scheduler there has no worker; {self._remedy}") from None
        self.capacity = _AHEAD * max(sum(self._client.nthreads().values()), 1)

    def _begun(self) -> Any:
        for _ in range(_STARTS):
            with suppress(AssertionError):
                return self._distributed.Client(self._address, timeout=_SECONDS_TO_ANSWER)
        raise UsageError(
            f"--executor dask:{self._address}: Dask cannot begin a thread here within its 10 seconds; try again when "
            "this machine has less to do."
        )

    @property
    def _remedy(self) -> str:
        return f"start one where attnspec is installed: dask worker {self._address} --nthreads 1."

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Begin a work on any worker."""
        return self._client.submit(work, *arguments, pure=False)

    def done(self, pending: list[Any]) -> list[Any]:
        """Wait until some works are done; `UsageError` if all workers are away too long or the scheduler is gone."""
        while True:
            try:
                found = self._distributed.wait(pending, timeout=_SECONDS_ALONE, return_when="FIRST_COMPLETED")
                return list(found.done)
            except CancelledError:
                raise self._gone() from None
            except TimeoutError:
                if not self._client.nthreads():
                    raise UsageError(
                        f"--executor dask:{self._address}: all workers have left the scheduler; {self._remedy}"
                    ) from None

    def result(self, work: Any) -> Any:
        """Return what came of a work; Dask has tried it on several workers before it gives one up."""
        try:
            return work.result()
        except self._distributed.scheduler.KilledWorker:
            raise WorkerLostError from None
        except CancelledError:
            raise self._gone() from None

    def close(self) -> None:
        """Leave the cluster as it is."""
        self._client.close()

    def _gone(self) -> UsageError:
        return UsageError(f"--executor dask:{self._address}: the scheduler is gone; start it, and the campaign, again.")
