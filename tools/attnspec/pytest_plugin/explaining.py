"""Messages on failures: a few lines for each, and at the end the facts common to them."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnspec.base.plain_text import plain_text
from attnspec.pytest_plugin.options import in_the_words_of_pytest
from attnspec.reports import wording
from attnspec.reports.entries import diagnosis_lines, failure_of, suspected_clauses, word_to_explain
from attnspec.reports.report import diagnosis_to_json, result_to_json

if TYPE_CHECKING:
    from attnspec.gate.finding import Finding
    from attnspec.runner import Result

_WIDTH = 80
_DIAGNOSED = 20
"""Failures of an operation that are diagnosed one by one; more would take long, and say the same again."""

_CLAUSES_NAMED = 4
_MESSAGES_NAMED = 3

_HOW_SURE = {"it is": "It is", "most likely": "Most likely it is"}


class Explaining:
    """Messages on failures one after the other; `passed` maps operations to passes, which a diagnosis uses, too."""

    def __init__(self, passed: Mapping[str, Sequence[Result]]) -> None:
        self._passed = passed
        self._diagnosed: dict[str, int] = {}
        self._named: set[str] = set()

    def message_on(self, result: Result) -> list[str]:
        """Return a few sentences on a wrong (case, dtype), and the mistake that it looks like."""
        failure = failure_of([result_to_json(result, outputs=False)])
        clauses = failure.clauses
        sentences = [
            wording.ending_with_status(failure.status, failure.ending),
            result.case.title,
            failure.step,
            *(self._diagnosis(result) or [f"It exercises {wording.names(clauses[:_CLAUSES_NAMED], len(clauses))}."]),
        ]
        return [plain_text(in_the_words_of_pytest(sentence)) for sentence in sentences if sentence is not None]

    def _diagnosis(self, result: Result) -> list[str]:
        operation = result.case.operation
        self._diagnosed[operation] = self._diagnosed.get(operation, 0) + 1
        if result.got is None or self._diagnosed[operation] > _DIAGNOSED:
            return []
        (first, *_) = _diagnosis_entries([*self._passed.get(operation, ()), result])
        return self._in_short(first)

    def _in_short(self, diagnosis: Mapping[str, Any]) -> list[str]:
        """Return the mistake, or the clause of a check, with its meaning the first time."""
        wanted = diagnosis["mistake"] if diagnosis["sentence"] else diagnosis["clause"]
        undeclared = diagnosis["undeclared"]
        if undeclared is not None and not diagnosis["sentence"]:
            return [wording.would_pass(undeclared)]
        if wanted is None:
            return []
        if wanted in self._named:
            return [f"It is {wanted} again."]
        self._named.add(wanted)
        if not diagnosis["sentence"]:
            return [wording.broken_clause(wanted)]
        return [f"{_HOW_SURE.get(diagnosis['certainty'], 'Perhaps it is')} {wanted}: {diagnosis['sentence']}"]


_BETTER = ("passes now", "graded now")
"""Findings that are no fault of the implementation."""


def contradiction_sentence(contradiction: Finding) -> str:
    """Return why a result is not as its baseline expects."""
    remedy = "; `attnspec gate` takes that in with --update-baseline" if contradiction.kind in _BETTER else ""
    return f"In the baseline, it {contradiction.sentence}{remedy}"


def summary_lines(results: Sequence[Result], *, files: bool = False) -> list[str]:
    """Return the facts common to the failures among some results, by operation, and how to read on.

    The last line is a link to a clause; to a file of this machine where `files` make sense to the reader.
    """
    diagnoses = _diagnosis_entries(results)
    wrong = Counter(result.case.operation for result in results if result.is_wrong)
    lines: list[str] = []
    for operation, count in wrong.items():
        lines.append(f"{operation}: {count} went wrong")
        # The words in which failures without numbers ended, those of most failures first.
        ended = [each for each in results if each.is_wrong and each.case.operation == operation and each.got is None]
        words = Counter(result.verdict.message for result in ended)
        sentences = [f"{number} of {count} {message}" for message, number in words.most_common(_MESSAGES_NAMED)]
        sentences += [line for entry in diagnoses if entry["operation"] == operation for line in diagnosis_lines(entry)]
        lines += [f"  {line}" for line in wrapped(sentences, indent=2)]
    named = [*filter(None, map(word_to_explain, diagnoses))]
    if named:
        more = f"`attnspec explain {named[0]}` says more; so it does for the id of any clause, case or erratum."
        lines += wrapped([more])
    return [*lines, *_link_lines(diagnoses, results, files=files)]


def _link_lines(diagnoses: Sequence[Mapping[str, Any]], results: Sequence[Result], *, files: bool) -> list[str]:
    """Return the link to the clause that is broken first, else to the first one of the first failure, in one piece."""
    from attnspec.specification.clause_links import clause_link

    broken = [clause for entry in diagnoses for clause in (entry["clause"], *suspected_clauses(entry)) if clause]
    exercised = [clause for result in results if result.is_wrong for clause in result.case.clauses]
    for clause in (*broken, *exercised)[:1]:
        link = clause_link(clause, files=files)
        return [] if link is None else [f"{clause}: {link}"]
    return []


def _diagnosis_entries(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return diagnoses of the failures among some results, as entries of a report's ``diagnosis``."""
    from attnspec.diagnosis import diagnose

    return [diagnosis_to_json(entry) for entry in diagnose(results)]


def wrapped(sentences: Iterable[str], *, indent: int = 0) -> list[str]:
    """Return sentences as lines that fit a terminal, each beginning a line of its own."""
    said = (plain_text(in_the_words_of_pytest(sentence)) for sentence in sentences)
    return [
        line
        for sentence in said
        for line in textwrap.wrap(sentence, _WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    ]
