"""``attnspec campaign TARGET``: hunting with draws for what golden cases miss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec.campaign import DrawOutcome, PartOutcome, Plan, Sought, Tally
    from attnspec.campaign.executors import Executor
    from attnspec.campaign.keeping import Kept
    from attnspec.guard.task import Task

_SHOWN = 8
"""Kinds of failure that are made small and explained; who has more mends these first."""

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
    "--recipes", metavar="FILE", type=click.Path(path_type=Path), help="Write the small draws that fail into FILE."
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
    **said: Any,
) -> int:
    """Draw cases for TARGET, and say what fails, made small. The same seed draws the same, on any number of workers.

    Ends with 0 when nothing failed, with 1 when something did.
    """
    import tempfile

    from attnspec.campaign import Sought, open_executor, tallied
    from attnspec.campaign.keeping import Kept
    from attnspec.draws import words_of_draws
    from attnspec.validation import check_asked, check_operation, words

    if (target is None) == (command is None):
        raise UsageError("Say what to try: either TARGET (such as torch, or ./mine.py) or --command.")
    if (cases is None) == (minutes is None):
        raise UsageError("Say how many draws: either --cases N or --minutes M.")
    if not seed.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"--seed {seed}: a seed is a word of letters and digits.")
    for operation in operations:
        check_operation(operation)
    asked = words(dtypes)
    check_asked(asked, {})
    sizes = {name: size for name, size in (("elements", elements), ("longest", longest)) if size is not None}
    left_out = frozenset(words(said["without"]))
    # What is drawn can be left out by words of which an implementation knows nothing.
    of_draws = left_out.intersection(words_of_draws())
    sought = Sought(seed, operations, sizes, of_draws)
    task = _task(target, command, asked, left_out - of_draws, said)
    about: dict[str, Any] = {
        "target": target or command,
        "seed": seed,
        "operations": list(operations),
        "dtypes": list(asked),
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
            _tell(tally, monotonic() - start)
            small = _shrunk(workers, task, tally)
            _tell_failures(workers, task, tally, small, target or command or "")
        except KeyboardInterrupt:
            if resume is not None:
                click.echo(f"{resume} holds what is done; the same command goes on with it.", err=True)
            raise
        finally:
            workers.close()
            if kept is not None:
                kept.close()
    if recipes is not None:
        recipes.write_text("".join(f"{failed.recipe}\n" for failed in small), encoding="utf-8")
    return 1 if tally.wrong else 0


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


def _once(workers: Executor, work: Callable[..., Any], *arguments: Any) -> Any:
    """Have one work done, and wait for it."""
    begun = workers.submit(work, *arguments)
    workers.done([begun])
    return workers.result(begun)


def _plan(workers: Executor, task: Task, kept: Kept, sought: Sought) -> Plan:
    """Return the plan that is kept, or find what the target offers."""
    from attnspec.campaign import Plan, planned, planned_as_declared
    from attnspec.campaign.executors import WorkerLostError

    if kept.plan is not None:
        return kept.plan
    try:
        try:
            kinds = _once(workers, planned, task, sought)
        except WorkerLostError:
            kinds = _once(workers, planned_as_declared, task, sought)
    except WorkerLostError:
        raise UsageError(
            f"{task.target or task.command} ended its process while it was imported. "
            "Import it in an interpreter of your own to see why."
        ) from None
    plan = Plan(sought.seed, kinds, None)
    kept.begin(plan)
    return plan


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


def _tell(tally: Tally, seconds: float) -> None:
    graded = tally.draws - tally.declined
    click.echo(
        f"{tally.draws:,} draws in {seconds:.0f} s: {tally.passed:,} passed, {len(tally.wrong):,} failed, "
        f"{tally.declined:,} declined, {tally.ungraded:,} not graded. Worst error / tolerance of a pass: "
        f"{tally.worst:.3g}."
    )
    if graded and tally.features:
        most = sorted(tally.features.items(), key=lambda each: (-each[1], each[0]))
        click.echo("Drawn: " + ", ".join(f"{feature} {count:,}" for feature, count in most) + ".")
        click.echo("Longest: " + ", ".join(f"{axis} {length:,}" for axis, length in tally.longest.items()) + ".")


def _shrunk(workers: Executor, task: Task, tally: Tally) -> tuple[DrawOutcome, ...]:
    """Make the first failure of each kind small; one whose worker ends stays as it is."""
    from attnspec.campaign import shrunk_failure
    from attnspec.campaign.executors import WorkerLostError

    first: dict[tuple[str, str], DrawOutcome] = {}
    for failed in tally.wrong:
        first.setdefault(failed.kind, failed)
    small: list[DrawOutcome] = []
    for failed in list(first.values())[:_SHOWN]:
        try:
            small.append(_once(workers, shrunk_failure, task, failed))
        except WorkerLostError:
            small.append(failed)
    return tuple(small)


def _tell_failures(workers: Executor, task: Task, tally: Tally, small: Sequence[DrawOutcome], target: str) -> None:
    from attnspec.campaign import explained
    from attnspec.campaign.executors import WorkerLostError

    for failed in small:
        many = sum(other.kind == failed.kind for other in tally.wrong)
        operation, check = failed.kind
        click.echo(f"\n{operation}: {many:,} draws failed ({check}). {failed.message}")
        try:
            for sentence in _once(workers, explained, task, (failed.recipe,)):
                click.echo(f"  {sentence}")
        except WorkerLostError:
            click.echo("  It ends the process that asks for it.")
        click.echo(f"  attnspec show --python '{failed.recipe}'")
        click.echo(f"  attnspec debug '{failed.recipe}' {target}")
