"""``python -m attnspec_authoring.covering``: append the rows that the tables lack, and write them.

Each new row gets the first seed with which every feature of its case shows. Rows that are there are not touched.
"""

from __future__ import annotations

import sys

from attnspec_authoring.covering.seeds import extended
from attnspec_authoring.covering.table import write_rows
from attnspec_authoring.recipes.attention.pairs import TABLES


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
