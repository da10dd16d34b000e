"""The verdict on a candidate: one word, the reason for it, and all that it rests on."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from attnspec.reports.problems import problems_of, whole_of
from attnspec.reports.screen import cause_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec.judgement.candidate import Conditions
    from attnspec.judgement.certificate import Certificate
    from attnspec.judgement.own_inputs import OwnCheckFound
    from attnspec.judgement.sampling import Sampled
    from attnspec.reports.report import Report

Word = Literal["right", "right at your shapes, wrong beside them", "wrong", "not judged"]

FORMAT = 1
"""Version of the document of a judgement."""


@dataclass(frozen=True)
class Tally:
    """What came of the draws at the shapes, or beside them.

    Attributes
    ----------
    draws
        How many were asked.
    wrong
        How many were answered wrongly, or not at all.
    declined
        How many the candidate does not offer.
    lost
        How many ended its process, or took more than the time.
    worst
        The largest error / tolerance of an answer.
    first_wrong
        The recipe of the first wrong one; None where nothing is wrong.
    """

    draws: int
    wrong: int
    declined: int
    lost: int
    worst: float
    first_wrong: str | None

    @property
    def right(self) -> int:
        """How many were answered rightly."""
        return self.draws - self.wrong - self.declined


@dataclass(frozen=True)
class Judgement:
    """What a candidate was found to be.

    Attributes
    ----------
    candidate
        What was judged.
    verdict, reason
        One word, and a sentence that says why.
    diagnosis
        What explains the failures, a sentence each.
    at, beside
        What came of the draws at the shapes, and beside them.
    certificates
        What the draws at the shapes are worth, for each operation and dtype; none for those that are too large to be
        answered otherwise.
    sampled
        How much of large draws is held against values; None where there are none.
    own_checks
        What the user's own check is worth, at each shape.
    seed
        By which word the draws can be made again.
    is_replay
        Whether the seed was known before, so that this is no judgement.
    conditions
        Under what the candidate ran.
    """

    candidate: str
    verdict: Word
    reason: str
    diagnosis: tuple[str, ...]
    at: Tally
    beside: Tally
    certificates: tuple[Certificate, ...]
    sampled: Sampled | None
    own_checks: tuple[OwnCheckFound, ...]
    seed: str
    is_replay: bool
    conditions: Conditions

    @property
    def is_right(self) -> bool:
        """Whether nothing speaks against it."""
        return self.verdict == "right"

    def as_json(self) -> dict[str, Any]:
        """Return the document of it, which follows ``judgement.schema.json``."""
        return {
            "format": FORMAT,
            "candidate": self.candidate,
            "verdict": self.verdict,
            "reason": self.reason,
            "diagnosis": list(self.diagnosis),
            "at": _tally_as_json(self.at),
            "beside": _tally_as_json(self.beside),
            "certificates": [certificate.as_json() for certificate in self.certificates],
            "sampled": None if self.sampled is None else self.sampled.as_json(),
            "own_checks": [found.as_json() for found in self.own_checks],
            "seed": self.seed,
            "is_replay": self.is_replay,
            "conditions": {**asdict(self.conditions), "forbidden": list(self.conditions.forbidden)},
        }


def judgement_of(
    candidate: str,
    report: Report,
    *,
    at: Tally,
    beside: Tally,
    certificates: tuple[Certificate, ...],
    sampled: Sampled | None,
    own_checks: tuple[OwnCheckFound, ...],
    seed: str,
    is_replay: bool,
    conditions: Conditions,
    recognised: tuple[str, ...],
    gave_up: bool,
) -> Judgement:
    """Put together what a candidate was found to be.

    Parameters
    ----------
    candidate, at, beside, certificates, seed, is_replay, conditions
        As `Judgement` has them.
    report
        The results of all draws, with what explains them.
    recognised
        What wrong answers are that were there before, a sentence each.
    gave_up
        Whether no more was asked, because its process kept ending or took too long.
    """
    diagnosis = tuple(dict.fromkeys((*recognised, *_explaining(report))))
    word, reason = _found(report, at, beside, diagnosis, gave_up=gave_up)
    return Judgement(
        candidate, word, reason, diagnosis, at, beside, certificates, sampled, own_checks, seed, is_replay, conditions
    )


def _explaining(report: Report) -> Iterator[str]:
    """Give what explains the failures, in the words of any report; nothing of those that nothing explains."""
    problems = problems_of(report.wrong, report.diagnosis)
    whole = whole_of(report.results)
    for problem in problems:
        if problem.kind not in ("cause", "check"):
            continue
        first, *others = cause_lines(problem, whole, alone=len(problems) == 1)
        # What a check says of one answer names the input, or the output, that it is about.
        yield f"{first} Such as: {problem.telling.verdict.message}." if problem.kind == "check" else first
        yield from others


def _found(report: Report, at: Tally, beside: Tally, diagnosis: tuple[str, ...], *, gave_up: bool) -> tuple[Word, str]:
    if at.wrong:
        return "wrong", _why(report, at, diagnosis, gave_up=gave_up)
    if at.declined:
        return "not judged", _declined(report, at)
    if beside.wrong:
        why = _why(report, beside, diagnosis, gave_up=gave_up)
        return (
            "right at your shapes, wrong beside them",
            f"All {at.draws} draws at the shapes passed. Beside them: {why}",
        )
    declined = f"; {beside.declined} there it declined" if beside.declined else ""
    return "right", f"All {at.right} draws at the shapes passed, and all {beside.right} beside them{declined}."


def _declined(report: Report, at: Tally) -> str:
    """Say what was declined: whoever answers the easy draws alone is not right."""
    reason = next(result.verdict.message for result in report.results if result.status == "unsupported")
    if at.declined == at.draws:
        return f"It answered no draw at these shapes: {reason}."
    return (
        f"It declined {at.declined} of {at.draws} draws at these shapes: {reason}. "
        'What your calls never have can be left out: "without" in the file of shapes.'
    )


def _why(report: Report, tally: Tally, diagnosis: tuple[str, ...], *, gave_up: bool) -> str:
    """Return the sentence of a wrong verdict: how many, and the likeliest cause, or what the first one shows."""
    first = next(result for result in report.results if result.case.id == tally.first_wrong)
    shown = diagnosis[0] if diagnosis else f"{first.verdict.message or first.status}."
    stopped = " No more was asked after three in a row without an answer." if gave_up else ""
    return f"{tally.wrong} of {tally.draws} draws failed. {shown}{stopped}"


def _tally_as_json(tally: Tally) -> dict[str, Any]:
    return {**asdict(tally), "worst": tally.worst if math.isfinite(tally.worst) else None}
