"""Batch invariance in every report: what was measured in a sentence, and a failure where it is declared."""

from __future__ import annotations

import io
import json
from functools import cache
from xml.etree import ElementTree as Xml

import pytest
from kernels.batched import implementation
from rich.console import Console

from attnspec.cases import load_suite, read_index
from attnspec.cases.reading import check_file
from attnspec.gate.decision import Demands, judge
from attnspec.gate.single_results import BesideBaseline
from attnspec.gate.updating import updated_baseline
from attnspec.reports.formats import print_report, write_report
from attnspec.reports.report import Report
from attnspec.runner import run_suite
from attnspec.validation import make_report

CASES = ("core/width_72", "tails/decode_49", "tails/key_lengths", "varlen/packed")
FAILURE = "invariance/scaled_dot_product_attention/entries"
NOT_GRADED = "not declared, so not graded."


@cache
def report(size: str, declared: str = "open") -> Report:
    suite, target = load_suite(select=CASES), implementation(size, batch_invariance=declared)
    return make_report(suite, target.declaration, run_suite(suite, target), conventions={})


@pytest.fixture
def written(tmp_path):
    """Write a report, and return it as text."""

    def write(size: str, declared: str, ending: str) -> str:
        path = tmp_path / f"report{ending}"
        write_report(report(size, declared), path, load_suite())
        if ending == ".json":
            check_file(path, kind="report")
        return path.read_text("utf-8")

    return write


def console(size: str, declared: str = "open") -> str:
    file = io.StringIO()
    print_report(report(size, declared), Console(file=file, width=400))
    return file.getvalue()


def test_without_a_declaration_it_is_a_sentence() -> None:
    assert report("by_batch_size").conforms
    (of_entries, of_queries) = (line for line in console("by_batch_size").splitlines() if "atch invariant" in line)
    assert of_entries.startswith("Not batch invariant, batch entries alone, beside others and in another order: ")
    assert ", output[" in of_entries
    assert of_entries.rstrip().endswith(f"apart; {NOT_GRADED}")
    assert of_queries.rstrip() == (
        f"Batch invariant, queries or tokens in calls of their own: the same bits in 1 call; {NOT_GRADED}"
    )


def test_a_broken_declaration_is_a_failure_with_case_element_and_distance() -> None:
    assert not report("by_batch_size", "entries").conforms
    said = console("by_batch_size", "entries")
    assert "1 of " in said
    assert "calls of a part of a case have other bits than the whole call: tails/" in said
    assert "units in the last digit apart" in said
    assert "Results have other bits in another batch, though they are declared to have the same." in said
    assert "It breaks sdpa.invariance.entries" in said


def test_a_kept_declaration_is_a_sentence() -> None:
    assert report("fixed", "entries_and_queries").conforms
    assert console("fixed", "entries_and_queries").count("; declared.") == 2


@pytest.mark.parametrize("declared", ["open", "entries"])
def test_report_json_has_the_numbers(written, declared) -> None:
    document = json.loads(written("by_batch_size", declared, ".json"))
    (entries, queries) = document["invariance"]
    assert (entries["of"], queries["of"]) == ("entries", "queries")
    assert entries["differing"] >= 1
    assert entries["units"] >= 1
    assert entries["is_wrong"] == entries["is_declared"] == (declared == "entries")
    assert (queries["differing"], queries["units"], queries["sentence"]) == (0, 0, "")
    failed = [result["case"] for result in document["results"] if result["check"] == "invariance"]
    assert failed == [FAILURE] * (declared == "entries")


def test_junit_markdown_and_page_have_it(written) -> None:
    (failure,) = Xml.fromstring(written("by_batch_size", "entries", ".xml")).iter("failure")
    assert failure.get("type") == "invariance"
    for ending in (".md", ".html"):
        assert "have other bits than the whole call" in written("by_batch_size", "entries", ending)
        assert NOT_GRADED in written("by_batch_size", "open", ending)


def test_a_baseline_has_it_as_a_known_failure_until_it_is_gone() -> None:
    ids = read_index(load_suite().folder)
    broken, kept = report("by_batch_size", "entries"), report("fixed", "entries")
    baseline = updated_baseline(None, broken, suite_ids=ids)
    assert baseline is not None
    assert [entry.case for entry in baseline.entries] == [FAILURE]
    assert judge(broken, baseline, Demands(), suite_ids=ids, retired={}).is_open
    found = judge(kept, baseline, Demands(), suite_ids=ids, retired={}).findings
    assert [(finding.kind, finding.subject) for finding in found] == [("passes now", FAILURE)]
    beside = BesideBaseline(baseline, kept.declaration, {})
    assert beside.contradicts_run((), broken.invariance) == ()
    assert [finding.kind for finding in beside.contradicts_run((), kept.invariance)] == ["passes now"]
