"""Replaying a transcript: the same requests to a program, until an answer differs from what was answered then."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from attnspec.base.errors import UsageError
from attnspec.process.line_process import (
    SECONDS_TO_STOP,
    LineProcess,
    LineTooLongError,
    NoLineError,
    ProcessEndedError,
    split_command,
)
from attnspec.process.messages import STOP, read_message, write_message
from attnspec.process.tensors_on_the_wire import WireError, as_list, as_object, quoted
from attnspec.process.transcript import read_transcript

_NOTHING = object()
"""Stands where one of two answers has nothing."""


class Difference(NamedTuple):
    """The first position where two answers differ; `line` is the transcript's line with the request.

    `path` is such as ``outputs.output.data[0][1]``, empty for the whole answer; `then` and `now` are quoted and cut.
    """

    line: int
    request: dict[str, Any]
    path: str
    then: str
    now: str


@dataclass
class Replay:
    """How far a replay got: the number of equal answers, and the first difference, or None."""

    answers: int = 0
    difference: Difference | None = None


class _Exchange(NamedTuple):
    line: int
    request: dict[str, Any]
    answer: object


def replay(path: Path, command: str, *, timeout: float, start_timeout: float) -> Replay:
    """Send a program the requests of a transcript, until one of its answers differs; timeouts in seconds.

    An answer to ``start`` is compared by what requests depend on, for a program may have another version by now.
    UsageError if the transcript cannot be read or has no requests, TargetError if the program cannot be started.
    """
    arguments = split_command(command)
    process: LineProcess | None = None
    done = Replay()
    try:
        for exchange in _exchanges(path):
            kind = exchange.request["type"]
            if kind == "start" or process is None:
                if process is not None:
                    process.kill()
                process = LineProcess(arguments, command)
            if kind == "stop":
                process.stop(write_message(STOP), SECONDS_TO_STOP)
                process = None
                continue
            now = _answer(process, exchange.request, start_timeout if kind == "start" else timeout)
            done.difference = _difference(exchange, now)
            if done.difference is not None:
                return done
            done.answers += 1
    finally:
        if process is not None:
            process.kill()
    if not done.answers:
        raise UsageError(f"The transcript {str(path)!r} holds no request.")
    return done


def _exchanges(path: Path) -> Iterator[_Exchange]:
    """Return each request with the first line that followed it; None where none did."""
    pending: tuple[int, dict[str, Any]] | None = None
    for number, said in enumerate(read_transcript(path), 1):
        request = as_object(said.message)
        if said.speaker == "program":
            if pending is not None:
                yield _Exchange(*pending, said.message)
                pending = None
            continue
        if request is None or request.get("type") not in ("start", "run", "stop"):
            raise UsageError(f"Line {number} of {str(path)!r} is no request: {quoted(said.message)}.")
        if pending is not None:
            yield _Exchange(*pending, None)
        pending = (number, request)
    if pending is not None:
        yield _Exchange(*pending, None)


def _answer(process: LineProcess, request: dict[str, Any], seconds: float) -> object:
    """Return the answer as JSON, or in words what came instead."""
    process.send(write_message(request))
    try:
        return read_message(process.receive(time.monotonic() + seconds))
    except NoLineError as words:
        return f"no answer within {seconds:g} seconds{words}"
    except (ProcessEndedError, LineTooLongError) as problem:
        return f"it {problem}"
    except WireError as problem:
        return str(problem)


def _difference(exchange: _Exchange, now: object) -> Difference | None:
    then = exchange.answer
    if exchange.request["type"] == "start":
        then, now = _what_requests_depend_on(then), _what_requests_depend_on(now)
    if as_object(then) is None and as_object(now) is None:
        return None  # neither gave an answer, however each of them failed to
    path, before, after = next(_differing("", then, now), ("", _NOTHING, _NOTHING))
    if before is after:
        return None
    return Difference(exchange.line, exchange.request, path, _quoted(before), _quoted(after))


def _what_requests_depend_on(answer: object) -> object:
    started = as_object(answer)
    if started is None:
        return answer
    return {"type": started.get("type"), "encoding": started.get("encoding", "list")}


def _differing(path: str, then: object, now: object) -> Iterator[tuple[str, object, object]]:
    """Return each position where two JSON values differ, with both values; numbers are compared, not their spelling."""
    fields, fields_now, items, items_now = as_object(then), as_object(now), as_list(then), as_list(now)
    if fields is not None and fields_now is not None:
        for name in {**fields, **fields_now}:
            inside = f"{path}.{name}" if path else name
            yield from _differing(inside, fields.get(name, _NOTHING), fields_now.get(name, _NOTHING))
    elif items is not None and items_now is not None:
        for index in range(max(len(items), len(items_now))):
            before, after = (some[index] if index < len(some) else _NOTHING for some in (items, items_now))
            yield from _differing(f"{path}[{index}]", before, after)
    elif then != now or isinstance(then, bool) != isinstance(now, bool):
        yield path, then, now


def _quoted(value: object) -> str:
    if value is None or value is _NOTHING:
        return "nothing"
    return value if isinstance(value, str) and "\n" in value else quoted(value, 200)
