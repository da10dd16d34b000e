"""A table of cases: its factors, which rows may be, and how a row becomes a case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec_authoring.covering.rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from attnspec_authoring.covering.construction import Factors
    from attnspec_authoring.covering.rows import Row
    from attnspec_authoring.recipes.authoring import AuthoredCase


@dataclass(frozen=True)
class Table:
    """Table whose rows are cases.

    `name` begins their ids, and a number of three digits follows; `allowed` takes a row, or a part of one; `case_of`
    takes an id, a row's levels and a seed.
    """

    name: str
    file: Path
    factors: Factors
    allowed: Callable[[Mapping[str, str]], bool]
    case_of: Callable[[str, Mapping[str, str], int], AuthoredCase]

    def rows(self) -> tuple[Row, ...]:
        """Return the rows that are kept."""
        return read_rows(self.file, self.factors)

    def case(self, number: int, row: Row) -> AuthoredCase:
        """Return the case of a row."""
        return self.case_of(f"{self.name}_{number:03}", row.levels, row.seed)

    def cases(self) -> tuple[AuthoredCase, ...]:
        """Return the case of every row that is kept."""
        return tuple(self.case(number, row) for number, row in enumerate(self.rows()))
