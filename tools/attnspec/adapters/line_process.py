"""A child process that is spoken to line by line, without ever waiting for it longer than allowed.

A thread each writes to its stdin, reads its stdout and drains its stderr. Neither a process that does not
read, nor one that writes without end, nor a full pipe in either direction can then block the harness.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

STDERR_LINES_KEPT = 40
STDERR_LINES_QUOTED = 4
STDERR_WIDTH_KEPT = 200


class ProcessEndedError(Exception):
    """The process ended, or closed its stdout, instead of giving a line."""


class NoLineError(Exception):
    """No line came in time."""


class LineTooLongError(Exception):
    """The process wrote a line beyond the limit."""


_TOO_LONG: Final = b""


class LineProcess:
    """A running program.

    Parameters
    ----------
    arguments
        Program and arguments. No shell is involved.
    line_limit
        Longest line in bytes that is read from it.
    show_stderr
        Whether its stderr is passed on to the user's as it comes.

    Raises
    ------
    OSError
        If the program cannot be started.
    """

    def __init__(self, arguments: Sequence[str], *, line_limit: int, show_stderr: bool) -> None:
        # In a session of its own, Ctrl-C reaches the harness alone, and killing reaches grandchildren too.
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._line_limit = line_limit
        self._show_stderr = show_stderr
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # One line waiting is enough; a process that writes without end then blocks, and not our memory.
        self._incoming: queue.Queue[bytes | None] = queue.Queue(maxsize=1)
        self._abandoned = threading.Event()
        self._stderr_lines: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._writer = threading.Thread(target=self._write, args=(stdin,), daemon=True)
        self._reader = threading.Thread(target=self._read, args=(stdout,), daemon=True)
        self._drainer = threading.Thread(target=self._drain, args=(stderr,), daemon=True)
        for thread in (self._writer, self._reader, self._drainer):
            thread.start()

    # Each stream belongs to one thread, which also closes it: closing it under a waiting thread would hang.

    def _write(self, stdin: IO[bytes]) -> None:
        with contextlib.suppress(OSError), stdin:
            while (line := self._outgoing.get()) is not None:
                stdin.write(line)
                stdin.flush()

    def _read(self, stdout: IO[bytes]) -> None:
        with stdout:
            while (line := stdout.readline(self._line_limit + 1)).endswith(b"\n"):
                if self._abandoned.is_set():
                    return
                self._incoming.put(line)
            if len(line) > self._line_limit:
                self._incoming.put(_TOO_LONG)
            # A last line without its newline was cut off by the end of the process, so that it is no line.
            self._incoming.put(None)

    def _drain(self, stderr: IO[bytes]) -> None:
        with stderr:
            while line := stderr.readline(64 * 1024):
                text = line.decode("utf-8", errors="replace").rstrip()
                if text:
                    self._stderr_lines.append(text[:STDERR_WIDTH_KEPT])
                if self._show_stderr:
                    print(text, file=sys.stderr, flush=True)  # noqa: T201

    def send(self, line: bytes) -> None:
        """Send a line. Returns at once; a process that is gone shows when its answer is awaited."""
        self._outgoing.put(line)

    def receive(self, seconds: float) -> bytes:
        """Wait for a line.

        Raises
        ------
        ProcessEndedError, NoLineError, LineTooLongError
            If there is none to be had.
        """
        try:
            line = self._incoming.get(timeout=seconds)
        except queue.Empty:
            raise NoLineError(f"gave no answer within {seconds:g} seconds{self._last_words()}") from None
        if line is None:
            raise ProcessEndedError(f"{self._how_it_ended()}{self._last_words()}")
        if line == _TOO_LONG:
            raise LineTooLongError(f"wrote a line longer than {self._line_limit} bytes")
        return line

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "closed its stdout but kept running"
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was ended by signal {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    def _last_words(self) -> str:
        if self._process.poll() is not None:
            self._drainer.join(timeout=0.5)
        lines = list(self._stderr_lines.copy())
        # What is indented is a stack or an excerpt of source code, in Python and Node.js alike.
        telling = [line for line in lines if len(line) > 1 and not line[0].isspace()] or lines
        quoted = "".join(f"\n    {line.strip()}" for line in telling[-STDERR_LINES_QUOTED:])
        return f"; last on its stderr:{quoted}" if quoted else ""

    def stop(self, farewell: bytes, seconds: float) -> None:
        """Say farewell, close its stdin, give it some seconds to end, then kill it."""
        self._outgoing.put(farewell)
        self._outgoing.put(None)
        deadline = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < deadline:
            # Reading on keeps a process that still has something to say from waiting for us.
            with contextlib.suppress(queue.Empty):
                self._incoming.get(timeout=0.01)
        self.kill()

    def kill(self) -> None:
        """End the process and whatever it started. May be called more than once."""
        if os.name == "posix":
            # The group may outlive its leader, hence no look at whether the process itself is gone.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()
        self._abandoned.set()
        self._outgoing.put(None)
        deadline = time.monotonic() + 1
        while self._reader.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                self._incoming.get(timeout=0.01)
        self._writer.join(timeout=1)
        self._drainer.join(timeout=1)
