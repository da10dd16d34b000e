"""Rich forms for a notebook, as plain HTML without scripts: of a report, of one case, and of a verdict of the judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from attnspec.base.plain_text import plain_text
from attnspec.grading import STATUSES
from attnspec.reports import wording
from attnspec.reports.account import account_of
from attnspec.reports.heat_maps import compared_maps, tensor_maps
from attnspec.reports.report import Report, Summary, summary_to_json
from attnspec.targets.keywords import in_python

if TYPE_CHECKING:
    from attnspec.runner import Result

_PROBLEMS_SHOWN = 5
_CODE = '<code style="white-space: pre-wrap; overflow-wrap: anywhere">'
_SIGNS = {
    "conforms": ("✓", "#2e8b57"),
    "conforms in part": ("✓", "#b8860b"),
    "does not conform": ("✗", "#d0404d"),
    "nothing graded": ("○", "#808080"),
}


def notebook_html(report: Report) -> str:
    """Return a report as an HTML fragment; every text of the implementation is escaped.

    Verdict and first problem come first, then heat maps of the first failing case, what else there is to say, and the
    table.
    """
    account = account_of(report)
    parts = [_heading(account.verdict, *_SIGNS[report.summary.conformance])]
    if account.heading is not None:
        first, *others = account.problems
        parts += [] if account.right is None else [_paragraph(account.right)]
        parts.append(_paragraph(account.heading))
        parts.append(_problem(len(first.failures), first.lines))
        if account.offer:
            sentence, options = account.offer
            given = ", ".join(map(in_python, options.replace(" --", "\n--").splitlines()))
            parts.append(_paragraph(sentence) + _paragraph(f"`attnspec.validate(…, {given})`"))
        results = {result.key: result for result in report.wrong}
        parts.append(
            _pictures([results[key] for problem in account.problems for key in (problem.clearest, *problem.failures)])
        )
        parts += [_problem(len(problem.failures), problem.lines[:1]) for problem in others[: _PROBLEMS_SHOWN - 1]]
        if len(others) >= _PROBLEMS_SHOWN:
            rest = others[_PROBLEMS_SHOWN - 1 :]
            count = wording.counted(len(rest), "other reason")
            parts.append(_paragraph(f"{sum(len(problem.failures) for problem in rest)} more, for {count}."))
    if account.guessed:
        parts.append(f"<div>{'<br>'.join(map(_words, account.guessed))}</div>")
    said = (*account.unseen, account.ungraded, *(() if report.wrong else account.closing))
    parts += [_paragraph(sentence) for sentence in said if sentence is not None]
    parts.append(_table(report))
    return f"<div>{''.join(parts)}</div>"


def case_html(heading: str, called: Mapping[str, Any], expected: Mapping[str, Any], said: str) -> str:
    """Return one case as an HTML fragment: inputs and attributes that it is called with, and what is expected."""
    tensors = {name: value for name, value in called.items() if hasattr(value, "shape")}
    others = ", ".join(f"{name}={value!r}" for name, value in called.items() if name not in tensors)
    parts = [
        f"<div><strong>{escape(heading)}</strong></div>",
        *([_paragraph(f"`{others}`")] if others else []),
        *([_paragraph("Called with"), tensor_maps(tensors)] if tensors else []),
        *([_paragraph("Expected"), tensor_maps(expected)] if expected else []),
        _paragraph(said),
    ]
    return f"<div>{''.join(parts)}</div>"


def judged_html(
    heading: str, *, is_right: bool | None, sentences: Sequence[str], tallies: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return a verdict of the judge as an HTML fragment; `is_right` is None where nothing was judged.

    `tallies` hold the counts of draws, by where these were.
    """
    sign = {True: "conforms", False: "does not conform", None: "nothing graded"}[is_right]
    counted = {name: tally for name, tally in tallies.items() if tally["draws"]}
    columns = ("draws", "passed", "wrong", "declined", "ungraded")
    rows = [(name, *(tally[column] for column in columns)) for name, tally in counted.items()]
    table = _rows(("", *columns), rows) if rows else ""
    return f"<div>{_heading(heading, *_SIGNS[sign])}{''.join(map(_paragraph, sentences))}{table}</div>"


def _heading(verdict: str, sign: str, colour: str) -> str:
    return (
        f'<div style="font-size: 115%"><strong><span style="color: {colour}">{sign}</span> '
        f"{escape(plain_text(verdict))}</strong></div>"
    )


def _paragraph(sentence: str) -> str:
    return f'<div style="margin: 0.4em 0">{_words(sentence)}</div>'


def _words(sentence: str) -> str:
    """Return a sentence in the words of Python, harmless; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", rf"{_CODE}\1</code>", escape(plain_text(in_python(sentence))))


def _problem(count: int, lines: Sequence[str]) -> str:
    """Return a problem: the number of its failures and its first line in bold, the others below."""
    first, *others = map(_words, lines)
    below = "".join(f"<div>{line}</div>" for line in others)
    bold = f'<strong><span style="color: #d0404d">{count}</span> &nbsp;{first}</strong>'
    return f'<div style="margin: 0.6em 0; padding-left: 0.8em; border-left: 3px solid #d0404d">{bold}{below}</div>'


def _pictures(results: Iterable[Result]) -> str:
    """Return heat maps of the first failing case that can be drawn, and how to have it in one's hands."""
    for result in results:
        if result.got is None or result.is_of_run or not (maps := compared_maps(result.run, result.got)):
            continue
        case = f'attnspec.case("{result.case.id}", "{result.dtype}")'
        heading = f"<strong>{escape(result.case.id)}</strong> ({escape(result.dtype)}): {escape(result.case.title)}"
        return f'<div style="margin: 1em 0 0.4em">{heading} {_CODE}{escape(case)}</code></div>{maps}'
    return ""


def _table(report: Report) -> str:
    """Return a row for each profile; those of which nothing was graded come last, and say so."""
    shown = [status for status in STATUSES if report.summary.counts.get(status)]
    rows: list[tuple[object, ...]] = []
    for profile, summary in sorted(report.by_profile.items(), key=lambda item: _nothing_graded(item[1])):
        verdict = "not graded" if _nothing_graded(summary) else summary.conformance
        counts = (summary.counts.get(status, "") for status in shown)
        rows.append((profile, *counts, wording.clauses_graded(summary_to_json(summary)), verdict))
    return _rows(("profile", *shown, wording.CLAUSES_GRADED, "verdict"), rows)


def _nothing_graded(summary: Summary) -> bool:
    return summary.conformance == "nothing graded"


def _rows(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table whose first and last columns are words, and the others numbers."""

    def row(tag: str, cells: Sequence[object]) -> str:
        left = (0, len(cells) - 1) if heads[-1] == "verdict" else (0,)
        return "".join(
            f'<{tag} style="text-align: {"left" if position in left else "right"}">{escape(str(cell))}</{tag}>'
            for position, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{row('td', cells)}</tr>" for cells in rows)
    return f"<table><thead><tr>{row('th', heads)}</tr></thead><tbody>{body}</tbody></table>"
