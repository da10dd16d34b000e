"""Clauses and errata as the harness reads them, against a plain scan of the pages line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnspec.command_line import main
from attnspec.contract import OPERATIONS
from attnspec.specification import clauses, errata

ROOT = Path(__file__).parents[4]
PAGES = sorted((ROOT / "spec" / "operations").glob("*/*.md"), key=lambda page: page.name)
ERRATA = (ROOT / "spec" / "errata.md").read_text(encoding="utf-8").splitlines()
DASH = "` — "


def scanned_clauses() -> list[tuple[str, str, str]]:
    """Return id, text and page of every list item that starts with an id and a dash, in order."""
    found = []
    for page in PAGES:
        open_item = False
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("- `") and DASH in line:
                clause, text = line.removeprefix("- `").split(DASH, 1)
                found.append([clause, text, f"{page.parent.name}/{page.name}"])
                open_item = True
            elif open_item and line.startswith("  ") and line.strip():
                found[-1][1] += " " + line.strip()
            else:
                open_item = False
    return [tuple(item) for item in found]


def scanned_headings() -> dict[str, tuple[str, list[str]]]:
    """Return id to title and body lines of every erratum with a section of its own."""
    found = {}
    body = []
    for line in ERRATA:
        if line.startswith("#"):
            body = []
        if line.startswith("### `E"):
            erratum, title = line.removeprefix("### `").split(DASH, 1)
            found[erratum] = (title, body)
        elif not line.startswith("#"):
            body.append(line)
    return found


def scanned_rows() -> dict[str, list[str]]:
    """Return id to the other cells of every erratum that is a row of a table."""
    rows = [line.strip("|").split("|") for line in ERRATA if line.startswith("| `E")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_every_clause_is_read_in_the_order_of_the_pages() -> None:
    scanned = scanned_clauses()
    assert len(scanned) == len({clause for clause, _, _ in scanned}) > 60
    assert [(clause.id, clause.text, clause.page) for clause in clauses().values()] == scanned
    assert all(key == clause.id for key, clause in clauses().items())


def test_every_page_has_clauses() -> None:
    assert PAGES
    assert {clause.page for clause in clauses().values()} == {f"{page.parent.name}/{page.name}" for page in PAGES}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_every_page_says_what_the_harness_holds_every_operation_to(operation) -> None:
    expected = ["seed" if "seed" in operation.attributes else "repeatable"]
    if operation.takes:
        expected += ["inputs_unchanged", "memory_layout"]
    page = f"{operation.family}/{operation.name}.md"
    said = {clause.id for clause in clauses().values() if clause.page == page}
    assert said >= {f"{operation.short_name}.{name}" for name in expected}


def test_a_clause_is_one_line_that_ends_a_sentence() -> None:
    for clause in clauses().values():
        assert "\n" not in clause.text
        assert "  " not in clause.text
        assert clause.text == clause.text.strip()
        assert clause.text.endswith("."), clause.id


def test_a_clause_of_several_lines_is_read_whole() -> None:
    default = clauses()["sdpa.scale.default"]
    assert default.page == "attention/scaled_dot_product_attention.md"
    assert default.text.startswith("Without `scale`")
    assert any(len(clause.text) > 120 for clause in clauses().values())


def test_every_erratum_is_read_once() -> None:
    headings, rows = scanned_headings(), scanned_rows()
    assert len(headings) > 50
    assert len(rows) > 40
    assert not headings.keys() & rows.keys()
    assert errata().keys() == headings.keys() | rows.keys()
    assert all(key == erratum.id for key, erratum in errata().items())


def test_errata_come_in_the_order_of_the_page() -> None:
    page = "\n".join(ERRATA)
    positions = [max(page.find(f"\n### `{erratum}` — "), page.find(f"\n| `{erratum}` | ")) for erratum in errata()]
    assert -1 not in positions
    assert positions == sorted(positions)
    assert [erratum[1:4] for erratum in errata()] == sorted(erratum[1:4] for erratum in errata())


@pytest.mark.parametrize("erratum", scanned_headings())
def test_an_erratum_with_a_section_has_its_title_and_its_body(erratum) -> None:
    title, body = scanned_headings()[erratum]
    read = errata()[erratum]
    assert read.title == title
    assert read.text.splitlines() == "\n".join(body).strip().splitlines()
    assert read.text.splitlines()[0].endswith(".")


def test_an_erratum_in_a_table_has_its_cells() -> None:
    for erratum, cells in scanned_rows().items():
        assert len(cells) == 3, erratum
        assert errata()[erratum].title == cells[0]
        assert errata()[erratum].text == "; ".join(cells)


def test_explain_prints_a_clause(capsys) -> None:
    assert main(["explain", "sdpa.scale.default"]) == 0
    output = capsys.readouterr().out
    assert clauses()["sdpa.scale.default"].text in output
    assert "spec/operations/attention/scaled_dot_product_attention.md" in output
    assert "documents/002/attention_unmasked" in output


@pytest.mark.parametrize("erratum", ["E003.context_broadcast", "E002.paper_number"])
def test_explain_prints_an_erratum(capsys, erratum) -> None:
    assert main(["explain", erratum]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"{erratum} (erratum, spec/errata.md): {errata()[erratum].title}\n")
    assert errata()[erratum].text in output


def test_explain_prints_the_clauses_of_a_case(capsys) -> None:
    assert main(["explain", "documents/003/context_vector"]) == 0
    assert f"  context_vector.context: {clauses()['context_vector.context'].text}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("sdpa.scale.defalt", "sdpa.scale.default"),
        ("E003.context_broadcst", "E003.context_broadcast"),
        ("documents/003/context_vectr", "documents/003/context_vector"),
    ],
)
def test_an_unknown_id_is_answered_with_those_that_come_near(capsys, wrong, near) -> None:
    assert main(["explain", wrong]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"attnspec: There is no clause, erratum, mistake, case or word '{wrong}'. Did you mean ")
    assert near in message
