"""Early verdict: the first failure, the core's results and the time left, on stderr while a run goes on.

A thread reads the results that have come so far. Nothing is said of a run that is about to end: its report says it all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

from attnspec.base.plain_text import plain_text
from attnspec.grading import NOT_GRADED, RIGHT, WRONG, Verdict

_POLL = 0.1
"""Seconds between two looks, a small part of the two within which a first failure is to be said."""
_MANY = 500
"""Results to go that are worth a word, however fast the run may be."""
_LONG = 2.0
"""Seconds after which, or for which, a run is worth a word however few its results are."""
_BETWEEN = 30.0
"""Seconds between two lines on the time left: a log of an hour has a page of them."""
_AFTER_CORE = 0.7
"""Our own work for a case beyond the core, over that for one of the core: measured with the reference."""
_SECOND_CALL = 0.05
"""Our own work in a second call and the checks beside it, over that in a first one: measured with the reference."""
_ENOUGH = 200
"""Results beyond the core after which they speak for themselves."""


class Came(NamedTuple):
    """One result that has come: its case, dtype and verdict, and the seconds of its call."""

    case: str
    dtype: str
    verdict: Verdict
    seconds: float


class Planned(NamedTuple):
    """The number of results of a whole run, and of its core."""

    all: int
    core: int


@dataclass
class EarlyVerdict:
    """Lines about a run so far; `news` gives results that came since the last call, `planned` None while unknown."""

    news: Callable[[], Sequence[Came]]
    planned: Callable[[], Planned | None]
    core: Collection[str]
    say: Callable[[str], None]
    started: float = field(default_factory=monotonic)
    _came: dict[tuple[str, str], Came] = field(default_factory=dict[tuple[str, str], Came])
    _called: float = 0.0
    _called_again: float = 0.0
    _since: tuple[float, int, float, float] | None = None
    _first_wrong: Came | None = None
    _is_failure_said: bool = False
    _core_said: bool = False
    _said_at: float = 0.0
    _estimated: tuple[float, float] | None = None

    def look(self, now: float) -> None:
        """Take what has come, and say what is worth a word."""
        self._take(self.news())
        planned = self.planned()
        if planned is None or not self._came:
            return
        done = len(self._came)
        if self._since is None:
            # Loading the target is done by now.
            self._since = self._so_far(now)
        elif self._estimated is None or (done < planned.all and done - self._since[1] >= _ENOUGH):
            self._estimated = (now, self._estimate(now, planned.all))
        self._say_first_failure(now, planned.all - done)
        if self._core_said:
            self._say_time_left(now, planned.all)
        else:
            self._say_core(now, planned)

    def _take(self, news: Sequence[Came]) -> None:
        for came in news:
            key = (came.case, came.dtype)
            if key not in self._came:
                self._called += came.seconds
                # Wrong answers are not requested again.
                self._called_again += came.seconds if came.verdict.status in RIGHT else 0.0
            if self._first_wrong is None and came.verdict.status in WRONG:
                self._first_wrong = came
            self._came[key] = came

    def _say_first_failure(self, now: float, to_go: int) -> None:
        wrong = self._first_wrong
        if wrong is None or self._is_failure_said or (to_go < _MANY and now - self.started < _LONG):
            return
        self._is_failure_said = True
        self.say(f"first failure: {wrong.case} ({wrong.dtype}): {plain_text(wrong.verdict.message)}")

    def _say_core(self, now: float, planned: Planned) -> None:
        """Say what the core says once all of it has come, where there is more to come."""
        if planned.core in (0, planned.all):
            self._core_said = True
            return
        of_core = [came.verdict.status for came in self._came.values() if came.case in self.core]
        if len(of_core) < planned.core:
            return
        left = self._estimate(now, planned.all)
        self._estimated, self._core_said, self._since = (now, left), True, self._so_far(now)
        to_go = planned.all - len(self._came)
        if to_go and (to_go >= _MANY or left >= _LONG):
            self._said_at = now
            passed, tried = of_core.count("pass"), sum(status not in NOT_GRADED for status in of_core)
            self.say(f"smoke: {passed:,} of {tried:,}; {to_go:,} to go, about {time_in_words(left)}")

    def _say_time_left(self, now: float, planned: int) -> None:
        left, done = self.seconds_left(now) or 0.0, len(self._came)
        if left < _BETWEEN or now - max(self._said_at, self.started) < _BETWEEN:
            return
        self._said_at = now
        stage = f"{planned - done:,} to go" if done < planned else "calling again"
        self.say(f"{done:,} of {planned:,}; {stage}, about {time_in_words(left)}")

    def seconds_left(self, now: float) -> float | None:
        """Return the estimated seconds until the end; None while nothing has come."""
        if self._estimated is None:
            return None
        at, left = self._estimated
        return max(left - (now - at), 0.0)

    def _so_far(self, now: float) -> tuple[float, int, float, float]:
        return now, len(self._came), self._called, self._called_again

    def _estimate(self, now: float, planned: int) -> float:
        """Return the seconds left, by the results since a moment: first calls, then second ones of right answers."""
        since = (self.started, 0, 0.0, 0.0) if self._since is None else self._since
        elapsed, done, called, again = (here - there for here, there in zip(self._so_far(now), since, strict=True))
        done = max(done, 1)
        # Of several jobs, the calls of all go into less time than they took.
        at_once = max(called / elapsed, 1.0) if elapsed else 1.0
        call, own = called / at_once / done, max(elapsed - called / at_once, 0.0) / done
        first = planned - len(self._came)
        later = _AFTER_CORE if not self._core_said else 1.0
        return first * (call + later * own) + planned * (again / at_once / done + _SECOND_CALL * later * own)


def time_in_words(seconds: float) -> str:
    """Return a time of two digits that says no more than is known: ``9 s``, ``4 min``, ``2 h``."""
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"


@contextmanager
def saying_early(early: EarlyVerdict, *, quiet: bool) -> Generator[None]:
    """Look at a run again and again while it goes on, and say nothing if `quiet`."""
    if quiet:
        yield
        return
    ended = Event()

    def look() -> None:
        while not ended.wait(_POLL):
            early.look(monotonic())

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def say_on_stderr(line: str) -> None:
    """Print a line on stderr, above a progress bar; a stderr that does not take it is none of a run's business."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - None where a program has none
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)  # noqa: T201 - not by click, which writes past the bar
