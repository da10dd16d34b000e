"""Failures as every report shows them: those of one case together, or those of many cases that ended alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec.reports import wording
from attnspec.reports.entries import step_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_MANY = 3
"""Cases from which on they are shown together."""


@dataclass(frozen=True)
class Failure:
    """Failures shown together, in the words for the first of them; `cases` and `dtypes` hold each id once.

    `ending` is the message with the declared conventions of its grading (`under`). `step` is None where one output was
    returned, `worst` where no numbers were compared. `clauses` are those the case exercises.
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
    """Failures by how they are shown: `by_case`, wrong numbers first; `together`, many cases with the same ending."""

    by_case: list[Failure]
    together: list[Failure]


def failure_of(results: Sequence[Mapping[str, Any]]) -> Failure:
    """Return the failure that some entries of a report's ``results`` form, which belong together."""
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
        worst=None if worst is None else _worst_element(worst),
        under=first["under"],
        clauses=tuple(first["clauses"]),
        errata=tuple(first["errata"]) if first["status"] == "fail" else (),
    )


def reported(results: Sequence[Mapping[str, Any]]) -> Failures:
    """Divide a report's wrong ``results``, in their order, into those shown case by case and those shown together.

    Wrong numbers are shown case by case: they say more than any words.
    """
    by_case = [result for result in results if result["status"] == "fail"]
    together: list[Failure] = []
    others = [result for result in results if result["status"] != "fail"]
    for alike in _grouped(others, lambda result: (result["status"], result["message"], result["under"])):
        if len({result["case"] for result in alike}) >= _MANY:
            together.append(failure_of(alike))
        else:
            by_case += alike
    return Failures([failure_of(of_case) for of_case in _grouped(by_case, lambda result: result["case"])], together)


def _worst_element(worst: Mapping[str, Any]) -> str:
    numbers = {name: worst[name] for name in ("expected", "got", "error", "tolerance", "ratio")}
    reported = (f"{name} {value if isinstance(value, str) else f'{value:.9g}'}" for name, value in numbers.items())
    return f"Worst element {worst['output']}[{', '.join(map(str, worst['index']))}]: {', '.join(reported)}"


def _grouped(
    results: Iterable[Mapping[str, Any]], key: Callable[[Mapping[str, Any]], object]
) -> list[list[Mapping[str, Any]]]:
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return list(groups.values())
