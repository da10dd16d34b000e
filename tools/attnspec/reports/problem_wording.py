"""Sentences on each distinct problem, one a fact. Its number stands beside it, never in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.contract.dtypes import ANY
from attnspec.reports import wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CLAUSES_NAMED = 4


def all_wrong(wrong: int, tried: int) -> str:
    """Return how many results went wrong, as the heading over the problems that they add up to."""
    return f"{wrong} of {tried} went wrong:"


def if_declared(declarations: Mapping[str, Any]) -> str:
    """Return how many failures would be left if something were declared; the options stand below."""
    fewer, of = declarations["fewer"], declarations["of"]
    left = "none of them is left" if fewer == of else f"{of - fewer} of them {'is' if of - fewer == 1 else 'are'} left"
    return f"If it is meant so, declare it, and {left}:"


def declaring(declarations: Mapping[str, Any]) -> list[str]:
    """Return the options that declare capabilities and conventions, a line each."""
    conventions = ",".join(f"{name}={choice}" for name, choice in declarations["conventions"].items())
    options = {"--without": ",".join(declarations["without"]), "--convention": conventions}
    return [f"{option} {said}" for option, said in options.items() if said]


def reported_of(operations: Sequence[str], dtypes: Sequence[str], said: str) -> str:
    """Return a fault, behind the operations and the dtypes in which alone it is, where there are any to name."""
    of = operations[0] if len(operations) == 1 else wording.counted(len(operations), "operation")
    *before, last = dtypes or ("",)
    listed = f"{', '.join(before)} and {last}" if before else last
    if not dtypes:
        return f"{of}: {said}" if operations else said
    return f"{of}, in {listed} alone: {said}" if operations else f"In {listed} alone: {said}"


def failed_check(check: str) -> str:
    """Return the fault where one check fails."""
    return _FAILED_CHECKS.get(check, f"The check {check} failed.")


_FAILED_CHECKS = {
    "rejects": "Inputs that must be refused were accepted.",
    "inputs_unchanged": "The caller's inputs were changed.",
    "outputs_unchanged": "What a call returned was changed by a later call.",
    "repeatable": "A result depends on other calls than its own.",
    "dtype": "Results have another dtype than they must have.",
}


def all_ended(status: str, said: str) -> str:
    """Return the words in which failures without numbers ended."""
    return f"It {said}" if status == "error" else wording.ending_with_status(status, said)


def breaks(clauses: Mapping[str, int], errata: Sequence[str]) -> str:
    """Return the broken clauses, by their ids, with the failures of each where there are several; and errata."""
    shown = [f"{clause} ({count})" if len(clauses) > 1 else clause for clause, count in clauses.items()]
    said = f"It breaks {wording.names(shown[:_CLAUSES_NAMED], len(shown))}."
    return f"{said} Erratum {', '.join(errata)}." if errata else said


def or_another(sentence: str, clause: str) -> str:
    """Return another mistake that explains the same failures."""
    return f"Or: {sentence} ({clause})"


def most_likely_broken(clauses: Sequence[str]) -> str:
    """Return the clauses that failures without a name point at, the words of the first alone."""
    first, *others = clauses
    if not others:
        return f"Most likely, this is broken: {wording.clause_in_words(first)}"
    return f"Most likely broken, if not {' or '.join(others)}: {wording.clause_in_words(first)}"


def nothing_explains() -> str:
    """Return that no known mistake explains failures."""
    return "No known mistake explains these."


def looks_in_part_like(candidate: Mapping[str, Any]) -> str:
    """Return a mistake that gives some of the numbers, though not all."""
    return f"In part it looks like {candidate['mistake']}: {candidate['sentence']}"


def declare(undeclared: Mapping[str, Any]) -> str:
    """Return the convention under which failures would be none, and how to declare it."""
    declared = f"{undeclared['convention']}={undeclared['choice']}"
    where = f" in {' and '.join(undeclared['dtypes'])}" if undeclared["dtypes"] else ""
    return f"They would be no failures{where}, if it is meant and declared: --convention {declared}."


def such_as(case: str, dtype: str, ending: str | None) -> str:
    """Return the failure that shows a problem best, with its ending unless the problem is stated in these words."""
    run = case if dtype == ANY else f"{case} ({dtype})"
    return f"Such as {run}." if ending is None else f"Such as {run}: {ending}"


def other_problems(problems: int) -> str:
    """Return that there are failures for more reasons than fit."""
    return f"for {wording.counted(problems, 'other reason')}; --verbose tells {'it' if problems == 1 else 'them'}."


def read_on(wanted: str) -> str:
    """Return how to read on, with the word most worth asking about."""
    return f"`attnspec explain {wanted}` says more, as of any word here; --verbose shows more cases."
