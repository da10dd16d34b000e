"""A table of cases: its factors, its rows, which rows may be, and how a row becomes a case.

Rows are kept as text, a line a row, its levels in the order of the factors, its seed at the end. They are kept and not
made anew, because their numbers are in the ids of cases: a row never moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from attnspec.base.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from attnspec_authoring.covering.construction import Factors
    from attnspec_authoring.recipes.authoring import AuthoredCase


_SEED = "drawn_with"
"""Heading of the last column."""

Call: TypeAlias = "tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]"
"""Inputs and attributes."""


class Row(NamedTuple):
    """Row of a table, factor to level, and the first seed of its case's numbers with which every feature shows."""

    levels: Mapping[str, str]
    seed: int


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


def read_rows(path: Path, factors: Factors) -> tuple[Row, ...]:
    """Read the rows of a table; `RecipeError` where a line lacks a level of a factor, or the seed."""
    if not path.exists():
        return ()
    heading, *lines = path.read_text(encoding="utf-8").splitlines()
    if heading.split() != [*factors, _SEED]:
        raise RecipeError(f"{path.name} has other columns than the factors of its table; write it anew.")
    rows: list[Row] = []
    for line in lines:
        *levels, seed = line.split()
        named = dict(zip(factors, levels, strict=True))
        unknown = [level for name, level in named.items() if level not in factors[name]]
        if unknown:
            raise RecipeError(f"{path.name} holds {unknown[0]!r}, which is a level of no factor: {line!r}.")
        rows.append(Row(named, int(seed)))
    return tuple(rows)


def write_rows(path: Path, factors: Factors, rows: Sequence[Row]) -> None:
    """Write the rows of a table, in columns."""
    lines = [[*factors, _SEED], *([*row.levels.values(), str(row.seed)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
