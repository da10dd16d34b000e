"""Wrappers of an implementation: what they pass on, which declaration counts, when timeouts give it up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.base.extensions import BUILT_IN
from attnspec.contract.conventions import check_capabilities
from attnspec.contract.implementation import TimedOut, finish, hear_out

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from attnspec.contract.implementation import Answer, Declaration, Implementation, Request
    from attnspec.targets.target import Target

TIMEOUTS_IN_A_ROW = 3
"""After so many the rest is not run, where the user does not say."""

_UNDECLARED = ("float64",)
"""The dtypes of an implementation that declares none."""


class GaveUpError(Exception):
    """The implementation is not called any more, because it timed out too often in a row."""


class Wrapped:
    """Wrapper that passes every request on to an implementation; a subclass says what it does otherwise."""

    def __init__(self, implementation: Implementation) -> None:
        self._implementation = implementation

    @property
    def declaration(self) -> Declaration:
        """The implementation's declaration."""
        return self._implementation.declaration

    def run(self, request: Request) -> Answer:
        """Answer one request."""
        return self._implementation.run(request)

    def hear_out(self) -> None:
        """Look at what has come since the last answer."""
        hear_out(self._implementation)

    def finish(self) -> None:
        """Have the implementation end, and hear all that it still says."""
        finish(self._implementation)

    def close(self) -> None:
        """Close the implementation."""
        self._implementation.close()


class Declaring(Wrapped):
    """An implementation with another declaration than its own."""

    def __init__(self, implementation: Implementation, declaration: Declaration) -> None:
        super().__init__(implementation)
        self._declaration = declaration

    @property
    def declaration(self) -> Declaration:
        """The declaration that counts."""
        return self._declaration


def lacking(implementation: Implementation, target: Target) -> Implementation:
    """Declare the capabilities that the user says are lacking, beside those declared; UsageError if unknown."""
    if not target.without:
        return implementation
    check_capabilities(target.without, said_by="The command")
    declared = implementation.declaration
    together = tuple(dict.fromkeys((*declared.without, *target.without)))
    return Declaring(implementation, replace(declared, without=together))


def held_to_others(implementation: Implementation, target: Target, dtypes: Collection[str]) -> Implementation:
    """Hold an implementation to no conventions of its own choice, and call it in some dtypes alone.

    The built-in ones keep their conventions, for it is known what they do; anything else could declare its own results
    right. An implementation that declares no dtypes is called in all of these.
    """
    declared = implementation.declaration
    offered = tuple(dtypes) if declared.dtypes == _UNDECLARED else declared.dtypes
    conventions: Mapping[str, str] = declared.conventions if target.python in BUILT_IN else {}
    kept = tuple(dtype for dtype in offered if dtype in dtypes)
    return Declaring(implementation, replace(declared, conventions=conventions, dtypes=kept))


class Timeouts(Wrapped):
    """An implementation, in a process that can be timed, that is given up after `timeouts` timeouts in a row."""

    def __init__(self, implementation: Implementation, timeouts: int) -> None:
        super().__init__(implementation)
        self._timeouts = timeouts
        self._in_a_row = 0

    def run(self, request: Request) -> Answer:
        """Answer one request; GaveUpError if the last ones all timed out."""
        if self._in_a_row >= self._timeouts:
            raise GaveUpError
        answer = self._implementation.run(request)
        self._in_a_row = self._in_a_row + 1 if isinstance(answer, TimedOut) else 0
        return answer


def patient(implementation: Implementation, target: Target, timeouts: int | None) -> Implementation:
    """Give an implementation up after timeouts in a row; one that runs in this process cannot be timed."""
    return implementation if target.is_imported else Timeouts(implementation, timeouts or TIMEOUTS_IN_A_ROW)
