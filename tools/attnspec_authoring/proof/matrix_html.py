"""The matrix as one self-contained HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from attnspec_authoring.proof.findings import ENOUGH
from attnspec_mistakes import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attnspec_authoring.proof.findings import Findings
    from attnspec_authoring.proof.matrix import Matrix, Trial

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #8885; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: .92em; }
.bad { color: #c02020; font-weight: 600; }
@media (prefers-color-scheme: dark) { .bad { color: #ff8080; } }
"""


def matrix_html(matrix: Matrix, findings: Findings) -> str:
    """Return the page: the findings, then a row for each mistake and each control."""
    title = f"attnspec: {len(matrix.mistakes)} mistakes, {len(matrix.controls)} controls, {len(matrix.cases)} cases"
    dtypes = "".join(f"<th>{escape(dtype)}</th>" for dtype in matrix.dtypes)
    mistakes = "\n".join(_mistake_row(trial, matrix) for trial in matrix.mistakes)
    controls = "\n".join(_control_row(trial, matrix) for trial in matrix.controls)
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}</style></head>
<body>
<h1>{escape(title)}</h1>
<p>The numbers say how many cases notice a mistake, in each dtype. Suite {escape(matrix.suite_version)},
digest <code>{escape(matrix.suite_digest[:16])}</code>.</p>
{_found(findings)}
<h2>Mistakes</h2>
<table><thead><tr><th>mistake</th><th>clause</th><th>targeted by</th>{dtypes}</tr></thead>
<tbody>
{mistakes}
</tbody></table>
<h2>Controls</h2>
<p>Right computations that differ from the reference; no case may fail them.</p>
<table><thead><tr><th>control</th>{dtypes}</tr></thead>
<tbody>
{controls}
</tbody></table>
</body></html>
"""


def _found(findings: Findings) -> str:
    lists = {
        "Surviving mistakes": [f"{mistake} in {dtype}" for mistake, dtype in findings.surviving],
        "Targets that are missed": [f"{case} does not catch {mistake}" for case, mistake in findings.missed_targets],
        "Mistakes that no case targets": findings.untargeted,
        "Controls that fail": [f"{control} in {dtype}: {case}" for control, dtype, case in findings.failing_controls],
        "Clauses that no case exercises": findings.unexercised,
        "Clauses that no mistake breaks": findings.unbroken,
    }
    problems = "".join(_list(title, entries, open_="open") for title, entries in lists.items() if entries)
    notes = {
        "Mistakes that half precision cannot show": [
            f"{mistake}: {', '.join(dtypes)}" for mistake, dtypes in findings.unseen.items()
        ],
        "Cases that notice nothing that another does not": [
            f"{case}: see {other}" for case, other in findings.redundant.items()
        ],
    }
    verdict = "<p>Nothing survives, and nothing right fails.</p>" if findings.is_sound else ""
    return verdict + problems + "".join(_list(title, entries) for title, entries in notes.items() if entries)


def _list(title: str, entries: Iterable[str], *, open_: str = "") -> str:
    items = [f"<li>{escape(entry)}</li>" for entry in entries]
    return f"<details {open_}><summary>{escape(title)} ({len(items)})</summary><ul>{''.join(items)}</ul></details>\n"


def _mistake_row(trial: Trial, matrix: Matrix) -> str:
    sentence = next((mistake.sentence for mistake in CATALOGUE if mistake.id == trial.id), "")
    cells = "".join(
        _count(len(trial.noticed_by(dtype)), bad=dtype in trial.shows_in and len(trial.noticed_by(dtype)) < ENOUGH)
        for dtype in matrix.dtypes
    )
    targeted = ", ".join(matrix.targets.get(trial.id, ()))
    return (
        f'<tr id="{escape(trial.id)}"><td><code>{escape(trial.id)}</code><br>{escape(sentence)}</td>'
        f"<td><code>{escape(trial.clause or '')}</code></td><td>{escape(targeted)}</td>{cells}</tr>"
    )


def _control_row(trial: Trial, matrix: Matrix) -> str:
    cells = "".join(_count(len(trial.noticed_by(d)), bad=bool(trial.noticed_by(d))) for d in matrix.dtypes)
    return f"<tr><td><code>{escape(trial.id)}</code></td>{cells}</tr>"


def _count(count: int, *, bad: bool) -> str:
    return f'<td class="number{" bad" if bad else ""}">{count}</td>'
