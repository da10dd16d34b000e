"""Position of an exception in a user's own file."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType

_NOT_THE_USERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
OUR_PACKAGES = (
    "attnspec",
    "attnspec_adapters",
    "attnspec_draws",
    "attnspec_mistakes",
    "attnspec_probes",
    "attnspec_reference",
)
"""What is installed with attnspec, and so is no code of a user's."""


def place_of(error: BaseException) -> str:
    """Return " (line N of FILE)" for the innermost frame in a file of the user's own; empty where there is none.

    The standard library, installed packages and attnspec itself are not the user's own.
    """
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        if _is_the_users(frame):
            place = f" (line {line} of {Path(frame.f_code.co_filename).name})"
    return place


def beyond_attnspec(error: BaseException) -> TracebackType | None:
    """Return the traceback from the first frame on that is not of attnspec or a built-in implementation, or None."""
    place = error.__traceback__
    while place is not None and _package(place.tb_frame) in OUR_PACKAGES:
        place = place.tb_next
    return place


def to_the_users_frame(traceback: TracebackType) -> TracebackType:
    """Return a traceback that ends at its innermost frame in a file of the user's own; whole where there is none."""
    places = [traceback]
    while places[-1].tb_next is not None:
        places.append(places[-1].tb_next)
    last = max((number for number, place in enumerate(places) if _is_the_users(place.tb_frame)), default=None)
    if last is None:
        return traceback
    kept: TracebackType | None = None
    for place in reversed(places[: last + 1]):
        kept = TracebackType(kept, place.tb_frame, place.tb_lasti, place.tb_lineno)
    assert kept is not None
    return kept


def _is_the_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return _package(frame) not in OUR_PACKAGES and not file.startswith(("<", *_NOT_THE_USERS))


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
