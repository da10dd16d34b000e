"""What the process protocol adds to a call, beside what JSON and a pipe take by themselves.

``python tools/benchmarks/protocol_cost.py [--rounds N] [--write [FILE]]`` asks the reference for every case in float64,
in this process and behind the protocol, and sends the very messages through ``cat``, in turn.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from study import Study, add_write_option, publish, table

import attnspec
from attnspec.cases import load_suite
from attnspec.contract.dtypes import to_run_dtype
from attnspec.contract.implementation import Request
from attnspec.process.messages import answer_message, run_request
from attnspec.process.process import ProcessImplementation
from attnspec.process.serving import keep_the_protocol_apart, serve
from attnspec.process.tensors_on_the_wire import ENCODINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec.contract.implementation import Implementation
    from attnspec.process.messages import Message
    from attnspec.process.tensors_on_the_wire import Encoding

DTYPE = "float64"
PIECE = 32 * 1024
"""Bytes that are written to ``cat`` before they are read back: less than any pipe holds, so that nobody waits."""

ABOUT = """
What the process protocol adds to a call: the time of every case over the pipe, less the time of the same calls in the
process of the harness. The program is the reference, served by the harness's own half of the protocol, so that both
ends are in the figure: writing and reading tensors, checking both, and waiting for each other.

Beside it stands what nobody can save: `json.dumps` of the same requests and answers, each line sent through `cat` and
back, and `json.loads`. The ratio is what is added to what is echoed. At most 3 is aimed at, for either encoding: JSON
takes so little of `base64` that the nine small tensors of a call, which both ends read, check and write, tell there
most.
"""


class Cost(NamedTuple):
    """Seconds that all calls took, each call in the best of its rounds."""

    in_process: float
    over_the_pipe: float
    echoed: float

    @property
    def added(self) -> float:
        """What the pipe adds."""
        return self.over_the_pipe - self.in_process


class Cat:
    """The program ``cat``, which gives back each line."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()

    def echo(self, line: bytes) -> bytes:
        """Send a line, and return it as it comes back."""
        returned: list[bytes] = []
        for start in range(0, len(line), PIECE):
            expected = os.write(self._stdin, line[start : start + PIECE])
            while expected:
                piece = os.read(self._stdout, PIECE)
                returned.append(piece)
                expected -= len(piece)
        return b"".join(returned)

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def requests() -> list[Request]:
    """Return the request of every case that is run in `DTYPE`."""
    return [
        Request(
            case.operation,
            DTYPE,
            {name: to_run_dtype(array, DTYPE) for name, array in case.inputs.items()},
            dict(case.attributes),
        )
        for case in load_suite().cases.values()
        if DTYPE in case.runs
    ]


def seconds_of_calls(implementation: Implementation, asked: Sequence[Request]) -> list[float]:
    """Return how long each request takes to be answered."""
    return [seconds_of(lambda request=request: implementation.run(request)) for request in asked]


def seconds_of_echoes(exchanges: Sequence[tuple[Message, Message]], cat: Cat) -> list[float]:
    """Return how long each request and its answer take to be dumped, echoed and loaded."""

    def echo(messages: tuple[Message, Message]) -> None:
        for message in messages:
            json.loads(cat.echo(json.dumps(message).encode() + b"\n"))

    return [seconds_of(lambda messages=messages: echo(messages)) for messages in exchanges]


def seconds_of(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(encoding: Encoding, asked: Sequence[Request], rounds: int) -> Cost:
    """Measure in turn, after one round that is not counted."""
    with ExitStack() as stack:
        here = stack.enter_context(closing(attnspec.load("reference")))
        program = [sys.executable, __file__, "--serve", encoding]
        there = stack.enter_context(closing(ProcessImplementation(program)))
        cat = stack.enter_context(closing(Cat()))
        with np.errstate(all="ignore"):
            exchanges = [
                (run_request(1, request, encoding), answer_message(1, here.run(request), encoding)) for request in asked
            ]
            measured = [
                (seconds_of_calls(here, asked), seconds_of_calls(there, asked), seconds_of_echoes(exchanges, cat))
                for _ in range(rounds + 1)
            ]
    return Cost(*(sum_of_best(ways) for ways in zip(*measured[1:], strict=True)))


def sum_of_best(rounds: Sequence[Sequence[float]]) -> float:
    """Return the time of all calls, each in the best of its rounds: so what else runs on the machine is left out."""
    return sum(map(min, zip(*rounds, strict=True)))


def figures(measured: dict[Encoding, Cost], calls: int, rounds: int) -> list[str]:
    """Return the table: microseconds a call."""

    def microseconds(seconds: float) -> str:
        return f"{1e6 * seconds / calls:.0f}"

    rows = [
        (
            f"`{encoding}`",
            *map(microseconds, (cost.in_process, cost.over_the_pipe, cost.added, cost.echoed)),
            f"{cost.added / cost.echoed:.2f}",
        )
        for encoding, cost in measured.items()
    ]
    heading = ("encoding", "in process", "over the pipe", "added", "dump, echo and load", "ratio")
    reported = f"Microseconds a call, the mean of {calls} calls, each in the best of its {rounds} rounds."
    return [reported, "", *table(heading, rows)]


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, metavar="N", help="how many rounds are counted")
    parser.add_argument("--serve", choices=ENCODINGS, help=argparse.SUPPRESS)
    add_write_option(parser, "protocol-cost")
    options = parser.parse_args()
    # As the command line has it, and the process of an isolated target.
    gc.set_threshold(100_000, 20, 20)
    if options.serve is not None:
        stdin, stdout = keep_the_protocol_apart()
        serve(attnspec.load("reference"), stdin, stdout, options.serve)
        return
    asked = requests()
    measured = {encoding: measure(encoding, asked, options.rounds) for encoding in ENCODINGS}
    publish(
        Study("What the process protocol costs", ABOUT, figures(measured, len(asked), options.rounds)),
        options.write,
    )


if __name__ == "__main__":
    main()
