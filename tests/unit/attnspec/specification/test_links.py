"""Links of every Markdown file: the file that each names is there, and so is the heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
FILES = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for folder in ("spec", "tests", "tools", "reference_impl") for path in (ROOT / folder).glob("**/*.md")),
    ]
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as they are made where it is read: small letters, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for link in LINK.findall(FENCE.sub("", path.read_text("utf-8"))):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), f"{link}: there is no such file"
        assert not anchor or anchor in anchors(target), f"{link}: the page has no such heading"


def test_pages_of_every_kind_are_looked_at() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in FILES}
    assert names >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "spec/README.md", "spec/studies/README.md"}


def test_the_introduction_leads_to_every_page() -> None:
    found = {path for path in (ROOT / "spec").glob("*.md") if path.name != "README.md"}
    found |= {
        path for folder in ("decisions", "guides", "operations") for path in (ROOT / "spec" / folder).rglob("*.md")
    }
    linked = {
        ROOT / "spec" / link.partition("#")[0] for link in LINK.findall((ROOT / "spec/README.md").read_text("utf-8"))
    }
    assert sorted(path.name for path in found - linked) == []
