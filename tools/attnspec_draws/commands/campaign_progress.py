"""Progress of a campaign: on a terminal from the first moment on, elsewhere a line now and then, as logs have it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

SECONDS = 30.0
"""Between two lines where no terminal is."""

_SECONDS_OF_SCREEN = 0.5

_TELLING = 3.0
"""Seconds after which the draws of a campaign say how many there are in a second: the first parts are small."""


@contextmanager
def doing(what: str | Callable[[], str], *, seconds: float = SECONDS) -> Generator[None]:
    """Show progress while something is done: `what`, or a function that says how far it got.

    `seconds` lie between two lines where no terminal is.
    """

    def now() -> str:
        return what if isinstance(what, str) else what()

    console = _terminal()
    if console is None:
        with _again_and_again(lambda: click.echo(f"attnspec: {now()}", err=True), seconds):
            yield
        return
    with console.status(now()) as status, _again_and_again(lambda: status.update(now()), _SECONDS_OF_SCREEN):
        yield


def _terminal() -> Console | None:
    """Return a console for the stream that somebody looks at; None where nobody does."""
    from rich.console import Console

    for stream in (sys.stdout, sys.stderr):
        if stream is not None and stream.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None without one
            return Console(file=stream, highlight=False, markup=False, emoji=False)
    return None


@contextmanager
def _again_and_again(do: Callable[[], None], seconds: float) -> Generator[None]:
    over = threading.Event()

    def work() -> None:
        while not over.wait(seconds):
            do()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Drawing:
    """Progress of a campaign's draws: those before, and `cases` or `seconds` to go, of which the other is None."""

    def __init__(self, before: int, cases: int | None, seconds: float | None) -> None:
        self._start = monotonic()
        self._draws = before
        self._before = before
        self._cases = cases
        self._time = seconds
        self._end: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return (monotonic() if self._end is None else self._end) - self._start

    @property
    def before(self) -> int:
        """How many were drawn before."""
        return self._before

    @property
    def is_over(self) -> bool:
        """Whether the time has passed."""
        return self._time is not None and self.seconds >= self._time

    def add(self, draws: int) -> None:
        """Count some more draws."""
        self._draws += draws

    def end(self) -> None:
        """Take no more time."""
        self._end = monotonic()

    def text(self) -> str:
        """Say how far they got, how fast, and how long the others will take."""
        seconds = self.seconds
        of = "" if self._cases is None else f" of {max(self._cases, self._draws):,}"
        reported = [f"{self._draws:,}{of} draws"]
        new = self._draws - self._before
        rate = new / max(seconds, _TELLING)
        is_known = new > 0 and seconds >= _TELLING
        if is_known:
            reported.append(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        if self._time is not None:
            reported.append(f"{max(self._time - seconds, 0):.0f} s left")
        elif self._cases is not None and is_known:
            reported.append(f"{max(self._cases - self._draws, 0) / rate:.0f} s left")
        return ", ".join(reported)
