"""Which levels of which factors meet in the golden cases, and which do not.

``python tools/benchmarks/coverage.py [--draws N]`` reads every golden case and counts, for each operation, and which of
the holes N draws fill; ``--write`` writes the counts and the holes to ``spec/measurements/coverage.md``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from measurement_page import MeasurementPage, add_write_option, publish, table

from attnspec.cases import load_suite
from attnspec.cases.coverage import Coverage, coverage, missing, summary
from attnspec.contract import OPERATIONS
from attnspec.draws import Recipe, drawable, drawn_of
from attnspec.draws.drawing import case_of
from attnspec.lattice import Limits

ABOUT = """
What the golden cases hold, counted from the cases themselves: for each operation every optional input and attribute,
the memory layout of every input, the extents of every axis, and the class of the numbers. An input that is given
counts under its layout. Extents are classed as kernels see them: powers of two from 16 to 256, one more, and what lies
over; 80 and 96, which are widths of heads. An axis of a tensor is told where it differs from that of the tensors before
it. Refusals are left out.

The second table of an operation lists the pairs of levels that meet in no case: how many pairs of two factors meet,
how many do not, and which. Two large extents, from 16 on, are not asked to meet, for the size of the files. Many other
holes cannot be filled: a past and lengths exclude each other, and what is not there lies nowhere. The tables of the
profile `pairs` (`tools/attnspec_authoring/recipes`) say which pairs are filled on purpose; a test holds them to that.

Where cases of an operation can be drawn, it is said how many of the holes are filled by so many draws in float32.
"""
SEED = "coverage"


def figures(draws: int) -> list[str]:
    """Count, and return the page's tables."""
    cases = [case for case in load_suite().cases.values() if case.rejects is None]
    lines: list[str] = []
    for name in OPERATIONS:
        found = coverage(case for case in cases if case.operation == name)
        met = sum(bool(count) for count in found.pairs.values())
        holes = missing(found)
        lines += [f"## `{name}`", ""]
        lines += [f"{met} pairs of levels meet; {sum(int(str(row[2])) for row in holes)} do not.", ""]
        if name in drawable() and draws:
            lines += [filled(name, found, draws), ""]
        lines += [*table(("factor", "cases"), summary(found)), ""]
        if holes:
            # Words stand on the left, as in a table of two columns.
            rows = [(row[0], f"{row[1]} meet, {row[2]} do not: {row[3]}") for row in holes]
            lines += [*table(("factors", "pairs"), rows), ""]
    return lines


def filled(operation: str, found: Coverage, draws: int) -> str:
    """Say how many of the holes of an operation are filled by draws."""
    recipes = (Recipe(operation, SEED, number, Limits("float32")) for number in range(draws))
    drawn = coverage(case_of(recipe, replace(drawn_of(recipe), expected={})) for recipe in recipes)
    factors = sorted(found.levels)
    holes = [
        ((one, level), (other, another))
        for place, one in enumerate(factors)
        for other in factors[place + 1 :]
        for level, another in found.holes(one, other)
    ]
    seen = sum(bool(drawn.pairs[hole]) for hole in holes)
    return f"{draws:,} draws fill {seen} of the {len(holes)} holes, and have {len(drawn.pairs)} pairs of levels in all."


def main() -> None:
    """Count, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_write_option(parser, "coverage")
    parser.add_argument("--draws", type=int, default=0, help="of each operation of which cases can be drawn")
    options = parser.parse_args()
    publish(MeasurementPage("What meets in the cases", ABOUT, figures(options.draws)), options.write)


if __name__ == "__main__":
    main()
