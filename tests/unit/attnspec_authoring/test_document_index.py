"""The index of the source documents: every case of a document and every erratum is in it, and it is written today."""

import re

from attnspec.specification import errata
from attnspec_authoring.document_index import PAGE, erratum_links, index_page
from attnspec_authoring.recipes import authored_cases

TEXT = PAGE.read_text("utf-8")
OF_DOCUMENTS = [case for case in authored_cases() if case.source.document]


def section(number):
    return TEXT.partition(f"## {number}_")[2].partition("\n## ")[0]


def test_the_page_is_what_the_program_writes_today():
    assert index_page() == TEXT, "run `python -m attnspec_authoring.document_index`"


def test_every_case_of_a_document_is_in_its_section_once_with_its_step_and_page():
    for case in OF_DOCUMENTS:
        rows = [row for row in section(case.source.document[:3]).splitlines() if f"golden/{case.id}.json)" in row]
        (row,) = rows
        assert row.startswith(f"| {case.source.section.replace('|', chr(92) + '|')} |"), case.id
        assert f"/{case.operation}.md)" in row


def test_every_erratum_is_in_the_section_of_its_document():
    assert {*erratum_links()} == {*errata()}
    for erratum in errata():
        assert f"[{erratum.partition('.')[2]}](errata.md" in section(erratum[1:4]), erratum


def test_every_printed_number_is_named_with_its_step():
    for case in OF_DOCUMENTS:
        for entry in case.printed:
            verdict = "differs" if entry.erratum else "agrees"
            assert re.search(rf"{re.escape(entry.section)}: [^;|]*`{entry.of}` {verdict}", TEXT), (case.id, entry.of)


def test_the_printed_context_vector_differs_and_leads_to_its_erratum():
    (row,) = [row for row in section("003").splitlines() if row.startswith("| Question 1 |")]
    assert "In [52]: `context` differs" in row
    assert "errata.md#e003context_broadcast--" in row
