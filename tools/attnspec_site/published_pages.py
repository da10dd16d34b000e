"""Page of published bugs: each with its report, the case that catches it, and the sentence that is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from attnspec_authoring.published_bugs import read_published_bugs
from attnspec_site import addresses
from attnspec_site.page import Page, PageMaker, issue_name
from attnspec_site.search_index import Entry


def published_pages(maker: PageMaker) -> Iterator[Page]:
    """Give the page of published bugs."""
    bugs = read_published_bugs()
    first = Counter(bug.first_score for bug in bugs)
    caught = sum(bug.caught_by is not None for bug in bugs)
    yield maker.page(
        "published.html", addresses.PUBLISHED, "It would have caught it", bugs=bugs, first=first, caught=caught
    )


def published_entries() -> Iterator[Entry]:
    """Give what the search finds of published bugs, also by the number of the report."""
    for bug in read_published_bugs():
        yield Entry(
            "published bug", bug.mistake, f"{addresses.PUBLISHED}#{bug.id}", f"{bug.seen} {issue_name(bug.link)}"
        )
