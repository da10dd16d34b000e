"""Page of all blind batches, ``spec/studies/strangers.md``: a line a batch, counted from the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.strangers.archives import ROOT
from attnspec_authoring.strangers.index import FAILED, KILLED, Batch, Index, Stranger

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = ROOT / "spec" / "studies" / "strangers.md"

_ABOUT = """
# Strangers' implementations

Implementations of blind batches: each author had read the pages of the specification and nothing else of the project,
neither the cases, nor the catalogue of mistakes, nor reports on earlier batches. Each wrong one was shown to differ
within the contract, and its author said before anything was scored whether it is *for small cases*: whether the author
of small fixtures could be expected to have a case that shows it. A batch was scored once before anybody who works on
the cases had seen it; *first* is that score, with the suite of that day, and *now* is how many the golden cases kill or
fail by now. After its first score a batch is known, and cases of its classes are added: *first* alone measures the
suite, and *now* says what is left.

[Lessons](lessons.md) says what survivors taught. What is wrong with each implementation, its first score, what it
taught and the case that fails it now is in `tests/strangers/index.json`, from which
`python -m attnspec_authoring.strangers --write` writes this page.
"""
_HEADING = (
    *("batch", "cases then", "for small cases", "killed first", "killed now", "beyond them", "killed first"),
    *("killed now", "right", "failed first", "failed now"),
)
_WITHOUT_SCORE = "-"


def strangers_page(index: Index) -> str:
    """Return the page of all batches and implementations."""
    rows = [_row(batch.name.partition("_")[2], batch, index.of(batch.name)) for batch in index.batches]
    notes = [f"- Batch {batch.name.partition('_')[2]}: {batch.note}" for batch in index.batches if batch.note]
    open_ones = [stranger for stranger in index.strangers if not stranger.is_right and stranger.noticed_by is None]
    doubted = [stranger for stranger in index.strangers if stranger.is_right and stranger.noticed_by is not None]
    lines = [
        _ABOUT.strip(),
        "",
        f"*Now* is the suite of {index.cases} cases, digest `{index.suite[:16]}`.",
        "",
        *_table([_HEADING, ("---", *("---:" for _ in _HEADING[1:])), *rows, _row("all", None, index.strangers)]),
        *(["", "## What a first score does not say", "", *notes] if notes else []),
        *_reasons("Wrong ones that no case fails", open_ones),
        *_reasons("Right ones that a case fails", doubted),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, batch: Batch | None, strangers: Sequence[Stranger]) -> tuple[str, ...]:
    groups = (
        [stranger for stranger in strangers if not stranger.is_right and stranger.shown_by_small_cases],
        [stranger for stranger in strangers if not stranger.is_right and not stranger.shown_by_small_cases],
        [stranger for stranger in strangers if stranger.is_right],
    )
    cells = [name, str(batch.cases or _WITHOUT_SCORE) if batch else ""]
    for group in groups:
        first = sum(stranger.first in (KILLED, FAILED) for stranger in group)
        has_score = not group or any(stranger.first is not None for stranger in group)
        now = sum(stranger.noticed_by is not None for stranger in group)
        cells += [str(len(group)), str(first) if has_score else _WITHOUT_SCORE, str(now)]
    return tuple(cells)


def _reasons(heading: str, strangers: Sequence[Stranger]) -> list[str]:
    """Return a section that counts the reasons; which implementation has which is in the index."""
    if not strangers:
        return []
    counts: dict[str, int] = {}
    for stranger in strangers:
        reason = stranger.reason or "without a reason yet"
        counts[reason] = counts.get(reason, 0) + 1
    rows = [(reason, str(count)) for reason, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]
    return ["", f"## {heading}", "", *_table([("why", "how many"), ("---", "---:"), *rows])]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in rows]
