"""Draws: made, answered by nobody and graded, beside one call of plain attention of the same size."""

from __future__ import annotations

import functools
import statistics
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters import load
from attnspec.adapters.process import isolated
from attnspec.cases import suite_of
from attnspec.draws import Recipe, draw
from attnspec.lattice import Limits
from attnspec.runner import run_suite
from ratios.timing import Measured, Measurement, in_turn, seconds

if TYPE_CHECKING:
    from attnspec.adapters import Implementation
    from attnspec.cases import Case

OPERATION = "scaled_dot_product_attention"
DTYPE = "float32"
YARDSTICK = "one call of plain NumPy attention"
SIZES = (1_000, 10_000, 60_000, 240_000)
"""Elements of the largest tensor of a draw."""

LARGE = {"batch": 4, "shared": 16, "group": 1, "queries": 1024, "keys": 1024, "width": 64, "value_width": 64, "past": 0}
LONG = (1024, 2048, 4096, 8192, 16384)
_MANY = 40
_PLAIN = frozenset(("presentation", "excluded_nonfinite", "attended_nan"))


def plain(query: Any, key: Any, value: Any, **_: Any) -> Any:
    """Attend as a textbook does, whole and in the dtype of the inputs; what else is stated is left out."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(np.float32(query.shape[-1]))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    with np.errstate(all="ignore"):
        return weights / weights.sum(axis=-1, keepdims=True) @ value


def _nobody() -> Implementation:
    """Return an implementation that answers at once: what is left is the time of this project."""

    def zeros(query: Any, key: Any, value: Any, **_: Any) -> Any:
        del key
        return np.zeros((*query.shape[:3], value.shape[3]), query.dtype)

    return load(SimpleNamespace(**{OPERATION: zeros}, name="nobody", dtypes=(DTYPE,)))


def _graded(recipes: list[Recipe], implementation: Implementation) -> None:
    for recipe in recipes:
        run_suite(suite_of([draw(recipe)]), implementation, dtypes=(DTYPE,), goes_on=True)


def _called(cases: list[Case]) -> None:
    for case in cases:
        tensors = {name: case.inputs[name].astype(DTYPE) for name in ("query", "key", "value")}
        if case.inputs["query"].shape[1] == case.inputs["key"].shape[1]:
            plain(**tensors)
        else:
            group = tensors["query"].shape[1] // max(tensors["key"].shape[1], 1)
            plain(tensors["query"], *(tensors[name].repeat(group, axis=1) for name in ("key", "value")))


def _by_size(runs: int) -> list[Measured]:
    """Measure draws of all shapes, as a campaign has them."""
    nobody = _nobody()
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
    nobody = _nobody()
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
                functools.partial(plain, **tensors),
                at=length,
            )
        )
    return found


def _judged(runs: int) -> list[Measured]:
    """Measure what the judge adds to a call at 4 x 16 x 1024 x 64, through the pipe; the start of a process apart."""
    implementation = isolated(f"{__file__}:Plain", timeout=600.0, line_limit=2**32)
    amounts: list[float] = []
    yardsticks: list[float] = []
    try:
        for number in range(runs + 1):
            recipe = Recipe(OPERATION, "bench", number, Limits(DTYPE, _WITHOUT_ANYTHING, extents=LARGE, rows=32))
            whole = seconds(functools.partial(_graded, [recipe], implementation))
            case = draw(recipe)
            tensors = {name: case.inputs[name].astype(DTYPE) for name in ("query", "key", "value")}
            naive = statistics.median(seconds(functools.partial(plain, **tensors)) for _ in range(3))
            amounts.append(whole - naive)
            yardsticks.append(naive)
    finally:
        implementation.close()
    name = "what the judge adds to a call of 4 x 16 x 1024 x 64"
    return [Measured(name, None, YARDSTICK, "s", tuple(amounts[1:]), tuple(yardsticks[1:]))]


_WITHOUT_ANYTHING = _PLAIN | {"is_causal", "scale", "softcap", "window", "sinks", "alibi_slopes", "key_lengths"}
_WITHOUT_ANYTHING |= {"query_lengths", "causal_alignment"}


class Plain:
    """Plain attention as a target."""

    dtypes = (DTYPE,)
    scaled_dot_product_attention = staticmethod(plain)


DRAWS = (
    Measurement("draws by size", _by_size),
    Measurement("large draws by length", _by_length),
    Measurement("the judge", _judged),
)
