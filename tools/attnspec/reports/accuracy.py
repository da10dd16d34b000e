"""Accuracy of implementations side by side: error / tolerance over the runs that all of them had compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Accuracy:
    """Ranked implementation: (upper) median over the shared runs of the median error / tolerance of their first output.

    `worst` is the largest error / tolerance, above 1 a failure; `runs` counts the (case, dtype) that all had compared;
    `position` is the index of its report among those ranked.
    """

    name: str
    position: int
    median: float
    worst: float
    runs: int


def rank(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[Accuracy, ...]:
    """Rank report.json documents by median, then by worst, over the runs that were compared in all of them.

    The most accurate come first, those with an error beyond its tolerance last; empty where no run was compared in all.
    """
    compared = [_compared(document) for document in documents]
    shared = reduce(set[tuple[str, str]].intersection, (set(runs) for runs in compared))
    if not shared:
        return ()
    ranked: list[Accuracy] = []
    for position, (name, runs) in enumerate(zip(names, compared, strict=True)):
        medians = sorted(runs[run][0] for run in shared)
        worst = max(runs[run][1] for run in shared)
        ranked.append(Accuracy(name, position, medians[len(medians) // 2], worst, len(shared)))
    return tuple(sorted(ranked, key=lambda entry: (entry.worst > 1, entry.median, entry.worst, entry.position)))


def ratio(value: float | str | None) -> float | None:
    """Return a ratio of report.json as a float; NaN, which no tolerance allows, counts as infinite."""
    if value is None:
        return None
    number = float(value)
    return float("inf") if number != number else number  # noqa: PLR0124 - NaN alone differs from itself


def _compared(document: Mapping[str, Any]) -> dict[tuple[str, str], tuple[float, float]]:
    """Map (case, dtype) to median and worst of every run of which numbers were compared."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for result in document["results"]:
        median = ratio(result["median"])
        if median is not None and result["worst"] is not None and result["graded"]:
            worst = ratio(result["worst"]["ratio"])
            assert worst is not None
            found[result["case"], result["dtype"]] = (median, worst)
    return found
