"""The command line: ``attnspec validate TARGET`` and its fellows.

Exit status: 0 nothing wrong, 1 something wrong, 2 could not be run, 130 interrupted, 143 ended by SIGTERM.
"""

from __future__ import annotations

import contextlib
import gc
import io
import signal
import sys
from typing import Literal

import click

from attnspec.command_line.campaign import campaign
from attnspec.command_line.completing import let_complete
from attnspec.command_line.completion import PROGRAM, completion
from attnspec.command_line.debug import debug
from attnspec.command_line.explain import explain
from attnspec.command_line.export import export_cases
from attnspec.command_line.gate import gate
from attnspec.command_line.grade import grade_answers
from attnspec.command_line.guarding import Guarding
from attnspec.command_line.init import init
from attnspec.command_line.inspect import check, list_cases, show
from attnspec.command_line.judge import judge_candidates
from attnspec.command_line.mistakes import mistakes
from attnspec.command_line.protocol import protocol
from attnspec.command_line.regenerate import regenerate
from attnspec.command_line.release import release
from attnspec.command_line.report import report
from attnspec.command_line.validate import validate
from attnspec.command_line.version import print_version
from attnspec.errors import AttnspecError, Terminated
from attnspec.guard.journal import Journal
from attnspec.guard.ways import Way, way_of_this_system
from attnspec.plain_text import plain_text

__all__ = ["main"]

_LONGEST_ERROR = 4_000


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print the version and the digests of fixtures and clauses.",
)
def attnspec() -> None:
    """Validate implementations of attention against certified golden cases."""


for _command in (
    init,
    validate,
    gate,
    judge_candidates,
    campaign,
    debug,
    export_cases,
    grade_answers,
    report,
    list_cases,
    show,
    explain,
    check,
    completion,
    mistakes,
    protocol,
    regenerate,
    release,
):
    let_complete(_command)
    attnspec.add_command(_command)


def _guarding(guard: Way | Literal["none"] | Journal, words: list[str]) -> Guarding:
    if isinstance(guard, Journal):
        return Guarding(None, words, guard)
    return Guarding(None if guard == "none" else guard, words)


def _interrupted(by: BaseException | None) -> int:
    """Say that a signal ended the run, and return the exit status that shells give to that signal."""
    number = by.number if isinstance(by, Terminated) else signal.SIGINT
    said = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    click.echo(f"attnspec: {said}", err=True)
    return 128 + number


def main(arguments: list[str] | None = None, *, guard: Way | Literal["none"] | Journal | None = None) -> int:
    """Run the command line and return its exit status; never a traceback for bad input.

    Parameters
    ----------
    arguments
        The words of the command; those of this process if None.
    guard
        How Python targets are guarded: by a ``fork``, by a ``subprocess``, or, for ``none``, not at all; a journal in
        the guarded process itself. If None, as this system can where the command line is the process, and not at all
        where somebody's program calls it.
    """
    # A run reads hundreds of files into millions of lists that hold no cycles: looking for some takes a tenth of it.
    gc.set_threshold(100_000, 20, 20)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A formula is spelt out where the encoding, such as ASCII, lacks its signs.
            stream.reconfigure(errors="backslashreplace")
    try:
        words = sys.argv[1:] if arguments is None else arguments
        if guard is None:
            guard = "none" if arguments is not None else way_of_this_system()
        status = attnspec.main(args=words, prog_name=PROGRAM, standalone_mode=False, obj=_guarding(guard, words))
        click.echo(nl=False)  # writes what is still buffered, while a full disk can be told in a sentence
    except AttnspecError as error:
        click.echo(f"attnspec: {plain_text(str(error), longest=_LONGEST_ERROR)}", err=True)
        return 2
    except click.exceptions.Abort as abort:
        return _interrupted(abort.__cause__)
    except click.ClickException as error:
        error.show()
        return 2
    except KeyboardInterrupt as interruption:
        return _interrupted(interruption)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        click.echo(f"attnspec: stopped, because the system refused a file or an output: {error}.", err=True)
        with contextlib.suppress(OSError):
            sys.stdout.close()  # or Python would try once more to write what is still buffered
        return 2
    return status if isinstance(status, int) else 0
