"""Failures of a run as a whole, each a result as if it were of a case."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from attnspec.cases import Case
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import LayerCheck
from attnspec.families.lookup import family_of
from attnspec.grading import NotGraded, Run, Verdict
from attnspec.runner.result import Result


def failure_of_run(operation: str, identity: str, title: str, clause: str, dtype: str, message: str) -> Result:
    """Return a wrong result of a case that stands for a whole run; its profile is the check that fails."""
    check = identity.partition("/")[0]
    case = Case(
        id=identity,
        revision=1,
        title=title,
        operation=operation,
        profile=check,
        clauses=(clause,),
        targets=(),
        errata=(),
        source=MappingProxyType({}),
        dtypes=(dtype,),
        inputs=MappingProxyType({}),
        attributes=MappingProxyType({}),
        expected=None,
        sample=MappingProxyType({}),
        memory_order=MappingProxyType({}),
        rejects=None,
        properties=None,
        changed_argument=None,
        conventions=(),
        printed=(),
    )
    run = Run(case, dtype, OPERATIONS[operation], family_of(operation), {}, NotGraded(message))
    return Result(run, Verdict("fail", check, message=message), 0.0, None)


def layer_failures(checks: Iterable[LayerCheck]) -> tuple[Result, ...]:
    """Return a wrong result for each check of a layer that does not hold."""
    title = "The layer by itself: {}"
    return tuple(
        failure_of_run(
            check.operation,
            check.id,
            title.format(check.name.replace("_", " ")),
            check.clause,
            check.dtype,
            check.message,
        )
        for check in checks
        if check.message
    )
