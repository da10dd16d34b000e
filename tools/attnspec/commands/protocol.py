"""``attnspec protocol``: protocol checks of a program, and its earlier answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.base.plain_text import plain_text
from attnspec.command_line.finite import FiniteRange

if TYPE_CHECKING:
    from attnspec.process.replaying import Difference

_SECONDS = FiniteRange(min=0.001, max=86_400)


@click.command()
@click.option("--check", "checked", metavar="COMMAND", help="Try the manners of this program, whatever it computes.")
@click.option(
    "--replay",
    "transcript",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Send the requests of a transcript to the program that --command names; show the first answer that differs.",
)
@click.option("--command", metavar="COMMAND", help="The program for --replay.")
@click.option("--timeout", type=_SECONDS, default=30.0, metavar="SECONDS", help="For each answer; 30 if not said.")
@click.option(
    "--start-timeout", type=_SECONDS, default=60.0, metavar="SECONDS", help="For the answer to start; 60 if not said."
)
@click.option("--json", "as_json", is_flag=True, help="Print what --check finds as JSON.")
def protocol(
    *,
    checked: str | None,
    transcript: Path | None,
    command: str | None,
    timeout: float,
    start_timeout: float,
    as_json: bool,
) -> int:
    """Check a program against the process protocol, or replay what was said to it.

    The verdict on what it computes is for `attnspec validate --command`.
    """
    if (checked is None) == (transcript is None):
        raise UsageError("Say what to do: either --check COMMAND, or --replay FILE --command COMMAND.")
    if checked is not None:
        if command is not None:
            raise UsageError("--command is for --replay; --check names the program itself.")
        return _check(checked, timeout, start_timeout, as_json=as_json)
    if as_json:
        raise UsageError("--json is for --check.")
    assert transcript is not None
    if command is None:
        raise UsageError("--replay sends the requests to a program: name it with --command.")
    return _replay(transcript, command, timeout, start_timeout)


def _check(command: str, timeout: float, start_timeout: float, *, as_json: bool) -> int:
    from attnspec.cases import canonical_json
    from attnspec.process.protocol_checks import protocol_checks_of

    if as_json:
        found = [*protocol_checks_of(command, timeout=timeout, start_timeout=start_timeout)]
        entries = [{"manner": protocol_check.name, "fault": protocol_check.fault} for protocol_check in found]
        click.echo(canonical_json(entries), nl=False)
        return int(any(protocol_check.fault is not None for protocol_check in found))
    tried = faults = 0
    for protocol_check in protocol_checks_of(command, timeout=timeout, start_timeout=start_timeout):
        tried += 1
        faults += protocol_check.fault is not None
        click.echo(f"{'ok   ' if protocol_check.fault is None else 'FAULT'}  {protocol_check.name}")
        if protocol_check.fault is not None:
            click.echo(f"       {plain_text(protocol_check.fault)}")
    click.echo(f"{tried - faults} of {tried} manners kept." if faults else f"All {tried} manners are kept.")
    return 1 if faults else 0


def _replay(transcript: Path, command: str, timeout: float, start_timeout: float) -> int:
    from attnspec.process.replaying import replay

    done = replay(transcript, command, timeout=timeout, start_timeout=start_timeout)
    if done.difference is None:
        click.echo("The one answer is the same." if done.answers == 1 else f"All {done.answers} answers are the same.")
        return 0
    _show(done.difference, transcript)
    return 1


def _show(difference: Difference, transcript: Path) -> None:
    request = difference.request
    words = [str(request[field]) for field in ("type", "operation", "dtype") if field in request]
    click.echo(f"The request in line {difference.line} of {transcript} ({' '.join(words)}) is answered differently.")
    if difference.path:
        click.echo(f"where  {plain_text(difference.path)}")
    click.echo(f"then   {plain_text(difference.then)}")
    click.echo(f"now    {plain_text(difference.now)}")
