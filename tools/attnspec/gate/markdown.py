"""A gate in Markdown, for the summary of a CI job."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from attnspec.gate.wording import headline, sections
from attnspec.plain_text import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.gate.finding import Outcome

_ACTIVE = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


def outcome_markdown(outcome: Outcome, *, notes: Sequence[str] = ()) -> str:
    """Return what a gate came to, as Markdown that ends with an empty line; nothing that was said to it is markup.

    Parameters
    ----------
    outcome
        What to write.
    notes
        Sentences that stand at the end: a diagnosis, another suite.
    """
    lines = [f"### attnspec gate: {'open' if outcome.is_open else 'closed'}", "", _plain(headline(outcome)), ""]
    for section in sections(outcome):
        lines += [f"**{_plain(section.heading)}**", ""]
        lines += [f"- {_plain(line)}" for line in section.lines]
        if section.more:
            lines.append(f"- … and {section.more} more")
        lines.append("")
    lines += [line for note in notes for line in (_plain(note), "")]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Return a text in which nothing is Markdown or HTML."""
    return _ACTIVE.sub(r"\\\1", escape(plain_text(text), quote=False))
