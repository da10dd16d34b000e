"""Whether laws of drawn implementations are found: what kind of rule each follows, and with which number.

``python tools/benchmarks/laws_of_drawn.py 1`` draws the 40 wrong attentions of that seed, validates each in float64,
and holds the law that was measured against what was drawn. It prints each; ``--write`` writes the counts of each kind,
and those that are not right, to ``spec/studies/laws-of-drawn.md``.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from study import Study, add_write_option, publish, table

from attnspec.cases import load_suite
from attnspec.diagnosis import diagnose
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_probes import measured

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "implementations"))

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drawn.drawing import Drawn

    from attnspec.runner.result import Law

OPERATION = "scaled_dot_product_attention"
ABOUT = """
Forty wrong attentions, right but for one step, whose numbers are drawn at random, so that no list holds them
(`tests/implementations/drawn`). Each is validated in float64 and measured. The kind is right if the law is of the kind
that was drawn, or of one that amounts to the same; the number is right if it lies within 1% of what was drawn. Where a
form has no number, or the law gives it in other words (a rule of heads, a form of a mask), the kind alone counts.
*Clause* is whether the clause that is reported first is one that the drawn step breaks.
"""

SAME = {
    "scale": ("scale", "base"),
    "base": ("base", "scale"),
    "cap": ("cap",),
    "fill": ("fill", "mask"),
    "tile": ("tile", "tiles", "keys"),
    "offset": ("offset", "distance", "window"),
    "window": ("window", "offset"),
    "head map": ("head map",),
    "added mass": ("added mass", "sinks"),
    "rounding": ("rounding",),
    "mask factor": ("mask", "cap", "scale and mask"),
}
"""Kind that was drawn to the kinds of laws that say it."""

PARAMETERS = (
    "factor",
    "ratio",
    "base",
    "power",
    "constant",
    "added_to_width",
    "bound",
    "cap_factor",
    "fill",
    "tile",
    "offset",
    "mass",
    "bits",
    "limit",
    "threshold",
    "mask_factor",
    "score_factor",
)
"""Names under which a law holds the number that was drawn, if under any."""


@dataclass(frozen=True)
class Found:
    """What was found of one drawn attention."""

    law: Law | None
    calls: int
    failing: int
    clauses: tuple[str, ...]
    seconds: tuple[float, float]


def find(task: tuple[int, int]) -> Found:
    """Validate and measure one of a seed."""
    from drawn.drawing import draw

    warnings.simplefilter("ignore")
    seed, place = task
    implementation = load(draw(seed)[place].implementation)
    suite = load_suite()
    own = {name: case for name, case in suite.cases.items() if case.operation == OPERATION}
    start = time.perf_counter()
    results = run_suite(replace(suite, cases=own), implementation, dtypes=["float64"])
    between = time.perf_counter()
    found = measured(implementation, results)
    seconds = (between - start, time.perf_counter() - between)
    failing = sum(result.is_wrong for result in results)
    diagnosis = diagnose(results, laws=found.laws)
    reported: tuple[str, ...] = ()
    if diagnosis:
        first = diagnosis[0]
        reported = (
            (first.clause,) if first.clause else tuple(each.clause for each in first.suspects if each.is_reported)
        )
    return Found(found.laws[0] if found.laws else None, found.calls, failing, reported, seconds)


def number_is_right(drawn: Drawn, parameters: Mapping[str, float | str]) -> bool | None:
    """Tell whether a law holds the number that was drawn; None where there is none to be held.

    A map of heads is told as the heads or as their rule.
    """
    if drawn.kind == "head map":
        return None
    wanted = [drawn.parameter, *(number for _, number in drawn.equivalent)]
    wanted = [number for number in wanted if number is not None]
    if not wanted:
        return None
    given = [float(parameters[name]) for name in PARAMETERS if isinstance(parameters.get(name), (int, float))]
    given += [math.log(number) for number in given if number > 0]
    return any(abs(number - want) <= 0.01 * abs(want) for number in given for want in wanted)


def measure(seed: int) -> tuple[list[str], list[str]]:
    """Measure all of a seed, and return the figures, and a row for each attention."""
    from drawn.drawing import draw

    load_suite()
    every = draw(seed)
    with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0)), maxtasksperchild=1) as pool:
        found = pool.map(find, [(seed, place) for place in range(len(every))], chunksize=1)
    kinds: dict[str, Counter[str]] = {}
    rows: list[tuple[str, ...]] = []
    missed: list[tuple[str, ...]] = []
    for drawn, reported in zip(every, found, strict=True):
        law = reported.law
        kind = law is not None and law.kind in SAME[drawn.kind]
        number = number_is_right(drawn, law.parameters if law is not None and kind else {})
        clause = bool(reported.clauses) and bool(set(reported.clauses[:1]) & set(drawn.clauses))
        counts = kinds.setdefault(drawn.kind, Counter())
        counts.update(drawn=1, kind=kind, numbers=number is not None, number=bool(number), clause=clause)
        rows.append(
            (
                drawn.kind,
                drawn.name,
                "nothing" if law is None else law.sentence,
                "yes" if kind else "no",
                "" if number is None else "yes" if number else "no",
                "yes" if clause else f"no: {', '.join(reported.clauses)}",
            )
        )
        if not (kind and clause and number in (None, True)):
            missed.append(rows[-1])
    heading = ("drawn kind", "drawn", "measured", "kind", "number", "clause")
    calls = sorted(reported.calls for reported in found)
    slowest = max(reported.seconds[1] / reported.seconds[0] for reported in found)
    figures = [
        f"## Seed {seed}",
        "",
        *table((*heading[:1], "drawn", *heading[3:]), [_counted(name, counts) for name, counts in _with_all(kinds)]),
        "",
        f"Calls: {calls[len(calls) // 2]} in the median, {calls[-1]} at most; probes took up to {slowest:.2f} of the "
        "time of the run.",
        "",
        *([*table(heading, missed), ""] if missed else []),
    ]
    return figures, [*table(heading, rows), ""]


def _with_all(kinds: Mapping[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    return [*kinds.items(), ("all", sum(kinds.values(), Counter()))]


def _counted(name: str, counts: Counter[str]) -> tuple[object, ...]:
    number = f"{counts['number']} of {counts['numbers']}" if counts["numbers"] else ""
    return name, counts["drawn"], counts["kind"], number, counts["clause"]


def main() -> None:
    """Measure, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="+", help="seeds of drawn attentions")
    add_write_option(parser, "laws-of-drawn")
    options = parser.parse_args()
    measured_seeds = [measure(seed) for seed in options.seeds]
    figures = [line for lines, _ in measured_seeds for line in lines]
    details = [line for _, lines in measured_seeds for line in lines]
    publish(Study("Laws of drawn implementations", ABOUT, figures, details), options.write)


if __name__ == "__main__":
    main()
