"""Failures as every report tells them: those of one case together, or those of many cases that ended alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec.reports import wording
from attnspec.reports.entries import step_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_MANY = 3
"""From so many cases on, they are told together."""


@dataclass(frozen=True)
class Failure:
    """What is told of some failures, in the words for the first of them.

    Attributes
    ----------
    cases, dtypes
        Ids and dtypes, each once, those of the first failure first.
    status, check
        How it ended, and the check that failed, if one did.
    message
        What went wrong, as the implementation or the grading said it.
    ending
        The message, with the declared conventions under which it was graded.
    step
        The sentence on the step that diverges first; None where only one output was returned.
    worst
        The sentence on the worst element; None where no numbers were compared.
    under
        The declared conventions under which it was graded, if that matters.
    clauses
        The clauses that the case exercises.
    errata
        The errata that bear on a wrong answer.
    """

    cases: tuple[str, ...]
    dtypes: tuple[str, ...]
    status: str
    check: str | None
    message: str
    ending: str
    step: str | None
    worst: str | None
    under: str | None
    clauses: tuple[str, ...]
    errata: tuple[str, ...]


class Failures(NamedTuple):
    """Failures, divided by how they are told.

    Attributes
    ----------
    by_case
        The failures of each case; cases with wrong numbers come first.
    together
        Failures that ended in the same words, many cases each.
    """

    by_case: list[Failure]
    together: list[Failure]


def failure_of(results: Sequence[Mapping[str, Any]]) -> Failure:
    """Return what is told of some entries of a report's ``results``, which belong together."""
    first = results[0]
    message = first["message"] or first["status"]
    worst = first["worst"]
    return Failure(
        cases=tuple(dict.fromkeys(result["case"] for result in results)),
        dtypes=tuple(dict.fromkeys(result["dtype"] for result in results)),
        status=first["status"],
        check=first["check"],
        message=message,
        ending=wording.ending(message, first["under"]),
        step=step_sentence(first),
        worst=None
        if worst is None
        else wording.worst_element(worst["output"], worst["index"], {name: worst[name] for name in _OF_THE_WORST}),
        under=first["under"],
        clauses=tuple(first["clauses"]),
        errata=tuple(first["errata"]) if first["status"] == "fail" else (),
    )


def told(results: Sequence[Mapping[str, Any]]) -> Failures:
    """Divide failures into those that are told case by case, and those that are told together.

    Wrong numbers are told case by case: they tell more than any words.

    Parameters
    ----------
    results
        Entries of a report's ``results`` that went wrong, in their order.
    """
    by_case = [result for result in results if result["status"] == "fail"]
    together: list[Failure] = []
    for alike in _grouped((result for result in results if result["status"] != "fail"), _words):
        if len({result["case"] for result in alike}) >= _MANY:
            together.append(failure_of(alike))
        else:
            by_case += alike
    return Failures([failure_of(of_case) for of_case in _grouped(by_case, lambda result: result["case"])], together)


_OF_THE_WORST = ("expected", "got", "error", "tolerance", "ratio")


def _words(result: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Return the words in which a result without numbers ended."""
    return result["status"], result["message"], result["under"]


def _grouped(
    results: Iterable[Mapping[str, Any]], key: Callable[[Mapping[str, Any]], object]
) -> list[list[Mapping[str, Any]]]:
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return list(groups.values())
