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
    from attnspec_reference.mistakes import Mistake

_SCREENED = 10
_FINALISTS = 8
_FAILING_EXAMINED = 48
_PASSING_EXAMINED = 24
_AIMED_AT = 12
_MOST_COUNTED = 800
_MISSED_AT_MOST = 0.05


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
        How many failing runs were looked at in which it can be computed.
    out_of_reach
        How many failing runs were looked at in which it cannot be computed: their shapes do not allow the mistake.
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
            and self.failing - self.reproduced <= _MISSED_AT_MOST * self.failing
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


def count_reproduced(mistake: Mistake, failing: Sequence[Result]) -> tuple[int, int]:
    """Return how many failing runs a mistake reproduces, and of how many."""
    counted = failing[:_MOST_COUNTED]
    agreements = (Evidence(result).agreement(mistake) for result in counted)
    return sum(agreement is not None and agreement.matches for agreement in agreements), len(counted)


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
    agreements = [agreement for entry in failing if (agreement := entry.agreement(mistake)) is not None]
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


def _matches(agreement: Agreement | None) -> bool:
    return agreement is not None and agreement.matches
