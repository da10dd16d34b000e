"""Annotations for GitHub's runner, which shows failures of a gate beside the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.gate.finding import HEADINGS
from attnspec.gate.sentences import sections

if TYPE_CHECKING:
    from attnspec.gate.finding import Outcome

_MOST = 10
"""GitHub shows ten errors of a step, and drops the others without a word."""

_LONGEST = 1_000


def github_annotations(outcome: Outcome) -> tuple[str, ...]:
    """Return a line for each failure, at most ten; the last one counts the rest."""
    failing = [section for section in sections(outcome) if section.weight == "fails"]
    errors = [_error(HEADINGS[section.kind], line) for section in failing for line in section.lines]
    count = len(errors) + sum(section.more for section in failing)
    if count <= _MOST:
        return tuple(errors)
    rest = f"{count - _MOST + 1} more; the summary of the job has them."
    return (*errors[: _MOST - 1], _error("And more", rest))


def _error(title: str, message: str) -> str:
    """Return the command that shows an error; nothing in its texts ends it or starts another one."""
    shown = plain_text(message, longest=_LONGEST).replace("%", "%25")
    named = f"attnspec: {title}".replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::error title={named}::{shown}"
