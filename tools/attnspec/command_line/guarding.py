"""Guarding of a command, as its function finds it in the context of click."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attnspec.guard.ending import Watch
from attnspec.guard.guarded_process import Part, Spawned, Way
from attnspec.guard.journal import Journal

_GUARDED = "attnspec.command_line.guarded_command"


class Ended(NamedTuple):
    """Guarded processes that have ended: their reports and endings, and the signal received meanwhile, if any."""

    parts: Sequence[Part]
    received: int | None


@dataclass
class Guarding:
    """Guarding of a command's Python targets: the way to make a process, if any; in one, its journal; how one ended."""

    way: Way | None
    words: Sequence[str]
    journal: Journal | None = None
    ended: Ended | None = None


def run_in_guarded_process(guarding: Guarding) -> int | None:
    """Run the command in a process of its own; return its status, or None with `guarding.ended` after an accident."""
    with Watch() as watch, Spawned(_GUARDED, guarding.words) as child:
        code = watch.wait_for(child)
        status = child.journal.exit_status
        if status is None:
            guarding.ended = Ended((Part(child.journal.read(), code),), watch.received)
    return status
