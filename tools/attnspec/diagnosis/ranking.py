"""Ranking of the catalogue's mistakes by how well they reproduce the outputs that came back.

First a few failing runs are compared with every mistake. The best ones then have to reproduce many more failures, and
to agree with what passed, above all with the passing cases that they would break.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnspec.diagnosis.choosing import aimed_at, clause_shares, finite_results, one_for_each_case, spread_results
from attnspec.diagnosis.evidence import Evidence
from attnspec.runner import Result
from attnspec_mistakes import Mistake

_SCREENED = 10
_FINALISTS = 8
_FAILING_EXAMINED = 48
_PASSING_EXAMINED = 24
_AIMED_AT = 12
WORTH_TELLING = 0.2
"""Share of failures from which on it is worth a report that a mistake reproduces them."""

FEWEST_CASES = 8
"""Cases that NaN alone, which is no number, needs to speak for a mistake; and that must be seen before a convention
stands for a clause: one failing case names nothing on which others were not run."""

_MOST_OPPOSED = 0.5
"""Failures that a mistake would make wrong in another way, for each one that it reproduces: two mistakes in one run
give numbers that neither gives alone."""


@dataclass(frozen=True)
class Candidate:
    """Mistake with the evidence for and against it, in numbers of runs looked at.

    Failing runs: reproduced in the outputs that matter, or `reproduced_fully` in all; `by_numbers` in a number beside
    NaN; `opposed` made wrong in another way; `elsewhere` left right, so something else is wrong; those
    `undecided`, by shapes or NaN. `contradicted` are passing runs that it would break. `error` is the mean over the
    runs reproduced of the largest distance, 1 being the most that agrees. `matching` has the positions, among the
    failing runs, of those that it reproduces.
    """

    mistake: Mistake
    reproduced: int
    reproduced_fully: int
    by_numbers: int
    opposed: int
    elsewhere: int
    undecided: int
    contradicted: int
    error: float
    matching: frozenset[int]

    @property
    def failing(self) -> int:
        """Number of failing runs looked at that decide for or against it."""
        return self.reproduced + self.opposed + self.elsewhere

    @property
    def stands(self) -> bool:
        """Whether the mistake may be the cause of the runs that it reproduces: it would break no pass."""
        return (
            self.reproduced > self.undecided
            and self.contradicted == 0
            and self.opposed <= _MOST_OPPOSED * self.reproduced
            and self.reproduced >= WORTH_TELLING * self.failing
            and (self.by_numbers > 0 or (self.opposed == 0 and self.reproduced >= FEWEST_CASES))
        )


def rank_candidates(
    mistakes: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result], observed: Observed
) -> list[Candidate]:
    """Return the mistakes of one operation that reproduce at least one failure, the likeliest first.

    Order: mistakes that may be the cause, then by failures reproduced, by all outputs reproduced, by agreement with
    what passed, by closeness where that is telling, and by how many failing cases exercise the clause.
    """
    failing_cases, passing_cases = (one_for_each_case(finite_results(results)) for results in (failing, passing))
    examined = spread_results(failing_cases, _FAILING_EXAMINED)
    finalists = _screened(mistakes, observed.all(examined[:_SCREENED]))
    known_to_pass = spread_results(passing_cases, _PASSING_EXAMINED)
    for mistake in finalists:
        known_to_pass += aimed_at(mistake, passing_cases, _AIMED_AT)
        examined += aimed_at(mistake, failing_cases, _AIMED_AT)
    against, contrary = observed.all(examined), observed.all(known_to_pass)
    shares = clause_shares(failing_cases)
    candidates = [_candidate(mistake, against, contrary) for mistake in finalists]
    return sorted(
        (candidate for candidate in candidates if candidate.reproduced),
        key=lambda candidate: (*_rank_key(candidate), -shares.get(candidate.mistake.clause, 0.0)),
    )


def tied(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the first candidate and those that nothing distinguishes from it, not even which failures they give."""
    return [
        candidate
        for candidate in candidates
        if (_rank_key(candidate), candidate.matching) == (_rank_key(candidates[0]), candidates[0].matching)
    ]


class Observed:
    """Evidence by run, each made ready once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], Evidence] = {}

    def all(self, results: Iterable[Result]) -> list[Evidence]:
        """Return the evidence of results, each run once."""
        found: dict[tuple[str, str, int], Evidence] = {}
        for result in results:
            # Graded anew under another convention, it is another run.
            key = (result.case.id, result.dtype, id(result.run))
            found[key] = self._known.setdefault(key, Evidence(result))
        return list(found.values())


def _rank_key(candidate: Candidate) -> tuple[bool, int, int, int, int, float]:
    closeness = 0.0 if candidate.error < 0.1 else round(candidate.error, 1)
    return (
        not candidate.stands,
        -candidate.reproduced,
        candidate.opposed,
        -candidate.reproduced_fully,
        candidate.contradicted,
        closeness,
    )


def _screened(mistakes: Sequence[Mistake], evidence: Sequence[Evidence]) -> list[Mistake]:
    """Return the mistakes that reproduce most of a few failures."""
    counts = {
        mistake.id: sum(entry.agreement(mistake, whole=False).matches for entry in evidence) for mistake in mistakes
    }
    best = sorted((mistake for mistake in mistakes if counts[mistake.id]), key=lambda mistake: -counts[mistake.id])
    return best[:_FINALISTS]


def _candidate(mistake: Mistake, failing: Sequence[Evidence], passing: Sequence[Evidence]) -> Candidate:
    tried = [entry.agreement(mistake) for entry in failing]
    agreements = [agreement for agreement in tried if agreement.decided]
    matching = [agreement for agreement in agreements if agreement.matches]
    opposed = [agreement for entry in passing if (agreement := entry.agreement(mistake)).decided]
    elsewhere = sum(not agreement.matches and not agreement.acts for agreement in agreements)
    return Candidate(
        mistake=mistake,
        reproduced=len(matching),
        reproduced_fully=sum(agreement.matches_all for agreement in agreements),
        by_numbers=sum(agreement.by_numbers for agreement in matching),
        opposed=len(agreements) - len(matching) - elsewhere,
        elsewhere=elsewhere,
        undecided=len(failing) - len(agreements),
        contradicted=sum(not agreement.matches_all for agreement in opposed),
        error=sum(agreement.error for agreement in matching) / max(len(matching), 1),
        matching=frozenset(at for at, agreement in enumerate(tried) if agreement.decided and agreement.matches),
    )
