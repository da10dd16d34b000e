"""``attnspec campaign TARGET``: hunting with draws for what golden cases miss."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click

from attnspec.base.errors import TargetError, UsageError
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.terminal import make_console
from attnspec.guard.task import Task
from attnspec.targets.sources import digests
from attnspec.targets.target import Target
from attnspec_draws.campaign.executors import Executor, open_executor
from attnspec_draws.campaign.keeping import Kept
from attnspec_draws.campaign.outcome import PartOutcome, tallied
from attnspec_draws.campaign.plan import Plan, Sought
from attnspec_draws.campaign.workers import WorkerLostError
from attnspec_draws.campaign.working import planned, planned_apart, run_campaign
from attnspec_draws.commands import OPTIONS
from attnspec_draws.commands.campaign_files import check_files, write_coverage, write_recipes
from attnspec_draws.commands.campaign_progress import Drawing, doing
from attnspec_draws.commands.campaign_request import Request, request_of
from attnspec_draws.commands.campaign_summary import (
    failures_found,
    once,
    print_failures,
    print_failures_so_far,
    print_tally,
    target_in_words,
    ungraded_sentence,
)


@click.command()
@with_options_of("campaign", OPTIONS)
def campaign(
    target: Target,
    *,
    cases: int | None,
    minutes: float | None,
    seed: str,
    operations: tuple[str, ...],
    dtypes: tuple[str, ...],
    elements: int | None,
    longest: int | None,
    executor: str,
    resume: Path | None,
    recipes: Path | None,
    coverage: Path | None,
    conventions: tuple[str, ...],
) -> int:
    """Draw cases for TARGET, and say what fails, made small. The same seed draws the same, on any number of workers.

    Ends with 0 when nothing failed, with 1 when something did, or nothing could be graded.
    """
    if (target.python is None) == (target.command is None):
        raise UsageError("Say what to try: either TARGET (such as torch, or ./mine.py) or --command.")
    if (cases is None) == (minutes is None):
        raise UsageError("Say how many draws: either --cases N or --minutes M.")
    request = request_of(target, conventions, seed, operations, dtypes, elements, longest)
    check_files(recipes, coverage, resume)
    with tempfile.TemporaryDirectory() as folder:
        kept = Kept(resume or Path(folder) / "campaign.jsonl", request.about, digests(target))
        workers: Executor | None = None
        try:
            with doing(f"opening {executor}"):
                workers = open_executor(executor)
            return _hunt(_Hunt(request, workers, kept, cases, minutes), recipes, coverage)
        except KeyboardInterrupt:
            if resume is not None:
                click.echo(f"{resume} holds what is done; the same command goes on with it.", err=True)
            raise
        finally:
            if workers is not None:
                workers.close()
            kept.close()


class _Hunt(NamedTuple):
    """A campaign that is under way."""

    request: Request
    workers: Executor
    kept: Kept
    cases: int | None
    minutes: float | None


def _hunt(hunt: _Hunt, recipes: Path | None, coverage: Path | None) -> int:
    """Draw, report the outcome, and return the exit status."""
    request, workers, kept, cases, minutes = hunt
    shown = target_in_words(request.task.target)
    with doing(f"finding out what {request.about['target']} offers"):
        plan = _plan(workers, request.task, kept, request.sought)
    console = make_console()
    drawn = sum(sum(outcome.statuses.values()) for outcome in kept.outcomes.values())
    drawing = Drawing(drawn, cases, None if minutes is None else 60 * minutes)
    interrupted = _draw(request.task, replace(plan, cases=cases), workers, kept, drawing)
    tally = tallied(kept.outcomes.values())
    print_tally(tally, drawing, plan, request, console)
    if interrupted is not None:
        print_failures_so_far(tally, shown, console)
        raise interrupted
    found = ()
    try:
        if tally.wrong:
            with doing("explaining what failed, and making it small"):
                found = failures_found(workers, request.task, tally, kept.outcomes, plan)
    except KeyboardInterrupt:
        print_failures_so_far(tally, shown, console)
        raise
    for failures in found:
        print_failures(failures, shown, console)
    if recipes is not None:
        write_recipes(recipes, [recipe for failures in found for recipe in failures.recipes])
    if coverage is not None:
        with doing("counting what was drawn"):
            write_coverage(coverage, workers, plan, kept.outcomes)
    nothing = ungraded_sentence(tally, plan, kept.outcomes, shown)
    if nothing is not None:
        click.echo(nothing)
    return 1 if tally.wrong or nothing is not None else 0


def _plan(workers: Executor, task: Task, kept: Kept, sought: Sought) -> Plan:
    """Return the plan that is kept, or find what the target offers."""
    if kept.plan is not None:
        return kept.plan
    try:
        kinds = once(workers, planned, task, sought)
    except WorkerLostError:
        # What a target offers that ends its process now and then is found in a process of its own.
        try:
            kinds = once(workers, planned_apart, task, sought)
        except (WorkerLostError, TargetError):
            raise UsageError(
                f"{task.target.name} ended its process while it was imported. "
                "Import it in an interpreter of your own to see why."
            ) from None
    plan = Plan(sought.seed, kinds, None)
    kept.begin(plan)
    return plan


def _draw(task: Task, plan: Plan, workers: Executor, kept: Kept, drawing: Drawing) -> KeyboardInterrupt | None:
    """Draw until all is drawn, the time has passed, or somebody interrupts it; return that interruption."""

    def keep(outcome: PartOutcome) -> None:
        kept.keep(outcome)
        drawing.add(sum(outcome.statuses.values()))

    try:
        with doing(drawing.text):
            run_campaign(task, plan, workers, known=dict(kept.outcomes), keep=keep, is_over=lambda: drawing.is_over)
    except KeyboardInterrupt as interruption:
        return interruption
    finally:
        drawing.end()
    return None
