"""Timing in pairs: what is measured and its yardstick take turns, so that a busy machine is busy for both."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Measured:
    """A figure.

    `name`, `at`: what was measured, and at which size; None where it has none; `yardstick`: what it is a multiple of;
    `unit`: of `amounts` and `yardsticks`: ``s`` or ``MB``; `amounts`, `yardsticks`: what each of the two came to, run
    by run.
    """

    name: str
    at: int | None
    yardstick: str
    unit: str
    amounts: tuple[float, ...]
    yardsticks: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """The ratio of each run."""
        return [amount / yardstick for amount, yardstick in zip(self.amounts, self.yardsticks, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in the file of figures."""
        return {
            "name": self.name,
            "at": self.at,
            "yardstick": self.yardstick,
            "unit": self.unit,
            "ratio": round(self.ratio, 4),
            "ratios": [round(ratio, 4) for ratio in self.ratios],
            "amounts": [round(amount, 6) for amount in self.amounts],
            "yardsticks": [round(yardstick, 6) for yardstick in self.yardsticks],
        }


def measured_from(document: Mapping[str, Any]) -> Measured:
    """Return the figure that stands in the file of figures."""
    amounts, yardsticks = (tuple(document[name]) for name in ("amounts", "yardsticks"))
    return Measured(*(document[name] for name in ("name", "at", "yardstick", "unit")), amounts, yardsticks)


@dataclass(frozen=True)
class Measurement:
    """Something that `make bench` measures.

    `name`: what it is, in words; `measure`: given how many runs: the figures, one for each size.
    """

    name: str
    measure: Callable[[int], list[Measured]]


def in_turn(
    name: str,
    yardstick: str,
    runs: int,
    measured: Callable[[], object],
    by: Callable[[], object],
    *,
    at: int | None = None,
    warm: bool = True,
) -> Measured:
    """Time two things in turn.

    `name`, `yardstick`, `at`: as `Measured` has them; `runs`: how often; `measured`, `by`: what is timed, and its
    yardstick; `warm`: whether both are done once before the clock is started.
    """
    if warm:
        measured()
        by()
    pairs = [(seconds(measured), seconds(by)) for _ in range(runs)]
    amounts, yardsticks = zip(*pairs, strict=True)
    return Measured(name, at, yardstick, "s", amounts, yardsticks)


def seconds(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
