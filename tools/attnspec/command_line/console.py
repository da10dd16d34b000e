"""The console that commands print to, and the progress of a run on it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from collections.abc import Generator

    from rich.console import Console


def make_console() -> Console:
    """Return the console for stdout; 100 columns where it is no terminal, so that logs read well."""
    from rich.console import Console

    # A program that is started without a stdout has None in its place.
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # a verdict is a verdict though nobody reads it to its end

    return OurConsole(width=None if is_terminal else 100, highlight=False, markup=False, emoji=False)


@contextmanager
def progress(console: Console, follower: _Counts, *, quiet: bool) -> Generator[None]:
    """Show on a terminal how many results there are, while there come more."""
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(_Done(follower)):
        yield


@contextmanager
def telling() -> Generator[None]:
    """Print a verdict. A stdout that does not take it, or not all of it, changes neither verdict nor exit status."""
    try:
        yield
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - None without a stdout
            sys.stdout.flush()
    except BrokenPipeError:
        _give_up_stdout()
    except OSError as error:
        _give_up_stdout()
        click.echo(f"attnspec: the verdict could not be printed, because the system refused it: {error}.", err=True)


def _give_up_stdout() -> None:
    """Have what is still buffered go nowhere, or Python would try once more at its end, and end with a status."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class _Counts(Protocol):
    """Whoever knows how many results there are."""

    @property
    def count(self) -> int: ...


class _Done:
    """A line that says anew, each time that it is shown, how many results there are."""

    def __init__(self, follower: _Counts) -> None:
        self._follower = follower

    def __rich__(self) -> str:
        return f"validating: {self._follower.count} done"
