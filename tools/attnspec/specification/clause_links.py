"""Links to the pages of clauses: on a site that somebody serves, on one that was built here, or to the spec's own page.

A report leads from a failure to the clause that it breaks by one of them.
"""

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from attnspec.base.files import OPERATION_PAGES
from attnspec.specification import clauses

SITE_VARIABLE = "ATTNSPEC_SITE"
"""Environment variable with the address of a site, or the folder of one."""

_LABEL = "Site"
"""Label of the site's address among the addresses of the project."""

_REMEMBERED = OPERATION_PAGES.parents[1] / ".cache" / "site"
"""File of a checkout with the folder in which its site was last built."""

_SERVED = ("http://", "https://")


def clause_page(clause: str) -> str:
    """Return the address of a clause's page from the root of a site; it lasts as long as the id."""
    return f"clauses/{clause}.html"


def remember_site(folder: Path) -> None:
    """Keep the folder in which the site of this checkout was built."""
    _REMEMBERED.parent.mkdir(exist_ok=True)
    _REMEMBERED.write_text(f"{folder.resolve()}\n", encoding="utf-8")


def clause_link(clause: str, *, files: bool) -> str | None:
    """Return the link to a clause's page; None for an id that the spec does not have.

    The site is that of the environment variable `ATTNSPEC_SITE`, else that of the project's metadata, else the one that
    was built here last; where none has the page, it is the operation's page of the spec. The last two are files of this
    machine, and given only where `files` make sense to the reader.
    """
    known = clauses().get(clause)
    if known is None:
        return None
    site = os.environ.get(SITE_VARIABLE) or _published()
    if site is not None and site.startswith(_SERVED):
        return f"{site.rstrip('/')}/{clause_page(clause)}"
    if not files:
        return None
    for folder in filter(None, (site, _remembered())):
        page = Path(folder).resolve() / clause_page(clause)
        if page.is_file():
            return page.as_uri()
    return (OPERATION_PAGES / known.page).as_uri()


@cache
def _published() -> str | None:
    """Return the address of the site in the project's metadata; None where it has none."""
    try:
        addresses = metadata("attnspec").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return None
    labelled = (address.partition(",") for address in addresses)
    return next((address.strip() for label, _, address in labelled if label.strip() == _LABEL), None)


def _remembered() -> str | None:
    """Return the folder in which the site was last built here; None where that is not known."""
    try:
        return _REMEMBERED.read_text(encoding="utf-8").strip()
    except OSError:
        return None
