"""Failures that say by their check which clause they break: a refusal left out, an input edited, a result kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS
from attnspec.specification import clauses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attnspec.runner import Result
    from attnspec_mistakes import Mistake

_PROMISED = {
    "inputs_unchanged": "inputs_unchanged",
    "outputs_unchanged": "repeatable",
    "repeatable": "repeatable",
    "dtype": "precision.dtype",
}
"""Check to the clause that it tests, without the operation's name."""

SPOILING = (".inputs_unchanged", ".repeatable")
"""Endings of clauses whose breach makes later numbers wrong."""

_ALWAYS_SEEN = ".inputs_unchanged"
"""Ending of the clause whose check sees every breach: inputs are looked at after each call."""

_REFUSAL = ".rejects."


def broken_by_check(wrong: Sequence[Result]) -> Mapping[str, list[Result]]:
    """Map each clause to the wrong results of one operation that break it by their check alone, most results first."""
    found: dict[str, list[Result]] = {}
    for result in wrong:
        clause = _clause_of(result)
        if clause is not None:
            found.setdefault(clause, []).append(result)
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


def not_excluded(mistakes: Sequence[Mistake], broken: Iterable[str]) -> list[Mistake]:
    """Drop mistakes that a check would have caught and did not; `broken` are the clauses that checks found broken."""
    return [mistake for mistake in mistakes if not mistake.clause.endswith(_ALWAYS_SEEN) or mistake.clause in broken]


def _clause_of(result: Result) -> str | None:
    check = result.verdict.check
    if check == "rejects":
        refusals = [clause for clause in result.case.clauses if _REFUSAL in clause]
        return (refusals or list(result.case.clauses))[0]
    return _known(result, _PROMISED[check]) if check in _PROMISED else None


def _known(result: Result, name: str) -> str | None:
    """Return a clause of the result's operation, or None where its page has none of that name."""
    clause = f"{OPERATIONS[result.case.operation].short_name}.{name}"
    return clause if clause in clauses() else None
