"""Content of the site: cases, clauses, mistakes and errata, and which of them belong together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from attnspec.base.errors import UsageError
from attnspec.base.files import OPERATION_PAGES
from attnspec.cases import Case, Suite, load_suite, near
from attnspec.commands.python_script import python_script
from attnspec.contract import OPERATIONS
from attnspec.families.lookup import family_of
from attnspec.specification import Clause, Erratum, clauses, errata
from attnspec_mistakes import CATALOGUE, Mistake
from attnspec_mistakes.kill_matrix import KEPT_IN, noticed_cases

CHECKOUT = OPERATION_PAGES.parents[1]
"""The folder of a checkout that holds all that the site shows."""


@dataclass(frozen=True)
class Content:
    """Content of the site, by id, and its relations.

    `catches` has for each case the mistakes that it notices, those first that few cases notice; `caught_by` for each
    mistake the cases that notice it, first those that are there for it, then those that are about little else.
    `scripts` has for each case its stand-alone script. `suite` has the cases of other operations, too.
    """

    operations: tuple[str, ...]
    suite: Suite
    cases: Mapping[str, Case]
    scripts: Mapping[str, str]
    clauses: Mapping[str, Clause]
    errata: Mapping[str, Erratum]
    mistakes: Mapping[str, Mistake]
    catches: Mapping[str, Sequence[str]]
    caught_by: Mapping[str, Sequence[str]]
    cases_of_clause: Mapping[str, Sequence[str]]
    mistakes_of_clause: Mapping[str, Sequence[str]]
    cases_of_erratum: Mapping[str, Sequence[str]]
    mistakes_of_erratum: Mapping[str, Sequence[str]]


def read_content(golden: Path | None = None, operations: Collection[str] = ()) -> Content:
    """Return the content of a checkout; of some operations alone, or of all where none is named.

    Raises
    ------
    UsageError
        There is no operation of a name.
    """
    for name in operations:
        if name not in OPERATIONS:
            raise UsageError(f"--operation {name}: there is no such operation.{near(name, OPERATIONS)}")
    chosen = tuple(name for name in OPERATIONS if not operations or name in operations)
    suite = load_suite(golden, whole=True)
    cases = {case.id: case for case in suite.cases.values() if case.operation in chosen}
    mistakes = {mistake.id: mistake for mistake in CATALOGUE if mistake.operation in chosen}
    caught_by = {mistake.id: _noticing(mistake, cases) for mistake in mistakes.values()}
    return Content(
        operations=chosen,
        suite=suite,
        cases=cases,
        scripts={case.id: python_script(case, family_of(case.operation).formula) for case in cases.values()},
        clauses=clauses(),
        errata=errata(),
        mistakes=mistakes,
        catches=_turned(caught_by),
        caught_by=caught_by,
        cases_of_clause=_grouped((clause, case.id) for case in cases.values() for clause in case.clauses),
        mistakes_of_clause=_grouped((mistake.clause, mistake.id) for mistake in mistakes.values()),
        cases_of_erratum=_grouped((erratum, case.id) for case in cases.values() for erratum in case.errata),
        mistakes_of_erratum=_grouped((each.erratum, each.id) for each in mistakes.values() if each.erratum),
    )


def _noticing(mistake: Mistake, cases: Mapping[str, Case]) -> list[str]:
    """Return the cases that notice a mistake, the most telling first."""
    found = {case for dtype in KEPT_IN for case in noticed_cases(mistake.operation, dtype).get(mistake.id, ())}

    def rank(case: Case) -> tuple[bool, bool, int, str]:
        return mistake.id not in case.targets, mistake.clause not in case.clauses, len(case.clauses), case.id

    return [case.id for case in sorted((cases[each] for each in found if each in cases), key=rank)]


def _turned(caught_by: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return case to mistakes, the rarest first."""
    found = _grouped((case, mistake) for mistake, cases in caught_by.items() for case in cases)
    return {case: sorted(mistakes, key=lambda each: (len(caught_by[each]), each)) for case, mistakes in found.items()}


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
