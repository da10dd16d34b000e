"""``attnspec init [TARGET]``: the first adapter of a function, with guesses about it."""

from pathlib import Path

import click

from attnspec.base.errors import TargetError, UsageError
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.guarding import Guarding, run_in_guarded_process

_FILE = "attention_adapter.py"


@click.command()
@with_options_of("init")
def init(target: str | None, *, operation: str | None, output: Path, force: bool) -> int:
    """Write an adapter for TARGET: a function (package.module:function, or ./file.py:function).

    Which operation it is, what its arguments are called, how its tensors lie and what it lacks are guessed from its
    signature and from probes, which call it. Without TARGET, the file is a skeleton to fill in.
    """
    _check_output(output, target, force=force)
    if target is None:
        from attnspec.contract import OPERATIONS
        from attnspec.scaffold import skeleton_adapter
        from attnspec.validation import check_operation

        if operation is not None:
            check_operation(operation)
        # Most software offers the operation that has most conventions.
        most_known = max(OPERATIONS.values(), key=lambda known: len(known.conventions)).name
        return _write(output, skeleton_adapter(operation or most_known), ())
    guarding: Guarding = click.get_current_context().obj
    if guarding.way is not None:
        status = run_in_guarded_process(guarding)
        if status is not None:
            return status
        assert guarding.ended is not None
        from attnspec.base.errors import Terminated
        from attnspec.guard.ending import how_it_ended

        if guarding.ended.received is not None:
            raise Terminated(guarding.ended.received)
        code = guarding.ended.parts[0].code
        raise TargetError(f"{target} {how_it_ended(code)} while it was imported or probed; nothing was written.")
    from attnspec.scaffold import find_function, guess_adapter

    found = find_function(target)
    if found.module == output.stem:
        raise UsageError(f"--output {output}: it would have the name of the module that it imports; choose another.")
    guessed = guess_adapter(found, operation, output)
    return _write(output, guessed.text, guessed.said)


def _check_output(output: Path, target: str | None, *, force: bool) -> None:
    """Raise `UsageError` where a file is in the way, before anything is run."""
    if output.suffix != ".py" or not output.stem.isidentifier():
        raise UsageError(f"--output {output}: give a file of Python, such as {_FILE}.")
    if (
        target is not None
        and Path(target.partition(".py:")[0].removesuffix(".py") + ".py").resolve() == output.resolve()
    ):
        raise UsageError(f"--output {output}: that is the file of TARGET itself; choose another.")
    if output.exists() and not force:
        raise UsageError(f"{output} is there already. Write to another file with --output, or over it with --force.")


def _write(output: Path, text: str, said: tuple[str, ...]) -> int:
    from attnspec.base.files import replace_file
    from attnspec.base.plain_text import plain_text

    replace_file(output, text)
    click.echo(f"Wrote {output}.")
    for sentence in said:
        click.echo(f"  {plain_text(sentence)}")
    shown = output if output.is_absolute() else f"./{output}"
    click.echo(f"Read it, then run: attnspec validate {shown}")
    return 0
