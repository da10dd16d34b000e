"""Ranking the mistakes of the catalogue by how well they reproduce what came back.

First a few failing runs are held against every mistake. The best ones then have to reproduce many more failures, and
to agree with what passed, above all with the passing cases that they would break.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.diagnosis.choosing import aimed_at, clause_shares, one_for_each_case, spread, telling
from attnspec.diagnosis.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attnspec.diagnosis.evidence import Agreement
    from attnspec.runner import Result
    from attnspec_mistakes import Mistake

_SCREENED = 10
_FINALISTS = 8
_FAILING_EXAMINED = 48
_PASSING_EXAMINED = 24
_AIMED_AT = 12
_MOST_COUNTED = 3000
MISSED_AT_MOST = 0.02
"""Share of the failures that a mistake may leave unexplained: two programs never go wrong in quite the same way."""


@dataclass(frozen=True)
class Candidate:
    """A mistake and what speaks for and against it.

    Attributes
    ----------
    mistake
        The mistake.
    reproduced, reproduced_fully
        How many of the failing runs looked at it reproduces, in the outputs that matter and in all outputs.
    failing
        How many failing runs were looked at that decide for or against it.
    out_of_reach
        How many failing runs were looked at that do not: the shapes do not allow the mistake, or NaN arises.
    contradicted
        How many of the passing runs looked at it would break.
    error
        Mean over the runs reproduced of the largest distance from what came back, 1 being the most that agrees.
    """

    mistake: Mistake
    reproduced: int
    reproduced_fully: int
    failing: int
    out_of_reach: int
    contradicted: int
    error: float

    @property
    def explains(self) -> bool:
        """Whether the mistake accounts for what failed and for what passed."""
        return (
            self.reproduced > self.out_of_reach
            and self.contradicted == 0
            and self.failing - self.reproduced <= MISSED_AT_MOST * self.failing
        )


def rank(mistakes: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result]) -> list[Candidate]:
    """Return the mistakes that reproduce at least one failure, the likeliest first.

    Parameters
    ----------
    mistakes
        Mistakes of one operation.
    failing, passing
        The results of that operation which were graded on their values.

    Notes
    -----
    The order: mistakes that account for everything, then by failures reproduced, by all outputs reproduced, by
    agreement with what passed, by closeness where that is telling, and by how many failing cases exercise the clause.
    """
    observed = _Observed()
    failing_cases, passing_cases = (one_for_each_case(telling(results)) for results in (failing, passing))
    examined = spread(failing_cases, _FAILING_EXAMINED)
    finalists = _screened(mistakes, observed.all(examined[:_SCREENED]))
    known_to_pass = spread(passing_cases, _PASSING_EXAMINED)
    for mistake in finalists:
        known_to_pass += aimed_at(mistake, passing_cases, _AIMED_AT)
        examined += aimed_at(mistake, failing_cases, _AIMED_AT)
    against, contrary = observed.all(examined), observed.all(known_to_pass)
    shares = clause_shares(failing_cases)
    candidates = [_candidate(mistake, against, contrary) for mistake in finalists]
    return sorted(
        (candidate for candidate in candidates if candidate.reproduced),
        key=lambda candidate: (*_standing(candidate), -shares.get(candidate.mistake.clause, 0.0)),
    )


def tied(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the first candidate and those that nothing tells from it."""
    return [candidate for candidate in candidates if _standing(candidate) == _standing(candidates[0])]


def not_reproduced(mistake: Mistake, failing: Sequence[Result]) -> tuple[int, list[Result]]:
    """Return how many failing runs were looked at, and those that a mistake does not reproduce."""
    looked_at = failing[:_MOST_COUNTED]
    return len(looked_at), [result for result in looked_at if not _matches(Evidence(result).agreement(mistake))]


def speak_against(mistake: Mistake, results: Sequence[Result]) -> list[Result]:
    """Return those of the failing results which decide that there is more wrong than a mistake."""
    decided = ((result, _decided(Evidence(result), mistake)) for result in telling(results))
    return [result for result, agreement in decided if agreement is not None and not agreement.matches]


class _Observed:
    """Evidence by run, each made ready once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Evidence] = {}

    def all(self, results: Iterable[Result]) -> list[Evidence]:
        """Return the evidence of results, each run once."""
        found: dict[tuple[str, str], Evidence] = {}
        for result in results:
            key = (result.case.id, result.dtype)
            found[key] = self._known.setdefault(key, Evidence(result))
        return list(found.values())


def _standing(candidate: Candidate) -> tuple[bool, int, int, int, float]:
    closeness = 0.0 if candidate.error < 0.1 else round(candidate.error, 1)
    return (
        not candidate.explains,
        -candidate.reproduced,
        -candidate.reproduced_fully,
        candidate.contradicted,
        closeness,
    )


def _screened(mistakes: Sequence[Mistake], evidence: Sequence[Evidence]) -> list[Mistake]:
    """Return the mistakes that reproduce most of a few failures."""
    counts: Mapping[str, int] = {
        mistake.id: sum(_matches(entry.agreement(mistake)) for entry in evidence) for mistake in mistakes
    }
    best = sorted((mistake for mistake in mistakes if counts[mistake.id]), key=lambda mistake: -counts[mistake.id])
    return best[:_FINALISTS]


def _candidate(mistake: Mistake, failing: Sequence[Evidence], passing: Sequence[Evidence]) -> Candidate:
    agreements = [agreement for entry in failing if (agreement := _decided(entry, mistake)) is not None]
    matching = [agreement for agreement in agreements if agreement.matches]
    opposed = [agreement for entry in passing if (agreement := entry.agreement(mistake)) is not None]
    return Candidate(
        mistake=mistake,
        reproduced=len(matching),
        reproduced_fully=sum(agreement.matches_all for agreement in agreements),
        failing=len(agreements),
        out_of_reach=len(failing) - len(agreements),
        contradicted=sum(not agreement.matches_all for agreement in opposed),
        error=sum(agreement.error for agreement in matching) / max(len(matching), 1),
    )


def _decided(evidence: Evidence, mistake: Mistake) -> Agreement | None:
    """Return how well a mistake reproduces a run, or None where that cannot be decided."""
    agreement = evidence.agreement(mistake)
    return agreement if agreement is not None and agreement.decided else None


def _matches(agreement: Agreement | None) -> bool:
    return agreement is not None and agreement.matches
