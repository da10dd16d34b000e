"""What the oracle raises, and what evaluates an operation a row at a time, where all its rows would take too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class OracleError(Exception):
    """A number could not be certified at the highest precision that the oracle tries."""


class RowByRow(Protocol):
    """An operation on given inputs, of which single rows can be had."""

    def rows(self, positions: Mapping[str, Sequence[int]]) -> Mapping[int, Mapping[str, Sequence[int]]]:
        """Sort wanted elements, by output and flat index, into rows: row to output to indices."""
        ...

    def evaluate(self, row: int, wanted: Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[float]]:
        """Round the wanted elements of one row, in the order of their indices."""
        ...
