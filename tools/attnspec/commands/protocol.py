"""``attnspec protocol``: protocol checks of a program, and its earlier answers."""

from pathlib import Path

import click

from attnspec.base.errors import UsageError
from attnspec.base.plain_text import plain_text
from attnspec.command_line.command_options import with_options_of


@click.command()
@with_options_of("protocol")
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

    entries: list[dict[str, str | None]] = []
    for tried in protocol_checks_of(command, timeout=timeout, start_timeout=start_timeout):
        entries.append({"manner": tried.name, "fault": tried.fault})
        if not as_json:
            click.echo(f"{'ok   ' if tried.fault is None else 'FAULT'}  {tried.name}")
            if tried.fault is not None:
                click.echo(f"       {plain_text(tried.fault)}")
    count, faults = len(entries), sum(entry["fault"] is not None for entry in entries)
    if as_json:
        click.echo(canonical_json(entries), nl=False)
    else:
        passed = f"{count - faults} of {count}" if faults else f"All {count}"
        click.echo(f"{passed} protocol checks passed.")
    return 1 if faults else 0


def _replay(transcript: Path, command: str, timeout: float, start_timeout: float) -> int:
    from attnspec.process.replaying import replay

    done = replay(transcript, command, timeout=timeout, start_timeout=start_timeout)
    if done.difference is None:
        click.echo("The one answer is the same." if done.answers == 1 else f"All {done.answers} answers are the same.")
        return 0
    difference, request = done.difference, done.difference.request
    words = [str(request[field]) for field in ("type", "operation", "dtype") if field in request]
    click.echo(f"The request in line {difference.line} of {transcript} ({' '.join(words)}) is answered differently.")
    if difference.path:
        click.echo(f"where  {plain_text(difference.path)}")
    click.echo(f"then   {plain_text(difference.then)}")
    click.echo(f"now    {plain_text(difference.now)}")
    return 1
