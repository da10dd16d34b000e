"""Page of the site: an address and HTML made from a template, in which every link is relative."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from attnspec.base import __version__
from attnspec_site import addresses

_TEMPLATES = Path(__file__).with_name("templates")

MENU = {
    "Specification": addresses.SPECIFICATION,
    "Cases": addresses.CASES,
    "Mistakes": addresses.MISTAKES,
    "Implementations": addresses.IMPLEMENTATIONS,
    "Published bugs": addresses.PUBLISHED,
    "Playground": addresses.PLAYGROUND,
    "Errata": addresses.ERRATA,
    "Guides": "spec/guides/index.html",
}
"""Menu of every page: names and addresses. A script adds it."""

_ISSUE = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")


@dataclass(frozen=True)
class Page:
    """A page that can be written: its address from the root of the site, and its HTML."""

    address: str
    html: str


class PageMaker:
    """Templates, and what all of them need.

    `address_of` gives the page of an id; None for an id that has none.
    """

    def __init__(self, address_of: Callable[[str], str | None]) -> None:
        self._address_of = address_of
        self._environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(version=__version__)  # pyright: ignore[reportArgumentType, reportCallIssue]
        self._environment.filters.update(public=public_link, code=with_code, literal=literal)

    def page(self, template: str, address: str, title: str, **content: Any) -> Page:
        """Return the page of a template; its `id` links an id to its page, under it or under other words."""
        root = addresses.to_root(address)

        def link(word: str, text: str | None = None) -> Markup:
            found = self._address_of(word)
            shown = f"<code>{escape(word)}</code>" if text is None else escape(text)
            return Markup(shown if found is None else f"<a href={root}{found}>{shown}</a>")

        html = self._environment.get_template(template).render(
            title=title, address=address, root=root, id=link, **content
        )
        return Page(address, html)


def public_link(address: str) -> Markup:
    """Return a link to a public report, under the name that its project knows it by."""
    return Markup(f'<a href="{escape(address)}" rel="external">{escape(issue_name(address))}</a>')


def shortened(sentence: str) -> str:
    """Return the first sentence of a clause, as a page of a case has it: the clause has a page of its own."""
    first = re.match(r".+?[^.]\.(?= [A-Z`])|.+", sentence, re.DOTALL)
    return first[0] if first is not None else sentence


def with_code(sentence: str) -> Markup:
    """Return a sentence in which code is marked as such."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escape(sentence, quote=False)))


def literal(code: str) -> Markup:
    """Return code as the text of an element, in which quotes may stand as they are."""
    return Markup(escape(code, quote=False))


def issue_name(address: str) -> str:
    """Return ``owner/name#number`` for an issue or a change of a public repository; else the address itself."""
    return _ISSUE.sub(r"\1#\2", address)
