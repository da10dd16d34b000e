"""Where in a user's own file an exception arose."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from traceback import walk_tb

_NOT_THE_USERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
_OURS = ("attnspec", "attnspec_mistakes", "attnspec_reference")


def place_of(error: BaseException) -> str:
    """Return " (line N of FILE)" for the innermost frame in a file of the user's own; empty where there is none.

    Neither the standard library, nor what is installed, nor attnspec itself is the user's own.
    """
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _OURS and not file.startswith(("<", *_NOT_THE_USERS)):
            place = f" (line {line} of {Path(file).name})"
    return place
