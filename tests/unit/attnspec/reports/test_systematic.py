"""Systematic errors in every report: what was measured, and what is wrong."""

from __future__ import annotations

import io
import json
from functools import cache
from xml.etree import ElementTree as Xml

import pytest
from kernels.pulling import implementation
from rich.console import Console

from attnspec.cases import load_suite
from attnspec.cases.reading import check_file
from attnspec.reports.formats import print_report, write_report
from attnspec.reports.report import Report
from attnspec.reports.written_reports import compare_reports, read_report
from attnspec.runner import run_suite
from attnspec.validation import make_report

PROFILES = ("core", "masking")
FAILURE = "systematic/scaled_dot_product_attention/scale"


@cache
def report(scale: float) -> Report:
    suite, target = load_suite(profiles=PROFILES), implementation(chained=False, scale=scale)
    return make_report(suite, target.declaration, run_suite(suite, target), conventions={})


@pytest.fixture
def written(tmp_path):
    """Write a report, and return it as text."""

    def write(scale: float, ending: str) -> str:
        path = tmp_path / f"report{scale}{ending}"
        write_report(report(scale), path, load_suite())
        if ending == ".json":
            check_file(path, kind="report")
        return path.read_text("utf-8")

    return write


def console(scale: float, **options: bool) -> str:
    file = io.StringIO()
    print_report(report(scale), Console(file=file, width=200), **options)
    return file.getvalue()


def test_a_wrong_one_is_named_with_its_factor() -> None:
    assert not report(1.003).conforms
    said = console(1.003)
    assert "1 of " in said
    assert "The scale is 1.0029" in said
    assert "It breaks sdpa.precision.systematic" in said


def test_failures_that_the_factor_accounts_for_are_its_own() -> None:
    of_run, *others = sorted(report(1.05).wrong, key=lambda result: not result.is_of_run)
    assert of_run.is_of_run
    assert len(others) > 50
    (entry,) = report(1.05).diagnosis
    assert entry.clause == "sdpa.precision.systematic"
    assert {(result.case.id, result.dtype) for result in others} <= set(entry.failures)
    said = console(1.05)
    assert f"Without that, {len(others)} failures would pass, too." in said
    assert said.index("The scale is 1.0") < said.index("Such as")


def test_a_right_one_is_said_in_a_line() -> None:
    assert report(1.0).conforms
    (line,) = (line for line in console(1.0).splitlines() if line.startswith("Systematic errors"))
    assert "none of 2 measured" in line
    assert len([line for line in console(1.0, verbose=True).splitlines() if "of what is expected" in line]) >= 2


def test_the_number_of_cases_is_that_of_cases() -> None:
    assert report(1.003).cases == report(1.0).cases


def test_report_json_has_the_numbers(written) -> None:
    right, wrong = (json.loads(written(scale, ".json")) for scale in (1.0, 1.003))
    assert [entry["is_wrong"] for entry in right["systematic"]] == [False, False]
    (entry,) = (entry for entry in wrong["systematic"] if entry["is_wrong"])
    assert entry["deviation"] == pytest.approx(0.003, rel=0.1)
    assert [result["case"] for result in wrong["results"] if result["check"] == "systematic"] == [FAILURE]


def test_junit_markdown_and_page_have_it(written) -> None:
    (failure,) = Xml.fromstring(written(1.003, ".xml")).iter("failure")
    assert failure.get("type") == "systematic"
    assert "--select" not in (failure.text or "")
    for ending in (".md", ".html"):
        assert "the scale is 1.0029" in written(1.003, ending)
        assert "Systematic errors" in written(1.0, ending)


def test_a_report_in_which_it_is_gone_is_better(tmp_path) -> None:
    documents = []
    for scale in (1.003, 1.0):
        write_report(report(scale), tmp_path / f"{scale}.json")
        documents.append(read_report(tmp_path / f"{scale}.json"))
    wrong, right = documents
    assert compare_reports(wrong, right).fixed == ((FAILURE, "bfloat16"),)
    assert not compare_reports(wrong, right).is_worse
    assert compare_reports(right, wrong).new_failing == ((FAILURE, "bfloat16"),)
