"""``python -m attnspec_authoring.covering``: append the rows that the tables lack, and write them.

Each new row gets the first seed with which every feature of its case shows. Rows that are there are not touched.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from attnspec_authoring.covering.construction import completed
from attnspec_authoring.covering.effects import idle_features
from attnspec_authoring.covering.rows import Row, write_rows
from attnspec_authoring.recipes.attention.pairs import TABLES
from attnspec_authoring.recipes.attention.pairs.switched_off import switched_off

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.covering.table import Table

_MOST_SEEDS = 40
"""A feature that so many draws do not show is not shown by drawing: the rule of the table's rows needs a word."""


def extended(table: Table) -> tuple[tuple[Row, ...], list[str]]:
    """Return the rows of a table with those that it lacks, and what is wrong with some of them."""
    kept = table.rows()
    found = completed(table.factors, table.allowed, [row.levels for row in kept])
    rows, problems = list(kept), list[str]()
    for levels in found.rows[len(kept) :]:
        row, idle = _drawn(table, len(rows), levels)
        rows.append(row)
        if idle:
            problems.append(f"{table.case(len(rows) - 1, row).title}: {', '.join(idle)}")
    return tuple(rows), problems


def _drawn(table: Table, number: int, levels: Mapping[str, str]) -> tuple[Row, list[str]]:
    """Return a row with the first seed with which every feature shows, or with none of which one does, and what not."""
    idle: list[str] = []
    for seed in range(_MOST_SEEDS):
        row = Row(levels, seed)
        case = table.case(number, row)
        idle = idle_features(case, switched_off(case))
        if not idle:
            return row, []
    return Row(levels, 0), idle


def main() -> int:
    """Extend every table, or those that are named."""
    problems: list[str] = []
    for table in TABLES:
        if sys.argv[1:] and table.name not in sys.argv[1:]:
            continue
        rows, wrong = extended(table)
        write_rows(table.file, table.factors, rows)
        print(f"{table.name}: {len(rows)} rows")  # noqa: T201
        problems += wrong
    print(*problems, sep="\n")  # noqa: T201
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
