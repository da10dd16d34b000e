"""Typing in what a document printed, number for number.

Printed numbers stay strings until they are compared, because a string alone tells how many decimals were
printed.
"""

from __future__ import annotations

UNREADABLE = "?"
"""Stands for a number that the document cuts off."""


def row(text: str) -> list[str | None]:
    """Split one printed row into its numbers; ``?`` becomes None."""
    return [None if number == UNREADABLE else number for number in text.split()]


def rows(*texts: str) -> list[list[str | None]]:
    """Split printed rows into their numbers, one list for each row."""
    return [row(text) for text in texts]
