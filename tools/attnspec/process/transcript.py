"""Transcript: every line that harness and program say to each other, with its time, in a file of JSON lines.

Each line is ``{"seconds": 0.25, "from": "harness", "message": {...}}``. A line that is no JSON stands as ``"line"``
instead of ``"message"``, as a string. The page is ``spec/protocol.md``.
"""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, cast

from attnspec.base.errors import UsageError

Speaker = Literal["harness", "program"]

_LONGEST_LINE = 64 * 1024
"""Characters that are kept of a line that is no JSON."""


class Transcript:
    """Transcript writer that replaces the file and writes each line at once; UsageError if it cannot be written."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as problem:
            raise UsageError(
                f"The transcript {str(path)!r} cannot be written: {problem.strerror}. Name another file."
            ) from None
        self._begin = time.monotonic()

    def sent(self, line: bytes) -> None:
        """Take note of a line of the harness."""
        self._write("harness", line)

    def received(self, line: bytes) -> None:
        """Take note of a line of the program, or of several."""
        self._write("program", line)

    def _write(self, speaker: Speaker, line: bytes) -> None:
        seconds = round(time.monotonic() - self._begin, 6)
        head = json.dumps({"seconds": seconds, "from": speaker})[:-1].encode()
        self._file.write(b"%b, %b}\n" % (head, _shown(line)))

    def close(self) -> None:
        """Close the file. May be called more than once."""
        self._file.close()


def _shown(line: bytes) -> bytes:
    """Return a line as a field of JSON: as it came where it is JSON, so that a replay has the very text."""
    text = line.strip()
    if b"\n" not in text:
        with suppress(ValueError, RecursionError):
            json.loads(text, parse_constant=_no_number)
            return b'"message": ' + text
    words = line.decode("utf-8", errors="replace")
    words = words if len(words) <= _LONGEST_LINE else words[:_LONGEST_LINE] + "…"
    return b'"line": ' + json.dumps(words).encode()


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON, though Python reads it")


class Said(NamedTuple):
    """One line of a transcript, `seconds` after its beginning; the message is a string where it was no JSON."""

    seconds: float
    speaker: Speaker
    message: Any


def read_transcript(path: Path) -> Iterator[Said]:
    """Read a transcript, line by line; UsageError if it cannot be read, or a line of it is none of a transcript."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield _read_line(path, number, line)
    except OSError as problem:
        raise UsageError(f"The transcript {str(path)!r} cannot be read: {problem.strerror}.") from None


def _read_line(path: Path, number: int, line: bytes) -> Said:
    with suppress(ValueError, RecursionError, KeyError, TypeError):
        said = cast("dict[str, Any]", json.loads(line))
        speaker: Speaker = "harness" if said["from"] == "harness" else "program"
        return Said(float(said["seconds"]), speaker, said["message"] if "message" in said else str(said["line"]))
    raise UsageError(
        f"Line {number} of {str(path)!r} is none of a transcript, which `attnspec validate --transcript FILE` writes."
    )
