"""Summary of a campaign on a terminal: the tally of its draws, and what is wrong, each with a small draw."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from attnspec.base.plain_text import plain_text
from attnspec.command_line.terminal import say
from attnspec.reports.formats.console import print_offer
from attnspec.reports.report import json_types
from attnspec.reports.wording import as_sentence, counted, offer_to_declare
from attnspec.targets.target import Target, loading_words
from attnspec_draws.campaign.explaining_failures import (
    Evidence,
    Explained,
    FoundProblem,
    deadly,
    evidence_of,
    explained,
)
from attnspec_draws.campaign.workers import WorkerLostError
from attnspec_draws.campaign.working import shrunk_failure

if TYPE_CHECKING:
    from rich.console import Console

    from attnspec.diagnosis import Declarations
    from attnspec.guard.task import Task
    from attnspec_draws.campaign.executors import Executor
    from attnspec_draws.campaign.outcome import PartOutcome, Tally
    from attnspec_draws.campaign.plan import Plan
    from attnspec_draws.commands.campaign_progress import Drawing
    from attnspec_draws.commands.campaign_request import Request


_SHOWN = 8
"""Problems of an operation that are reported; with more, one mends these first."""

_COUNT_WIDTH = 4

_ENDED = {
    "crash": "It ends the process that asks for it.",
    "timeout": "It takes longer than it may.",
}


@dataclass(frozen=True)
class Found:
    """Failures of one operation: how many draws failed, how many were run again, and the problems, most frequent first.

    No problems where nothing failed again; None where running them again ended the process. Once `could_be_declared` is
    declared, most of those that were run again do not fail.
    """

    operation: str
    failed: int
    looked_at: int
    problems: tuple[FoundProblem, ...] | None
    could_be_declared: Declarations | None = None

    @property
    def recipes(self) -> tuple[str, ...]:
        """The small draws that show what is wrong."""
        return tuple(problem.small.recipe for problem in self.problems or ())


def failures_found(
    workers: Executor, task: Task, tally: Tally, outcomes: Mapping[str, PartOutcome], plan: Plan
) -> tuple[Found, ...]:
    """Find the problems of the draws that failed, and shrink them, on the workers that ran them."""
    found: list[Found] = []
    for evidence in evidence_of(tally, outcomes, plan):
        again = _explained(workers, task, evidence)
        problems, declarations = (None, None) if again is None else (again.problems, again.could_be_declared)
        found.append(Found(evidence.operation, evidence.failed, len(evidence.failing), problems, declarations))
    for (operation, status), every in deadly(tally).items():
        small = once(workers, shrunk_failure, task, every[0])
        found.append(Found(operation, len(every), len(every), (FoundProblem(len(every), (_ENDED[status],), small),)))
    return tuple(found)


def once(workers: Executor, work: Callable[..., Any], *arguments: Any) -> Any:
    """Have one work done, and wait for it."""
    begun = workers.submit(work, *arguments)
    workers.done([begun])
    return workers.result(begun)


def _explained(workers: Executor, task: Task, evidence: Evidence) -> Explained | None:
    """Return what is wrong; None where running them again ends the worker."""
    try:
        return once(workers, explained, task, evidence)
    except WorkerLostError:
        return None


def print_failures(found: Found, target: str, console: Console) -> None:
    """Print the problems of one operation, with commands that can be copied."""
    looked_at = "" if found.looked_at == found.failed else f"; {found.looked_at} of them were run again"
    console.print()
    say(f"{found.operation}: {counted(found.failed, 'draw')} failed{looked_at}:", console, style="bold red")
    if found.problems is None:
        say("Run again, one after the other, they end the process; one by one they may not.", console)
        return
    if not found.problems:
        say(
            "Run again, none of them fails: what it computes depends on more than its arguments, or it was changed.",
            console,
        )
    if found.could_be_declared is not None:
        sentence, options = offer_to_declare(json_types(found.could_be_declared))
        print_offer(plain_text(sentence), plain_text(options), console)
    for problem in found.problems[:_SHOWN]:
        console.print()
        number = str(problem.draws)
        small = problem.small
        lines = [*problem.lines]
        if not small.is_wrong:
            lines.append("Run alone, this draw does not fail: it depends on what was called before, or on chance.")
        elif small.message:
            lines.append(f"Made small: {as_sentence(small.message)}")
        for line, before in zip_longest(lines, [number], fillvalue=""):
            say(line, console, indent=_COUNT_WIDTH + 2, before=before, style="bold" if before else "")
        click.echo(f"  attnspec show --python {shlex.quote(small.recipe)}")
        click.echo(f"  {debugging(small.recipe, target)}")
    if len(found.problems) > _SHOWN:
        others = counted(len(found.problems) - _SHOWN, "other problem")
        say(f"{others} will be reported when these are mended.", console)


def print_tally(tally: Tally, drawing: Drawing, plan: Plan, request: Request, console: Console) -> None:
    """Print what came of the draws, what was drawn, and what was not."""
    earlier = f"{drawing.before:,} of them earlier, the others " if drawing.before else ""
    draws = counted(tally.draws, "draw") if tally.draws < 1_000 else f"{tally.draws:,} draws"
    say(
        f"{draws}{', ' if earlier else ' '}{earlier}in {drawing.seconds:.1f} s: {tally.passed:,} passed, "
        f"{len(tally.wrong):,} failed, {tally.declined:,} declined, {tally.ungraded:,} not graded.",
        console,
    )
    if tally.passed:
        say(f"Worst error / tolerance of a pass: {tally.worst:.3g}.", console)
    if tally.draws > tally.declined and tally.features:
        most = sorted(tally.features.items(), key=lambda each: (-each[1], each[0]))
        say("Drawn: " + ", ".join(f"{feature} {count:,}" for feature, count in most) + ".", console)
    if tally.draws > tally.declined and tally.longest:
        say("Longest: " + ", ".join(f"{axis} {length:,}" for axis, length in tally.longest.items()) + ".", console)
    left_out = list(_left_out(plan, request))
    if left_out:
        say(f"Not offered, and so not drawn: {', '.join(left_out)}.", console)


def _left_out(plan: Plan, request: Request) -> Iterator[str]:
    """Give what the target does not offer: dtypes, then features, with operation and dtype where others have them."""
    drawn = {kind.limits.dtype for kind in plan.kinds}
    yield from (dtype for dtype in request.task.dtypes if dtype not in drawn)
    left_out = request.sought.without.union(request.task.target.without)
    without: dict[tuple[str, str], frozenset[str]] = {}
    for kind in plan.kinds:
        # Where draws of several kinds are made, what one of them has is offered.
        own = kind.operation, kind.limits.dtype
        without[own] = without.get(own, kind.limits.without) & kind.limits.without
    for word in sorted(frozenset[str]().union(*without.values()) - left_out):
        lacking = [own for own, words in without.items() if word in words]
        if len(lacking) == len(without):
            yield word
            continue
        lacking_in: list[str] = []
        for operation in dict.fromkeys(operation for operation, _ in lacking):
            dtypes = [dtype for name, dtype in lacking if name == operation]
            in_all = len(dtypes) == sum(name == operation for name, _ in without)
            lacking_in.append(operation if in_all else f"{operation} in {', '.join(dtypes)}")
        yield f"{word} ({'; '.join(lacking_in)})"


def ungraded_sentence(tally: Tally, plan: Plan, outcomes: Mapping[str, PartOutcome], target: str) -> str | None:
    """Return why a campaign has shown nothing; None where draws passed or failed."""
    if tally.passed or tally.wrong:
        return None
    first = next(iter(plan.parts_done(outcomes)), None)
    if first is None:
        return "Nothing was drawn: the time was over before. Give it more with --minutes."
    ended = "declined" if tally.declined == tally.draws else "declined, or not graded"
    one = debugging(first.recipes[0].text, target)
    return f"Nothing could be graded: all draws were {ended}. To see why of one:\n  {one}"


def debugging(recipe: str, target: str) -> str:
    """Return the command that asks a target for one draw."""
    return f"attnspec debug {shlex.quote(recipe)} {target}"


def target_in_words(target: Target) -> str:
    """Return a target and the options with which it is loaded, as a command line has them."""
    return shlex.join((target.name, *loading_words(target)))


def print_failures_so_far(tally: Tally, target: str, console: Console) -> None:
    """Print the failures of an interrupted campaign, before anything is made small."""
    for kind in dict.fromkeys(each.kind for each in tally.wrong):
        alike = [each for each in tally.wrong if each.kind == kind]
        operation, check = kind
        console.print()
        say(f"{operation}: {counted(len(alike), 'draw')} failed so far ({check}), such as:", console, style="bold red")
        say(alike[0].message, console, indent=2)
        click.echo(f"  {debugging(alike[0].recipe, target)}")
