"""What the guarded process is to do: open the implementation, and run it over the cases."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.adapters.implementation import finish, hear_out
from attnspec.errors import AttnspecError
from attnspec.validation import closing, in_layout, open_target, run_offered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.adapters import Answer, Declaration, Implementation, Request
    from attnspec.cases import Suite
    from attnspec.guard.journal import Journal


@dataclass(frozen=True)
class Task:
    """A Python target and how it is run; the names are those of `attnspec.validation.validate`.

    Attributes
    ----------
    renames
        Contract argument to the target's own name for it.
    """

    target: str
    operation: str | None
    renames: Mapping[str, str]
    device: str | None
    layout: str | None
    dtypes: tuple[str, ...]
    conventions: Mapping[str, str]
    fail_fast: bool


def perform(task: Task, suite: Suite, journal: Journal) -> None:
    """Run the target over the cases, and write everything down as it comes.

    Parameters
    ----------
    task
        What to run.
    suite
        The cases.
    journal
        Where to write it down.
    """
    process = os.getpid()
    try:
        target = open_target(
            task.target,
            None,
            operation=task.operation,
            renames=task.renames,
            device=task.device,
            timeout=None,
        )
        implementation = OneProcess(in_layout(target, task.layout), process)
        with closing(implementation):
            journal.declares(implementation.declaration)
            run_offered(
                suite,
                implementation,
                dtypes=task.dtypes,
                conventions=task.conventions,
                fail_fast=task.fail_fast,
                follower=journal,
            )
            journal.ends("finished")
    except AttnspecError as error:
        _leave_if_copied(process)
        journal.ends("refused", str(error))
    except KeyboardInterrupt:
        _leave_if_copied(process)
        journal.ends("interrupted")


class OneProcess:
    """An implementation that may fork: the copy that comes back from a call beside the original goes no further.

    Parameters
    ----------
    implementation
        The software under test.
    process
        The process in which it was loaded.
    """

    def __init__(self, implementation: Implementation, process: int) -> None:
        self._implementation = implementation
        self._process = process
        _leave_if_copied(process)

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself."""
        return self._implementation.declaration

    def run(self, request: Request) -> Answer:
        """Answer one request, in the original process alone."""
        answer = self._implementation.run(request)
        _leave_if_copied(self._process)
        return answer

    def hear_out(self) -> None:
        """Look at what has come since the last answer."""
        hear_out(self._implementation)

    def finish(self) -> None:
        """Have the implementation end, and hear all that it still says."""
        finish(self._implementation)

    def close(self) -> None:
        """Close the implementation."""
        self._implementation.close()


def _leave_if_copied(process: int) -> None:
    if os.getpid() != process:
        os._exit(0)
