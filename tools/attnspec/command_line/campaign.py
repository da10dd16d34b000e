"""``attnspec campaign TARGET``: hunting with draws for what golden cases miss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from attnspec.errors import TargetError, UsageError

if TYPE_CHECKING:
    from attnspec.campaign import Kind, PartOutcome, Plan, Sought
    from attnspec.campaign.executors import Executor
    from attnspec.campaign.keeping import Kept
    from attnspec.guard.task import Task

_DEFAULT_SEED = "1"

_REPEATABLE = ("conventions", "renames", "without")


@click.command()
@click.argument("target", required=False)
@click.option("--command", metavar="COMMAND", help="A program that speaks the process protocol, instead of TARGET.")
@click.option("--cases", type=click.IntRange(min=1), metavar="N", help="Draw N cases.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), metavar="M", help="Draw for M minutes.")
@click.option("--seed", default=_DEFAULT_SEED, metavar="WORD", help="What to draw by; 1 if not said.")
@click.option("--operation", "operations", multiple=True, metavar="OPERATION", help="Draw this one. Repeatable.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="Draw in this dtype. Repeatable.")
@click.option("--elements", type=click.IntRange(min=1), metavar="N", help="Of the largest tensor; 60,000 if not said.")
@click.option("--longest", type=click.IntRange(min=1), metavar="N", help="The longest axis; 4,096 if not said.")
@click.option("--executor", default="local:1", metavar="WHERE", help="local:N, or dask:tcp://HOST:PORT.")
@click.option(
    "--resume",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Keep results in FILE as they come, and go on with those that it holds.",
)
@click.option(
    "--recipes",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the small draws that fail into FILE; into FILE.py as recipes of golden cases.",
)
@click.option(
    "--coverage",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write what golden cases and draws cover into FILE, in Markdown.",
)
@click.option("--convention", "conventions", multiple=True, metavar="K=V", help="What it follows. Repeatable.")
@click.option("--rename", "renames", multiple=True, metavar="OWN=ARGUMENT", help="Its own name for an argument.")
@click.option("--as", "bare_operation", metavar="OPERATION", help="TARGET is one function: this operation.")
@click.option("--tensors", metavar="LIBRARY", help="What it takes and returns: torch, jax, dlpack or numpy.")
@click.option("--backward", metavar="WAY", help="How to come by the gradients of its functions: autograd.")
@click.option("--without", multiple=True, metavar="WORDS", help="What is not to be drawn: float_mask,uniform.")
@click.option("--device", metavar="DEVICE", help="Where TARGET is to run, if it takes one, such as cuda.")
@click.option("--timeout", type=click.FloatRange(min=0.001), metavar="SECONDS", help="For each call.")
def campaign(
    target: str | None,
    *,
    command: str | None,
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
    **said: Any,
) -> int:
    """Draw cases for TARGET, and say what fails, made small. The same seed draws the same, on any number of workers.

    Ends with 0 when nothing failed, with 1 when something did.
    """
    import tempfile

    from attnspec.campaign import open_executor, tallied
    from attnspec.campaign.keeping import Kept
    from attnspec.command_line.campaign_files import write_coverage, write_recipes
    from attnspec.command_line.campaign_summary import failures_found, tell_failures, tell_tally
    from attnspec.command_line.console import make_console

    if (target is None) == (command is None):
        raise UsageError("Say what to try: either TARGET (such as torch, or ./mine.py) or --command.")
    if (cases is None) == (minutes is None):
        raise UsageError("Say how many draws: either --cases N or --minutes M.")
    sought, task = _asked(target, command, seed, operations, dtypes, elements, longest, said)
    about: dict[str, Any] = {
        "target": target or command,
        "seed": seed,
        "operations": list(operations),
        "dtypes": list(task.dtypes),
        "elements": elements,
        "longest": longest,
        **{name: list(value) if name in _REPEATABLE else value for name, value in said.items()},
    }
    with tempfile.TemporaryDirectory() as folder:
        workers = open_executor(executor)
        kept: Kept | None = None
        try:
            kept = Kept(resume or Path(folder) / "campaign.jsonl", about)
            plan = _plan(workers, task, kept, sought)
            start = monotonic()
            _run(task, replace(plan, cases=cases), workers, kept, minutes)
            tally = tallied(kept.outcomes.values())
            console = make_console()
            tell_tally(tally, monotonic() - start, console)
            with console.status("explaining what failed, and making it small"):
                found = failures_found(workers, task, tally, kept.outcomes, plan)
            for failures in found:
                tell_failures(failures, target or command or "", console)
            if recipes is not None:
                write_recipes(recipes, [recipe for failures in found for recipe in failures.recipes])
            if coverage is not None:
                with console.status("counting what was drawn"):
                    write_coverage(coverage, workers, plan, kept.outcomes)
        except KeyboardInterrupt:
            if resume is not None:
                click.echo(f"{resume} holds what is done; the same command goes on with it.", err=True)
            raise
        finally:
            workers.close()
            if kept is not None:
                kept.close()
    return 1 if tally.wrong else 0


def _asked(
    target: str | None,
    command: str | None,
    seed: str,
    operations: tuple[str, ...],
    dtypes: tuple[str, ...],
    elements: int | None,
    longest: int | None,
    said: dict[str, Any],
) -> tuple[Sought, Task]:
    """Return what is to be drawn, and of whom it is asked."""
    from attnspec.campaign import Sought
    from attnspec.draws import words_of_draws
    from attnspec.validation import check_asked, check_operation, words

    for operation in operations:
        check_operation(operation)
    asked = words(dtypes)
    check_asked(asked, {})
    sizes = {name: size for name, size in (("elements", elements), ("longest", longest)) if size is not None}
    left_out = frozenset(words(said["without"]))
    # What is drawn can be left out by words of which an implementation knows nothing.
    of_draws = left_out.intersection(words_of_draws())
    task = _task(target, command, asked, left_out - of_draws, said)
    return Sought(seed, operations, sizes, of_draws), task


def _task(
    target: str | None, command: str | None, dtypes: tuple[str, ...], without: frozenset[str], said: dict[str, Any]
) -> Task:
    from attnspec.guard.task import Task
    from attnspec.runner import Share
    from attnspec.validation import check_asked, contract_names, pairs

    conventions = pairs(said["conventions"], "--convention")
    check_asked((), conventions)
    return Task(
        target=target,
        command=command,
        operation=said["bare_operation"],
        renames=contract_names(pairs(said["renames"], "--rename")),
        device=said["device"],
        tensors=said["tensors"],
        backward=said["backward"],
        without=tuple(sorted(without)),
        layout=None,
        dtypes=dtypes,
        conventions=conventions,
        fail_fast=False,
        isolate=False,
        timeout=said["timeout"],
        start_timeout=None,
        show_stderr=False,
        transcript=None,
        # A draw that takes too long is a result like any other.
        give_up_after=10**9,
        probes=False,
        share=Share(0, 1),
    )


def _plan(workers: Executor, task: Task, kept: Kept, sought: Sought) -> Plan:
    """Return the plan that is kept, or find what the target offers."""
    from attnspec.campaign import Plan, planned
    from attnspec.campaign.losing import WorkerLostError
    from attnspec.command_line.campaign_summary import once

    if kept.plan is not None:
        return kept.plan
    try:
        kinds = once(workers, planned, task, sought)
    except WorkerLostError:
        kinds = _planned_apart(workers, task, sought)
    plan = Plan(sought.seed, kinds, None)
    kept.begin(plan)
    return plan


def _planned_apart(workers: Executor, task: Task, sought: Sought) -> tuple[Kind, ...]:
    """Find what a target offers that ends its process now and then."""
    from attnspec.campaign import planned_apart
    from attnspec.campaign.losing import WorkerLostError
    from attnspec.command_line.campaign_summary import once

    try:
        return once(workers, planned_apart, task, sought)
    except (WorkerLostError, TargetError):
        raise UsageError(
            f"{task.target or task.command} ended its process while it was imported. "
            "Import it in an interpreter of your own to see why."
        ) from None


def _run(task: Task, plan: Plan, workers: Executor, kept: Kept, minutes: float | None) -> None:
    from attnspec.campaign import run_campaign
    from attnspec.command_line.console import make_console

    end = None if minutes is None else monotonic() + 60 * minutes
    console = make_console()
    draws = sum(sum(outcome.statuses.values()) for outcome in kept.outcomes.values())
    start = monotonic()
    with console.status("drawing") as status:

        def keep(outcome: PartOutcome) -> None:
            nonlocal draws
            kept.keep(outcome)
            draws += sum(outcome.statuses.values())
            status.update(_progress(draws, plan.cases, monotonic() - start, end))

        run_campaign(
            task,
            plan,
            workers,
            known=dict(kept.outcomes),
            keep=keep,
            is_over=lambda: end is not None and monotonic() >= end,
        )


def _progress(draws: int, cases: int | None, seconds: float, end: float | None) -> str:
    rate = draws / max(seconds, 1e-9)
    if cases is not None:
        return f"{draws:,} of {cases:,} draws, {rate:.0f}/s, {max(cases - draws, 0) / max(rate, 1e-9):.0f} s left"
    return f"{draws:,} draws, {rate:.0f}/s, {max((end or 0) - monotonic(), 0):.0f} s left"
