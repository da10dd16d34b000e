"""``attnspec judge TARGET... --shapes FILE``: a verdict by draws that nobody has seen."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.terminal import make_console, printing_verdict
from attnspec.targets.target import Target, pairs
from attnspec.validation import check_dtypes_and_conventions
from attnspec_draws import is_seed
from attnspec_draws.commands import OPTIONS
from attnspec_draws.judge import DRAWS, Conditions, JudgeReport, judged, read_shapes


@click.command("judge")
@with_options_of("judge", OPTIONS)
def judge_candidates(
    targets: tuple[str, ...],
    *,
    commands: tuple[str, ...],
    shapes: Path,
    draws: int | None,
    target: Target,
    conventions: tuple[str, ...],
    forbidden: tuple[str, ...],
    sandbox: str | None,
    total: float | None,
    memory: int | None,
    seed: str | None,
    as_json: bool,
) -> int:
    """Judge each TARGET by draws that nobody has seen, at the shapes of its user and beside them.

    It runs in a process of its own, which never holds what is expected. Several are judged by the same draws, and
    ranked. Ends with 0 when all are right, with 1 when one is wrong.
    """
    if not targets and not commands:
        raise UsageError("Say what to judge: one or several TARGETs such as ./mine.py, or --command.")
    if seed is not None and not is_seed(seed):
        raise UsageError(f"--seed {seed!r}: a seed is a word without space, slash and colon.")
    at = read_shapes(shapes)
    declared = pairs(conventions, "--convention")
    check_dtypes_and_conventions((), declared)
    limits = Conditions()
    conditions = Conditions(
        seconds=target.timeout or limits.seconds,
        start_seconds=target.start_timeout or limits.start_seconds,
        total_seconds=total,
        megabytes=memory,
        sandbox=sandbox,
        forbidden=forbidden,
    )
    candidates = [replace(target, python=python) for python in targets]
    candidates += [Target(command=command) for command in commands]
    console = make_console(stderr=True)
    with console.status("getting ready") as status:
        try:
            found = judged(candidates, at, conditions, declared, draws=draws or DRAWS, seed=seed, follow=status.update)
        except MemoryError:
            raise UsageError(
                "The judge itself has too little memory for these shapes, so that it says nothing."
            ) from None
    with printing_verdict():
        _print(found, as_json=as_json)
    return 0 if all(report.is_right for report in found) else 1


def _print(found: Sequence[JudgeReport], *, as_json: bool) -> None:
    ranked = sorted(found, key=_rank)
    if as_json:
        from attnspec.cases import canonical_json

        documents = [report.as_json() for report in ranked]
        click.echo(canonical_json(documents[0] if len(documents) == 1 else documents), nl=False)
        return
    if len(ranked) > 1:
        for rank, report in enumerate(ranked, 1):
            click.echo(f"{rank}. {report.candidate}: {report.verdict}")
    for report in ranked:
        if len(ranked) > 1:
            click.echo()
        _print_one(report)


_ORDER = ("right", "right at your shapes, wrong beside them", "wrong", "not judged")


def _rank(report: JudgeReport) -> tuple[int, float, float]:
    """Return what candidates are ordered by: the verdict, the share that is wrong, and how wrong it is at worst."""
    at = report.at
    return _ORDER.index(report.verdict), at.wrong / max(at.draws, 1), at.worst


def _print_one(report: JudgeReport) -> None:
    console = make_console()

    def say(sentence: str) -> None:
        from rich.padding import Padding
        from rich.text import Text

        console.print(Padding(Text(sentence), (0, 0, 0, 2), expand=False))

    console.print(f"{report.candidate}: {report.verdict}", style="bold")
    *sentences, seed = report.sentences()
    for sentence in sentences:
        say(sentence)
    recipe = report.at.first_wrong or report.beside.first_wrong
    if recipe is not None:
        click.echo(f"  To see it: attnspec show --python {shlex.quote(recipe)}")
    say(seed)
