"""The site as files: every link leads somewhere, ids are addresses, and what is there binds together."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from attnspec.base.errors import UsageError
from attnspec.command_line import main
from attnspec.specification import clauses, errata
from attnspec_mistakes import mistakes_of
from attnspec_site.building import build_site
from attnspec_site.downloads import DOWNLOADS, VECTORS

from .conftest import OPERATIONS, Links


def broken_links(site: Path) -> list[str]:
    """Return each link inside a site that leads to no file, or to no id of its page."""
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    ids = {path: {*page.ids} for path, page in pages.items()}
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.to):
            if link.startswith(("https://", "http://", "mailto:")):
                continue
            file, _, anchor = link.partition("#")
            target = path if not file else Path(os.path.normpath(path.parent / unquote(file)))
            if not target.is_file():
                found.append(f"{path.relative_to(site)}: {link} is no file")
            elif anchor and target.suffix == ".html" and unquote(anchor) not in ids[target]:
                found.append(f"{path.relative_to(site)}: {link} has no such id")
    return found


def test_every_link_leads_somewhere(site):
    assert broken_links(site) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "page.html").write_text('<a href="other.html">one</a> <a href="#here">two</a> <a href="page.html">')
    assert broken_links(tmp_path) == ["page.html: other.html is no file", "page.html: #here has no such id"]


def test_ids_of_a_page_are_its_own(site):
    for path in site.rglob("*.html"):
        ids = Links(path.read_text(encoding="utf-8")).ids
        assert len(ids) == len({*ids}), path


def test_clauses_mistakes_and_errata_have_addresses_by_their_ids(site):
    for clause in clauses().values():
        page = site / "spec" / "operations" / clause.page.replace(".md", ".html")
        assert f'id="{clause.id}"' in page.read_text(encoding="utf-8")
        assert (site / "clauses" / f"{clause.id}.html").is_file()
    for operation in OPERATIONS:
        for mistake in mistakes_of(operation):
            page = unescape((site / "mistakes" / f"{mistake.id}.html").read_text(encoding="utf-8"))
            assert f'"{mistake.id}": ' in page, "its entry in the catalogue is shown"
    errata_page = (site / "spec" / "errata.html").read_text(encoding="utf-8")
    assert [erratum for erratum in errata() if f'id="{erratum}"' not in errata_page] == []


def test_a_clause_leads_to_its_cases_and_mistakes(site):
    page = (site / "clauses" / "softmax.stability.html").read_text(encoding="utf-8")
    assert "../mistakes/softmax.no_maximum.html" in page
    assert "../cases/stress/" in page


def test_a_case_holds_numbers_tolerance_and_a_script_that_runs(site):
    page = (site / "cases" / "documents" / "001" / "softmax_of_rows.html").read_text(encoding="utf-8")
    # From the page of the operation: the share of 3 among 1, 0.5, 0.2 and 3.
    assert re.search(r"<td>0\.782\d*<br>\d", page)
    assert "Under each number its tolerance in float32" in page
    script = site / DOWNLOADS / "documents" / "001" / "softmax_of_rows.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "differs by" in done.stdout


def test_the_archive_of_vectors_is_a_download(site, tmp_path):
    assert VECTORS in Links((site / "index.html").read_text(encoding="utf-8")).to
    archive = tmp_path / "again.tar.gz"
    chosen = [f"--operation={operation}" for operation in OPERATIONS]
    assert main(["vectors", str(tmp_path / "vectors"), "--archive", str(archive), *chosen]) == 0
    assert (site / VECTORS).read_bytes() == archive.read_bytes()


def test_a_failing_cell_of_the_table_leads_to_the_reason(site):
    table = Links((site / "implementations" / "index.html").read_text(encoding="utf-8"))
    cells = [link for link in table.to if "#" in link and link.startswith("../implementations/")]
    assert cells
    for cell in cells:
        file, _, dtype = cell.removeprefix("../").partition("#")
        page = (site / file).read_text(encoding="utf-8")
        failures = page.partition(f'<h3 id="{dtype}">')[2].partition("<h3")[0]
        for failure in re.findall("<li>(.*?)</li>", failures):
            sentence = re.sub("<[^>]+>", "", failure)
            assert len(sentence) > 20
        assert "<li>" in failures


def test_who_follows_a_convention_is_said(site):
    page = (site / "conventions.html").read_text(encoding="utf-8")
    section = page.partition('<h2 id="masked_nonfinite">')[2].partition("<h2")[0]
    assert re.search(r"<code>propagates</code>: .*\btorch\b", section)


def test_a_failing_case_and_its_clause_name_the_implementation(site):
    case = (site / "cases" / "nonfinite" / "multi_head_nan_key_of_one_key.html").read_text(encoding="utf-8")
    assert re.search(r"torch-mha/[\d.]+\.html#float32.*implementations/defects\.html#torch_flash_nan_query_row", case)
    clause = (site / "clauses" / "multi_head.split.html").read_text(encoding="utf-8")
    assert "Implementations that fail a case of it" in clause
    page = (site / "spec" / "operations" / "attention" / "multi_head_attention.html").read_text(encoding="utf-8")
    assert re.search(r'multi_head\.split\.html">\d+ cases, \d+ mistakes?; cases fail in .*torch', page)


def test_the_command_says_what_it_built(tmp_path, capsys):
    folder = tmp_path / "here"
    assert main(["site", str(folder), "--operation", "causal_mask"]) == 0
    said = capsys.readouterr().out
    assert f"{folder / 'index.html'}" in said
    # A site may be built again where it was, over nothing else.
    (folder / "cases" / "old.html").write_text("gone")
    assert main(["site", str(folder), "--operation", "causal_mask"]) == 0
    assert not (folder / "cases" / "old.html").exists()


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="is not empty and holds no site"):
        build_site(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_an_unknown_operation_is_named(tmp_path, capsys):
    assert main(["site", str(tmp_path / "here"), "--operation", "softmux"]) == 2
    assert "Did you mean softmax?" in capsys.readouterr().err


class Absent:
    """A finder of modules, as it is where the wheel alone is installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "attnspec_site":
            raise ModuleNotFoundError(name=name)


def test_without_its_package_the_command_says_where_it_works(monkeypatch, capsys, tmp_path):
    for name in [name for name in sys.modules if name.startswith("attnspec_site")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])
    assert main(["site", str(tmp_path)]) == 2
    assert "works in a checkout of attnspec" in capsys.readouterr().err


@pytest.mark.proof
def test_the_whole_site_is_small_and_its_links_lead_somewhere(tmp_path):
    built = build_site(tmp_path / "site")
    assert built.size <= 40_000_000
    assert broken_links(built.folder) == []
