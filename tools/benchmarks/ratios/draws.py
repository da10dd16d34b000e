"""Draws: made, answered by nobody and graded, beside one call of plain attention of the same size; and their memory."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.cases import suite_of_random
from attnspec.process.process import isolated
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec.targets.target import Target
from attnspec_draws import Recipe, draw
from attnspec_draws.generators.limits import Limits
from ratios import answers
from ratios.answers import DTYPE, Nobody
from ratios.answers import scaled_dot_product_attention as attend
from ratios.timing import Measured, Measurement, in_turn, seconds

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.targets import Implementation

OPERATION = "scaled_dot_product_attention"
YARDSTICK = "one call of plain NumPy attention"
SIZES = (1_000, 10_000, 60_000, 240_000)
"""Elements of the largest tensor of a draw."""

LARGE = {"batch": 4, "shared": 16, "group": 1, "queries": 1024, "keys": 1024, "width": 64, "value_width": 64, "past": 0}
LONG = (1024, 2048, 4096, 8192, 16384)
_MANY = 40
_PLAIN = frozenset(("presentation", "excluded_nonfinite", "attended_nan"))
_EXCLUDING = ("is_causal", "window", "key_lengths", "query_lengths", "causal_alignment")
_WITHOUT_ANYTHING = _PLAIN.union(_EXCLUDING, ("scale", "softcap", "sinks", "alibi_slopes"))

LENGTHS = (4_096, 16_384, 65_536, 262_144)
MEGABYTE = 1e6
_WIDTH = 64
_TENSORS = 4
"""Query, key, value and output: what any check must hold."""

_PROGRAM = """
from attnspec.cases import suite_of
from attnspec_draws import Recipe, draw
from attnspec_draws.generators import Limits
from attnspec.runner import run_suite
from attnspec.targets import load
from ratios.answers import Nobody
from ratios.draws import LARGE, OPERATION, _PLAIN

def peak():
    status = open("/proc/self/status", encoding="utf-8").read()
    return int(status.partition("VmHWM:")[2].split()[0])

answers = load(Nobody())
before = peak()
extents = {**LARGE, "batch": 1, "shared": 1, "queries": LENGTH, "keys": LENGTH}
limits = Limits("float32", _PLAIN | {"mask"}, extents=extents, rows=32)
run_suite(suite_of([draw(Recipe(OPERATION, "bench", 0, limits))]), answers, dtypes=("float32",), goes_on=True)
print(peak() - before)
"""


def _graded(recipes: list[Recipe], implementation: Implementation) -> None:
    for recipe in recipes:
        run_suite(suite_of_random([draw(recipe)]), implementation, dtypes=(DTYPE,), goes_on=True)


def _called(cases: list[Case]) -> None:
    for case in cases:
        tensors = {name: case.inputs[name].astype(DTYPE) for name in ("query", "key", "value")}
        if case.inputs["query"].shape[1] == case.inputs["key"].shape[1]:
            attend(**tensors)
        else:
            group = tensors["query"].shape[1] // max(tensors["key"].shape[1], 1)
            attend(tensors["query"], *(tensors[name].repeat(group, axis=1) for name in ("key", "value")))


def _by_size(runs: int) -> list[Measured]:
    """Measure draws of all shapes, as a campaign has them."""
    nobody = load(Nobody())
    found: list[Measured] = []
    for size in SIZES:
        limits = Limits(DTYPE, _PLAIN, elements=size)
        recipes = [Recipe(OPERATION, "bench", number, limits) for number in range(_MANY)]
        cases = [draw(recipe) for recipe in recipes]
        graded, called = functools.partial(_graded, recipes, nobody), functools.partial(_called, cases)
        name = "draws by elements of the largest tensor"
        found.append(in_turn(name, YARDSTICK, runs, graded, called, at=size))
    return found


def _by_length(runs: int) -> list[Measured]:
    """Measure large draws of one head, rows sampled."""
    nobody = load(Nobody())
    found: list[Measured] = []
    for length in LONG:
        extents = {**LARGE, "batch": 1, "shared": 1, "queries": length, "keys": length}
        recipe = Recipe(OPERATION, "bench", 0, Limits(DTYPE, _PLAIN, extents=extents, rows=32))
        case = draw(recipe)
        tensors = {name: case.inputs[name].astype(DTYPE) for name in ("query", "key", "value")}
        found.append(
            in_turn(
                "large draws by tokens, one head",
                YARDSTICK,
                min(runs, 3),
                functools.partial(_graded, [recipe], nobody),
                functools.partial(attend, **tensors),
                at=length,
            )
        )
    return found


def _judged(runs: int) -> list[Measured]:
    """Measure what the judge takes at 4 x 16 x 1024 x 64 beside what it judges, through the pipe, without the start.

    Zeros come at once, so that their draw takes the judge's own time; what plain attention takes longer is its own.
    """
    files = (f"{answers.__file__}:Nobody", answers.__file__)
    at_once, attending = (isolated(Target(file, timeout=600.0), line_limit=2**32) for file in files)
    limits = Limits(DTYPE, _WITHOUT_ANYTHING, extents=LARGE, rows=32)
    amounts: list[float] = []
    yardsticks: list[float] = []
    try:
        for number in range(runs + 1):
            recipes = [Recipe(OPERATION, "bench", number, limits)]
            own, whole = (seconds(functools.partial(_graded, recipes, each)) for each in (at_once, attending))
            amounts.append(own)
            yardsticks.append(whole - own)
    finally:
        at_once.close()
        attending.close()
    name = "the judge's own part of a draw of 4 x 16 x 1024 x 64"
    return [
        Measured(name, None, "what plain NumPy attention takes of it", "s", tuple(amounts[1:]), tuple(yardsticks[1:]))
    ]


def _memory(_runs: int) -> list[Measured]:
    found: list[Measured] = []
    for length in LENGTHS:
        program = _PROGRAM.replace("LENGTH", str(length))
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).resolve().parents[1],
        )
        taken = int(done.stdout) * 1024 / MEGABYTE
        inherent = _TENSORS * 4 * length * _WIDTH / MEGABYTE
        found.append(
            Measured(
                "peak memory of a large draw by tokens, one head",
                length,
                "its inputs and its output",
                "MB",
                (taken,),
                (inherent,),
            )
        )
    return found


DRAWS = (
    Measurement("draws by size", _by_size),
    Measurement("large draws by length", _by_length),
    Measurement("the judge", _judged),
    Measurement("memory by length", _memory),
)
