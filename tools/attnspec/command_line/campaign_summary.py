"""The end of a campaign on a terminal: what was drawn, and each thing that is wrong with a small draw that shows it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console

    from attnspec.campaign import DrawOutcome, Evidence, FoundProblem, PartOutcome, Plan, Tally
    from attnspec.campaign.executors import Executor
    from attnspec.guard.task import Task

_SHOWN = 8
"""Problems of an operation that are told; who has more mends these first."""

_ENDED = {
    "crash": "It ends the process that asks for it.",
    "timeout": "It takes longer than it may.",
}


@dataclass(frozen=True)
class Found:
    """What is told of the failures of one operation.

    Attributes
    ----------
    operation, failed
        The operation, and how many of its draws failed.
    looked_at
        How many of those were asked again.
    problems
        What is wrong, the most frequent first.
    """

    operation: str
    failed: int
    looked_at: int
    problems: tuple[FoundProblem, ...]

    @property
    def recipes(self) -> tuple[str, ...]:
        """The small draws that show what is wrong."""
        return tuple(problem.small.recipe for problem in self.problems)


def failures_found(
    workers: Executor, task: Task, tally: Tally, outcomes: Mapping[str, PartOutcome], plan: Plan
) -> tuple[Found, ...]:
    """Find what is wrong in the draws that failed, and make them small, on the workers that asked for them.

    Parameters
    ----------
    workers, task
        Where draws are asked for, and of whom.
    tally, outcomes, plan
        What came of all draws.
    """
    from attnspec.campaign import FoundProblem, deadly, evidence_of, shrunk_failure

    found: list[Found] = []
    for evidence in evidence_of(tally, outcomes, plan):
        problems = _explained(workers, task, evidence)
        found.append(Found(evidence.operation, evidence.failed, len(evidence.failing), problems))
    for (operation, status), every in deadly(tally).items():
        small = once(workers, shrunk_failure, task, every[0])
        found.append(Found(operation, len(every), len(every), (FoundProblem(len(every), (_ENDED[status],), small),)))
    return tuple(found)


def once(workers: Executor, work: Callable[..., Any], *arguments: Any) -> Any:
    """Have one work done, and wait for it."""
    begun = workers.submit(work, *arguments)
    workers.done([begun])
    return workers.result(begun)


def _explained(workers: Executor, task: Task, evidence: Evidence) -> tuple[FoundProblem, ...]:
    """Return what is wrong; where asking again ends the worker, that."""
    from attnspec.campaign import explained
    from attnspec.campaign.losing import WorkerLostError

    try:
        return once(workers, explained, task, evidence)
    except WorkerLostError:
        return ()


def tell_tally(tally: Tally, seconds: float, console: Console) -> None:
    """Print what came of the draws, and what was drawn.

    Parameters
    ----------
    tally
        What came of them.
    seconds
        How long it took this time.
    console
        Where to.
    """
    console.print(
        f"{tally.draws:,} draws in {seconds:.0f} s: {tally.passed:,} passed, {len(tally.wrong):,} failed, "
        f"{tally.declined:,} declined, {tally.ungraded:,} not graded."
    )
    if tally.passed:
        console.print(f"Worst error / tolerance of a pass: {tally.worst:.3g}.")
    if tally.draws > tally.declined and tally.features:
        most = sorted(tally.features.items(), key=lambda each: (-each[1], each[0]))
        console.print("Drawn: " + ", ".join(f"{feature} {count:,}" for feature, count in most) + ".")
        console.print("Longest: " + ", ".join(f"{axis} {length:,}" for axis, length in tally.longest.items()) + ".")


def tell_failures(found: Found, target: str, console: Console) -> None:
    """Print what is wrong in one operation, with commands that can be copied.

    Parameters
    ----------
    found
        What is wrong.
    target
        How the command line names what was tried.
    console
        Where to.
    """
    from attnspec.reports.console import print_counted

    looked_at = "" if found.looked_at == found.failed else f"; {found.looked_at} of them were asked again"
    failed = "1 draw failed" if found.failed == 1 else f"{found.failed:,} draws failed"
    console.print(f"\n{found.operation}: {failed}{looked_at}:", style="bold red")
    if not found.problems:
        console.print("Asked again, together with others, they do not fail, or end the process.")
    for problem in found.problems[:_SHOWN]:
        console.print()
        print_counted(problem.draws, [*problem.lines, *_of_small(problem.small)], console)
        for command in _commands(problem.small.recipe, target):
            click.echo(f"  {command}")
    if len(found.problems) > _SHOWN:
        console.print(f"\n{len(found.problems) - _SHOWN} other problems are told when these are mended.")


def _of_small(small: DrawOutcome) -> Iterator[str]:
    if small.message:
        yield f"Made small: {small.message}"


def _commands(recipe: str, target: str) -> Iterator[str]:
    yield f"attnspec show --python {shlex.quote(recipe)}"
    yield f"attnspec debug {shlex.quote(recipe)} {shlex.quote(target)}"
