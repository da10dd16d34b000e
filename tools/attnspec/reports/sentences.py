"""What a report.json says, in sentences: shared by the reports that are made from it."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from attnspec.comparison import WRONG
from attnspec.diagnosis import Diagnosis
from attnspec.dtypes import ANY
from attnspec.plain_text import plain_text
from attnspec.reports.invocation import command_words
from attnspec.reports.wording import diagnosis_lines, diverging_step, shown_name, verdict_sentence
from attnspec.specification import clauses

if TYPE_CHECKING:
    from collections.abc import Mapping

_SUSPICIONS = 3
_LONGEST_WORD = 200


def implementation_name(document: Mapping[str, Any]) -> str:
    """Return name and version of the implementation, harmless."""
    return shown_name(document["implementation"]["name"], document["implementation"]["version"])


def verdict(document: Mapping[str, Any], name: str) -> str:
    """Return what came of the run in one line, with `name` as the report writes it."""
    summary = document["summary"]
    clauses = (summary["clauses_graded"], summary["clauses"])
    return verdict_sentence(name, summary["conformance"], summary["statuses"], clauses, not_run=document.get("not_run"))


def profile_of(result: Mapping[str, Any]) -> str:
    """Return the profile of a result: the first part of its case's id."""
    return result["case"].partition("/")[0]


def wrong_results(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the results at which the implementation did something wrong, in order."""
    return [result for result in document["results"] if result["status"] in WRONG]


def diagnosis_sentences(document: Mapping[str, Any], operation: str) -> list[str]:
    """Return what explains the failures of an operation, line by line."""
    lines: list[str] = []
    for entry in document["diagnosis"]:
        if entry["operation"] == operation:
            known = {field.name: entry.get(field.name, "") for field in fields(Diagnosis)}
            lines += diagnosis_lines(Diagnosis(**known))
    return [plain_text(line) for line in lines]


def suspicions(document: Mapping[str, Any], operation: str) -> list[str]:
    """Return the clauses of an operation that no right answer exercises, those of most wrong answers first.

    What is left to say where no mistake is named.
    """
    results = [result for result in document["results"] if result["operation"] == operation]
    wrong = Counter(clause for result in results if result["status"] in WRONG for clause in result["clauses"])
    right = {clause for result in results if result["status"] == "pass" for clause in result["clauses"]}
    lines: list[str] = []
    for clause, count in wrong.most_common():
        if clause not in right:
            known = clauses().get(clause)
            of_all = "The one answer that exercises" if count == 1 else f"All {count} answers that exercise"
            lines.append(plain_text(f"{of_all} {clause} went wrong{f': {known.text}' if known else '.'}"))
    return lines[:_SUSPICIONS]


def message(result: Mapping[str, Any], *, longest: int) -> str:
    """Return what went wrong with one result, or why it was not graded."""
    return plain_text(result["message"] or result["status"], longest=longest)


def facts(result: Mapping[str, Any]) -> list[str]:
    """Return what is known of one wrong result beside its message, line by line: steps, worst element, clauses."""
    lines: list[str] = []
    step = diverging_step(result["first_step"], result["agreeing_steps"])
    if step is not None:
        lines.append(step)
    worst = result["worst"]
    if worst is not None:
        place = ", ".join(str(index) for index in worst["index"])
        numbers = ", ".join(
            f"{name} {_number(worst[name])}" for name in ("expected", "got", "error", "tolerance", "ratio")
        )
        lines.append(f"Worst element {worst['output']}[{place}]: {numbers}")
    if result["under"]:
        lines.append(f"Graded under {result['under']}")
    for clause in result["clauses"]:
        known = clauses().get(clause)
        lines.append(f"Clause {clause}: {known.text}" if known else f"Clause {clause}")
    return [plain_text(line) for line in lines]


def reproduction(document: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Return the command that runs one result again."""
    command, options = command_words(document)
    dtype = [] if result["dtype"] == ANY else ["--dtype", result["dtype"]]
    words = [*command, "--select", result["case"], *dtype, *options]
    return shlex.join(plain_text(word, longest=_LONGEST_WORD) for word in words)


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"
