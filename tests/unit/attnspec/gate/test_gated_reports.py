"""Reports of a gated run say what the gate says: what its baseline knows is not red, and what closes it is."""

import json
import re
from types import SimpleNamespace
from xml.etree import ElementTree as Xml

import pytest

from attnspec.cases import schema_validator

from .conftest import COLUMNS, CONTEXT, ROWS, WHOLE

REASON = "columns come in 2.1"
NAMES = ("report.json", "report.xml", "report.md", "report.html", "badge.json")


@pytest.fixture
def gated(checkout):
    """The gate with a baseline that knows two failures and two unsupported results, and all its reports."""
    checkout.adapter(columns="wrong", whole="declines")
    checkout.update("--reason", REASON)

    def run(*options, **behaviour):
        checkout.adapter(**{"columns": "wrong", "whole": "declines"} | behaviour)
        status, out, _ = checkout.gate(*(word for name in NAMES for word in ("--report", name)), *options)
        texts = {name: (checkout.folder / name).read_text("utf-8") for name in NAMES}
        data = re.search(r'(?s)<script type="application/json" id="data">(.*?)</script>', texts["report.html"])[1]
        report = json.loads(texts["report.json"])
        schema_validator("report").validate(report)
        return SimpleNamespace(
            status=status,
            out=out,
            report=report,
            junit=Xml.fromstring(texts["report.xml"]),
            markdown=texts["report.md"],
            page=json.loads(data),
            badge=json.loads(texts["badge.json"]),
        )

    return run


def outcomes(junit, tag):
    """Each testcase with such an outcome: its name to kind and message."""
    found = ((case.get("name"), case.find(tag)) for case in junit.iter("testcase"))
    return {name: (outcome.get("type"), outcome.get("message")) for name, outcome in found if outcome is not None}


def counted(junit):
    """What each testsuite says of its outcomes, compared with those that it has, and the sum."""
    names = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for suite in junit:
        assert {name: int(suite.get(name)) for name in names} == {
            name: len([*suite.iter(tag)]) for name, tag in names.items()
        }
    for name in ("tests", "failures", "errors"):
        assert int(junit.get(name)) == sum(int(suite.get(name)) for suite in junit)
    return tuple(sum(int(suite.get(name)) for suite in junit) for name in names)


def known_on_the_page(page):
    return [row for row in page["results"][0] if page["statuses"][row[2]] == "known"]


def test_known_failures_are_skipped_with_their_reason_and_nothing_is_red(gated):
    ran = gated()
    assert ran.status == 0
    headline = "mine passes the gate: 2 of 4 passed, 2 not, as expected."
    assert ran.out.endswith(headline)
    assert ran.report["gate"] == {"open": True, "headline": headline, "failing": []}
    known = {(result["case"], result["status"]): result.get("known") for result in ran.report["results"]}
    assert known == {
        (COLUMNS, "fail"): REASON,
        (ROWS, "pass"): None,
        (WHOLE, "unsupported"): "not yet explained",
        (CONTEXT, "unsupported"): "context_vector is not offered",
    }
    assert ran.report["diagnosis"] == []
    assert counted(ran.junit) == (9, 0, 0, 6)
    skipped = outcomes(ran.junit, "skipped")
    assert skipped[f"{WHOLE}[float64]"] == ("unsupported", "not yet explained (unsupported: not this one)")
    kind, message = skipped[f"{COLUMNS}[float32]"]
    assert kind == "known failure"
    assert message.startswith(f"{REASON} (fail: output[1, 1] is 0.5")
    assert ran.badge["message"] == "passes the gate, 2 known failures"
    assert ran.badge["color"] == "yellowgreen"
    assert ran.markdown.startswith(f"### ✅ {headline}\n")
    assert "<summary>Known failures: 2</summary>" in ran.markdown
    assert f"- {REASON}: 2, `{COLUMNS} (float64)`, `{COLUMNS} (float32)`" in ran.markdown
    assert "| 1/2 (1 known) | 1/2 (1 known) |" in ran.markdown
    assert "Failing cases" not in ran.markdown
    assert ran.page["implementations"][0]["conformance"] == "passes the gate"
    assert ran.page["implementations"][0]["sentence"] == headline
    assert len(known_on_the_page(ran.page)) == 2
    assert ran.page["failing"] == [0, 0]


def test_a_new_failure_alone_is_red(gated):
    ran = gated(rows="wrong")
    assert ran.status == 1
    assert counted(ran.junit) == (9, 2, 0, 6)
    assert [*outcomes(ran.junit, "failure")] == [f"{ROWS}[float64]", f"{ROWS}[float32]"]
    assert (ran.badge["message"], ran.badge["color"]) == ("does not pass the gate", "red")
    assert ran.markdown.startswith("### ❌ mine does not pass the gate (new failure: 2).\n")
    assert "<summary>Failing cases: 1</summary>" in ran.markdown
    assert "| **0/2 (1 known)** |" in ran.markdown
    assert "<summary>Known failures: 2</summary>" in ran.markdown
    assert ran.page["implementations"][0]["conformance"] == "does not pass the gate"
    assert len(known_on_the_page(ran.page)) == 2
    assert ran.page["failing"] == [1, 1]


def test_an_entry_that_passes_now_fails_its_test(gated):
    ran = gated(columns="right")
    assert ran.status == 1
    assert counted(ran.junit) == (9, 2, 0, 4)
    assert {*outcomes(ran.junit, "failure").values()} == {("gate", "is listed as fail and passes now")}
    said = f"{COLUMNS}: is listed as fail and passes now (float64, float32)"
    assert f"- {said}".replace("_", r"\_") in ran.markdown
    assert f"mine: {said}" in ran.page["notes"]
    lenient = gated("--lenient", columns="right")
    assert lenient.status == 0
    assert counted(lenient.junit) == (9, 0, 0, 4)
    assert lenient.badge["color"] == "yellowgreen"


def test_a_finding_about_no_single_result_fails_the_test_of_the_gate(gated):
    ran = gated(dtypes=("float64",))
    assert ran.status == 1
    (name,) = failed = outcomes(ran.junit, "failure")
    assert (name, failed[name][0]) == ("gate", "gate")
    said = "float32: the dtype was offered before and is not offered now"
    assert said in ran.junit.find(".//failure").text
    assert said in ran.markdown
    assert f"mine: {said}" in ran.page["notes"]


def test_without_a_baseline_a_report_says_what_the_gate_says(checkout):
    status, _, _ = checkout.gate("--report", "report.md", "--report", "badge.json", baseline=False)
    assert status == 0
    said = (checkout.folder / "report.md").read_text("utf-8").splitlines()
    assert said[0] == "### ✅ mine passes the gate: 6 of 6 passed."
    assert said[2].startswith("`mine` conforms")
    assert json.loads((checkout.folder / "badge.json").read_text("utf-8"))["message"].startswith("conforms")
