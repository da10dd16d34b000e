"""Planning: in which dtypes a case is run, under which conventions, and which runs are not offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec import conventions as convention_rules
from attnspec.dtypes import ANY
from attnspec.families.lookup import lacking, needed
from attnspec.layout import clauses_in
from attnspec.runner.preparing import not_graded, prepare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.adapters import Declaration
    from attnspec.cases import Case
    from attnspec.comparison import Run


class Resolved:
    """The choice of every convention for each run, from what is declared.

    Parameters
    ----------
    declared
        Declared conventions, possibly qualified by an operation, and by dtypes and capabilities.
    """

    def __init__(self, declared: Mapping[str, str]) -> None:
        self._declared = declared
        self._is_conditional = bool(convention_rules.conditional(declared))
        self._found: dict[tuple[str, str | None, frozenset[str]], Mapping[str, str]] = {}

    def of(self, operation: str) -> Mapping[str, str]:
        """Return what holds of an operation whatever the dtype and the case."""
        return self._of(operation, None, frozenset())

    def of_run(self, case: Case, dtype: str) -> Mapping[str, str]:
        """Return what holds of a case in a dtype."""
        if not self._is_conditional:
            return self.of(case.operation)
        return self._of(case.operation, dtype, needed(case))

    def _of(self, operation: str, dtype: str | None, needed: frozenset[str]) -> Mapping[str, str]:
        key = (operation, dtype, needed)
        if key not in self._found:
            self._found[key] = convention_rules.resolve(self._declared, operation, dtype=dtype, needed=needed)
        return self._found[key]


def resolved_for(declaration: Declaration, conventions: Mapping[str, str] | None) -> Resolved:
    """Return every convention's choice for each run, from what is declared and what is asked for over it."""
    return Resolved({**declaration.conventions, **(conventions or {})})


def planned_dtypes(case: Case, asked: Sequence[str]) -> list[str]:
    """Return the dtypes in which a case is run, of those that are asked for."""
    return [dtype for dtype in case.runs if dtype in asked or dtype == ANY]


def planned_runs(case: Case, asked: Sequence[str], declaration: Declaration, resolved: Resolved) -> list[Run]:
    """Prepare a case's run in each of its dtypes that is asked for.

    Parameters
    ----------
    case
        The case.
    asked
        The dtypes that are asked for.
    declaration
        What the implementation says about itself.
    resolved
        Every convention's choice for each run.
    """
    case = asked_in_layout(case, declaration.asked_in)
    dtypes = planned_dtypes(case, asked)
    choices = {dtype: resolved.of_run(case, dtype) for dtype in dtypes}
    refusals = {dtype: _not_offered(case, dtype, declaration, choices[dtype]) for dtype in dtypes}
    # Dtypes under the same choices are prepared together, which costs little more than one alone.
    together: dict[int, list[str]] = {}
    for dtype in dtypes:
        if refusals[dtype] is None:
            together.setdefault(id(choices[dtype]), []).append(dtype)
    offered: dict[str, Run] = {}
    for group in together.values():
        offered |= prepare(case, group, choices[group[0]])
    runs = [offered.get(dtype) or not_graded(case, dtype, refusals[dtype] or "") for dtype in dtypes]
    return runs if declaration.asked_in is None else [run._replace(layout=declaration.asked_in) for run in runs]


def asked_in_layout(case: Case, layout: str | None) -> Case:
    """Return a case with the clauses alone that are asked in a layout; None is the contract's own."""
    clauses = clauses_in(case.clauses, layout)
    return case if clauses == case.clauses else case._replace(clauses=clauses)


def _not_offered(case: Case, dtype: str, declaration: Declaration, resolved: Mapping[str, str]) -> str | None:
    if case.operation not in declaration.operations:
        return f"{case.operation} is not offered"
    dtypes = declaration.dtypes_offered(case.operation)
    if dtype not in (*dtypes, ANY):
        return f"{dtype} is not offered: the adapter's `dtypes` are {', '.join(dtypes)}"
    lacked = lacking(case, declaration.without)
    if lacked is not None:
        return f"it is declared to be without {lacked}"
    for name, only in convention_rules.fixed_attributes(resolved).items():
        asked = case.attributes.get(name)
        if asked is not None and asked != only:
            return f"{name}={asked} is not offered; it has {only} alone"
    return None
