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
"""Check to the clause of the operation that it holds an implementation to, without the operation's name."""

SPOILING = (".inputs_unchanged", ".repeatable")
"""How clauses end of which a breach makes later numbers wrong."""

_ALWAYS_SEEN = ".inputs_unchanged"
"""How the clause ends whose check sees every breach: inputs are looked at after each call."""

_REFUSAL = ".rejects."


def broken_by_check(wrong: Sequence[Result]) -> Mapping[str, list[Result]]:
    """Return clause to the results that break it by their check alone, those of most results first.

    Parameters
    ----------
    wrong
        Wrong results of one operation.
    """
    found: dict[str, list[Result]] = {}
    for result in wrong:
        clause = _clause_of(result)
        if clause is not None:
            found.setdefault(clause, []).append(result)
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


def not_excluded(mistakes: Sequence[Mistake], broken: Iterable[str]) -> list[Mistake]:
    """Return the mistakes without those that a check would have caught which passed.

    Parameters
    ----------
    mistakes
        Mistakes of one operation.
    broken
        The clauses that a check says are broken.
    """
    return [mistake for mistake in mistakes if not mistake.clause.endswith(_ALWAYS_SEEN) or mistake.clause in broken]


def _clause_of(result: Result) -> str | None:
    check = result.verdict.check
    if check == "rejects":
        refusals = [clause for clause in result.case.clauses if _REFUSAL in clause]
        return (refusals or list(result.case.clauses))[0]
    return _known(result, _PROMISED[check]) if check in _PROMISED else None


def _known(result: Result, name: str) -> str | None:
    """Return a clause of the operation, where its page has it."""
    clause = f"{OPERATIONS[result.case.operation].short_name}.{name}"
    return clause if clause in clauses() else None
