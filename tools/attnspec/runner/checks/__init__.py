"""The checks that follow a first answer, for faults that one call of a case does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attnspec.runner.checks.again import again
from attnspec.runner.checks.changed_argument import changed_argument
from attnspec.runner.checks.valid_counterpart import beside_counterparts, valid_counterpart

if TYPE_CHECKING:
    from attnspec.runner.result import Result
    from attnspec.runner.session import Session

__all__ = ["CHECKS", "Check", "beside_counterparts"]


class Check(Protocol):
    """Check of a run that has an answer."""

    def __call__(self, result: Result, session: Session) -> Result:
        """Return the new result: the same one where nothing is found, or the check does not concern its run.

        Parameters
        ----------
        result
            The result so far.
        session
            Calls the implementation again, and has the results of the other runs.
        """
        ...


CHECKS: tuple[tuple[Check, ...], ...] = ((again, changed_argument), (valid_counterpart,))
"""Every check, in the order in which they are made. Those of one round follow each other on the same run."""
