"""How each report shows results in which nothing was wrong and nothing was graded."""

import io
from types import SimpleNamespace
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from rich.console import Console

import attnspec
from attnspec.cases import load_suite, schema_validator
from attnspec.reports.formats import report_to_json
from attnspec.reports.formats.console import print_report
from attnspec.reports.formats.junit import junit_xml
from attnspec.reports.formats.markdown import markdown
from attnspec.reports.html import html_page
from attnspec.reports.notebook import notebook_html

LOST = "stress/raw_products_beyond_float16"
REASON = "for every element, the tolerance would pass anything, or nothing is expected of it"


def average(query, key, value, scale=None):
    """Give every key the same weight, which is right where all scores are equal."""
    mean = value.astype(np.float64).mean(axis=-2, keepdims=True)
    return np.broadcast_to(mean, (*query.shape[:-1], value.shape[-1])).astype(query.dtype)


@pytest.fixture(scope="module")
def report():
    holder = SimpleNamespace(scaled_dot_product_attention=average, dtypes=("float64", "bfloat16"), name="average")
    return attnspec.validate(holder, select=LOST)


@pytest.fixture(scope="module")
def document(report):
    document = report_to_json(report)
    schema_validator("report").validate(document)
    return document


def test_it_counts_for_no_clause_and_is_not_wrong(report):
    assert report.summary.counts == {"pass": 1, "ungraded": 1}
    assert (report.summary.conformance, report.wrong) == ("conforms", ())
    holder = SimpleNamespace(scaled_dot_product_attention=average, dtypes=("bfloat16",))
    alone = attnspec.validate(holder, select=LOST)
    assert (alone.summary.clauses_graded, alone.summary.conformance) == (0, "nothing graded")


def test_the_json_has_its_status_and_its_elements(document):
    ungraded, passed = sorted(document["results"], key=lambda result: result["dtype"])
    assert (ungraded["status"], ungraded["graded"], ungraded["ungraded"]) == ("ungraded", 0, 12)
    assert (ungraded["check"], ungraded["worst"], ungraded["message"]) == (None, None, REASON)
    assert (passed["status"], passed["graded"]) == ("pass", 12)
    assert document["summary"]["statuses"] == {"pass": 1, "ungraded": 1}


def test_the_console_gives_the_reason_and_counts_it(report):
    stream = io.StringIO()
    print_report(report, Console(file=stream, width=400))
    assert f"Not graded: 1 ({REASON})." in stream.getvalue()
    assert "average conforms: 1 of 1 passed, 1 ungraded, every clause graded." in stream.getvalue()


def test_junit_calls_it_skipped(document):
    root = Xml.fromstring(junit_xml(document))
    (skipped,) = root.iter("skipped")
    assert (skipped.get("type"), skipped.get("message")) == ("ungraded", REASON)
    assert {suite.get("skipped") for suite in root} == {"1"}


def test_markdown_leaves_it_out_of_what_was_tried(document):
    shown = markdown(document)
    assert "| 1/1 | none |" in shown
    assert f"- 1 times `{REASON}`" in shown


def test_the_notebook_and_the_page_have_room_for_it(document, report):
    assert ">ungraded</th>" in notebook_html(report)
    assert '"ungraded"' in html_page([document], ["average"], load_suite(select=[LOST]))
