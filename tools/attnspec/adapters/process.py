"""Implementations in any language: a program that speaks JSON Lines over stdin and stdout.

Whatever the program does wrong costs the request at hand its own answer (a crash, a time-out, a malformed
answer); the program is then started anew for the next request. The spec is ``spec/protocol.md``.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec import conventions
from attnspec.adapters.implementation import Crashed, Declined, Malformed, TimedOut
from attnspec.adapters.line_process import LineProcess, LineTooLongError, NoLineError, ProcessEndedError
from attnspec.adapters.messages import (
    STOP,
    Started,
    StartRefusedError,
    check_seq,
    read_answer,
    read_message,
    read_started,
    run_request,
    start_request,
    write_message,
)
from attnspec.adapters.tensors_on_the_wire import WireError
from attnspec.errors import AttnspecError, ProtocolError, TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.adapters.implementation import Answer, Declaration, Request

LINE_LIMIT = 64 * 1024 * 1024
"""Longest answer in bytes."""

RESTARTS_TRIED = 3
"""Failed restarts in a row after which the program is given up."""

SECONDS_TO_STOP = 1.0


class ProcessImplementation:
    """An implementation behind the process protocol; satisfies :class:`~.implementation.Implementation`.

    Parameters
    ----------
    command
        The command line, as one string such as ``"node attention.mjs"`` or already split. No shell is
        involved.
    adapter
        How reports call the way to it; the command line if None.
    timeout
        Seconds that the answer to one request may take.
    start_timeout
        Seconds that the program may take until it is ready; apart from `timeout`, because large frameworks
        load slowly and compute fast.
    line_limit
        Longest answer in bytes.
    show_stderr
        Whether the program's stderr is passed on to the user's as it comes. It is never judged.

    Raises
    ------
    TargetError
        If the program cannot be started.
    ProtocolError
        If it starts, but the two cannot agree on how to talk.
    UsageError
        If it declares a convention that the spec does not know.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        adapter: str | None = None,
        timeout: float = 30.0,
        start_timeout: float = 60.0,
        line_limit: int = LINE_LIMIT,
        show_stderr: bool = False,
    ) -> None:
        self._arguments = _split(command)
        self._adapter = adapter or (command if isinstance(command, str) else shlex.join(command))
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._line_limit = line_limit
        self._show_stderr = show_stderr
        self._seq = 0
        self._failed_restarts = 0
        self._process: LineProcess | None = None
        self._started = self._start()

    @property
    def declaration(self) -> Declaration:
        """What the program declared when it was first started."""
        return self._started.declaration

    def _start(self) -> Started:
        process = self._launch()
        try:
            process.send(write_message(start_request()))
            started = read_started(read_message(process.receive(self._start_timeout)), self._adapter)
            conventions.check(started.declaration.conventions, said_by=self._adapter)
        except StartRefusedError as refusal:
            process.kill()
            raise ProtocolError(f"The command {self._adapter!r} cannot start: {refusal}") from None
        except WireError as problem:
            process.kill()
            raise ProtocolError(f"The command {self._adapter!r} does not follow the protocol: {problem}") from None
        except (ProcessEndedError, NoLineError, LineTooLongError) as problem:
            process.kill()
            raise ProtocolError(
                f"The command {self._adapter!r} did not answer the start request: it {problem}"
            ) from None
        except BaseException:
            process.kill()
            raise
        self._process = process
        return started

    def _launch(self) -> LineProcess:
        program = self._arguments[0]
        try:
            return LineProcess(self._arguments, line_limit=self._line_limit, show_stderr=self._show_stderr)
        except FileNotFoundError:
            if Path(program).name == program:
                problem = f"{program} is not installed or not on PATH"
            elif Path(program).exists():
                problem = f"{program} names an interpreter in its first line that is not installed"
            else:
                problem = f"there is no program {program}"
        except PermissionError:
            problem = f"{program} is not executable"
        except (OSError, ValueError) as error:
            problem = f"{program} cannot be started ({error})"
        raise TargetError(f"The command {self._adapter!r} cannot be run: {problem}.")

    def run(self, request: Request) -> Answer:
        """Answer one request. Never raises for what the program does wrong.

        After a crash, a time-out, a line that is no message, a wrong seq or an oversized line the two are out
        of step, so that the program is ended, and started again before the next request.
        """
        if request.operation not in self.declaration.operations:
            return Declined(f"{self.declaration.name} does not offer {request.operation}")
        if self._process is None and (problem := self._restart()):
            return Crashed(problem, was_asked=False)
        assert self._process is not None
        self._seq += 1
        try:
            self._process.send(write_message(run_request(self._seq, request, self._started.encoding)))
            message = read_message(self._process.receive(self._timeout))
            check_seq(message, self._seq)
        except NoLineError as problem:
            answer = TimedOut(f"the process {problem}")
        except ProcessEndedError as problem:
            answer = Crashed(f"the process {problem}")
        except LineTooLongError as problem:
            answer = Malformed(f"the process {problem}")
        except WireError as problem:
            answer = Malformed(str(problem))
        else:
            return self._read(message, request)
        self._end()
        return answer

    def _read(self, message: dict[str, object], request: Request) -> Answer:
        try:
            return read_answer(message, request, self._started.encoding)
        except WireError as problem:
            # It answered this very request, so that the two are still in step.
            return Malformed(str(problem))

    def _restart(self) -> str | None:
        """Start the program again; give the reason if that fails."""
        if self._failed_restarts >= RESTARTS_TRIED:
            return f"the process could not be restarted {RESTARTS_TRIED} times in a row, and was given up"
        try:
            started = self._start()
        except AttnspecError as problem:
            self._failed_restarts += 1
            return f"the process had to be restarted and did not come back: {problem}"
        # What the run was planned by stays; only how tensors are written may follow the new process.
        self._started = Started(self._started.declaration, started.encoding)
        self._failed_restarts = 0
        return None

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def close(self) -> None:
        """Send ``stop``, give the program a moment to end by itself, then kill it."""
        if self._process is not None:
            self._process.stop(write_message(STOP), SECONDS_TO_STOP)
            self._process = None


def isolated(
    target: str,
    *,
    bare_operation: str | None = None,
    renames: Mapping[str, str] | None = None,
    device: str | None = None,
    timeout: float = 30.0,
    show_stderr: bool = False,
) -> ProcessImplementation:
    """Run an in-process Python target in a process of its own, so that it can crash or be timed out.

    Parameters
    ----------
    target, bare_operation, renames, device
        As :func:`attnspec.adapters.loading.load` takes them; an object instead of a name cannot be isolated.
    timeout, show_stderr
        As in :class:`ProcessImplementation`.
    """
    # -P: a json.py in the working folder must not stand in for the library's own.
    command = [sys.executable, "-P", "-m", "attnspec.adapters.serving"]
    command += [f"--as={bare_operation}"] if bare_operation is not None else []
    command += [f"--rename={own}={argument}" for argument, own in (renames or {}).items()]
    command += [f"--device={device}"] if device is not None else []
    command += ["--", target]
    return ProcessImplementation(command, adapter=target, timeout=timeout, show_stderr=show_stderr)


def _split(command: str | Sequence[str]) -> list[str]:
    try:
        # Backslashes are part of paths on Windows, and quote elsewhere.
        arguments = shlex.split(command, posix=os.name == "posix") if isinstance(command, str) else [*command]
    except ValueError as problem:
        raise TargetError(f"The command {command!r} cannot be read: {problem}.") from None
    if not arguments:
        raise TargetError('The command is empty; give one such as "node attention.mjs".')
    return arguments
