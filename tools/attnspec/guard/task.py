"""What the guarded process is to do: open the implementation, and run it over the cases."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.adapters.patience import TIMEOUTS_IN_A_ROW, GaveUpError, Patience
from attnspec.adapters.wrapped import Wrapped
from attnspec.errors import AttnspecError
from attnspec.guard.keeping import KeptJournal
from attnspec.guard.watching import ending_by_exception
from attnspec.validation import closing, in_layout, measured_of, open_target, run_offered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from attnspec.adapters import Answer, Implementation, Request
    from attnspec.cases import Suite
    from attnspec.guard.journal import Journal
    from attnspec.runner import Result, Share
    from attnspec.runner.law import Law, Measured

_LEAST_SECONDS = 5.0
"""What probes are given at least before the process is ended; they stop by themselves after the time of the run."""


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
    show_stderr, transcript
        Whether what that process, or a program, prints to its stderr is shown, and the file into which all is written
        that is said to it and by it.
    give_up_after
        How many timeouts in a row are the last.
    probes
        Whether it is called again where it went wrong, to measure what it computes.
    share
        Which part of the cases is run.
    settled
        Results of an earlier run: nothing is run then, and what went wrong is measured alone.
    """

    target: str | None
    command: str | None
    operation: str | None
    renames: Mapping[str, str]
    device: str | None
    tensors: str | None
    backward: str | None
    without: Sequence[str]
    layout: str | None
    dtypes: tuple[str, ...]
    conventions: Mapping[str, str]
    fail_fast: bool
    isolate: bool
    timeout: float | None
    start_timeout: float | None
    show_stderr: bool
    transcript: Path | None
    give_up_after: int | None
    probes: bool
    share: Share
    settled: tuple[Result, ...] | None = None

    @property
    def is_imported(self) -> bool:
        """Whether it is Python that runs in the guarded process itself."""
        return self.command is None and not self.isolate and self.timeout is None


def opened(task: Task) -> Implementation:
    """Open the target of a task, in its layout, to be asked by this process alone and as long as it answers in time.

    Parameters
    ----------
    task
        What to open.

    Raises
    ------
    AttnspecError
        If it cannot be loaded or started.
    """
    process = os.getpid()
    target = open_target(
        task.target,
        task.command,
        operation=task.operation,
        renames=task.renames,
        device=task.device,
        tensors=task.tensors,
        backward=task.backward,
        without=task.without,
        layout=task.layout,
        timeout=task.timeout,
        start_timeout=task.start_timeout,
        isolate=task.isolate,
        show_stderr=task.show_stderr,
        transcript=task.transcript,
    )
    with ExitStack() as until_it_stands:
        until_it_stands.callback(target.close)
        alone = OneProcess(in_layout(target, task.layout), process)
        until_it_stands.pop_all()
    return Patience(alone, task.give_up_after or TIMEOUTS_IN_A_ROW)


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
        implementation = opened(task)
        # What an imported target does to itself is an accident; a program must be ended with this process.
        signals = nullcontext() if task.is_imported else ending_by_exception()
        with signals, closing(implementation):
            journal.declares(implementation.declaration)
            results = task.settled or run_offered(
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
            with suppress(GaveUpError, KeyboardInterrupt):
                measure(task, implementation, results, (journal,))
    except GaveUpError:
        journal.ends("given up")
    except AttnspecError as error:
        _leave_if_copied(process)
        journal.ends("refused", str(error))
    except KeyboardInterrupt:
        _leave_if_copied(process)
        journal.ends("interrupted")


def measure(
    task: Task, implementation: Implementation, results: tuple[Result, ...], journals: Sequence[Journal]
) -> Measured | None:
    """Measure what an implementation computes that went wrong, and write it down as it comes; None where it did not.

    Its cases are settled by now. A process that is guarded and does not come back from a call is ended.

    Parameters
    ----------
    task, implementation
        What was run.
    results
        What came of it.
    journals
        Where laws are written down.
    """
    # One of several jobs knows a part of what failed; when all have ended, one more process measures.
    if not task.probes or (task.share.of > 1 and task.settled is None):
        return None

    def found(law: Law, calls: int) -> None:
        for journal in journals:
            journal.finds(law, calls)

    is_ended_in_time = task.is_imported and bool(journals) and hasattr(signal, "setitimer")
    if is_ended_in_time:
        seconds = 2 * sum(result.seconds for result in results)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _LEAST_SECONDS))
    try:
        return measured_of(implementation, results, found)
    finally:
        if is_ended_in_time:
            signal.setitimer(signal.ITIMER_REAL, 0)


class OneProcess(Wrapped):
    """An implementation that may fork: the copy that comes back from a call beside the original goes no further.

    Parameters
    ----------
    implementation
        The software under test.
    process
        The process in which it was loaded.
    """

    def __init__(self, implementation: Implementation, process: int) -> None:
        super().__init__(implementation)
        self._process = process
        _leave_if_copied(process)

    def run(self, request: Request) -> Answer:
        """Answer one request, in the original process alone."""
        answer = self._implementation.run(request)
        _leave_if_copied(self._process)
        return answer


def _leave_if_copied(process: int) -> None:
    if os.getpid() != process:
        os._exit(0)
