"""``attnspec judge TARGET... --shapes FILE``: a verdict by draws that nobody has seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.command_line.finite import FiniteRange
from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.judgement import Judgement


@click.command("judge")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option("--command", "commands", multiple=True, metavar="COMMAND", help="A program that speaks the protocol.")
@click.option(
    "--shapes",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The operation, dtypes and shapes to judge at, as JSON.",
)
@click.option("--draws", type=click.IntRange(min=1), metavar="N", help="Draws at each shape; 64 if not said.")
@click.option("--as", "operation", metavar="OPERATION", help="TARGET is one function: this operation.")
@click.option("--rename", "renames", multiple=True, metavar="OWN=ARGUMENT", help="Its own name for an argument.")
@click.option("--tensors", metavar="LIBRARY", help="What it takes and returns: torch, jax, dlpack or numpy.")
@click.option("--device", metavar="DEVICE", help="Where TARGET is to run, if it takes one, such as cuda.")
@click.option("--convention", "conventions", multiple=True, metavar="K=V", help="What it follows. Repeatable.")
@click.option("--forbid", "forbidden", multiple=True, metavar="NAME", help="A function it must not call. Repeatable.")
@click.option("--sandbox", metavar="COMMAND", help="Run it behind COMMAND: as another user, or in a container.")
@click.option("--timeout", type=FiniteRange(min=0.001), metavar="SECONDS", help="For each call; 60 if not said.")
@click.option("--start-timeout", type=FiniteRange(min=0.001), metavar="SECONDS", help="For its start; 120.")
@click.option("--memory", type=click.IntRange(min=1), metavar="MB", help="How much its process may ask for.")
@click.option("--seed", metavar="WORD", help="See the draws of an earlier judgement again; this is no judgement.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def judge_candidates(
    targets: tuple[str, ...],
    *,
    commands: tuple[str, ...],
    shapes: Path,
    draws: int | None,
    operation: str | None,
    renames: tuple[str, ...],
    tensors: str | None,
    device: str | None,
    conventions: tuple[str, ...],
    forbidden: tuple[str, ...],
    sandbox: str | None,
    timeout: float | None,
    start_timeout: float | None,
    memory: int | None,
    seed: str | None,
    as_json: bool,
) -> int:
    """Judge each TARGET by draws that nobody has seen, at the shapes of its user and beside them.

    It runs in a process of its own, which never holds what is expected. Several are judged by the same draws, and
    ranked. Ends with 0 when all are right, with 1 when one is wrong.
    """
    from attnspec.judgement import DRAWS, Candidate, Conditions, judged, read_shapes
    from attnspec.validation import check_asked, contract_names, pairs

    if not targets and not commands:
        raise UsageError("Say what to judge: one or several TARGETs such as ./mine.py, or --command.")
    at = read_shapes(shapes)
    declared = pairs(conventions, "--convention")
    check_asked((), declared)
    limits = Conditions()
    conditions = Conditions(
        seconds=timeout or limits.seconds,
        start_seconds=start_timeout or limits.start_seconds,
        megabytes=memory,
        sandbox=sandbox,
        forbidden=forbidden,
    )
    names = contract_names(pairs(renames, "--rename"))
    candidates = [Candidate(target, None, operation, device, tensors, names) for target in targets]
    candidates += [Candidate(command=command) for command in commands]
    found = judged(candidates, at, conditions, declared, draws=draws or DRAWS, seed=seed)
    _tell(found, as_json=as_json)
    return 0 if all(judgement.is_right for judgement in found) else 1


def _tell(found: Sequence[Judgement], *, as_json: bool) -> None:
    ranked = sorted(found, key=lambda judgement: (not judgement.is_right, judgement.at.wrong, judgement.at.worst))
    if as_json:
        from attnspec.cases import canonical_json

        documents = [judgement.as_json() for judgement in ranked]
        click.echo(canonical_json(documents[0] if len(documents) == 1 else documents), nl=False)
        return
    for judgement in ranked:
        _tell_one(judgement)


def _tell_one(judgement: Judgement) -> None:
    click.echo(f"{judgement.candidate}: {judgement.verdict}")
    click.echo(f"  {judgement.reason}")
    for sentence in judgement.diagnosis[1:]:
        click.echo(f"  {sentence}")
    for certificate in judgement.certificates:
        click.echo(f"  {certificate.sentence()}")
    if judgement.sampled is not None:
        click.echo(f"  {judgement.sampled.sentence()}")
    for found in judgement.own_checks:
        click.echo(f"  {found.sentence()}")
    click.echo(f"  Worst error / tolerance at the shapes: {judgement.at.worst:.3g}.")
    recipe = judgement.at.first_wrong or judgement.beside.first_wrong
    if recipe is not None:
        click.echo(f"  To see it: attnspec show --python '{recipe}'")
    again = "The seed was known before: a replay, and no judgement." if judgement.is_replay else ""
    click.echo(f"  Seed {judgement.seed}. {again}".rstrip())
