"""Following a run from outside: each call, and each result as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.grading import Run
    from attnspec.runner.result import Result

Occasion = Literal["first", "again", "changed", "counterpart"]
"""Reason for a call: the first, once more, with one argument changed, or for the counterpart of a refusal."""

SECOND_CALL = "a second call with the same inputs, after other cases had run"

OCCASIONS: Mapping[Occasion, str] = {
    "first": "",
    "again": f"{SECOND_CALL}: ",
    "changed": "a call with one argument changed: ",
    "counterpart": "the valid twin: ",
}
"""Occasion to the beginning of a sentence about it."""

Key = tuple[str, str]
"""Case id and dtype."""


class Follower(Protocol):
    """Observer of a run: how far it got, while it runs."""

    def asks(self, run: Run, occasion: Occasion) -> None:
        """Take note that the implementation is asked on behalf of a run."""
        ...

    def has(self, result: Result) -> None:
        """Take note of a result; a later one of the same (case, dtype) replaces it."""
        ...


class Kept:
    """Follower that keeps the results, for a run that may be interrupted, and passes all on to others."""

    def __init__(self, *others: Follower) -> None:
        self.results: dict[Key, Result] = {}
        self._others = others

    @property
    def count(self) -> int:
        """How many (case, dtype) have a result."""
        return len(self.results)

    def asks(self, run: Run, occasion: Occasion) -> None:
        """Pass it on; there is nothing to keep."""
        for other in self._others:
            other.asks(run, occasion)

    def has(self, result: Result) -> None:
        """Keep a result, and pass it on."""
        self.results[result.case.id, result.dtype] = result
        for other in self._others:
            other.has(result)
