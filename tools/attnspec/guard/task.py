"""Task of the guarded process: open the implementation, and run it over the cases."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from attnspec.base.errors import AttnspecError
from attnspec.contract.implementation import Wrapped
from attnspec.guard.ending import ending_by_exception
from attnspec.process.opening import GaveUpError, giving_up, open_target
from attnspec.runner import Result, Share
from attnspec.validation import measure_failures, run_offered

if TYPE_CHECKING:
    from attnspec.cases import Suite
    from attnspec.guard.journal import Journal
    from attnspec.runner.result import Law, Measured
    from attnspec.targets import Answer, Implementation, Request
    from attnspec.targets.target import Target

_LEAST_SECONDS = 5.0
"""Seconds that probes have at least before the process is ended; they stop by themselves after the time of the run."""


_ALL = Share(0, 1)


@dataclass(frozen=True)
class Task:
    """A target and how it is run; the other names are those of `attnspec.validation.validate`.

    `give_up_after` is the number of timeouts in a row that are the last; `share` the part of the cases that is run;
    `settled` are results of an earlier run, of which failures are measured and nothing is run.
    """

    target: Target
    dtypes: tuple[str, ...] = ()
    conventions: Mapping[str, str] = field(default_factory=dict[str, str])
    fail_fast: bool = False
    give_up_after: int | None = None
    probes: bool = True
    share: Share = _ALL
    settled: tuple[Result, ...] | None = None


def opened_target(task: Task) -> Implementation:
    """Open the target of a task, in its layout, to be called by this process alone and as long as it answers in time.

    Raises AttnspecError if it cannot be loaded or started.
    """
    guard = (partial(in_one_process, process=os.getpid()), partial(giving_up, timeouts=task.give_up_after))
    return open_target(task.target, dtypes=task.dtypes, outermost=guard)


def perform(task: Task, suite: Suite, journal: Journal) -> None:
    """Run the target over the cases, and write everything down in the journal as it comes."""
    process = os.getpid()
    try:
        implementation = opened_target(task)
        # An imported target that signals itself is an accident; a program must be ended with this process.
        signals = nullcontext() if task.target.is_imported else ending_by_exception()
        with signals, closing(implementation):
            journal.keep_declaration(implementation.declaration)
            results = task.settled or run_offered(
                suite,
                implementation,
                dtypes=task.dtypes,
                conventions=task.conventions,
                fail_fast=task.fail_fast,
                follower=journal,
                share=task.share,
                known=journal.known_result,
            )
            journal.keep_ending("finished")
            with suppress(GaveUpError, KeyboardInterrupt):
                measure_laws(task, implementation, results, (journal,))
    except GaveUpError:
        journal.keep_ending("given up")
    except AttnspecError as error:
        _leave_if_copied(process)
        journal.keep_ending("refused", str(error))
    except KeyboardInterrupt:
        _leave_if_copied(process)
        journal.keep_ending("interrupted")


def measure_laws(
    task: Task, implementation: Implementation, results: tuple[Result, ...], journals: Sequence[Journal]
) -> Measured | None:
    """Measure what a failing implementation computes, and write each law into the journals; None where nothing failed.

    Its cases are settled by now. A process that is guarded and does not come back from a call is ended.
    """
    # One of several jobs knows a part of what failed; when all have ended, one more process measures.
    if not task.probes or (task.share.of > 1 and task.settled is None):
        return None

    def found(law: Law, calls: int) -> None:
        for journal in journals:
            journal.keep_law(law, calls)

    is_ended_in_time = task.target.is_imported and bool(journals) and hasattr(signal, "setitimer")
    if is_ended_in_time:
        seconds = 2 * sum(result.seconds for result in results)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _LEAST_SECONDS))
    try:
        return measure_failures(implementation, results, found)
    finally:
        if is_ended_in_time:
            signal.setitimer(signal.ITIMER_REAL, 0)


class OneProcess(Wrapped):
    """An implementation that may fork: a copy that comes back from a call beside the original goes no further."""

    def __init__(self, implementation: Implementation, process: int) -> None:
        super().__init__(implementation)
        self._process = process
        _leave_if_copied(process)

    def run(self, request: Request) -> Answer:
        """Answer one request, in the original process alone."""
        answer = self._implementation.run(request)
        _leave_if_copied(self._process)
        return answer


def in_one_process(implementation: Implementation, target: Target, process: int) -> Implementation:
    """Keep an implementation to the process in which it was loaded; one that runs elsewhere makes no copy of ours."""
    return OneProcess(implementation, process) if target.is_imported else implementation


def _leave_if_copied(process: int) -> None:
    if os.getpid() != process:
        os._exit(0)
