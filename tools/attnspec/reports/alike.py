"""Putting together the failures that ended in the same words, such as one exception in a hundred cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

Failure = TypeVar("Failure")

_MANY = 3
"""From so many cases on, they are told together."""


def told_together(
    failures: Sequence[Failure], case: Callable[[Failure], str], words: Callable[[Failure], str | None]
) -> tuple[list[list[Failure]], list[list[Failure]]]:
    """Divide failures into those that are told case by case, and those that are told together.

    Parameters
    ----------
    failures
        In the order of the report.
    case
        Gives the id of a failure's case.
    words
        Gives how a failure ended that returned no numbers; None where wrong numbers tell more than any words.

    Returns
    -------
    by_case
        The failures of each case; cases with wrong numbers come first.
    together
        Failures that ended in the same words, many cases each.
    """
    by_case: list[Failure] = []
    in_words: list[Failure] = []
    for failure in failures:
        (by_case if words(failure) is None else in_words).append(failure)
    together: list[list[Failure]] = []
    for group in _grouped(in_words, words):
        if len({case(failure) for failure in group}) >= _MANY:
            together.append(group)
        else:
            by_case += group
    return _grouped(by_case, case), together


def and_more(names: Sequence[str], shown: int) -> str:
    """Return how many names follow after those that are shown, as the end of a list of them."""
    return f" and {len(names) - shown} more" if len(names) > shown else ""


def _grouped(failures: Iterable[Failure], key: Callable[[Failure], Hashable]) -> list[list[Failure]]:
    groups: dict[Hashable, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(key(failure), []).append(failure)
    return list(groups.values())
