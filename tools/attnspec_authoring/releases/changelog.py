"""The changelog's section on fixtures: how many were added, revised and retired, by profile; the index has the ids."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from attnspec.base.errors import UsageError
from attnspec.base.files import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from attnspec_authoring.releases.changes import Changes

HEADING = "### Fixtures"
_WIDTH = 120
_UNRELEASED = re.compile(r"^## Unreleased\n(?:(?!## ).*\n?)*", re.MULTILINE)
_SECTION = re.compile(rf"^{HEADING}\n(?:(?!##).*\n?)*", re.MULTILINE)


def fixtures_section(changes: Changes) -> str:
    """Return the section as Markdown, with its heading: a line for each profile, and each reason to retire cases."""
    since = f"since {changes.since.release}" if changes.since.release else "before the first release"
    lines = [HEADING, ""]
    if not (changes.added or changes.revised or changes.retired):
        return "\n".join([*lines, f"No fixture has changed {since}.", ""])
    known = {_profile(case_id) for case_id in changes.since.cases}
    for profile, count in Counter(map(_profile, changes.added)).items():
        whole = "" if profile in known else "the whole profile, "
        lines.append(_item(f"Added to `{profile}`: {whole}{_cases(count)}."))
    for profile, count in Counter(map(_profile, changes.revised)).items():
        lines.append(_item(f"Revised in `{profile}`: {_cases(count)}."))
    retired = Counter((_profile(case_id), tombstone.reason) for case_id, tombstone in changes.retired.items())
    for (profile, reason), count in retired.items():
        lines.append(_item(f"Retired from `{profile}`: {_cases(count)}. {reason}"))
    return "\n".join([*lines, ""])


def write_section(changelog: Path, section: str) -> None:
    """Replace the section under "Unreleased"; `UsageError` where the file is unusable or lacks such a heading."""
    try:
        text = changelog.read_text(encoding="utf-8")
        unreleased = _UNRELEASED.search(text)
        if unreleased is None:
            raise UsageError(f"{changelog} has no heading '## Unreleased' under which fixtures could be listed.")
        present = _SECTION.search(unreleased[0])
        start, end = present.span() if present else (len(unreleased[0]), len(unreleased[0]))
        before = text[: unreleased.start() + start].rstrip("\n")
        after = text[unreleased.start() + end :].lstrip("\n")
        parts = (before, section.rstrip("\n"), after) if after else (before, section)
        replace_file(changelog, "\n\n".join(parts))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{changelog} could not be brought up to date: {error}") from None


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _profile(case_id: str) -> str:
    return case_id.partition("/")[0]


def _item(text: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
