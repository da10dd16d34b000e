"""The console that commands print to, and the progress of a run on it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from attnspec.runner import Result


def make_console() -> Console:
    """Return the console for stdout; 100 columns where it is no terminal, so that logs read well."""
    from rich.console import Console

    # A program that is started without a stdout has None in its place.
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    return Console(width=None if is_terminal else 100, highlight=False, markup=False, emoji=False)


class progress:  # noqa: N801 - a context manager, used like a function
    """Show a progress bar on a terminal; give None where there is none to show."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._status = None if quiet or not console.is_terminal else console.status("validating")
        self._count = 0

    def __enter__(self) -> Callable[[Result], None] | None:
        if self._status is None:
            return None
        self._status.start()
        return self._advance

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def _advance(self, result: Result) -> None:
        assert self._status is not None
        self._count += 1
        self._status.update(f"validating: {self._count} done, {result.case.operation}")
