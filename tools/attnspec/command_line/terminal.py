"""The console that commands print to, and the progress of a run on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from attnspec.base.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

_STDERR = 2


def make_console(*, stderr: bool = False) -> Console:
    """Return the console for stdout, or for stderr; 100 columns where it is no terminal, so that logs read well."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A program that is started without a stdout has None instead.
    is_terminal = stream is not None and stream.isatty()  # pyright: ignore[reportUnnecessaryComparison]

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # a verdict is a verdict though nobody reads it to its end

    return OurConsole(stderr=stderr, width=None if is_terminal else 100, highlight=False, markup=False, emoji=False)


def say(text: str, console: Console, *, indent: int = 0, before: str = "", style: str = "") -> None:
    """Print text wrapped to the console's width without trailing spaces; `before` stands in the first indent."""
    from textwrap import wrap

    from rich.text import Text

    from attnspec.base.plain_text import plain_text

    room = max(console.width - indent, 20)
    # A list of all that was drawn is longer than any message is let be.
    whole = plain_text(text, longest=max(len(text), 1))
    lines = wrap(whole, room, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        margin = " " * indent if number or not before else f"{before:>{indent - 2}}  "
        console.print(Text(margin + line, style=style), soft_wrap=True)


def write_file(path: Path, text: str, refusal: str = "{} cannot be written") -> None:
    """Write a file; `UsageError` with the words of `refusal` if the system refuses it."""
    from attnspec.base.files import replace_file

    try:
        replace_file(path, text)
    except OSError as error:
        raise UsageError(f"{refusal.format(path)}: {error.strerror}.") from None


@contextmanager
def showing_progress(
    console: Console, done: Callable[[], int], planned: Callable[[], int | None], *, quiet: bool
) -> Generator[None]:
    """Show on a terminal the done and planned results (None while unknown), rate and time left; elsewhere nothing."""
    if quiet or not console.is_terminal:
        yield
        return
    from attnspec.command_line.progress_bar import ProgressBar

    with ProgressBar(console, done, planned):
        yield


_DOCUMENT = "attnspec.document"
"""Key in the context of a command for the stdout that a document alone may use."""


@contextmanager
def stdout_for_a_document(*, requested: bool) -> Generator[None]:
    """Keep stdout for one document, if `requested`; all other output meanwhile, of the target too, goes to stderr."""
    if not requested:
        yield
        return
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):  # a stdout of Python alone
        click.get_current_context().meta[_DOCUMENT] = sys.stdout
        with redirect_stdout(sys.stderr):
            yield
        return
    sys.stdout.flush()
    with os.fdopen(os.dup(number), "w", encoding="utf-8", errors="backslashreplace") as document:
        click.get_current_context().meta[_DOCUMENT] = document
        os.dup2(_STDERR, number)
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            sys.stdout.flush()
            os.dup2(document.fileno(), number)


def print_document(text: str) -> None:
    """Print the document for which stdout is kept; a closed pipe changes no status, a refusal is a `UsageError`."""
    document: TextIO = click.get_current_context().meta[_DOCUMENT]
    try:
        document.write(text)
        document.flush()
    except BrokenPipeError:
        _discard(document)
    except OSError as error:
        raise UsageError(f"The report could not be written to stdout: {error.strerror}.") from None


@contextmanager
def printing_json(*, requested: bool, make: Callable[[str], Any]) -> Generator[None]:
    """Print one JSON document, if `requested`, instead of text; `make` gets that text; the exit status is the same."""
    if not requested:
        yield
        return
    said = StringIO()
    with redirect_stdout(said):
        yield
    from attnspec.cases import canonical_json

    click.echo(canonical_json(make(said.getvalue())), nl=False)


@contextmanager
def printing_verdict() -> Generator[None]:
    """Print a verdict. A stdout that does not take it, or not all of it, changes neither verdict nor exit status."""
    try:
        yield
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - None without a stdout
            sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        click.echo(f"attnspec: the verdict could not be printed, because the system refused it: {error}.", err=True)


def _discard(stream: Any) -> None:
    """Discard buffered output, or Python would try once more when it closes the stream, and end with a status."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
