"""What the samples of long cases find, mistake by mistake, and what they would miss.

``python tools/benchmarks/long_sampling.py [--write] [--case GLOB]`` computes each mistake at length on the sampled rows
of each long case in float32, and grades it. Beside them it computes rows that no sample names, spread evenly, to see
which share of all rows the mistake makes wrong. It prints a row for each case and mistake; ``--write`` writes one for
each mistake to ``spec/studies/long-sampling.md``. It takes some minutes.
"""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from study import Study, add_write_option, publish, table

from attnspec.cases import in_run_dtype, load_suite
from attnspec.contract import ON_REQUEST
from attnspec.contract.implementation import Outputs
from attnspec.grading import grade
from attnspec.validation.one_case import run_of
from attnspec_mistakes.attention.long_mistakes import MISTAKES, Tiles

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
"""How often a fault of the printed share would be missed by as many rows, drawn at random."""
ABOUT = """
Each mistake at length on each long case, in float32: in how many cases it changes anything, and in how many of these a
sampled element lies outside of its tolerance. *Least worst* is the error / tolerance of the worst sampled element, in
the case where that is least; *wrong rows* is the least share of all rows that the mistake makes wrong, among rows that
no sample names, spread evenly. *Beyond chance* counts the cases in which as many rows, drawn at random, would find that
share with less than 95 %: there the mistake is found for the borders of tiles, or not at all.
"""


class Found(NamedTuple):
    """What one case says of one mistake.

    `case`, `mistake`: their ids; `worst`: error / tolerance of the worst sampled element; `wrong`, `of_sample`: which
    share of all rows, and of the sampled ones, it makes wrong; `by_chance`: the share of wrong rows that rows drawn at
    random would find, were they as many as are sampled.
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


def details(found: Sequence[Found]) -> list[str]:
    """Return a row for each case and mistake."""
    heading = ("case", "mistake", "worst", "wrong rows", "of the sample", "found by chance")
    rows = [
        (
            f"`{each.case.partition('/')[2]}`",
            f"`{each.mistake}`",
            f"{each.worst:.2g}",
            f"{each.wrong:.1%}",
            f"{each.of_sample:.1%}",
            f"{each.by_chance:.1%}",
        )
        for each in found
    ]
    return [*table(heading, rows), ""]


def figures(found: Sequence[Found]) -> list[str]:
    """Return a row for each mistake, and the pairs that are missed."""
    heading = ("mistake", "cases", "found", "least worst", "wrong rows", "beyond chance")
    rows = [
        (
            f"`{mistake}`",
            len(own),
            sum(each.worst > 1 for each in own),
            f"{min(each.worst for each in own):.2g}",
            f"{min(each.wrong for each in own):.1%}",
            sum(each.wrong < each.by_chance for each in own),
        )
        for mistake in dict.fromkeys(each.mistake for each in found)
        if (own := [each for each in found if each.mistake == mistake])
    ]
    missed = [each for each in found if not each.worst > 1]
    end = f"{len(found)} pairs of a case and a mistake that changes something in it; {len(missed)} are missed."
    named = [f"- `{each.case}`, `{each.mistake}`: {each.worst:.2g}" for each in missed]
    return [*table(heading, rows), "", end, *([""] if named else []), *named]


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description="Measure what samples of long cases find.")
    add_write_option(parser, "long-sampling")
    parser.add_argument("--case", default="*")
    options = parser.parse_args()
    cases = load_suite(profiles=ON_REQUEST).cases.values()
    found = [each for case in cases if fnmatchcase(case.id, options.case) for each in findings(case)]
    study = Study("What the samples of long cases find", ABOUT, figures(found), details(found))
    publish(study, options.write)


if __name__ == "__main__":
    main()
