"""Pipes of a child process, stdin, stdout and stderr, which never make the harness wait.

No process that does not read, or writes without end, and no full pipe in either direction can block the harness. Where
the system can wait for several pipes at once, that is done; elsewhere a thread serves each pipe.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

PIECE = 64 * 1024
"""Bytes that are read at a time: the capacity of a pipe of Linux."""

_DRAINED_AT_MOST = 16 * PIECE
"""Bytes of stderr that are still read of a process that is gone; children of its may write without end."""


def _streams(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr


class PolledPipes:
    """Pipes that are waited for together, as POSIX can."""

    def __init__(self, process: subprocess.Popen[bytes], on_stderr: Callable[[bytes], None]) -> None:
        self._streams = _streams(process)
        self._stdin, self._stdout, self._stderr = (stream.fileno() for stream in self._streams)
        self._on_stderr = on_stderr
        self._outgoing = memoryview(b"")
        self._hanging_up = False
        self._poll = select.poll()
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream, False)
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)

    def send(self, data: bytes) -> None:
        """Write to its stdin. Returns at once; bytes that the pipe does not take are written while waiting."""
        self._outgoing = memoryview(bytes(self._outgoing) + data if self._outgoing else data)
        self._write()
        if self._outgoing:
            self._poll.register(self._stdin, select.POLLOUT)

    def _write(self) -> None:
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self._stdin, self._outgoing) :]
        except BlockingIOError:
            return
        except OSError:
            pass  # It reads no more. That shows when its answer is awaited.
        # An empty part of a long line would keep all of it in memory.
        self._outgoing = memoryview(b"")
        if self._hanging_up:
            self._streams[0].close()

    def close_stdin(self) -> None:
        """Close its stdin, once everything is written."""
        self._hanging_up = True
        if not self._outgoing:
            self._streams[0].close()

    def wait(self, seconds: float) -> bytes | None:
        """Wait for something on its stdout: b"" at its end, None if nothing came in time."""
        deadline = time.monotonic() + seconds
        while True:
            events = dict(self._poll.poll(max(0.0, 1000 * (deadline - time.monotonic()))))
            if self._stdout in events:
                return os.read(self._stdout, PIECE)
            if self._stderr in events and not self._read_stderr():
                self._poll.unregister(self._stderr)
            if self._stdin in events:
                # The descriptor is closed with the last write.
                self._poll.unregister(self._stdin)
                self._write()
                if self._outgoing:
                    self._poll.register(self._stdin, select.POLLOUT)
            if time.monotonic() >= deadline:
                return None

    def _read_stderr(self) -> int:
        try:
            piece = os.read(self._stderr, PIECE)
        except BlockingIOError:
            return 1
        self._on_stderr(piece)
        return len(piece)

    def drain(self) -> None:
        """Read what is still to be had of its stderr, once it is gone."""
        waiting = select.poll()
        waiting.register(self._stderr, select.POLLIN)
        read = 0
        while read < _DRAINED_AT_MOST and waiting.poll(0) and (count := self._read_stderr()):
            read += count

    def close(self) -> None:
        """Close all three, once it is gone."""
        for stream in self._streams:
            stream.close()


class ThreadedPipes:
    """Pipes with a thread each, for systems that cannot wait for several at once."""

    def __init__(self, process: subprocess.Popen[bytes], on_stderr: Callable[[bytes], None]) -> None:
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # One piece waiting is enough; a process that writes without end then blocks, and not our memory.
        self._incoming: queue.Queue[bytes] = queue.Queue(maxsize=1)
        self._abandoned = threading.Event()
        stdin, stdout, stderr = _streams(process)
        self._writer = threading.Thread(target=self._write, args=(stdin,), daemon=True)
        self._reader = threading.Thread(target=self._read, args=(stdout,), daemon=True)
        self._drainer = threading.Thread(target=self._pass_on, args=(stderr, on_stderr), daemon=True)
        for thread in (self._writer, self._reader, self._drainer):
            thread.start()

    # Each stream belongs to one thread, which also closes it: closing it under a waiting thread would hang.

    def _write(self, stdin: IO[bytes]) -> None:
        with contextlib.suppress(OSError), stdin:
            while (data := self._outgoing.get()) is not None:
                waiting = memoryview(data)
                while waiting:
                    waiting = waiting[stdin.write(waiting) :]

    def _read(self, stdout: IO[bytes]) -> None:
        with stdout:
            while (piece := stdout.read(PIECE)) and not self._abandoned.is_set():
                self._incoming.put(piece)
            self._incoming.put(b"")

    def _pass_on(self, stderr: IO[bytes], on_stderr: Callable[[bytes], None]) -> None:
        with stderr:
            while piece := stderr.read(PIECE):
                on_stderr(piece)
            on_stderr(b"")

    def send(self, data: bytes) -> None:
        """Write to its stdin."""
        self._outgoing.put(data)

    def close_stdin(self) -> None:
        """Close its stdin, once everything is written."""
        self._outgoing.put(None)

    def wait(self, seconds: float) -> bytes | None:
        """Wait for something on its stdout."""
        try:
            return self._incoming.get(timeout=seconds) if seconds > 0 else self._incoming.get_nowait()
        except queue.Empty:
            return None

    def drain(self) -> None:
        """Read what is still to be had of its stderr."""
        self._drainer.join(timeout=0.5)

    def close(self) -> None:
        """Have the threads close all three."""
        self._abandoned.set()
        self._outgoing.put(None)
        deadline = time.monotonic() + 1
        while self._reader.is_alive() and time.monotonic() < deadline:
            self.wait(0.01)
        self._writer.join(timeout=1)
        self._drainer.join(timeout=1)


Pipes = PolledPipes | ThreadedPipes
"""The three pipes of a child process."""


def pipes_of(process: subprocess.Popen[bytes], on_stderr: Callable[[bytes], None]) -> Pipes:
    """Return the pipes of a process started with all three, unbuffered; `on_stderr` gets its stderr in pieces."""
    return PolledPipes(process, on_stderr) if os.name == "posix" else ThreadedPipes(process, on_stderr)
