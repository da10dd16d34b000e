"""A site of a few operations, built once, and a browser that opens its pages from disk."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="the site is made with jinja2: pip install --editable '.[site]'")
from attnspec_site.building import build_site

OPERATIONS = ("softmax", "causal_mask", "single_head_attention", "multi_head_attention")
DESKTOP = {"width": 1180, "height": 900}


class Links(HTMLParser):
    """The addresses that a page leads to, and the ids that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src", "action"):
                self.to.append(value or "")
            elif name == "id":
                self.ids.append(value or "")


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of a site of four operations."""
    return build_site(tmp_path_factory.mktemp("site") / "built", operations=OPERATIONS).folder


@pytest.fixture
def opened(context, site):
    """Open pages; at the end, none has complained, or loaded anything from outside the site."""
    pages, complaints, requests = [], [], []

    def open_page(address, size=DESKTOP, colours="light"):
        page = context.new_page()
        pages.append(page)
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colours)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{site.as_uri()}/{address}")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []
    # A worker's text is a blob of the page's own.
    assert [url for url in requests if not url.startswith((site.as_uri(), "blob:"))] == []
