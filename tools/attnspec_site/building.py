"""Building of the site: pages, data, pictures and downloads, written into a folder."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from markupsafe import Markup

from attnspec.base.errors import UsageError
from attnspec.contract import OPERATIONS
from attnspec_site import addresses
from attnspec_site.attention.playground_page import playground, playground_entry
from attnspec_site.case_pages import case_pages
from attnspec_site.clause_pages import beside_clause, beside_erratum, clause_pages
from attnspec_site.content import CHECKOUT, Content, read_content
from attnspec_site.downloads import DOWNLOADS, VECTORS, write_downloads
from attnspec_site.implementation_pages import Table, implementation_entries, implementation_pages, read_table
from attnspec_site.mistake_pages import mistake_pages
from attnspec_site.page import MENU, Page, PageMaker, shortened, with_code
from attnspec_site.prose import Document, Prose, documents_of_checkout, file_address
from attnspec_site.published_pages import published_entries, published_pages
from attnspec_site.search_index import data_script, relations_script, search_index

_MARKER = "assets/site.css"
"""A file by which a folder is known for a site that may be written over."""

_ASSETS = Path(__file__).with_name("assets")
_OF_REPORTS = CHECKOUT / "tools" / "attnspec" / "reports" / "html"
_HEAT_MAPS = ("elements.js", "heatmaps.js")


@dataclass(frozen=True)
class Built:
    """A site that was built: its pages, and the size of all but the downloads in bytes."""

    folder: Path
    pages: int
    size: int


def build_site(folder: Path, *, golden: Path | None = None, operations: Collection[str] = ()) -> Built:
    """Build the site into a folder, which must be new, empty, or hold an earlier site.

    Raises
    ------
    UsageError
        The folder holds something else, or there is no operation of a name.
    """
    content, table = read_content(golden, operations), read_table()
    _make_room(folder)
    links = addresses.Links(content)

    def beside(word: str, root: str) -> str:
        if word in content.clauses:
            return beside_clause(content, table, word, root)
        return beside_erratum(content, word, root) if word in content.errata else ""

    prose = Prose(documents_of_checkout(), links.of_id, beside)
    documents = [prose.document(path) for path in documents_of_checkout()]
    maker = PageMaker(links.of_id)
    written = 0
    _copy_files(folder, content, documents)
    played = playground(content.suite.cases.values(), maker, _drawing())
    for page in (*_pages(content, table, maker, prose, documents), played.page):
        _write(folder / page.address, page.html)
        written += 1
    further = (*implementation_entries(table), *published_entries(), playground_entry())
    _write(folder / "assets/search-index.js", search_index(content, documents, further))
    _write(folder / "assets/relations.js", relations_script(content))
    for address, text in played.scripts.items():
        _write(folder / address, text)
    write_downloads(folder, content)
    return Built(folder, written, sum(_sizes(folder)))


def _pages(
    content: Content, table: Table, maker: PageMaker, prose: Prose, documents: Iterable[Document]
) -> Iterator[Page]:
    yield from _document_pages(content, maker, documents)
    yield from case_pages(content, table, maker)
    yield from clause_pages(content, table, maker, prose)
    yield from implementation_pages(table, maker)
    yield from mistake_pages(content, maker)
    yield from published_pages(maker)
    counts = {
        "cases": len(content.cases),
        "clauses": len(content.clauses),
        "mistakes": len(content.mistakes),
        "errata": len(content.errata),
        "implementations": len(table.newest),
    }
    facts = {name: OPERATIONS[name] for name in content.operations}
    yield maker.page(
        "index.html", "index.html", "Attention, specified", counts=counts, operations=facts, vectors=VECTORS
    )
    yield maker.page("search.html", addresses.SEARCH, "Search")


def _document_pages(content: Content, maker: PageMaker, documents: Iterable[Document]) -> Iterator[Page]:
    """Give the documents of the repository as pages, and what lists those of a folder that has no page of its own."""
    shown = list(documents)
    for document in shown:
        name = PurePosixPath(document.address).stem
        yield maker.page(
            "document.html",
            document.address,
            document.title,
            html=Markup(document.html),
            operation=name if document.address.startswith("spec/operations/") and name in content.operations else None,
            cases=sum(case.operation == name for case in content.cases.values()),
        )
    for folder, title in (("spec/guides", "Guides"), ("spec/decisions", "Decisions")):
        own = [document for document in shown if document.address.startswith(f"{folder}/")]
        yield maker.page("documents.html", f"{folder}/index.html", title, documents=own)
    yield maker.page("contents.html", "contents.html", "All pages", documents=shown)


def _make_room(folder: Path) -> None:
    """Empty the folder of an earlier site; `UsageError` for one that holds something else."""
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / _MARKER).is_file():
            raise UsageError(f"{folder} is not empty and holds no site of attnspec; name a new folder.")
        shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The site cannot be written to {folder}: {error.strerror}.") from None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _copy_files(folder: Path, content: Content, documents: Iterable[Document]) -> None:
    """Copy the styles, the scripts with their data, and what the documents draw or link to."""
    (folder / "assets").mkdir(exist_ok=True)
    for path in sorted(_ASSETS.iterdir()):
        shutil.copyfile(path, folder / "assets" / path.name)
    sentences = {clause.id: with_code(shortened(clause.text)) for clause in content.clauses.values()}
    axes = {name: facts.axes for name, facts in OPERATIONS.items()}
    for name, before in (
        ("site.css", (_OF_REPORTS / "page.css").read_text(encoding="utf-8")),
        ("site.js", data_script("menu", MENU)),
        ("case.js", _drawing() + data_script("axes", axes) + data_script("clauses", sentences)),
    ):
        _write(folder / "assets" / name, before + (_ASSETS / name).read_text(encoding="utf-8"))
    for path in dict.fromkeys(path for document in documents for path in document.files):
        target = folder / file_address(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / path, target)


def _drawing() -> str:
    """Return the code that draws heat maps, which the pages of reports have, too."""
    return "".join((_OF_REPORTS / name).read_text(encoding="utf-8") for name in _HEAT_MAPS)


def _sizes(folder: Path) -> Iterator[int]:
    """Give the size of each file but the downloads."""
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).parts[0] != DOWNLOADS:
            yield path.stat().st_size
