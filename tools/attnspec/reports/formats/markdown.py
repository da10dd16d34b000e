"""Markdown for a pull-request comment and for ``$GITHUB_STEP_SUMMARY``.

GitHub takes 65,536 characters a comment. What does not fit is counted instead. Texts of the implementation are
shown as code, in which nothing is markup, a mention or a link; lists hold them, because a cell of a table would end
at a pipe even inside code.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attnspec.base.plain_text import plain_text
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.grading import NOT_GRADED, WRONG
from attnspec.reports import wording
from attnspec.reports.entries import (
    Failure,
    by_operation,
    diagnosis_of,
    findings_apart,
    implementation_name,
    is_known,
    left_out_sentences,
    profile_of,
    rerun_command,
    shown_failures,
    suspicions,
    verdict,
    word_to_explain,
    wrong_results,
)

_LONGEST = 60_000
_LONGEST_DIAGNOSIS = 15_000
_LONGEST_REASONS = 5_000
_LONGEST_MESSAGE = 300
_NAMED = 3
_GATE_SIGNS = {True: "✅", False: "❌"}
_SIGNS = {"conforms": "✅", "conforms in part": "🟡", "does not conform": "❌", "nothing graded": "⚪"}

_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_BLOCK = re.compile(r"^(\d*)([#+\-=:.)>])")


def markdown(document: Mapping[str, Any]) -> str:
    """Return a report.json as GitHub-flavoured Markdown of at most 60,000 characters."""
    name, gate = code(implementation_name(document)), document.get("gate")
    summary = document["summary"]
    said = wording.verdict_line(name, summary, document.get("not_run"))
    opening = [f"### {_SIGNS[summary['conformance']]} {said}", ""]
    if gate is not None:
        opening = [f"### {_GATE_SIGNS[gate['open']]} {prose(verdict(document))}", ""]
        opening += [] if summary["conformance"] == "does not conform" else [said, ""]
        opening += _folded("What closes the gate beside failing cases", map(prose, findings_apart(document)))
    head = [
        *opening,
        *_table(document),
        "",
        *_not_seen(document),
    ]
    suite = document["suite"]
    made_by = wording.made_by(suite["version"], suite["digest"], suite["cases"], document["environment"])
    closing = ". ".join(filter(None, (wording.numbers_compared(document["summary"]), made_by)))
    left_out = left_out_sentences(document.get("left_out", {}))
    systematic = document.get("systematic", ())
    left_out += [wording.systematic_in_short(systematic)] if systematic else []
    left_out += wording.invariance_in_short(document.get("invariance", ()))
    tail = [*_known(document), *_reasons(document), *map(prose, (*left_out, f"{closing}."))]
    diagnosis = _fitting(_diagnosis(document), _LONGEST_DIAGNOSIS, "lines")
    room = _LONGEST - sum(len(line) + 1 for line in (*head, *diagnosis, *tail))
    return "\n".join([*head, *diagnosis, *_failures(document, room), *tail]) + "\n"


def _not_seen(document: Mapping[str, Any]) -> list[str]:
    """Return the sentences on what was guessed, on a run in a layout, one that ended early, and on what is unseen."""
    implementation = document["implementation"]
    layout = wording.layout_sentence(implementation.get("asked_in"), implementation.get("not_arranged", ()))
    sentence = wording.not_run_sentence(document.get("not_run"), len(document["results"]), document.get("ended_early"))
    unseen = wording.NUMBERS_ALONE if document["invocation"].get("export") else None
    ungraded = wording.ungraded_arguments(document.get("arguments", ()))
    shown = None if ungraded is None else prose(ungraded)
    guessed = prose(implementation["guessed"]) if "guessed" in implementation else None
    notes = document.get("account", {}).get("unseen", ())
    warned = next((prose(note) for note in notes if note.startswith(wording.WARNED)), None)
    return [line for said in filter(None, (guessed, layout, sentence, unseen, shown, warned)) for line in (said, "")]


def prose(text: str) -> str:
    """Return text as Markdown that shows it as it is: no markup, no HTML, no mention, no link."""
    shown = plain_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = _BLOCK.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", shown))
    # A character of no width keeps GitHub from making a mention, a reference or a link of it.
    return re.sub(r"(@(?=\w)|#(?=\d)|:(?=//)|www(?=\.))", "\\1\u200b", shown, flags=re.IGNORECASE)


def code(text: str) -> str:
    """Return text as a code span, fenced by more backticks than it holds in a row."""
    shown = plain_text(text)
    if not shown:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def _table(document: Mapping[str, Any]) -> list[str]:
    """Return passed of tried, by profile and dtype; bold where something is wrong."""
    results = document["results"]
    dtypes = [dtype for dtype in (*FLOAT_DTYPES, ANY) if any(result["dtype"] == dtype for result in results)]
    heads = [wording.PASSED_OF_TRIED, *map(wording.dtype_name, dtypes), wording.CLAUSES_GRADED]
    lines = [_row(heads), _row(["---", *("---:" for _ in heads[1:])])]
    for profile, summary in document["summary"]["profiles"].items():
        of_profile = [result for result in results if profile_of(result["case"]) == profile]
        cells = [_cell([result for result in of_profile if result["dtype"] == dtype]) for dtype in dtypes]
        lines.append(_row([code(profile).replace("|", "¦"), *cells, wording.clauses_graded(summary)]))
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(results: Sequence[Mapping[str, Any]]) -> str:
    """Return passed of tried, and how many failures the baseline knows; none where nothing was graded."""
    tried = [result["status"] for result in results if result["status"] not in NOT_GRADED]
    if not tried:
        return "none" if results else ""
    known = sum(map(is_known, results))
    said = f"{tried.count('pass')}/{len(tried)}" + (f" ({known} known)" if known else "")
    return f"**{said}**" if sum(status in WRONG for status in tried) > known else said


def _diagnosis(document: Mapping[str, Any]) -> list[str]:
    """Return the diagnosis of the failures, an operation at a time."""
    lines: list[str] = []
    for operation, results in by_operation(wrong_results(document)).items():
        lines += [f"**{prose(operation)}**: {len(results)} went wrong", ""]
        sentences = diagnosis_of(document, operation)
        if not any(word_to_explain(entry) for entry in document["diagnosis"] if entry["operation"] == operation):
            sentences += suspicions(document, operation)
        lines += [*(f"- {prose(sentence)}" for sentence in sentences), *([""] if sentences else [])]
    return lines


def _failures(document: Mapping[str, Any], room: int) -> list[str]:
    """Return the failing cases that fit into `room` characters, folded, and how to run the first one again."""
    wrong = wrong_results(document)
    if not wrong:
        return []
    failures = shown_failures(wrong)
    first = (*failures.by_case, *failures.together)[0]
    count = len({result["case"] for result in wrong})
    opening = ["<details>", f"<summary>Failing cases: {count}</summary>", ""]
    closing = [
        "",
        "</details>",
        "",
        "To run the first one again:",
        "",
        *_fenced(rerun_command(document, first.cases[0], first.dtypes[0])),
        "",
    ]
    room -= sum(len(line) + 1 for line in (*opening, *closing))
    entries = [*map(_entry, failures.by_case), *map(_entry, failures.together)]
    return [*opening, *_fitting(entries, room, "cases"), *closing]


def _entry(failure: Failure) -> str:
    """Return a list item for one failing case, or for many that ended in the same words."""
    count, kind = len(failure.cases), failure.status
    if count == 1:
        named, kind, last = code(failure.cases[0]), failure.check or kind, failure.step and prose(failure.step)
    else:
        named, last = wording.counted(count, "case"), wording.names([*map(code, failure.cases[:_NAMED])], count)
    message = code(plain_text(failure.message, longest=_LONGEST_MESSAGE))
    lines = [f"- {named} ({prose(', '.join(failure.dtypes))}), {kind}:", f"  {message}"]
    return "\n".join([*lines, f"  {last}"] if last is not None else lines)


def _reasons(document: Mapping[str, Any]) -> list[str]:
    """Return why results were not graded, folded, the most frequent reason first."""
    reasons = Counter(
        plain_text(result["message"] or result["status"], longest=_LONGEST_MESSAGE)
        for result in document["results"]
        if result["status"] in NOT_GRADED
    )
    said = (f"{count} times {code(reason)}" for reason, count in reasons.most_common())
    return _folded(f"Not graded: {reasons.total()}", said)


def _known(document: Mapping[str, Any]) -> list[str]:
    """Return the failures that the baseline knows, folded, by its reasons."""
    by_reason: dict[str, list[str]] = {}
    for result in filter(is_known, document["results"]):
        by_reason.setdefault(result["known"], []).append(f"{result['case']} ({result['dtype']})")
    said = (
        f"{prose(reason)}: {len(cases)}, {wording.names([*map(code, cases[:_NAMED])], len(cases))}"
        for reason, cases in by_reason.items()
    )
    return _folded(f"Known failures: {sum(map(len, by_reason.values()))}", said)


def _folded(title: str, items: Iterable[str]) -> list[str]:
    """Return a folded list, or nothing where it is empty."""
    lines = [f"- {item}" for item in items]
    opening = ["<details>", f"<summary>{title}</summary>", ""]
    return [*opening, *_fitting(lines, _LONGEST_REASONS, "reasons"), "", "</details>", ""] if lines else []


def _fitting(lines: Sequence[str], room: int, what: str) -> list[str]:
    """Return as many lines as fit into `room` characters, and how many do not."""
    shown: list[str] = []
    for position, line in enumerate(lines):
        room -= len(line) + 1
        last = position == len(lines) - 1
        if room < (0 if last else 100):
            return [*shown, "", wording.more(len(lines) - position, what, whole_in="report.json")]
        shown.append(line)
    return shown


def _fenced(text: str) -> list[str]:
    """Return a line of shell as a code block."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return [f"{fence}console", f"$ {text}", fence]
