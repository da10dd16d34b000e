"""The page beside the terminal, over varied reports: the same counts, sentences and offers, as they are read."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from kernels.pulling import implementation
from rich.console import Console

import attnspec
from attnspec.cases import load_suite, read_index
from attnspec.gate.decision import Demands, judge
from attnspec.gate.printing import diagnosis_of_unexpected, gated_report, print_outcome
from attnspec.gate.updating import updated_baseline
from attnspec.reports.formats import print_report, report_to_json
from attnspec.reports.html import html_page
from attnspec.reports.html.page import page_data
from attnspec.runner import run_suite
from attnspec.validation import make_report

if TYPE_CHECKING:
    from attnspec.reports.report import Report

EXAMPLES = Path(__file__).parents[4] / "examples"
SCREENSHOTS = Path(__file__).parents[5] / "tools" / "screenshots"
SDPA = "scaled_dot_product_attention"


def attended(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def unscaled_and_unmasked(query, key, value, mask=None):
    weights = np.exp(query @ key.swapaxes(-1, -2))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def raising(query, key, value, mask=None):
    if mask is not None:
        raise ValueError(f"no mask of shape {mask.shape} <here>")
    if query.shape[1] > 2:
        raise KeyError("heads")
    return 1.01 * attended(query, key, value)


def misshapen(query, key, value):
    return attended(query, key, value)[..., 0] if query.shape[0] > 1 else [attended(query, key, value)] * 40


def declining(query, key, value):
    raise NotImplementedError("nothing <at all>")


def ignoring(query, key, value, mask=None, sinks=None):
    if mask is not None or sinks is not None:
        raise NotImplementedError("a mask or sinks")
    return attended(query, key, value)


def tokens_first(query, key, value):
    moved = (np.moveaxis(each, 1, 2) for each in (query, key, value))
    return np.moveaxis(attended(*moved), 1, 2)


def validated(target, *select, **options) -> Report:
    operation = SDPA if callable(target) else None
    return attnspec.validate(target, operation=operation, select=select, **options)


def systematic() -> Report:
    suite, target = load_suite(profiles=("core", "masking")), implementation(chained=False, scale=1.003)
    return make_report(suite, target.declaration, run_suite(suite, target), conventions={})


def gated() -> tuple[Report, str]:
    """A run that a baseline knows in part, as the gate prints it and as its reports have it."""
    before = validated(raising, "core/*", "masking/[a-c]*")
    ids = read_index(load_suite().folder)
    known = updated_baseline(None, before, suite_ids=ids, reasons=("*=not yet",))
    now = validated(raising, "core/*", "masking/[a-c]*", "documents/*")
    outcome = judge(now, known, Demands(), suite_ids=ids, retired={})
    diagnosis = diagnosis_of_unexpected(now, outcome)
    stream = io.StringIO()
    print_outcome(outcome, Console(file=stream, width=2000), diagnosis=diagnosis, results=now.results)
    return gated_report(now, outcome, known, diagnosis), stream.getvalue()


REPORTS = {
    "right": lambda: validated("reference", "core/*", "masking/*"),
    "one mistake": lambda: validated(str(EXAMPLES / "student_softmax_axis_0.py"), "documents/*"),
    "two mistakes": lambda: validated(str(SCREENSHOTS / "almost_right.py"), "causal/*", "core/*", "tails/*"),
    "two at once": lambda: validated(unscaled_and_unmasked, "core/*", "documents/*", "grouped_query/*"),
    "errors beside failures": lambda: validated(raising, "core/*", "masking/*", "documents/*"),
    "malformed": lambda: validated(misshapen, "core/*", "documents/*"),
    "an offer": lambda: validated(attended, "core/*", "masking/*", "grouped_query/*", "documents/*", "rejects/*"),
    "gated": gated,
    "systematic errors": systematic,
    "nothing graded": lambda: validated(declining, "core/*"),
    "taken and not graded": lambda: validated(ignoring, "core/*", "masking/*", "sinks/*"),
    "a layout": lambda: validated(tokens_first, "core/*", "layout/*", layout="bshe"),
    "ended early": lambda: replace(validated(raising, "core/*"), not_run=31, ended_early="crashed"),
}


@cache
def made(name: str) -> tuple[Report, str]:
    """Return a report, and what a terminal shows of it."""
    found = REPORTS[name]()
    if isinstance(found, tuple):
        return found
    stream = io.StringIO()
    print_report(found, Console(file=stream, width=2000))
    return found, stream.getvalue()


@dataclass(frozen=True)
class Said:
    """What is said of a run: the heading, problems with their numbers, what can be declared, and the verdict."""

    heading: str | None
    problems: list[tuple[int, list[str]]]
    others: int
    offer: list[str]
    verdict: str


def said_by_terminal(text: str) -> Said:
    lines = [line.rstrip() for line in text.splitlines()]
    heading = re.compile(r"\d+ (of \d+ went wrong|unexpected failures?):")
    start = next((at for at, line in enumerate(lines) if heading.fullmatch(line)), None)
    verdict = next(line for line in reversed(lines) if line)
    if start is None:
        return Said(None, [], 0, [], verdict)
    end = next(at for at, line in enumerate(lines) if line.startswith("`attnspec explain "))
    block = [line for line in lines[start + 1 : end] if line]
    offer = [line.strip() for line in block if line.startswith(("If it is meant so", "  --"))]
    problems: list[tuple[int, list[str]]] = []
    others = 0
    for line in block:
        counted, more = re.match(r"\s*(\d+)  (.+)", line), re.match(r" {6}(.+)", line)
        if counted and re.match(r"for \d+ other reasons?;", counted[2]):
            others = int(counted[1])
        elif counted:
            problems.append((int(counted[1]), [counted[2]]))
        elif more:
            problems[-1][1].append(more[1])
    return Said(lines[start], problems, others, offer, verdict)


def document_of(name: str):
    return report_to_json(made(name)[0])


@pytest.mark.parametrize("name", REPORTS)
def test_the_data_of_the_page_are_what_the_terminal_says(name, suite):
    report, text = made(name)
    terminal = said_by_terminal(text)
    data = page_data([document_of(name)], [report.declaration.name], suite)
    (page,) = data["implementations"]
    assert page["heading"] == terminal.heading
    assert list(page["offer"]) == terminal.offer
    problems = [(len(problem["failures"]), problem["lines"]) for problem in page["problems"]]
    assert problems[:5] == terminal.problems
    assert sum(count for count, _ in problems[5:]) == terminal.others
    wrong = {at for at, row in enumerate(data["results"][0]) if data["statuses"][row[2]] in data["wrong"]}
    assert sorted(at for problem in page["problems"] for at in problem["failures"]) == sorted(wrong)
    assert len(wrong) == int((terminal.heading or "0").split()[0])
    for note in (*data["notes"], *([] if report.wrong else page["closing"])):
        sentence = note.removeprefix(f"{report.declaration.name}: ")
        assert name == "gated" or sentence in text, sentence


def test_a_report_from_before_is_shown_by_operation_and_no_failure_is_left_out(suite):
    document = document_of("errors beside failures")
    now = page_data([document], ["mine"], suite)
    del document["account"]
    before = page_data([document], ["mine"], suite)
    (page,), (other,) = before["implementations"], now["implementations"]
    assert (page["heading"], list(page["offer"])) == (other["heading"], list(other["offer"]))
    (problem,) = page["problems"]
    assert sorted(problem["failures"]) == sorted(at for each in other["problems"] for at in each["failures"])
    assert problem["lines"][0] == f"{SDPA}: {len(problem['failures'])} went wrong."


def test_every_kind_of_sentence_is_among_these_reports():
    everything = "\n".join(made(name)[1] for name in REPORTS)
    for wanted in (
        "Measured: ",
        "Two mistakes at once. ",
        "pull together",
        "Taken, and not graded: mask, sinks",
        "If it is meant so, declare it",
        "It was called in the layout bshe",
        "31 of ",
        "It raised ValueError",
        "malformed: ",
        " unexpected failures:",
        "nothing could be graded",
        "other reason",
    ):
        assert wanted in everything, wanted


SHOWN = """() => ({
    verdict: document.querySelector("h1").innerText + ": " + document.querySelector(".verdict .sentence").innerText,
    heading: document.querySelector("#findings h2")?.innerText ?? null,
    offer: [...document.querySelectorAll(".offer > p, .offer code")].map((each) => each.textContent),
    problems: [...document.querySelectorAll("#findings .finding")].map((card) => [
        Number(card.querySelector(".count").textContent.replaceAll(",", "")),
        [...card.children].filter((each) => each.tagName === "P").map((each) => each.textContent),
    ]),
    notes: [...document.querySelectorAll("#notes p")].map((each) => each.textContent),
    statuses: Object.fromEntries([...document.querySelectorAll(".chip-button")].map((chip) =>
        chip.innerText.trim().split(/\\s+/).slice(1))),
})"""


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_as_it_is_read_says_what_the_terminal_says(name, context, suite, tmp_path):
    report, text = made(name)
    terminal, document = said_by_terminal(text), document_of(name)
    shown_name = " ".join(filter(None, (report.declaration.name, report.declaration.version)))
    (tmp_path / "page.html").write_text(html_page([document], [shown_name], suite), encoding="utf-8")
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    shown = page.evaluate(SHOWN)
    verdict = shown["verdict"].partition(": ")[2] if name == "gated" else shown["verdict"]
    assert verdict.lower() == terminal.verdict.lower()
    assert shown["heading"] == terminal.heading
    assert shown["offer"] == terminal.offer
    counts = [(count, [lines[0].removeprefix(f"{count:,} "), *lines[1:]]) for count, lines in shown["problems"]]
    assert counts[:5] == terminal.problems
    assert sum(count for count, _ in counts) == int((terminal.heading or "0").split()[0])
    for status, count in document["summary"]["statuses"].items():
        if name != "gated":
            assert shown["statuses"][status].replace(",", "") == str(count)
    if shown["problems"]:
        page.locator("#findings .finding").first.get_by_role("button", name="Show these cases").click()
        cases = {document["results"][at]["case"] for at in document["account"]["problems"][0]["failures"]}
        assert set(page.locator(".case .id").all_inner_texts()) == cases
    page.close()
