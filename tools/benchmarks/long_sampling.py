"""What the samples of long cases find, mistake by mistake, and what they would miss.

``python tools/benchmarks/long_sampling.py [--write] [--case GLOB]`` computes each mistake at length on the sampled rows
of each long case in float32, and grades it. Beside them it computes rows that no sample names, spread evenly, to see
which share of all rows the mistake makes wrong. ``--write`` writes the table to ``spec/measurements/long-sampling.md``,
anew after each case; it takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.adapters.implementation import Outputs
from attnspec.cases import in_run_dtype, load_suite
from attnspec.comparison import grade
from attnspec.contract import ON_REQUEST
from attnspec.one_case import run_of
from attnspec_mistakes.attention.long_mistakes import MISTAKES
from attnspec_mistakes.attention.long_tiles import Tiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attnspec.cases import Case
    from attnspec_mistakes import Mistake

DTYPE = "float32"
SPREAD = 64
"""Rows of a head that are looked at beside the sampled ones."""
DIFFERENT = 1e-5
"""An output that differs by more from that of the right tiles is wrong: in float32 these are off by a tenth of it."""
CHANCE = 0.05
"""How often a fault of the share that is told would be missed by as many rows, drawn at random."""
PAGE = Path(__file__).parents[2] / "spec" / "measurements" / "long-sampling.md"
HEAD = """# What the samples of long cases find

Each mistake at length on each long case, in float32: how far the worst sampled element is outside of its tolerance
(error / tolerance), the share of rows that the mistake makes wrong among rows that no sample names, spread evenly, and
among the sampled ones. *Found by chance* is the share of wrong rows that as many rows, drawn at random, would find with
95 %: a mistake with a smaller one is found for the borders of tiles, or not at all. Mistakes that change nothing in a
case are left out. Written by `tools/benchmarks/long_sampling.py`.

| case | mistake | worst | wrong rows | of the sample | found by chance |
|---|---|---|---|---|---|
"""


class Found(NamedTuple):
    """What one case says of one mistake.

    Attributes
    ----------
    case, mistake
        Their ids.
    worst
        Error / tolerance of the worst sampled element.
    wrong, of_sample
        Which share of all rows, and of the sampled ones, it makes wrong.
    by_chance
        The share of wrong rows that rows drawn at random would find, were they as many as are sampled.
    """

    case: str
    mistake: str
    worst: float
    wrong: float
    of_sample: float
    by_chance: float


def findings(case: Case) -> Iterator[Found]:
    """Give what a case says of each mistake that changes anything in it."""
    extents = case.thinned["output"]
    rows = case.sample["output"] // extents[-1]
    sampled = np.unique(rows % extents[2])
    spread = np.setdiff1d(np.linspace(0, extents[2] - 1, SPREAD).astype(np.int64), sampled)
    arguments = {**in_run_dtype(case.inputs, DTYPE), **case.attributes}
    both = np.union1d(sampled, spread)
    right, run = Tiles(tile=1024).of_rows(arguments, both)["output"], run_of(case, DTYPE, {})
    by_chance = 1 - CHANCE ** (1 / np.unique(rows).size)
    for mistake in MISTAKES:
        got = _computed(mistake, arguments, both)
        with np.errstate(invalid="ignore"):
            differs = ~(np.abs(got["output"] - right).max(axis=-1) <= DIFFERENT)
        if not differs[:, :, both].any():
            continue
        worst = grade(run, Outputs(got)).worst
        wrong, of_sample = (float(differs[:, :, rows].mean()) if rows.size else 1.0 for rows in (spread, sampled))
        yield Found(case.id, mistake.id, np.inf if worst is None else worst.ratio, wrong, of_sample, by_chance)


def _computed(mistake: Mistake, arguments: dict[str, Any], rows: Any) -> dict[str, Any]:
    function: Any = mistake.function
    return dict(function.of_rows(arguments, rows))


def page(found: Sequence[Found]) -> str:
    """Return the text of the page."""
    lines = [
        f"| `{each.case.partition('/')[2]}` | `{each.mistake}` | {_told(each.worst)} | {each.wrong:.1%} | "
        f"{each.of_sample:.1%} | {each.by_chance:.1%} |"
        for each in found
    ]
    missed = [each for each in found if not each.worst > 1]
    end = f"\n{len(found)} pairs of a case and a mistake that changes something in it; {len(missed)} are missed.\n"
    return HEAD + "\n".join(lines) + "\n" + end


def _told(worst: float) -> str:
    return f"{worst:.2g}" if worst > 1 else f"{worst:.2g} (missed)"


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description="Measure what samples of long cases find.")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--case", default="*")
    asked = parser.parse_args()
    found: list[Found] = []
    for case in load_suite(profiles=ON_REQUEST).cases.values():
        if fnmatchcase(case.id, asked.case):
            found += findings(case)
            if asked.write:
                PAGE.write_text(page(found), encoding="utf-8")
    if not asked.write:
        sys.stdout.write(page(found))


if __name__ == "__main__":
    main()
