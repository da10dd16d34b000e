"""Where parts are worked on: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from attnspec.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

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
    kind, _, place = text.partition(":")
    if kind == "local" and place.isdecimal() and 1 <= int(place) <= 256:
        from attnspec_draws.campaign.workers import LocalProcesses

        return LocalProcesses(int(place))
    if kind == "dask" and place:
        from attnspec_draws.campaign.cluster import DaskCluster

        return DaskCluster(place)
    raise UsageError(f"--executor {text}: {_FORM}.")
