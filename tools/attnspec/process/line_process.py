"""Child process that is spoken to line by line, without ever waiting for it longer than allowed."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.errors import TargetError
from attnspec.process.pipes import PIECE, pipes_of

if TYPE_CHECKING:
    from attnspec.process.transcript import Transcript


LINE_LIMIT = 64 * 1024 * 1024
"""Longest answer in bytes."""

SECONDS_TO_STOP = 1.0
"""Seconds that a program may take to end after the message to stop."""

_SECONDS_TO_DIE = 2.0
"""Seconds that a process has to be gone after it was killed: those of this user are at once."""

_GLANCE = 0.05
"""Seconds of silence after which the process is checked to be alive: a child may hold its stdout open."""


class ProcessEndedError(Exception):
    """The process ended, or closed its stdout, instead of giving a line."""


class NoLineError(Exception):
    """No line came in time; the text is what the process said on its stderr."""


class LineTooLongError(Exception):
    """The process wrote a line beyond the limit, or too much beside its lines."""


class LineProcess:
    """A running program, started without a shell; TargetError if it cannot be, in which the command is `called` so.

    `line_limit` is the longest line in bytes that is read from it, `stderr_limit` the most that it may write on its
    stderr while a line is awaited; each line, both ways, goes into the `transcript`.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        called: str,
        *,
        line_limit: int = LINE_LIMIT,
        show_stderr: bool = False,
        transcript: Transcript | None = None,
        stderr_limit: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        try:
            # In a session of its own, Ctrl-C reaches the harness alone, and killing reaches grandchildren too.
            self._process = subprocess.Popen(
                arguments,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
            )
            self._watchdog = Watchdog(self._process.pid)
        except (OSError, ValueError) as error:
            problem = _why_not_started(arguments[0], error)
            raise TargetError(f"The command {called!r} cannot be run: {problem}.") from None
        self._last_words = LastWords(show=show_stderr)
        self._stderr_limit = stderr_limit
        self._said = 0
        self._pipes = pipes_of(self._process, self._listen)
        self._transcript = transcript
        self._line_limit = line_limit
        self._is_open = True
        self._read = bytearray()
        self._searched = 0
        self._at_end = False

    def _listen(self, piece: bytes) -> None:
        """Take note of what it writes on its stderr."""
        self._said += len(piece)
        self._last_words.hear(piece)

    def send(self, line: bytes) -> None:
        """Send a line. Returns at once; a process that is gone shows when its answer is awaited."""
        if self._transcript is not None:
            self._transcript.sent(line)
        self._said = 0
        self._pipes.send(line)

    def receive(self, deadline: float) -> bytes:
        """Wait for a line until `deadline`, on the clock of `time.monotonic`.

        Raises ProcessEndedError, NoLineError or LineTooLongError if there is none to be had.
        """
        was_gone = False
        while (line := self._take_line()) is None:
            if len(self._read) > self._line_limit:
                raise LineTooLongError(f"wrote a line longer than {self._line_limit} bytes")
            if self._stderr_limit is not None and self._said > self._stderr_limit:
                raise LineTooLongError(f"wrote more than {self._stderr_limit} bytes on its stderr before it answered")
            # A last line without its newline was cut off by the end of the process, so that it is no line.
            if self._at_end or was_gone:
                raise ProcessEndedError(f"{self._how_it_ended()}{self._last_words}")
            remaining = deadline - time.monotonic()
            if not self._hear(min(remaining, _GLANCE)):
                if remaining <= 0:
                    raise NoLineError(str(self._last_words))
                # Lines written before its end may have come since, so that one more glance is taken.
                was_gone = self._process.poll() is not None and not self._hear(0)
        if len(line) > self._line_limit:
            raise LineTooLongError(f"wrote a line longer than {self._line_limit} bytes")
        if self._transcript is not None:
            self._transcript.received(line)
        return line

    def unread(self) -> bytes:
        """Return what came and was not received, of which no more is read than twice what a pipe holds."""
        while len(self._read) <= PIECE and not self._at_end and self._hear(0):
            pass
        unread = bytes(self._read)
        self._read.clear()
        self._searched = 0
        if unread and self._transcript is not None:
            self._transcript.received(unread)
        return unread

    def _hear(self, seconds: float) -> bool:
        """Wait for something on its stdout; return whether something came, which may be its end."""
        piece = self._pipes.wait(seconds)
        if piece is None:
            return False
        self._read += piece
        self._at_end = not piece
        return True

    def _take_line(self) -> bytes | None:
        end = self._read.find(b"\n", self._searched)
        if end < 0:
            # No byte is searched twice, or a long line would take the square of its length.
            self._searched = len(self._read)
            return None
        line = bytes(memoryview(self._read)[: end + 1])
        del self._read[: end + 1]
        self._searched = 0
        return line

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "closed its stdout but kept running"
        self._pipes.drain()
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was ended by signal {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    def close_stdin(self) -> None:
        """Close its stdin."""
        self._pipes.close_stdin()

    def hear_out(self, seconds: float) -> tuple[bytes, bool]:
        """Hear what it still says, until it ends or so many seconds are over.

        Returns the beginning of what was not received, and whether it has ended.
        """
        deadline = time.monotonic() + seconds
        heard = self.unread()
        while not self._at_end and self._process.poll() is None and (remaining := deadline - time.monotonic()) > 0:
            # Reading on keeps a process that still has something to say from waiting for us.
            self._hear(min(remaining, _GLANCE))
            heard = (heard + self.unread())[:PIECE]
        if self._at_end:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=max(0.0, deadline - time.monotonic()))
        return heard + self.unread(), self._process.poll() is not None

    def stop(self, farewell: bytes, seconds: float) -> bytes:
        """Say farewell, close its stdin, give it some seconds to end, then kill it; return what it still said."""
        self.send(farewell)
        self.close_stdin()
        heard, _ = self.hear_out(seconds)
        self.kill()
        return heard

    def kill(self) -> None:
        """End the process and whatever it started. May be called more than once."""
        if os.name == "posix":
            # The group may outlive its leader, hence no look at whether the process itself is gone.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        # A process of another user cannot be ended from here, but may end when nobody speaks to it any more.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_SECONDS_TO_DIE)
        if not self._is_open:
            return
        self._is_open = False
        self._watchdog.dismiss()
        self._pipes.drain()
        self._pipes.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_SECONDS_TO_DIE)


_KEEP = 'read -r _; kill -s KILL -- "-$1"'
"""The watchdog's stdin is open for as long as the harness lives: not even a SIGKILL can leave it open."""


class Watchdog:
    """A shell that ends a process group at the end of this process, where there are process groups."""

    def __init__(self, group: int) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if os.name == "posix":
            # In a session of its own, so that Ctrl-C and a closed terminal leave it to do its work.
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _KEEP, "sh", str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """End the shell without its doing anything. May be called more than once."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


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


def split_command(command: str | Sequence[str]) -> list[str]:
    """Return the words of a command line; TargetError if it is empty, or a quotation in it does not end."""
    try:
        # Backslashes are part of paths on Windows, and quote elsewhere.
        arguments = shlex.split(command, posix=os.name == "posix") if isinstance(command, str) else [*command]
    except ValueError as problem:
        raise TargetError(f"The command {command!r} cannot be read: {problem}.") from None
    if not arguments:
        raise TargetError('The command is empty; give one such as "node attention.mjs".')
    return arguments


def _why_not_started(program: str, error: OSError | ValueError) -> str:
    if isinstance(error, PermissionError):
        return f"{program} is not executable"
    if not isinstance(error, FileNotFoundError):
        return f"{program} cannot be started ({error})"
    if Path(program).name == program:
        return f"{program} is not installed or not on PATH"
    if Path(program).exists():
        return f"{program} names an interpreter in its first line that is not installed"
    return f"there is no program {program}"
