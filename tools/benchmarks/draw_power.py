"""How many draws it takes to find a mistake, and how small its failure becomes.

``python tools/benchmarks/draw_power.py [--mistakes N] [--seconds S]`` takes N mistakes of the catalogue, evenly over
those of which cases can be drawn, and draws for each until one fails or the seconds are over; then makes it small.
``--write`` writes the figures to ``spec/measurements/draw-power.md``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from measurement_page import MeasurementPage, add_write_option, publish, table

from attnspec.cases import suite_of
from attnspec.draws import Recipe, draw, drawable, drawn_of, shrunk
from attnspec.lattice import Limits
from attnspec.runner import run_suite
from attnspec_authoring.proof.subjects import implementation_of
from attnspec_mistakes import CATALOGUE, Mistake

if TYPE_CHECKING:
    from attnspec.adapters import Implementation
    from attnspec.cases import Case

SEED = "power"

ABOUT = """
Mistakes of the catalogue, taken evenly over those of operations of which cases can be drawn; each in the first dtype
in which it shows, on one processor. Mistakes of refusals, of memory between calls, of quantized tensors and of layouts
of serving are among them, which draws do not ask for: those are not found, and are named.
"""


@dataclass(frozen=True)
class Found:
    """What came of the draws for one mistake; no draws where none failed."""

    mistake: str
    draws: int | None
    seconds: float
    size: int
    features: int
    keys: int


def find(mistake: Mistake, limit: float) -> Found:
    """Draw until a mistake fails or the time is over, and make the failure small."""
    implementation = implementation_of(mistake)
    dtype = mistake.shows_in[0] if mistake.shows_in else "float64"
    start = time.perf_counter()
    number = 0
    while time.perf_counter() - start < limit:
        recipe = Recipe(mistake.operation, SEED, number, Limits(dtype))
        number += 1
        check = _failed(recipe, implementation)
        if check is None:
            continue
        seconds = time.perf_counter() - start
        fails = partial(_fails_likewise, implementation=implementation, check=check)
        small = drawn_of(shrunk(recipe, fails))
        keys = small.extents.get("keys", 0) + small.extents.get("past", 0)
        return Found(mistake.id, number, seconds, sum(small.extents.values()), len(small.features), keys)
    return Found(mistake.id, None, limit, 0, 0, 0)


def _failed(recipe: Recipe, implementation: Implementation) -> str | None:
    return _check(draw(recipe), implementation)


def _fails_likewise(case: Case, implementation: Implementation, check: str) -> bool:
    return _check(case, implementation) == check


def _check(case: Case, implementation: Implementation) -> str | None:
    """Return the check that a case fails, or how it ends; None where it is right."""
    (result,) = run_suite(suite_of([case]), implementation, dtypes=case.dtypes, goes_on=True)
    return (result.verdict.check or result.status) if result.is_wrong else None


def main() -> None:
    """Draw, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mistakes", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60.0)
    add_write_option(parser, "draw-power")
    options = parser.parse_args()
    candidates = [mistake for mistake in CATALOGUE if mistake.operation in drawable()]
    chosen = candidates[:: max(len(candidates) // options.mistakes, 1)][: options.mistakes]
    every = [find(mistake, options.seconds) for mistake in chosen]
    found = [each for each in every if each.draws is not None]
    draws, seconds = sorted(each.draws or 0 for each in found), sorted(each.seconds for each in found)
    few = sum(each.keys <= 4 for each in found)
    figures = [
        *table(
            ("", "figure"),
            [
                ("mistakes tried", len(every)),
                (f"found within {options.seconds:g} s", f"{len(found)} ({len(found) / len(every):.0%})"),
                ("draws to the first failure, median", f"{statistics.median(draws):.0f}"),
                ("the same, 90th percentile", draws[int(len(draws) * 0.9)]),
                ("seconds to the first failure, median", f"{statistics.median(seconds):.2f}"),
                ("made small to at most 4 keys", f"{few} of {len(found)}"),
            ],
        ),
        "",
        "Not found: " + (", ".join(f"`{each.mistake}`" for each in every if each.draws is None) or "none") + ".",
        "",
        "With more than 4 keys: "
        + (", ".join(f"`{each.mistake}` ({each.keys})" for each in found if each.keys > 4) or "none")
        + ".",
    ]
    publish(MeasurementPage("Power of draws", ABOUT, figures), options.write)


if __name__ == "__main__":
    main()
