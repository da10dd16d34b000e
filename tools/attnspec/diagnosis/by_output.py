"""Failures in which an output that is not expected is wrong, and the expected ones are right."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS
from attnspec.diagnosis.choosing import one_for_each_case, spread
from attnspec.diagnosis.evidence import Evidence
from attnspec.diagnosis.suspects import Suspect
from attnspec.specification import clauses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.runner import Result

_EXAMINED = 16
"""Failures that are looked at; more add little."""

_SUBJECT = r"(`\w+`(, | and )?)+"
"""Beginning of a clause that is about outputs."""


def suspects_by_output(suspects: Sequence[Suspect], failing: Sequence[Result]) -> tuple[Suspect, ...]:
    """Return the suspected clauses, first that of an output which is not expected and is the only wrong one."""
    graded = [result for result in failing if result.verdict.check == "values" and result.case.properties is None]
    examined = [Evidence(result) for result in spread(one_for_each_case(graded), _EXAMINED)]
    if len(graded) < len(failing) or not examined or any(_expects_what_is_wrong(entry) for entry in examined):
        return tuple(suspects)
    operation = OPERATIONS[failing[0].case.operation]
    for output in operation.outputs:
        clause = _clause_about(output, operation.short_name)
        if suspects and _mentions(suspects[0].clause, output):
            continue
        if clause is not None and all(_is_wrong(entry, output) for entry in examined):
            cases = len({result.case.id for result in failing})
            first = Suspect(clause, 1.0, None, shared=cases, failing=cases, others=0, is_reported=True)
            others = (replace(suspect, is_reported=False) for suspect in suspects if suspect.clause != clause)
            return (first, *others)
    return tuple(suspects)


def _mentions(clause: str, output: str) -> bool:
    known = clauses().get(clause)
    return known is not None and re.search(rf"\b{output}\b", known.text) is not None


def _expects_what_is_wrong(entry: Evidence) -> bool:
    return any(_is_wrong(entry, name) for name in entry.required)


def _is_wrong(entry: Evidence, output: str) -> bool:
    wrong = entry.wrong.get(output)
    return wrong is not None and bool(wrong.any())


def _clause_about(output: str, operation: str) -> str | None:
    """Return the clause that has the name of an output or begins with it."""
    if f"{operation}.{output}" in clauses():
        return f"{operation}.{output}"
    for clause in clauses().values():
        subject = re.match(_SUBJECT, clause.text)
        if clause.id.startswith(f"{operation}.") and subject is not None and f"`{output}`" in subject[0]:
            return clause.id
    return None
