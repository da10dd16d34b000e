"""Studies: each says on which day and with which cases it was measured, and the page of them all leads to it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from attnspec.contract import OPERATIONS

STUDIES = Path(__file__).parents[4] / "spec" / "studies"
OF_STRANGERS = ("strangers.md", "lessons.md")
"""What blind batches came to: scored batch by batch, each with the suite of its day."""

OF_A_COMMIT = "house.md"
"""Counted at a commit, which it names, and which has its cases."""

PAGES = sorted(path for path in STUDIES.glob("*.md") if path.name not in ("README.md", *OF_STRANGERS))
MEASURED = [path for path in PAGES if path.name != OF_A_COMMIT]


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.stem)
def test_a_study_says_when_and_with_what_it_was_measured(page: Path) -> None:
    rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    days = [day for row in rows for day in re.findall(r"\b20\d\d-\d\d-\d\d\b", row)]
    assert days, "no row has a date"
    assert all(date.fromisoformat(day) for day in days)
    assert any(re.search(r"\d+ cases, digest `[0-9a-f]{64}`", row) for row in rows), "no row has the digest of a suite"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_of_studies_leads_to_each(page: Path) -> None:
    assert f"]({page.name})" in (STUDIES / "README.md").read_text("utf-8")


def test_the_coverage_of_an_operation_has_a_line_in_the_order_of_the_spec() -> None:
    line = r"^\| `(\w+)` \| \d+ \| \d+ \| \d+ \| \d+ \| \d+ \| .*\|$"
    measured = re.findall(line, (STUDIES / "coverage.md").read_text("utf-8"), re.MULTILINE)
    # An operation may be younger than the study.
    assert measured == [operation for operation in OPERATIONS if operation in measured] != []


def test_no_other_page_says_how_many_cases_there_are() -> None:
    """How large the suite is, a study says of its day: elsewhere the number is out of date with the next case."""
    spec = STUDIES.parent
    pages = [spec.parent / "README.md", *spec.glob("*.md")]
    pages += [path for folder in ("decisions", "guides", "operations") for path in (spec / folder).rglob("*.md")]
    # What a report printed, in a fence, is of its run.
    said = {path.name: re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S) for path in pages}
    assert [name for name, text in said.items() if re.search(r"\b\d[\d,]{2,} (?:golden )?cases\b", text)] == []
