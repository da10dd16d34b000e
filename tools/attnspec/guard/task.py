"""What the guarded process is to do: open the implementation, and run it over the cases."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.adapters.implementation import finish, hear_out
from attnspec.adapters.patience import TIMEOUTS_IN_A_ROW, GaveUpError, Patience
from attnspec.errors import AttnspecError
from attnspec.guard.keeping import KeptJournal
from attnspec.guard.watching import ending_by_exception
from attnspec.validation import closing, in_layout, open_target, run_offered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.adapters import Answer, Declaration, Implementation, Request
    from attnspec.cases import Suite
    from attnspec.guard.journal import Journal
    from attnspec.runner import Share


@dataclass(frozen=True)
class Task:
    """A target and how it is run; the names are those of `attnspec.validation.validate`.

    Attributes
    ----------
    command
        A program that speaks the process protocol, where there is no target.
    renames
        Contract argument to the target's own name for it.
    isolate, timeout, start_timeout
        Whether a Python target runs in one more process, and the seconds that a call and a start are given.
    show_stderr
        Whether what that process, or a program, prints to its stderr is shown.
    give_up_after
        How many timeouts in a row are the last.
    share
        Which part of the cases is run.
    """

    target: str | None
    command: str | None
    operation: str | None
    renames: Mapping[str, str]
    device: str | None
    layout: str | None
    dtypes: tuple[str, ...]
    conventions: Mapping[str, str]
    fail_fast: bool
    isolate: bool
    timeout: float | None
    start_timeout: float | None
    show_stderr: bool
    give_up_after: int | None
    share: Share

    @property
    def is_imported(self) -> bool:
        """Whether it is Python that runs in the guarded process itself."""
        return self.command is None and not self.isolate and self.timeout is None


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
            task.command,
            operation=task.operation,
            renames=task.renames,
            device=task.device,
            timeout=task.timeout,
            start_timeout=task.start_timeout,
            show_stderr=task.show_stderr,
            isolate=task.isolate,
        )
        one = OneProcess(in_layout(target, task.layout), process)
        implementation = Patience(one, task.give_up_after or TIMEOUTS_IN_A_ROW)
        # What an imported target does to itself is an accident; a program must be ended with this process.
        signals = nullcontext() if task.is_imported else ending_by_exception()
        with signals, closing(implementation):
            journal.declares(implementation.declaration)
            run_offered(
                suite,
                implementation,
                dtypes=task.dtypes,
                conventions=task.conventions,
                fail_fast=task.fail_fast,
                follower=journal,
                share=task.share,
                known=journal.known if isinstance(journal, KeptJournal) else None,
            )
            journal.ends("finished")
    except GaveUpError:
        journal.ends("given up")
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
