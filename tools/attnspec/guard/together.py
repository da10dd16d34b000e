"""Guarded processes with a share of the cases each: watched as one, and read as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from attnspec.guard.journal import Ending, Entry, Journal, Reported
    from attnspec.guard.watching import Child
    from attnspec.runner import Key
    from attnspec.targets import Declaration


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

    @property
    def parts(self) -> tuple[Part, ...]:
        """The journal and ending of each, once all have ended."""
        return tuple(Part(journal.read(), code) for journal, code in zip(self._journals, self._codes, strict=True))

    @property
    def count(self) -> int:
        """How many (case, dtype) have a result."""
        return sum(journal.count for journal in self._journals)

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


def as_one(parts: Sequence[Reported]) -> Reported:
    """Return the journals of several processes as one.

    The run has ended as one of them did: refused, then interrupted, then by accident, then given up, before finished.
    """
    if len(parts) == 1:
        return parts[0]
    order: tuple[Ending | None, ...] = ("refused", "interrupted", None, "given up", "finished")
    last = min(parts, key=lambda reported: order.index(reported.ending))
    results: dict[Key, Entry] = {}
    for reported in parts:
        results |= reported.results

    def got(of: Key) -> Mapping[str, NDArray[Any]] | None:
        return next(filter(None, (reported.got(of) for reported in parts)), None)

    return last._replace(results=results, got=got)
