"""Layers around an implementation: what they pass on, what counts of what it declares, when it is given up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.base.extensions import BUILT_IN
from attnspec.contract import capabilities
from attnspec.contract.implementation import TimedOut, finish, hear_out

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from attnspec.contract.implementation import Answer, Declaration, Implementation, Request
    from attnspec.targets.target import Target

TIMEOUTS_IN_A_ROW = 3
"""After so many the rest is not run, where the user does not say."""

_UNDECLARED = ("float64",)
"""The dtypes of who declares none."""


class GaveUpError(Exception):
    """The implementation is not asked any more, because it timed out too often in a row."""


class Wrapped:
    """An implementation that passes on all it is asked; a subclass says what it does otherwise.

    Parameters
    ----------
    implementation
        The software under test.
    """

    def __init__(self, implementation: Implementation) -> None:
        self._implementation = implementation

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself."""
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
    """An implementation of which something else counts than it says about itself.

    Parameters
    ----------
    implementation
        The software under test.
    declaration
        What counts.
    """

    def __init__(self, implementation: Implementation, declaration: Declaration) -> None:
        super().__init__(implementation)
        self._declaration = declaration

    @property
    def declaration(self) -> Declaration:
        """What counts of what the implementation says about itself."""
        return self._declaration


def lacking(implementation: Implementation, target: Target) -> Implementation:
    """Declare what the user says that an implementation lacks, beside what it declares itself.

    Raises
    ------
    UsageError
        If there is no such capability.
    """
    if not target.without:
        return implementation
    capabilities.check(target.without, said_by="The command")
    declared = implementation.declaration
    together = tuple(dict.fromkeys((*declared.without, *target.without)))
    return Declaring(implementation, replace(declared, without=together))


def held_to_others(implementation: Implementation, target: Target, dtypes: Collection[str]) -> Implementation:
    """Hold an implementation to no conventions of its own choice, and ask it in some dtypes alone.

    Of what comes with attnspec is known what it does; anything else could declare that what it gives is right.

    Parameters
    ----------
    implementation, target
        The software under test. One that names no dtypes is asked in all of these.
    dtypes
        The dtypes of its user.
    """
    declared = implementation.declaration
    offered = tuple(dtypes) if declared.dtypes == _UNDECLARED else declared.dtypes
    conventions: Mapping[str, str] = declared.conventions if target.python in BUILT_IN else {}
    kept = tuple(dtype for dtype in offered if dtype in dtypes)
    return Declaring(implementation, replace(declared, conventions=conventions, dtypes=kept))


class Timeouts(Wrapped):
    """An implementation that is asked until it has timed out some times in a row.

    Parameters
    ----------
    implementation
        The software under test, in a process that can be timed.
    timeouts
        How many timeouts in a row are the last.
    """

    def __init__(self, implementation: Implementation, timeouts: int) -> None:
        super().__init__(implementation)
        self._timeouts = timeouts
        self._in_a_row = 0

    def run(self, request: Request) -> Answer:
        """Answer one request.

        Raises
        ------
        GaveUpError
            If the last ones all timed out.
        """
        if self._in_a_row >= self._timeouts:
            raise GaveUpError
        answer = self._implementation.run(request)
        self._in_a_row = self._in_a_row + 1 if isinstance(answer, TimedOut) else 0
        return answer


def patient(implementation: Implementation, target: Target, timeouts: int | None) -> Implementation:
    """Give an implementation up that times out; what runs in this process cannot."""
    return implementation if target.is_imported else Timeouts(implementation, timeouts or TIMEOUTS_IN_A_ROW)
