"""Golden cases a second, in this process and over the pipe."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import attnspec_reference
from attnspec.cases import attributes_in, load_suite
from attnspec.process.process import isolated
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec.targets.target import Target
from ratios.timing import Measured, Measurement, in_turn

if TYPE_CHECKING:
    from attnspec.cases import Suite

DTYPE = "float32"


def _calls(suite: Suite) -> None:
    """Call the reference twice for every case, as the runner does, and look at nothing."""
    for case in suite.cases.values():
        if case.rejects is None and not case.generated:
            function: Any = getattr(attnspec_reference, case.operation)
            for _ in range(2):
                function(**case.inputs, **attributes_in("float64", case.attributes))


def _measured(runs: int) -> list[Measured]:
    suite = load_suite(profiles=("core",))
    here, there = load("reference"), isolated(Target("reference"))
    try:
        calls = functools.partial(_calls, suite)
        yardstick = "the calls of the reference alone"
        found: list[Measured] = []
        for name, implementation in (("in process", here), ("over the pipe", there)):
            run = functools.partial(run_suite, suite, implementation, dtypes=(DTYPE,))
            found.append(in_turn(f"cases of profile core, {name}", yardstick, runs, run, calls))
        return found
    finally:
        here.close()
        there.close()


CASES = (Measurement("cases", _measured),)
