"""The command line: ``attnspec validate TARGET`` and its fellows.

Exit status: 0 nothing wrong, 1 something wrong, 2 could not be run, 130 interrupted, 143 ended by SIGTERM.
"""

import contextlib
import gc
import io
import os
import signal
import sys
from importlib import import_module
from typing import Literal

import click

from attnspec.base.errors import AttnspecError, Terminated
from attnspec.base.extensions import COMMANDS, Command, imported_for
from attnspec.base.plain_text import plain_text
from attnspec.command_line.command_options import command_table
from attnspec.command_line.completing import add_completion
from attnspec.command_line.guarding import Guarding
from attnspec.guard.guarded_process import Way, way_of_this_system
from attnspec.guard.journal import Journal

__all__ = ["main"]

_LONGEST_ERROR = 4_000

_IDLE = ("OPENBLAS_THREAD_TIMEOUT", "16")
"""Threads of NumPy's products wait for the next one in a loop: for 2**26 cycles, a fortieth of a second of a processor
after each call of small cases, where nobody says otherwise; here 2**16. Neither threads nor results are others."""

_COMMANDS = {**{name: Command(**facts) for name, facts in command_table()["commands"].items()}, **COMMANDS}


def print_version(context: click.Context, _: click.Parameter, is_requested: bool) -> None:
    """Print the version and the digests of the fixtures and of the rules, and stop."""
    if not is_requested or context.resilient_parsing:
        return
    from attnspec.base import __version__
    from attnspec.base.files import GOLDEN_FOLDER
    from attnspec.cases import read_index
    from attnspec.cases.reading import suite_digest
    from attnspec.specification import clauses, specification_digest

    entries = read_index(GOLDEN_FOLDER)
    click.echo(f"attnspec, version {__version__}")
    click.echo(f"suite {suite_digest(entries)}  the content of {len(entries)} fixtures")
    click.echo(f"spec  {specification_digest()}  the words of {len(clauses())} clauses")
    context.exit()


def _load_numpy_on_one_thread() -> None:
    """Load NumPy with one thread for products; a process that is started later has as many as ever."""
    if "numpy" in sys.modules or "OPENBLAS_NUM_THREADS" in os.environ:
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        import_module("numpy")
    finally:
        del os.environ["OPENBLAS_NUM_THREADS"]


class _Commands(click.Group):
    """Commands, each imported when it is called: until then each is a name and a line of help."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of the command that is called, the command, and its arguments."""
        name, command, others = super().resolve_command(ctx, args)
        if name is not None:
            if _COMMANDS[name].on_one_thread:
                _load_numpy_on_one_thread()
            command = imported_for(name, _COMMANDS[name].path)
            add_completion(command)
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


def _interrupted(by: BaseException | None) -> int:
    """Print that a signal ended the run, and return the exit status that shells give to that signal."""
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
    # A run reads thousands of files, and keeps thousands of results, that hold no cycles: looking for some in a hundred
    # thousand objects takes a tenth of a second, and half a million are as many as the whole suite leaves.
    gc.set_threshold(500_000, 20, 20)
    if "numpy" not in sys.modules:
        # Read when NumPy is loaded, here and in the process of a target.
        os.environ.setdefault(*_IDLE)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A formula is spelt out where the encoding, such as ASCII, lacks its signs.
            stream.reconfigure(errors="backslashreplace")
    try:
        words = sys.argv[1:] if arguments is None else arguments
        if guard is None:
            guard = "none" if arguments is not None else way_of_this_system()
        is_guarded = isinstance(guard, Journal)
        guarding = Guarding(None if is_guarded or guard == "none" else guard, words, guard if is_guarded else None)
        status = attnspec.main(args=words, prog_name="attnspec", standalone_mode=False, obj=guarding)
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
