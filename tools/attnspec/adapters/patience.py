"""Giving up on an implementation that always hangs: a thousand calls of half a minute each take a working day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.adapters.implementation import TimedOut
from attnspec.adapters.wrapped import Wrapped

if TYPE_CHECKING:
    from attnspec.adapters.implementation import Answer, Implementation, Request

TIMEOUTS_IN_A_ROW = 3
"""After so many the rest is not run, where the user does not say."""


class GaveUpError(Exception):
    """The implementation is not asked any more, because it timed out too often in a row."""


class Patience(Wrapped):
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
