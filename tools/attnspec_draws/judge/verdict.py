"""The verdict on a candidate: one word, the reason for it, and all that it rests on."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from attnspec.base.plain_text import plain_text
from attnspec.reports.problems import problems_of, whole_of
from attnspec.reports.report import Report, systematic_to_json
from attnspec.reports.screen import cause_lines
from attnspec.reports.wording import as_sentence
from attnspec.runner.systematic import SystematicError
from attnspec_draws.judge.candidate import Conditions
from attnspec_draws.judge.certificate import Certificate
from attnspec_draws.judge.own_inputs import OwnCheckFound
from attnspec_draws.judge.tally import NOTHING_DRAWN, Sampled, Tally

Word = Literal["right", "right at your shapes, wrong beside them", "wrong", "not judged"]

FORMAT = 1
"""Version of the document of a judge's report."""

_QUOTED, _LONGEST = 240, 1_000
"""Characters that are reported of a candidate's own words, and of a whole reason."""


@dataclass(frozen=True, repr=False)
class JudgeReport:
    """Report of the judge on a candidate.

    Attributes
    ----------
    candidate
        Name of the candidate.
    verdict, reason
        One word, and a sentence that says why.
    diagnosis
        Explanations of the failures, a sentence each.
    at, beside
        Tallies of the draws at the shapes, and beside them.
    certificates
        Power of the draws at the shapes, for each operation and dtype; none for those that are too large to be answered
        otherwise.
    sampled
        How much of large draws is compared with values; None where there are none.
    own_checks
        Power of the user's own check, at each shape.
    seed
        The word by which the draws can be made again.
    is_replay
        Whether the seed was known before, so that this judges nothing.
    conditions
        Conditions under which the candidate ran.
    conventions
        Conventions that its answers were graded by, where they are stated.
    systematic
        Factors that were fitted over all draws that passed.
    """

    candidate: str
    verdict: Word
    reason: str
    seed: str
    is_replay: bool
    conditions: Conditions
    diagnosis: tuple[str, ...] = ()
    at: Tally = NOTHING_DRAWN
    beside: Tally = NOTHING_DRAWN
    certificates: tuple[Certificate, ...] = ()
    sampled: Sampled | None = None
    own_checks: tuple[OwnCheckFound, ...] = ()
    conventions: Mapping[str, str] = field(default_factory=dict[str, str])
    systematic: tuple[SystematicError, ...] = ()

    def __repr__(self) -> str:
        """Return the verdict and why, on a line."""
        return f"JudgeReport({self.candidate}: {self.verdict}. {self.reason})"

    def _repr_html_(self) -> str:
        from attnspec.reports.notebook import judged_html

        to_see = self.at.first_wrong or self.beside.first_wrong
        return judged_html(
            f"{self.candidate}: {self.verdict}",
            is_right=None if self.verdict == "not judged" else self.is_right,
            sentences=(*self.sentences(), *([] if to_see is None else [f'To see it: `attnspec.case("{to_see}")`'])),
            tallies={"at your shapes": asdict(self.at), "beside them": asdict(self.beside)},
        )

    def sentences(self) -> list[str]:
        """Return the reason and all that the verdict rests on, as people read it; the seed comes last."""
        followed = ", ".join(f"{name}={choice}" for name, choice in self.conventions.items())
        again = " It was known before: a replay, which judges nothing." if self.is_replay else ""
        is_measured = math.isfinite(self.at.worst) and self.at.draws
        return [
            self.reason,
            *(sentence for sentence in self.diagnosis if sentence not in self.reason),
            *(certificate.sentence() for certificate in self.certificates),
            *([] if self.sampled is None else [self.sampled.sentence()]),
            *(found.sentence() for found in self.own_checks),
            *([f"Worst error / tolerance at the shapes: {self.at.worst:.3g}."] if is_measured else []),
            *([f"Graded by the conventions {followed}."] if followed else []),
            f"Seed {self.seed}.{again}",
        ]

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
            "at": self.at.as_json(),
            "beside": self.beside.as_json(),
            "certificates": [certificate.as_json() for certificate in self.certificates],
            "sampled": None if self.sampled is None else self.sampled.as_json(),
            "own_checks": [found.as_json() for found in self.own_checks],
            "seed": self.seed,
            "is_replay": self.is_replay,
            "conventions": dict(self.conventions),
            "systematic": systematic_to_json(self.systematic),
            "conditions": {**asdict(self.conditions), "forbidden": list(self.conditions.forbidden)},
        }


def judge_report_of(
    candidate: str,
    report: Report,
    *,
    at: Tally,
    beside: Tally,
    own_conventions: Mapping[str, str],
    recognised: tuple[str, ...],
    stopped: str | None,
    **fields: Any,
) -> JudgeReport:
    """Build the report on a candidate; its own words are reported as plain text.

    `own_conventions` are declared, and not graded by; `recognised` says what wrong answers are that were there before;
    `stopped` says why no more was drawn, None where all was; `fields` are others of `JudgeReport`.
    """
    causes = tuple(dict.fromkeys(map(plain_text, (*recognised, *_explaining(report)))))
    diagnosis = (*causes, *map(plain_text, _of_own_conventions(report, own_conventions)))
    word, reason = _found(report, at, beside, causes, stopped)
    reason = plain_text(reason, longest=_LONGEST)
    return JudgeReport(
        plain_text(candidate),
        word,
        reason,
        diagnosis=diagnosis,
        at=at,
        beside=beside,
        systematic=report.systematic,
        **fields,
    )


def not_loaded(candidate: str, why: str, *, seed: str, is_replay: bool, conditions: Conditions) -> JudgeReport:
    """Return the report on a candidate that cannot be loaded, for the reason that its process gave."""
    memory = " It may ask for too little memory: --memory." if "MemoryError" in why else ""
    reason = plain_text(f"It could not be loaded. {why}{memory}", longest=_LONGEST)
    return JudgeReport(plain_text(candidate), "not judged", reason, seed, is_replay, conditions)


def _of_own_conventions(report: Report, own_conventions: Mapping[str, str]) -> Iterator[str]:
    """Say that a candidate declares what it was not graded by, where something is wrong."""
    if report.wrong and own_conventions:
        said = ",".join(f"{name}={choice}" for name, choice in own_conventions.items())
        yield (
            "It declares conventions, and those of the judge are its user's: if they are meant, "
            f"judge it with --convention {said}."
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
        names_one = problem.kind == "check" and not any(result.is_of_run for result in problem.results)
        yield f"{first} Such as: {as_sentence(problem.clearest.verdict.message)}" if names_one else first
        yield from others


def _found(
    report: Report, at: Tally, beside: Tally, diagnosis: tuple[str, ...], stopped: str | None
) -> tuple[Word, str]:
    if at.wrong:
        return "wrong", _why(report, at, diagnosis, stopped)
    if at.declined:
        return "not judged", _declined(report, at)
    if not at.passed:
        return "not judged", "Nothing of its answers at these shapes could be graded."
    if beside.wrong:
        why = f"All {at.draws} draws at the shapes passed. Beside them: {_why(report, beside, diagnosis, stopped)}"
        return "right at your shapes, wrong beside them", why
    of_run = [result.verdict.message for result in report.wrong if result.is_of_run]
    if of_run:
        return "wrong", f"Each of {at.passed} draws passed, but all together are off: {'; '.join(of_run)}."
    if stopped:
        return "wrong", f"All {at.passed} draws that were called passed. {stopped}"
    declined = f"; {beside.declined} there it declined" if beside.declined else ""
    ungraded = f" Of {at.ungraded} others nothing could be graded." if at.ungraded else ""
    passed = f"All {at.passed} draws at the shapes passed, and all {beside.passed} beside them"
    return "right", f"{passed}{declined}.{ungraded}"


def _declined(report: Report, at: Tally) -> str:
    """Say what was declined: whoever answers the easy draws alone is not right."""
    reason = next(result.verdict.message for result in report.results if result.status == "unsupported")
    why = as_sentence(plain_text(reason, longest=_QUOTED))
    if at.declined == at.draws:
        return f"It answered no draw at these shapes: {why}"
    return (
        f"It declined {at.declined} of {at.draws} draws at these shapes: {why} "
        'What your calls never have can be left out: "without" in the file of shapes.'
    )


def _why(report: Report, tally: Tally, diagnosis: tuple[str, ...], stopped: str | None) -> str:
    """Return the sentence of a wrong verdict: how many, and the likeliest cause, or what the first one shows."""
    first = next(result for result in report.results if result.case.id == tally.first_wrong)
    shown = as_sentence(plain_text(first.verdict.message or first.status, longest=_QUOTED))
    raised = first.verdict.worst is None and first.status == "error"
    shown = diagnosis[0] if diagnosis else f"{'It' if raised else 'The first one:'} {shown}"
    more = f" {stopped}" if stopped else ""
    failed = "1 draw failed" if tally.wrong == 1 else f"{tally.wrong} of {tally.draws} draws failed"
    return f"{failed}. {shown}{more}"
