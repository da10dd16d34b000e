"""Releases: changes of the cases since the last one, the changelog's section on fixtures, and promises of the next."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.base.errors import UsageError
from attnspec.base.files import replace_file
from attnspec.cases import canonical_json
from attnspec.cases.releases import Released, present_stamps, read_released, read_retired

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from attnspec.cases.releases import Stamp, Tombstone


FORMAT = 1
"""Version of the format of ``released.json``."""


@dataclass(frozen=True)
class Changes:
    """Changes of the cases since the last release.

    `added` are ids, `revised` has revisions by id where the meaning changed, `retired` tombstones of cases that are
    gone.
    """

    since: Released
    now: Mapping[str, Stamp]
    added: tuple[str, ...]
    revised: Mapping[str, int]
    retired: Mapping[str, Tombstone]


def changes_of(folder: Path) -> Changes:
    """Compare a golden folder with its ``released.json``; `FixtureError` where a record or the index is damaged."""
    since, now = read_released(folder), present_stamps(folder)
    return Changes(
        since=since,
        now=now,
        added=tuple(case_id for case_id in sorted(now) if case_id not in since.cases),
        revised={
            case_id: stamp.revision
            for case_id, stamp in sorted(now.items())
            if case_id in since.cases and stamp.revision != since.cases[case_id].revision
        },
        retired={
            case_id: tombstone
            for case_id, tombstone in sorted(read_retired(folder).items())
            if case_id not in since.retired
        },
    )


def next_release(folder: Path, version: str) -> Released:
    """Return what ``released.json`` says once the golden folder is released as `version`."""
    return Released(version, present_stamps(folder), tuple(sorted(read_retired(folder))))


def released_text(released: Released) -> str:
    """Return the canonical text of ``released.json``."""
    return canonical_json(
        {
            "format": FORMAT,
            "release": released.release,
            "cases": {case_id: [stamp.revision, stamp.meaning] for case_id, stamp in released.cases.items()},
            "retired": list(released.retired),
        }
    )


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


def write_section(changelog: Path, section: str, *, version: str | None = None) -> None:
    """Replace the section under "Unreleased", and release what stands there as a version, where one is given.

    Raises
    ------
    UsageError
        The file is unusable, lacks such a heading, or has a section of the version already.
    """
    try:
        text = changelog.read_text(encoding="utf-8")
        unreleased = _UNRELEASED.search(text)
        if unreleased is None:
            raise UsageError(f"{changelog} has no heading '## Unreleased' under which fixtures could be listed.")
        if version is not None and section_of(text, version) is not None:
            raise UsageError(f"{changelog} has a section of {version} already: raise `__version__` of attnspec.base.")
        present = _SECTION.search(unreleased[0])
        start, end = present.span() if present else (len(unreleased[0]), len(unreleased[0]))
        before = text[: unreleased.start() + start].rstrip("\n")
        after = text[unreleased.start() + end :].lstrip("\n")
        parts = (before, section.rstrip("\n"), after) if after else (before, section)
        text = "\n\n".join(parts)
        if version is not None:
            text = text.replace("## Unreleased\n", f"## Unreleased\n\n## {version}\n", 1)
        replace_file(changelog, text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{changelog} could not be brought up to date: {error}") from None


def section_of(changelog: str, heading: str) -> str | None:
    """Return what a changelog says below the heading of a version; None where it has no such heading."""
    found = re.search(rf"^## {re.escape(heading)}\n((?:(?!## ).*\n?)*)", changelog, re.MULTILINE)
    return None if found is None else found[1].strip() + "\n"


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _profile(case_id: str) -> str:
    return case_id.partition("/")[0]


def _item(text: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
