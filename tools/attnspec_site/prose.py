"""Prose of the specification: Markdown as HTML, in which every id leads to its page, and every clause has an anchor."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from attnspec_site import addresses
from attnspec_site.content import CHECKOUT

_EXTERNAL = ("http://", "https://", "mailto:")
_SHOWN_AS_TEXT = (".c", ".go", ".py", ".mjs", ".json", ".toml", ".yml", ".h")
_PICTURES = (".svg", ".png")
_RESULTS = PurePosixPath("spec/results")
_ERRATA, _OPERATIONS = PurePosixPath("spec/errata.md"), PurePosixPath("spec/operations")


@dataclass(frozen=True)
class Section:
    """A section of a page: its heading, its anchor (empty for the first) and the words below it."""

    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Document:
    """A document of the repository as it is shown: `files` are those that it links to or draws."""

    address: str
    title: str
    html: str
    sections: tuple[Section, ...]
    files: tuple[PurePosixPath, ...]


@dataclass
class _Page:
    """A page that is being made."""

    path: PurePosixPath
    root: str
    slugs: dict[str, int] = field(default_factory=dict[str, int])
    files: list[PurePosixPath] = field(default_factory=list[PurePosixPath])


class Prose:
    """Documents of a checkout as HTML.

    `address_of` gives the page of an id; `beside` the HTML that stands beside a clause or an erratum, by its id and
    what leads to the root.
    """

    def __init__(
        self,
        documents: Sequence[PurePosixPath],
        address_of: Callable[[str], str | None],
        beside: Callable[[str, str], str],
    ) -> None:
        self._known = {path: addresses.of_document(path) for path in documents}
        self._address_of = address_of
        self._beside = beside
        self._parser = MarkdownIt("commonmark", {"html": False}).enable("table")
        for name, rule in (
            ("table_open", _table_open),
            ("table_close", _table_close),
            ("heading_close", _heading_close),
            ("fence", _preformatted),
            ("code_block", _preformatted),
        ):
            self._parser.add_render_rule(name, rule)

    def document(self, path: PurePosixPath) -> Document:
        """Return a document, by its path in the repository."""
        text = (CHECKOUT / path).read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = _notebook_as_markdown(json.loads(text))
        address = self._known[path]
        page = _Page(path, addresses.to_root(address))
        tokens = self._parser.parse(text)
        self._prepare(tokens, page)
        html = self._parser.renderer.render(tokens, self._parser.options, {})
        # A head without words is none.
        html = html.replace("<th></th>", "<td></td>")
        sections = tuple(_sections(text))
        return Document(address, sections[0].title, html, sections, tuple(page.files))

    def inline(self, text: str, root: str) -> str:
        """Return a sentence with code and emphasis as HTML, in which ids lead to their pages."""
        tokens = self._parser.parseInline(text)
        self._prepare(tokens, _Page(PurePosixPath("spec/README.md"), root))
        return self._parser.renderer.render(tokens, self._parser.options, {})

    def _prepare(self, tokens: Sequence[Token], page: _Page) -> None:
        """Give headings, clauses and errata their anchors, and links their addresses."""
        for position, token in enumerate(tokens):
            if token.type == "inline":
                self._link(token, page, in_heading=position > 0 and tokens[position - 1].type == "heading_open")
            elif token.type == "heading_open":
                self._anchor_heading(token, tokens, position, page)
            elif token.type == "list_item_open" and position + 2 < len(tokens):
                self._anchor_first_code(token, tokens[position + 2], page)
            elif token.type == "td_open":
                self._anchor_first_code(token, tokens[position + 1], page)

    def _anchor_heading(self, token: Token, tokens: Sequence[Token], position: int, page: _Page) -> None:
        inline = tokens[position + 1]
        slug = _slug(inline.content)
        again = page.slugs.get(slug, 0)
        page.slugs[slug] = again + 1
        token.attrSet("id", f"{slug}-{again}" if again else slug)
        erratum = _first_code(inline)
        if erratum is not None and page.path == _ERRATA and (beside := self._beside(erratum, page.root)):
            assert inline.children is not None
            inline.children.insert(0, _html(f'<span id="{erratum}"></span>'))
            tokens[position + 2].meta["behind"] = beside

    def _anchor_first_code(self, token: Token, inline: Token, page: _Page) -> None:
        """Give the clause of a list item, or the erratum of a row, its id for an anchor."""
        word = _first_code(inline)
        if word is None or not (page.path == _ERRATA or page.path.is_relative_to(_OPERATIONS)):
            return
        beside = self._beside(word, page.root)
        if not beside:
            return
        token.attrSet("id", word)
        assert inline.children is not None
        inline.children.append(_html(beside))

    def _link(self, inline: Token, page: _Page, *, in_heading: bool) -> None:
        children: list[Token] = []
        open_links: list[bool] = []
        for token in inline.children or ():
            if token.type == "link_open":
                address = self._target(str(token.attrGet("href")), page)
                open_links.append(address is not None)
                if address is None:
                    continue
                token.attrSet("href", address)
            elif token.type == "link_close" and not open_links.pop():
                continue
            elif token.type == "image":
                token.attrSet("src", self._target(str(token.attrGet("src")), page) or "")
                token.attrSet("loading", "lazy")
            elif token.type == "code_inline" and not open_links and not in_heading:
                address = self._address_of(token.content)
                if address is not None:
                    token = _html(f'<a href="{page.root}{address}"><code>{escape(token.content)}</code></a>')  # noqa: PLW2901
            children.append(token)
        if inline.children is not None:
            inline.children = children

    def _target(self, href: str, page: _Page) -> str | None:
        """Return where a link of a document leads on the site; None for what is not part of it."""
        if href.startswith(("#", *_EXTERNAL)):
            return href
        file, _, anchor = href.partition("#")
        path = PurePosixPath(normpath((page.path.parent / file).as_posix()))
        behind = f"#{anchor}" if anchor else ""
        if path in self._known:
            return f"{page.root}{self._known[path]}{behind}"
        if path.parts[:1] == ("golden",) and path.suffix == ".json":
            address = self._address_of(path.relative_to("golden").with_suffix("").as_posix())
            return None if address is None else page.root + address
        if path.parent.parent == _RESULTS and path.suffix == ".json" and path.parent.name != "badges":
            return f"{page.root}{addresses.of_implementation(path.parent.name, path.stem)}"
        if path.suffix in (*_SHOWN_AS_TEXT, *_PICTURES) and (CHECKOUT / path).is_file():
            page.files.append(path)
            return page.root + file_address(path)
        return None


def file_address(path: PurePosixPath) -> str:
    """Return where a file of the repository lies on the site: pictures where they were, sources as text."""
    return path.as_posix() if path.suffix in _PICTURES else f"files/{path}.txt"


def documents_of_checkout() -> tuple[PurePosixPath, ...]:
    """Return the paths of all documents that the site shows: the spec's, and two of the repository."""
    spec = CHECKOUT / "spec"
    found = sorted(path for suffix in ("md", "ipynb") for path in spec.rglob(f"*.{suffix}"))
    own = (PurePosixPath(path.relative_to(CHECKOUT).as_posix()) for path in found)
    return (*own, PurePosixPath("README.md"), PurePosixPath("CONTRIBUTING.md"))


def _table_open(*_: Any) -> str:
    return '<div class="scroll"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _heading_close(_: Any, tokens: Sequence[Token], position: int, *__: Any) -> str:
    return f"</{tokens[position].tag}>\n{tokens[position].meta.get('behind', '')}"


def _preformatted(_: Any, tokens: Sequence[Token], position: int, *__: Any) -> str:
    return f"<pre><code>{escape(tokens[position].content)}</code></pre>\n"


def _html(text: str) -> Token:
    token = Token("html_inline", "", 0)
    token.content = text
    return token


def _first_code(inline: Token) -> str | None:
    """Return the inline code that a line begins with; None where it begins otherwise."""
    first = inline.children[0] if inline.type == "inline" and inline.children else None
    return first.content if first is not None and first.type == "code_inline" else None


def _slug(heading: str) -> str:
    """Return the anchor that a heading has where repositories are shown: links of the documents use it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _sections(text: str) -> Iterator[Section]:
    """Give the sections of a document; lines of code do not begin one."""
    title, anchor, lines, in_code = "", "", list[str](), False
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        heading = None if in_code else re.match(r"#{1,4} (.+)", line)
        if heading is None:
            lines.append(line)
            continue
        if title:
            yield Section(title, anchor, "\n".join(lines))
        anchor = _slug(heading[1]) if title else ""
        title, lines = heading[1].replace("`", ""), []
    yield Section(title, anchor, "\n".join(lines))


def _notebook_as_markdown(notebook: Mapping[str, Any]) -> str:
    """Return the cells of a notebook as one text; code that was not run has no outputs."""
    parts = list[str]()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join(parts)
