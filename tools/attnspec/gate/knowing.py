"""What a baseline says of one case in one dtype, for whoever runs the cases by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attnspec.base.plain_text import plain_text

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.gate.baseline import Baseline
    from attnspec.grading import Status


class Known(NamedTuple):
    """What a baseline expects of a result that is not expected to pass.

    Attributes
    ----------
    status
        How it is expected to end: ``unsupported``, or a status that is wrong.
    reason
        Why, in the words of whoever keeps the baseline; may be empty.
    """

    status: Status
    reason: str


def known_of(baseline: Baseline, case: Case, dtype: str, said: str = "") -> Known | None:
    """Return what a baseline says of a case in a dtype; None where it says nothing, so that the case is to pass.

    Parameters
    ----------
    baseline
        What is known.
    case
        The case.
    dtype
        The dtype of the run, or ``any``.
    said
        What was said when it was not graded, if it was asked already: some groups can be told by this alone. Without
        it, the reason of a case that only such groups may name is empty.
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
