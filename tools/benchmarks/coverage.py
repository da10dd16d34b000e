"""Coverage of the golden cases: which levels of which factors meet in them, and which do not.

``python tools/benchmarks/coverage.py [OPERATION ...] [--draws N]`` reads every golden case and prints the counts and
the holes of each operation, and which of the holes N draws fill. ``--write`` writes one line for each operation to
``spec/studies/coverage.md``; the whole is too long for a page, and is printed anew on request.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from study import Study, add_write_option, publish, table

from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec_draws import Recipe, drawable, drawn_of
from attnspec_draws.campaign.coverage import coverage, factor_rows, unmet_pair_rows
from attnspec_draws.drawing import case_of
from attnspec_draws.generators.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attnspec.cases import Case
    from attnspec_draws.campaign.coverage import Coverage

ABOUT = """
What the golden cases hold, counted from the cases themselves: for each operation every optional input and attribute,
the memory layout of every input, the extents of every axis, and the class of the numbers. An input that is given
counts under its layout. Extents are classed as kernels see them: powers of two from 16 to 256, one more, and what lies
over; 80 and 96, which are widths of heads. An axis of a tensor counts where it differs from that of the tensors before
it. Refusals are left out.

Two levels of two factors *meet* where a case has both. Two large extents, from 16 on, need not meet, for the
size of the files. Many other holes cannot be filled: a past and lengths exclude each other, and what is not there lies
nowhere. The tables of the profile `pairs` (`tools/attnspec_authoring/recipes`) say which pairs are filled on purpose; a
test holds them to that. The last column says how many of the holes so many draws in float32 fill.

The program prints the levels with their counts, and every hole.
"""
HEADING = ("operation", "cases", "factors", "levels", "pairs that meet", "that do not", "filled by draws")
SEED = "coverage"


def measure(operation: str, cases: Iterable[Case], draws: int) -> tuple[tuple[object, ...], list[str]]:
    """Count what meets in the cases of an operation, and return its line and its section."""
    own = [case for case in cases if case.operation == operation]
    found = coverage(own)
    met, holes = sum(bool(count) for count in found.pairs.values()), unmet_pair_rows(found)
    lacking = sum(int(str(row[2])) for row in holes)
    filled = filled_by_draws(operation, found, draws) if operation in drawable() and draws else ""
    levels = sum(len(of_factor) for of_factor in found.levels.values())
    line = (f"`{operation}`", len(own), len(found.levels), levels, met, lacking, filled)
    # Words stand on the left, as in a table of two columns.
    rows = [(row[0], f"{row[1]} meet, {row[2]} do not: {row[3]}") for row in holes]
    section = [f"## `{operation}`", "", *table(("factor", "cases"), factor_rows(found)), ""]
    return line, [*section, *([*table(("factors", "pairs"), rows), ""] if rows else [])]


def filled_by_draws(operation: str, found: Coverage, draws: int) -> str:
    """Say how many of the holes of an operation draws fill."""
    recipes = (Recipe(operation, SEED, number, Limits("float32")) for number in range(draws))
    drawn = coverage(case_of(recipe, replace(drawn_of(recipe), expected={})) for recipe in recipes)
    factors = sorted(found.levels)
    holes = [
        ((one, level), (other, another))
        for index, one in enumerate(factors)
        for other in factors[index + 1 :]
        for level, another in found.unmet_levels(one, other)
    ]
    return f"{sum(bool(drawn.pairs[hole]) for hole in holes)} by {draws:,}"


def main() -> None:
    """Count, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="all where none is named")
    parser.add_argument("--draws", type=int, default=0, help="of each operation of which cases can be drawn")
    add_write_option(parser, "coverage")
    options = parser.parse_args()
    cases = [case for case in load_suite().cases.values() if case.rejects is None]
    found = [measure(operation, cases, options.draws) for operation in options.operations or OPERATIONS]
    details = [line for _, section in found for line in section]
    figures = table(HEADING, [line for line, _ in found])
    publish(Study("What meets in the cases", ABOUT, figures, details), options.write)


if __name__ == "__main__":
    main()
