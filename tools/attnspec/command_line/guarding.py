"""How a command is guarded: what its function finds in the context of click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.guard.journal import Journal
    from attnspec.guard.together import Part
    from attnspec.guard.ways import Way

_GUARDED = "attnspec.command_line.guarded"


class Ended(NamedTuple):
    """Guarded processes that have ended.

    Attributes
    ----------
    parts
        What each told, and how it ended.
    received
        The signal that asked this process to end meanwhile, or None.
    """

    parts: Sequence[Part]
    received: int | None


@dataclass
class Guarding:
    """How Python targets of a command are guarded.

    Attributes
    ----------
    way
        How the guarded process is made; None where there is none.
    words
        The words of the command.
    journal
        Where this process writes down how far it got, where it is the guarded one.
    ended
        How a process ended that was to do all of the command and did not.
    """

    way: Way | None
    words: Sequence[str]
    journal: Journal | None = None
    ended: Ended | None = None


def conclusion_elsewhere(guarding: Guarding) -> int | None:
    """Run the command in a process of its own; return its exit status, or None if it ended by accident.

    Parameters
    ----------
    guarding
        How the command is guarded; it is told how the process ended.
    """
    from attnspec.guard.spawned import Spawned
    from attnspec.guard.together import Part
    from attnspec.guard.watching import Watch

    with Watch() as watch, Spawned(_GUARDED, guarding.words) as child:
        code = watch.wait_for(child)
        status = child.journal.conclusion
        if status is None:
            guarding.ended = Ended((Part(child.journal.read(), code),), watch.received)
    return status
