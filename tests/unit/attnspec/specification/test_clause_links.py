"""Links to clauses: served sites first, then one that was built here, then the spec; files on a terminal."""

import io

import numpy as np
import pytest
from rich.console import Console

import attnspec
from attnspec.pytest_plugin.explaining import summary_lines
from attnspec.reports.formats.console import print_report
from attnspec.specification import clause_links
from attnspec.specification.clause_links import SITE_VARIABLE, clause_link, remember_site

CLAUSE = "softmax.axis.default"


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No site is published, served or was built, whatever this machine has."""
    monkeypatch.delenv(SITE_VARIABLE, raising=False)
    monkeypatch.setattr(clause_links, "_published", lambda: None)
    monkeypatch.setattr(clause_links, "_REMEMBERED", tmp_path / "cache" / "site")


@pytest.fixture
def built(tmp_path):
    folder = tmp_path / "a site"
    (folder / "clauses").mkdir(parents=True)
    (folder / "clauses" / f"{CLAUSE}.html").write_text("the page")
    return folder


def test_without_a_site_the_page_of_the_spec_is_linked():
    link = clause_link(CLAUSE, files=True)
    assert link.startswith("file:///")
    assert link.endswith("/spec/operations/attention/softmax.md")
    assert clause_link(CLAUSE, files=False) is None


def test_a_site_that_was_built_here_is_linked_as_long_as_it_is_there(built):
    remember_site(built)
    page = built / "clauses" / f"{CLAUSE}.html"
    assert clause_link(CLAUSE, files=True) == page.as_uri()
    page.unlink()
    assert clause_link(CLAUSE, files=True).endswith("softmax.md")


def test_a_served_site_goes_first_and_is_linked_everywhere(built, monkeypatch):
    remember_site(built)
    monkeypatch.setattr(clause_links, "_published", lambda: "https://attnspec.example/latest")
    assert clause_link(CLAUSE, files=False) == f"https://attnspec.example/latest/clauses/{CLAUSE}.html"
    monkeypatch.setenv(SITE_VARIABLE, "http://localhost:8000/")
    assert clause_link(CLAUSE, files=True) == f"http://localhost:8000/clauses/{CLAUSE}.html"


def test_the_variable_may_name_a_folder(built, monkeypatch):
    monkeypatch.setenv(SITE_VARIABLE, str(built))
    assert clause_link(CLAUSE, files=True) == (built / "clauses" / f"{CLAUSE}.html").as_uri()
    assert clause_link(CLAUSE, files=False) is None


def test_an_unknown_clause_has_no_page():
    assert clause_link("softmax.of_yesterday", files=True) is None


@pytest.fixture(scope="module")
def report():
    def softmax_of_columns(x, axis=-1):
        return np.exp(x) / np.exp(x).sum(axis=0, keepdims=True)

    report = attnspec.validate(
        softmax_of_columns, operation="softmax", select="documents/001/softmax_of_*", probes=False
    )
    assert not report.conforms
    return report


@pytest.mark.parametrize(("is_terminal", "links"), [(True, 1), (False, 0)])
def test_a_failing_report_has_one_link_on_a_terminal(report, built, is_terminal, links):
    remember_site(built)
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=60, color_system=None)
    print_report(report, console)
    printed = console.file.getvalue()
    assert printed.count("://") == links
    # Pytest ends with the same.
    lines = summary_lines(report.results, files=is_terminal)
    assert sum("://" in line for line in lines) == links
    assert not links or lines[-1] in printed
    if links:
        page = (built / "clauses" / f"{CLAUSE}.html").as_uri()
        assert f"{CLAUSE}: {page}\n" in printed, "in one piece, however narrow the terminal is"
