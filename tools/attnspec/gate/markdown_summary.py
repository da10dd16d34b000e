"""A gate in Markdown, for the summary of a CI job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.gate.sentences import group_line, headline, sections
from attnspec.reports.formats.markdown import prose
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.gate.finding import Outcome

_GROUPS_SHOWN = 40


def outcome_markdown(outcome: Outcome, *, notes: Sequence[str] = ()) -> str:
    """Return an outcome as Markdown that ends with an empty line and escapes all messages; `notes` stand at the end."""
    lines = [f"### attnspec gate: {'open' if outcome.is_open else 'closed'}", "", prose(headline(outcome)), ""]
    for section in sections(outcome):
        lines += [f"**{prose(section.heading)}**", ""]
        lines += [f"- {prose(line)}" for line in section.lines]
        if section.more:
            lines.append(f"- … and {section.more} more")
        lines.append("")
    if outcome.groups:
        count = counted(len(outcome.groups), "group")
        lines += ["<details>", f"<summary>Unsupported, as the baseline says: {count}</summary>", ""]
        lines += [f"- {prose(group_line(group))}" for group in outcome.groups[:_GROUPS_SHOWN]]
        if len(outcome.groups) > _GROUPS_SHOWN:
            lines.append(f"- … and {len(outcome.groups) - _GROUPS_SHOWN} more")
        lines += ["", "</details>", ""]
    lines += [line for note in notes for line in (prose(note), "")]
    return "\n".join([*lines, ""])
