"""The file itself: one document that asks nobody for anything and executes nothing but its own script."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from attnspec.reports.html import html_page


class Elements(HTMLParser):
    """Every start tag with its attributes, and the text of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.inside = {"script": [], "style": []}
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_data(self, text):
        if self.cdata_elem is not None:
            self.inside[self.cdata_elem][-1] += text


@pytest.fixture(scope="module")
def page(hostile, suite):
    return html_page([hostile], [hostile["implementation"]["name"]], suite)


def test_nothing_is_loaded_and_nothing_is_inline(page):
    for tag, attributes in Elements(page).found:
        assert not {"src", "srcset", "style", "action"} & attributes.keys(), tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert not str(attributes.get("href", "#")).startswith(("http", "//", "javascript")), tag
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
    without_data = re.sub(r'(?s)(<script type="application/json" id="data">).*?(</script>)', r"\1\2", page)
    assert len(without_data) < len(page)
    assert re.findall(r"https?://[^\"]+", without_data) == ["http://www.w3.org/2000/svg"]


def test_the_policy_allows_this_script_and_this_style_alone(page):
    elements = Elements(page)
    policy = next(
        attributes["content"]
        for tag, attributes in elements.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    (_, script), (style,) = elements.inside["script"], elements.inside["style"]
    for kind, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def test_a_hostile_implementation_adds_no_element(page, right, suite):
    tags = [tag for tag, _ in Elements(page).found]
    assert tags == [tag for tag, _ in Elements(html_page([right], ["reference"], suite)).found]
    assert tags.count("script") == 2
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\ud800-\udfff]", page)
    page.encode("utf-8")


def test_no_mark_of_the_template_is_left(page):
    assert not re.search(r"@[A-Z]+@", page)
