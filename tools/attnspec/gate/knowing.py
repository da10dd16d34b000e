"""Baseline of one case in one dtype, for tools that run the cases one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attnspec.base.plain_text import plain_text

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.gate.baseline import Baseline
    from attnspec.grading import Status


class Known(NamedTuple):
    """Expectation of a result that is not to pass: ``unsupported`` or a wrong status, and a reason, possibly empty."""

    status: Status
    reason: str


def known_of(baseline: Baseline, case: Case, dtype: str, said: str = "") -> Known | None:
    """Return a baseline's expectation of a case in a dtype or ``any``; None where the case is to pass.

    `said` is the message when it was not graded, if it was run already: some groups can be recognised by this alone.
    Without it, the reason of a case that only such groups may name is empty.
    """
    entry = baseline.by_key.get((case.id, dtype))
    if entry is not None:
        return Known(entry.status, entry.reason)
    if case.id in baseline.cases and case.operation not in baseline.operations:
        return Known("unsupported", f"{case.operation} is not offered")
    if not baseline.has_seen(case, dtype) or not baseline.was_unsupported((case.id, dtype)):
        return None
    words = plain_text(said)
    named = (group for group in baseline.groups if group.names(case, dtype, words))
    return Known("unsupported", next((group.reason for group in named), ""))
