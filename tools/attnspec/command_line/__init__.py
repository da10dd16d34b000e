"""The command line: ``attnspec validate TARGET`` and its fellows.

Exit status: 0 nothing wrong, 1 something wrong, 2 could not be run, 130 interrupted, 143 ended by SIGTERM.
"""

from __future__ import annotations

import contextlib
import gc
import io
import signal
import sys
from typing import TYPE_CHECKING, Literal

import click

from attnspec.base.errors import AttnspecError, Terminated
from attnspec.base.extensions import COMMANDS, Command, loaded
from attnspec.base.plain_text import plain_text
from attnspec.command_line.completing import let_complete
from attnspec.command_line.guarding import Guarding
from attnspec.command_line.printed_version import print_version
from attnspec.guard.guarded_process import Way, way_of_this_system
from attnspec.guard.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["main"]

PROGRAM = "attnspec"
_LONGEST_ERROR = 4_000

_OWN: Mapping[str, Command] = {
    "init": Command(
        "attnspec.commands.init:init",
        "Write an adapter for TARGET: a function (package.module:function, or ./file.py:function).",
    ),
    "validate": Command("attnspec.commands.validate:validate", "Validate TARGET against the golden cases."),
    "gate": Command(
        "attnspec.commands.gate:gate",
        "Let TARGET through if it is as good as its baseline, or, without one, if nothing is wrong.",
    ),
    "debug": Command(
        "attnspec.commands.debug:debug",
        "Call TARGET once, for one CASE, in this process: breakpoints hold, and what it prints is seen.",
    ),
    "export": Command(
        "attnspec.commands.export:export_cases",
        "Write cases into DIR, for a test in any language, or a device with neither Python nor a pipe.",
    ),
    "grade": Command(
        "attnspec.commands.grade:grade_answers",
        "Grade the answers to the cases in DIR, which `attnspec export` wrote, as `attnspec validate` would.",
    ),
    "report": Command(
        "attnspec.commands.report_pages:report",
        "Put report.json FILES side by side, with accuracy ranking, or --compare two.",
    ),
    "list": Command("attnspec.commands.inspect:list_cases", "List the cases: id and title."),
    "show": Command(
        "attnspec.commands.inspect:show", "Show one CASE: what it is about, its inputs and its certified values."
    ),
    "explain": Command(
        "attnspec.commands.explain:explain",
        "Explain a WORD: the id of a clause, mistake, erratum or case, or any other word that a report uses.",
    ),
    "check": Command(
        "attnspec.commands.inspect:check",
        "Check golden FILES, or all of them, against schema, digests and what was released.",
    ),
    "completion": Command(
        "attnspec.commands.completion:completion", "Print the script that completes words of attnspec in SHELL."
    ),
    "mistakes": Command(
        "attnspec.commands.mistakes:mistakes",
        "List the known mistakes, or prove with --matrix that the cases notice them.",
    ),
    "protocol": Command(
        "attnspec.commands.protocol:protocol",
        "Check a program against the process protocol, or replay what was said to it.",
    ),
    "regenerate": Command("attnspec.commands.regenerate:regenerate", "Fill the golden files with certified values."),
    "release": Command(
        "attnspec.commands.release:release",
        "Write released.json: the id, revision and meaning of every case, as of this version.",
    ),
}
_COMMANDS: Mapping[str, Command] = {**_OWN, **COMMANDS}


class _Commands(click.Group):
    """Commands, each imported when it is called: until then each is a name and a line of help."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of the command that is called, the command, and its arguments."""
        name, command, others = super().resolve_command(ctx, args)
        if name is not None:
            command = loaded(_COMMANDS[name].place)
            let_complete(command)
        return name, command, others


@click.group(
    cls=_Commands,
    commands=[click.Command(name, help=command.line) for name, command in _COMMANDS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
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

    `arguments` are those of this process if None. `guard` of Python targets: a ``fork``, a ``subprocess``, ``none``, or
    a journal in the guarded process itself; if None, as this system can where the command line is the process, and not
    at all where somebody's program calls it.
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
        click.echo(nl=False)  # writes what is still buffered, while a full disk can be reported in a sentence
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
