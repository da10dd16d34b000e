"""Protocol checks: whether a program keeps to the process protocol, whatever it computes, with a sentence for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import load_suite, run_attributes
from attnspec.contract.dtypes import ANY, is_float, to_run_dtype
from attnspec.contract.implementation import Request
from attnspec.process.line_process import (
    SECONDS_TO_STOP,
    LineProcess,
    LineTooLongError,
    NoLineError,
    ProcessEndedError,
    split_command,
)
from attnspec.process.messages import (
    STOP,
    VERSIONS,
    Message,
    Started,
    StartRefusedError,
    check_seq,
    read_answer,
    read_message,
    read_started,
    run_message,
    start_message,
    write_message,
)
from attnspec.process.tensors_on_the_wire import WireError, as_object, quoted

_SECONDS_OF_SILENCE = 0.1
"""Seconds after an answer in which more is looked for; a program that prints beside its answers does so at once."""

_LATER_VERSION = 1000
"""A version that no program knows yet."""

_LARGE_SEQ = 2_000_000_011
"""Fits 32 bits with a sign, and no float of 32 bits."""

_LARGE_FIELD = "x" * 2**20
"""Makes a line longer than the longest of the shipped cases, and than the buffers that languages read with."""

_FEWEST_ELEMENTS = 4
"""A smaller tensor is a special case, which a program may decline."""

_MOST_TRIED = 8
"""Requests that are tried until the program answers one by outputs."""

_UNKNOWN_OPERATION = "no_such_operation"
_HINT = {"hint": "a later harness may say more"}


class ProtocolCheck(NamedTuple):
    """One protocol check, named for what passes; `fault` says in a sentence what the program does instead, or None."""

    name: str
    fault: str | None


class _FaultError(Exception):
    """The program fails a protocol check; the text is a sentence."""


def protocol_checks_of(command: str, *, timeout: float, start_timeout: float) -> Iterator[ProtocolCheck]:
    """Run a program's protocol checks in turn, timeouts in seconds; without an answer to start only the first.

    Raises TargetError if the program cannot be started.
    """
    talk = _Talk(command, timeout, start_timeout)
    try:
        first = _tried("answers start, of whose versions it knows one", talk, _Talk.start)
        yield first
        if first.fault is None:
            for name, protocol_check in _PROTOCOL_CHECKS.items():
                yield _tried(name, talk, protocol_check)
    finally:
        talk.kill()


def _tried(name: str, talk: _Talk, protocol_check: Callable[[_Talk], object]) -> ProtocolCheck:
    try:
        protocol_check(talk)
    except _FaultError as fault:
        # Out of step or not, the next protocol check begins with a fresh program.
        talk.kill()
        return ProtocolCheck(name, str(fault))
    return ProtocolCheck(name, None)


class _Talk:
    """A program that is spoken to; it is started again when it was killed."""

    def __init__(self, command: str, timeout: float, start_timeout: float) -> None:
        self._arguments = split_command(command)
        self._command = command
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._process: LineProcess | None = None
        self._seq = 0
        self.started: Started | None = None

    def start(self) -> Started:
        """Start the program anew."""
        self.kill()
        self._process = LineProcess(self._arguments, self._command)
        offer = start_message() | {"versions": [*VERSIONS, _LATER_VERSION]} | _HINT
        answer = self._said_to(offer, self._start_timeout)
        with _reported_as_faults():
            self.started = read_started(answer, self._command)
        return self.started

    @cached_property
    def request(self) -> Request:
        """A request that the program answers by outputs, if there is one among those that are tried."""
        started = self.started or self.start()
        requests = _small_requests(started.declaration.operations, started.declaration.dtypes)
        if not requests:
            raise _FaultError("it declares dtypes in which none of its operations is ever requested")
        return next((request for request in requests if self.ask(request)["type"] == "outputs"), requests[0])

    def ask(self, request: Request, *, in_reverse: bool = False, **more: Any) -> Message:
        """Send a request for one operation, with more or other fields, or all in reverse; return a sound answer."""
        started = self.start() if self.started is None or self._process is None else self.started
        encoding = started.encoding
        self._seq += 1
        message = run_message(self._seq, request, encoding) | more
        answer = self._said_to(_reversed(message) if in_reverse else message, self._timeout)
        with _reported_as_faults():
            check_seq(answer, message["seq"])
            if message["operation"] == request.operation:
                read_answer(answer, request, encoding)
        return answer

    def stop(self, *, says_so: bool) -> bool:
        """Send ``stop``; return whether the program ended in time."""
        if self._process is None:
            self.start()
        assert self._process is not None
        if says_so:
            self._process.send(write_message(STOP))
        else:
            self._process.close_stdin()
        said, has_ended = self._process.hear_out(SECONDS_TO_STOP)
        self.kill()
        if said:
            raise _FaultError(f"it wrote {_shown(said)} at its end, where nothing is to be answered")
        return has_ended

    def kill(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _said_to(self, message: Message, seconds: float) -> Message:
        assert self._process is not None
        self._process.send(write_message(message))
        try:
            answer = read_message(self._process.receive(time.monotonic() + seconds))
        except NoLineError as words:
            raise _FaultError(f"it gave no answer within {seconds:g} seconds{self._unflushed()}{words}") from None
        except (ProcessEndedError, LineTooLongError) as problem:
            raise _FaultError(f"it {problem}") from None
        except WireError as problem:
            raise _FaultError(str(problem)) from None
        time.sleep(_SECONDS_OF_SILENCE)
        more = self._process.unread()
        if more:
            raise _FaultError(
                f"after its answer it wrote {_shown(more)} on its stdout; print anything but answers to stderr"
            )
        return answer

    def _unflushed(self) -> str:
        """Report an answer that comes only once stdin is closed."""
        assert self._process is not None
        self._process.close_stdin()
        said, _ = self._process.hear_out(SECONDS_TO_STOP)
        return ", but did when its stdin was closed: flush after every answer" if said else ""


@cache
def _small_requests(operations: tuple[str, ...], dtypes: tuple[str, ...]) -> tuple[Request, ...]:
    """Return the smallest requests that a program with these operations and dtypes is ever requested to answer."""
    fitting = [
        (case, dtype)
        for case in load_suite().cases.values()
        if case.operation in operations and case.rejects is None and case.inputs
        for dtype in case.runs
        if dtype in (*dtypes, ANY) and all(array.size >= _FEWEST_ELEMENTS for array in case.inputs.values())
    ]
    fitting.sort(key=lambda one: sum(array.size for array in one[0].inputs.values()))
    return tuple(
        Request(
            case.operation,
            dtype,
            {name: to_run_dtype(array, dtype) for name, array in case.inputs.items()},
            run_attributes(dtype, case.attributes),
        )
        for case, dtype in fitting[:_MOST_TRIED]
    )


@contextmanager
def _reported_as_faults() -> Generator[None]:
    try:
        yield
    except StartRefusedError as refusal:
        raise _FaultError(f"it says that it cannot start: {refusal}") from None
    except WireError as problem:
        raise _FaultError(str(problem)) from None


def _reversed(value: Message) -> Message:
    fields = {name: as_object(item) for name, item in value.items()}
    return {name: _reversed(inner) if (inner := fields[name]) is not None else value[name] for name in reversed(fields)}


def _shown(said: bytes) -> str:
    return quoted(said[:400].decode("utf-8", errors="replace"), 100)


def _same_kind(talk: _Talk, how: str, **more: Any) -> None:
    """Fail a program whose answer is of another kind when the request has one more field."""
    request = talk.request
    plainly, now = (talk.ask(request, **fields)["type"] for fields in ({}, more))
    if now != plainly:
        raise _FaultError(f"it answers a request by {quoted(plainly)}, but the same request {how} by {quoted(now)}")


def _answers_an_unknown_operation(talk: _Talk) -> None:
    answer = talk.ask(talk.request, operation=_UNKNOWN_OPERATION)
    if answer["type"] not in ("unsupported", "rejected", "error"):
        raise _FaultError(
            f"it answers an operation that does not exist by {quoted(answer['type'])}, not by unsupported or error"
        )


def _with_inputs(talk: _Talk, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
    request = talk.request
    talk.ask(request._replace(inputs={name: change(array) for name, array in request.inputs.items()}))


def _not_finite(array: NDArray[Any]) -> NDArray[Any]:
    words = np.array([np.inf, -np.inf, np.nan])
    return np.resize(words, array.shape).astype(array.dtype) if is_float(array.dtype) else array


def _check_ending(talk: _Talk, *, says_so: bool) -> None:
    if not talk.stop(says_so=says_so):
        when = "stop" if says_so else "the end of its stdin"
        raise _FaultError(f"it was still there {SECONDS_TO_STOP:g} second after {when}, and had to be killed")


def _starts_again(talk: _Talk) -> None:
    before, now = talk.start(), talk.start()
    if before != now:
        raise _FaultError("started a second time, it declares something else than at first")
    talk.ask(talk.request)


_PROTOCOL_CHECKS: Mapping[str, Callable[[_Talk], object]] = {
    "answers a request, and says nothing more": lambda talk: talk.ask(talk.request),
    "echoes a large seq": lambda talk: talk.ask(talk.request, seq=_LARGE_SEQ),
    "ignores a field that it does not know": lambda talk: _same_kind(
        talk, "with a field that it does not know", **_HINT
    ),
    "reads the fields in any order": lambda talk: talk.ask(talk.request, in_reverse=True),
    "reads a line of a million bytes": lambda talk: _same_kind(
        talk, f"in a line of {len(_LARGE_FIELD)} bytes", hint=_LARGE_FIELD
    ),
    "answers an operation that it does not know": _answers_an_unknown_operation,
    "reads tensors without elements": lambda talk: _with_inputs(talk, lambda array: np.atleast_1d(array)[:0]),
    "reads tensors without axes": lambda talk: _with_inputs(talk, lambda array: np.ones((), array.dtype)),
    "reads infinities and not-a-numbers": lambda talk: _with_inputs(talk, _not_finite),
    "ends at stop": lambda talk: _check_ending(talk, says_so=True),
    "ends at the end of its stdin": lambda talk: _check_ending(talk, says_so=False),
    "starts again, and declares the same": _starts_again,
}
"""Names of the checks, each for a program that passes, and the functions that try it."""
