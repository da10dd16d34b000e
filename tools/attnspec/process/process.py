"""Implementations in any language: a program that speaks JSON Lines over stdin and stdout (``spec/protocol.md``).

A fault of the program costs the request at hand its own answer (a crash, a time-out, a malformed answer); the program
is then started anew for the next request.
"""

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from attnspec.base.errors import AttnspecError, ProtocolError
from attnspec.contract import declarations
from attnspec.contract.declarations import check_capabilities
from attnspec.contract.implementation import Answer, Crashed, Declaration, Declined, Malformed, Request, TimedOut
from attnspec.process.line_process import (
    LINE_LIMIT,
    SECONDS_TO_STOP,
    LineProcess,
    LineTooLongError,
    NoLineError,
    ProcessEndedError,
    split_command,
)
from attnspec.process.messages import (
    STOP,
    Message,
    Started,
    StartRefusedError,
    characters_of,
    check_seq,
    has_earlier_seq,
    read_answer,
    read_message,
    read_started,
    run_message,
    start_message,
    write_message,
)
from attnspec.process.pipes import PIECE
from attnspec.process.tensors_on_the_wire import WireError, quoted
from attnspec.process.transcript import Transcript
from attnspec.targets.target import Target, loading_words

RESTARTS_TRIED = 3
"""Failed restarts in a row after which the program is given up."""

SECONDS = 30.0
"""How long one call may take where the user does not say."""

SECONDS_TO_START = 60.0
"""How long a process may take until it is ready: large frameworks load slowly and compute fast."""

_QUOTED_OF_SURPLUS = 100


class ProcessImplementation:
    """An implementation behind the process protocol; satisfies :class:`~.implementation.Implementation`.

    No shell is involved; limits are in bytes: of a line, and of what is written on stderr before it; `environment` is
    this process's own if None. TargetError if the program cannot be started, ProtocolError if the two cannot agree on
    how to talk, UsageError for an unknown convention or a transcript that cannot be written.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        how: Target | None = None,
        *,
        adapter: str | None = None,
        line_limit: int = LINE_LIMIT,
        stderr_limit: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        how = how or Target()
        self._arguments = split_command(command)
        self._adapter = adapter or (command if isinstance(command, str) else shlex.join(command))
        self._timeout = how.timeout or SECONDS
        self._start_timeout = how.start_timeout or SECONDS_TO_START
        self._line_limit = line_limit
        self._stderr_limit = stderr_limit
        self._environment = environment
        self._show_stderr = how.show_stderr
        self._transcript = None if how.transcript is None else Transcript(how.transcript)
        self._seq = 0
        self._answered: Request | None = None
        self._failed_restarts = 0
        self._process: LineProcess | None = None
        try:
            self._started = self._start()
        except BaseException:
            self.close()
            raise

    @property
    def declaration(self) -> Declaration:
        """The program's declaration, when it was first started."""
        return self._started.declaration

    def _start(self) -> Started:
        process = LineProcess(
            self._arguments,
            self._adapter,
            line_limit=self._line_limit,
            show_stderr=self._show_stderr,
            transcript=self._transcript,
            stderr_limit=self._stderr_limit,
            environment=self._environment,
        )
        try:
            process.send(write_message(start_message()))
            line = process.receive(time.monotonic() + self._start_timeout)
            started = read_started(read_message(line), self._adapter)
            declarations.check_conventions(started.declaration.conventions, said_by=self._adapter)
            check_capabilities(started.declaration.without, said_by=self._adapter)
        except BaseException as error:
            process.kill()
            match error:
                case StartRefusedError():
                    problem = f"cannot start: {error}"
                case WireError():
                    problem = f"does not follow the protocol: {error}"
                case NoLineError():
                    longer = f"{self._start_timeout:g} seconds; --start-timeout gives it longer{error}"
                    problem = f"did not answer the start request within {longer}"
                case ProcessEndedError() | LineTooLongError():
                    problem = f"did not answer the start request: it {error}"
                case _:
                    raise
            raise ProtocolError(f"The command {self._adapter!r} {problem}") from None
        self._process = process
        self._answered = None
        return started

    def run(self, request: Request) -> Answer:
        """Answer one request; a fault of the program is an answer and never raises.

        After a crash, a time-out, a line that is no message, a seq that was not requested or an oversized line the two
        are out of step, so that the program is ended, and started again before the next request.
        """
        if request.operation not in self.declaration.operations:
            return Declined(f"{self.declaration.name} does not offer {request.operation}")
        if (unread := self._started.cannot_read(request)) is not None:
            return Declined(unread)
        characters = characters_of(request, self._started.encoding)
        if characters > self._line_limit:
            return Declined(
                f"its request would be a line of about {characters:,} bytes; the protocol has lines of at most "
                f"{self._line_limit:,}"
            )
        if self._process is not None and (problem := self._look_back(self._process)):
            return Malformed(problem)
        if self._process is None and (problem := self._restart()):
            return Crashed(problem, was_requested=False)
        assert self._process is not None
        self._seq += 1
        try:
            message = self._ask(self._process, request)
        except (NoLineError, ProcessEndedError, LineTooLongError, WireError) as error:
            self._end()
            match error:
                case NoLineError():
                    return TimedOut(f"the process gave no answer within {self._timeout:g} seconds{error}")
                case ProcessEndedError():
                    return Crashed(f"the process {error}")
                case LineTooLongError():
                    return Malformed(f"the process {error}")
                case WireError():
                    return Malformed(str(error))
        # Its arrays would stay in memory until the next one is answered.
        self._answered = request._replace(inputs={})
        try:
            return read_answer(message, request, self._started.encoding)
        except WireError as problem:
            # It answered this very request, so that the two are still in step.
            return Malformed(str(problem))

    def _ask(self, process: LineProcess, request: Request) -> Message:
        """Send a request, and return the message with its seq."""
        deadline = time.monotonic() + self._timeout
        process.send(write_message(run_message(self._seq, request, self._started.encoding)))
        while True:
            line = process.receive(deadline)
            message = read_message(line)
            if time.monotonic() > deadline:
                raise NoLineError("")
            if self._answered is None or not has_earlier_seq(message, self._seq):
                check_seq(message, self._seq)
                return message
            _report_surplus(self._answered, line)

    def _look_back(self, process: LineProcess) -> str | None:
        """Find what came since the last answer; return a sentence about it where there was no answer yet."""
        unread = process.unread()
        if not unread:
            return None
        if self._answered is None:
            self._end()
            return _surplus("its answer to start", unread)
        _report_surplus(self._answered, unread)
        if not unread.endswith(b"\n") or len(unread) > PIECE:
            # Nobody knows where the next answer would begin.
            self._end()
        return None

    def hear_out(self) -> None:
        """Look at what has come since the last answer, and report it to the request that it follows."""
        if self._process is not None and self._answered is not None:
            self._look_back(self._process)

    def _restart(self) -> str | None:
        """Start the program again; give the reason if that fails."""
        if self._failed_restarts >= RESTARTS_TRIED:
            return f"the process could not be restarted {RESTARTS_TRIED} times in a row, and was given up"
        try:
            started = self._start()
        except AttnspecError as problem:
            self._failed_restarts += 1
            return f"the process had to be restarted and did not come back: {problem}"
        # The declaration that the run was planned by stays; only how tensors are written may follow the new process.
        self._started = Started(self._started.declaration, started.encoding)
        self._failed_restarts = 0
        return None

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def finish(self) -> None:
        """Send ``stop``, give the program a moment to end by itself, then kill it; it can be called again."""
        if self._process is not None:
            process, self._process = self._process, None
            said = process.stop(write_message(STOP), SECONDS_TO_STOP)
            if said and self._answered is not None:
                _report_surplus(self._answered, said)

    def close(self) -> None:
        """End the program. May be called more than once."""
        self.finish()
        if self._transcript is not None:
            self._transcript.close()


SERVING = ("-P", "-m", "attnspec.process.serving")
"""How Python serves a target. -P: a json.py in the working folder must not stand in for the library's own."""


def isolated(
    target: Target,
    *,
    launcher: Sequence[str] = (sys.executable,),
    serving: Sequence[str] = SERVING,
    forbidden: Sequence[str] = (),
    megabytes: int | None = None,
    adapter: str | None = None,
    **limits: Any,
) -> ProcessImplementation:
    """Run a target of Python, one that has a name, in a process of its own, so that it can crash or be timed out.

    `launcher` starts Python, perhaps behind words that put it elsewhere; `forbidden` are dotted names of functions that
    raise when called; `megabytes` limits the memory, None does not. `adapter` is its name in messages, its own if None;
    `limits` are keywords of :class:`ProcessImplementation`.
    """
    command = [*launcher, *serving]
    command += [f"--forbid={name}" for name in forbidden]
    command += [f"--megabytes={megabytes}"] if megabytes is not None else []
    command += [*loading_words(target), "--", target.name]
    return ProcessImplementation(command, target, adapter=adapter or target.name, **limits)


def _surplus(after: str, said: bytes) -> str:
    words = quoted(said[:_QUOTED_OF_SURPLUS].decode("utf-8", errors="replace"), _QUOTED_OF_SURPLUS)
    return (
        f"after {after}, the process wrote {words} on its stdout, though nothing was requested; "
        "stdout is for answers, print anything else to stderr"
    )


def _report_surplus(request: Request, said: bytes) -> None:
    if request.on_surplus is not None:
        request.on_surplus(_surplus("its answer", said))
