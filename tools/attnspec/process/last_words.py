"""Last lines of a program's stderr, for the sentence on how it ended."""

from __future__ import annotations

import contextlib
import sys
from collections import deque

_LINES_KEPT = 40
_LINES_QUOTED = 4
_WIDTH_KEPT = 200
_LONGEST_LINE = 64 * 1024
"""Bytes after which a line is taken to end, so that one without an end is not collected."""


class LastWords:
    """The last lines of a stream; `show` passes all of it on to the user's stderr as it comes."""

    def __init__(self, *, show: bool) -> None:
        self._show = show
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._unfinished = b""

    def hear(self, piece: bytes) -> None:
        """Take note of what came; b"" is the end."""
        *lines, self._unfinished = (self._unfinished + piece).split(b"\n")
        if self._unfinished and (not piece or len(self._unfinished) > _LONGEST_LINE):
            lines.append(self._unfinished)
            self._unfinished = b""
        for line in lines:
            text = line.decode("utf-8", errors="replace").rstrip()
            if text:
                self._lines.append(text[:_WIDTH_KEPT])
            if self._show:
                # Where nobody listens any more, the verdict matters all the same.
                with contextlib.suppress(OSError):
                    print(text, file=sys.stderr, flush=True)  # noqa: T201

    def __str__(self) -> str:
        """Return the last lines as the rest of a sentence, or nothing if there are none."""
        lines = [*self._lines.copy(), *filter(None, [self._unfinished[:_WIDTH_KEPT].decode("utf-8", "replace")])]
        # Indented lines are a stack or an excerpt of source code, in Python and Node.js alike.
        telling = [line for line in lines if len(line) > 1 and not line[0].isspace()] or lines
        quoted = "".join(f"\n    {line.strip()}" for line in telling[-_LINES_QUOTED:])
        return f"; last on its stderr:{quoted}" if quoted else ""
