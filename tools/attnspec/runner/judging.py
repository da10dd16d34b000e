"""The verdict on an answer: its grade, and whether it left alone what had been handed out before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.adapters.implementation import Outputs
from attnspec.comparison import RIGHT, grade
from attnspec.convention import Settles
from attnspec.conventions import CHOICES, settling

if TYPE_CHECKING:
    from attnspec.adapters.implementation import Answer
    from attnspec.comparison import Run, Verdict

OUTPUTS_UNCHANGED = "outputs_unchanged"
"""The check that fails where a call writes over what an earlier one returned."""

_ALLOWED = " or ".join(f"{name}={CHOICES[name][1]}" for name in settling(Settles.LIFETIME))


def judged(run: Run, answer: Answer) -> Verdict:
    """Return the verdict on one answer.

    Parameters
    ----------
    run
        What was asked, and what it owes.
    answer
        What came back. What it overwrote is empty where outputs need hold only until the next call.
    """
    verdict = grade(run, answer)
    if verdict.status not in RIGHT or not isinstance(answer, Outputs) or not answer.overwritten:
        return verdict
    return told_overwritten(verdict, answer)


def told_overwritten(verdict: Verdict, answer: Outputs) -> Verdict:
    """Return the fail of a call whose answer is right, and which wrote over the outputs of an earlier one."""
    output = answer.overwritten[0]
    message = (
        f"{output!r}, which an earlier call had returned, was overwritten; outputs belong to the caller. "
        f"Return new arrays, or declare {_ALLOWED}"
    )
    return verdict._replace(status="fail", check=OUTPUTS_UNCHANGED, output=output, message=message)
