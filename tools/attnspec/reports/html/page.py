"""HTML page of a report: one file, one template, no request to anywhere; its data are JSON of reports and cases."""

import base64
import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from attnspec.base.errors import UsageError
from attnspec.cases import Case, Suite
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.grading import STATUSES, WRONG
from attnspec.reports import wording
from attnspec.reports.document import account_in
from attnspec.reports.entries import (
    command_words,
    findings_apart,
    is_known,
    profile_of,
    step_sentence,
    wrong_results,
)
from attnspec.reports.html.glossary import glossary, sources
from attnspec.reports.html.pictures import Pictures
from attnspec.reports.written_reports import rank_reports, read_ratio

MOST_DETAILED = 20
"""Cases that may be requested beside the failing ones."""

MOST_FAILING_CASES = 100
"""Failing cases that are drawn; the others are listed in words."""

_LARGEST_PICTURES = 2_200_000
_CHARACTERS_OF_A_NUMBER = 12
_MOST_ELEMENTS, _FEWEST_ELEMENTS = 1024, 16
_LONGEST_NAME = 120
_MOST_FINDINGS = 20
_SHORTEST_TEXT, _LONGEST_TEXT, _ALL_TEXTS = 200, 2000, 500_000

_KNOWN = "known"
"""Status, on the page alone, of a failure that the baseline of a gated run expects."""

_SHOWN_STATUSES = (*STATUSES, _KNOWN)
_GATE_VERDICTS = {True: "passes the gate", False: "does not pass the gate"}

_ARRAYS = ("values", "expected", "got", "error", "tolerance")

_ACTIVE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_LONGEST = 4000

_HERE = Path(__file__).parent
_SCRIPTS = ("elements", "heatmaps", "attended", "model", "links", "overview", "cases", "detail", "glossary", "page")


def html_page(
    documents: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    suite: Suite,
    *,
    detailed: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the HTML page for one report or several; it needs no other file and executes none of its data.

    `suite` holds all golden cases. `detailed` are ids of at most 20 further cases to draw, else or if unknown
    `UsageError`; `notes` are sentences for the top of the page.
    """
    if len(detailed) > MOST_DETAILED:
        raise UsageError(f"The page draws at most {MOST_DETAILED} further cases; {len(detailed)} are requested.")
    for case_id in detailed:
        if case_id not in suite.cases:
            from attnspec.cases import near

            raise UsageError(f"There is no case {case_id!r}.{near(case_id, suite.cases)}")
    files = ("page.html", "page.css", *(f"{name}.js" for name in _SCRIPTS))
    page, style, *scripts = ((_HERE / name).read_text(encoding="utf-8") for name in files)
    script = "".join(scripts)
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    for mark, text in (
        ("@POLICY@", f"{policy}; form-action 'none'"),
        ("@STYLE@", style),
        ("@SCRIPT@", script),
        ("@DATA@", as_island(page_data(documents, names, suite, detailed=detailed, notes=notes))),
    ):
        before, _, after = page.partition(mark)
        page = before + text + after
    return page


def _hash(text: str) -> str:
    """Return the source expression that allows exactly this inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_data(
    documents: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    suite: Suite,
    *,
    detailed: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return all data of the page as JSON types, from sound report.json documents and their names on the page.

    Golden data of `suite` are left out for a report of another suite. `detailed` are ids of further cases to draw,
    failing or not; `notes` are sentences for the top of the page.
    """
    known = [document["suite"]["digest"] == suite.digest for document in documents]
    ids = sorted({result["case"] for document in documents for result in document["results"]} | set(detailed))
    positions = {case_id: position for position, case_id in enumerate(ids)}
    texts = _Texts()
    return {
        "statuses": _SHOWN_STATUSES,
        "wrong": WRONG,
        "dtypes": (*FLOAT_DTYPES, ANY),
        "notes": [*notes, *_notes(documents, names, suite)],
        "suite": {"version": documents[0]["suite"]["version"], "digest": documents[0]["suite"]["digest"]},
        "implementations": [_implementation(document, name) for document, name in zip(documents, names, strict=True)],
        "ranking": _ranking(documents, names),
        "cases": [_case(case_id, documents, suite if any(known) else None) for case_id in ids],
        **glossary(documents, suite, detailed),
        "results": [[_result(result, positions, texts) for result in document["results"]] for document in documents],
        "texts": texts.all,
        **_drawn_cases(documents, known, suite, positions, detailed),
    }


class _Texts:
    """Texts that many results share, each kept once."""

    def __init__(self) -> None:
        self._positions: dict[str, int] = {}

    def position(self, text: str) -> int:
        return self._positions.setdefault(text, len(self._positions))

    @property
    def all(self) -> list[str]:
        """The texts in order; the more there are, the shorter each one is cut."""
        longest = max(_SHORTEST_TEXT, min(_LONGEST_TEXT, _ALL_TEXTS // max(len(self._positions), 1)))
        return [harmless(text, longest) for text in self._positions]


def _notes(documents: Sequence[Mapping[str, Any]], names: Sequence[str], suite: Suite) -> list[str]:
    """Return sentences on other suites, on what was not called or graded, and on a closed gate."""
    strangers, unseen = list[str](), list[str]()
    for document, name in zip(documents, names, strict=True):
        shown, theirs, account = harmless(name, _LONGEST_NAME), document["suite"], account_in(document)
        if theirs["digest"] != suite.digest:
            strangers.append(
                f"{shown} was validated against another suite (version {theirs['version']}, digest "
                f"{theirs['digest'][:12]}) than the one that made this page (digest {suite.digest[:12]}): its inputs "
                "and certified values are left out."
            )
        said = (
            *account["guessed"],
            *account["unseen"],
            account["ungraded"],
            *findings_apart(document)[:_MOST_FINDINGS],
        )
        unseen += [f"{shown}: {harmless(sentence)}" for sentence in said if sentence is not None]
    return strangers + unseen


def _implementation(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    implementation, summary, gate = document["implementation"], document["summary"], document.get("gate")
    words, _, counts = wording.verdict_line("", summary, document.get("not_run")).strip().partition(": ")
    account = account_in(document)
    return {
        "name": harmless(name, _LONGEST_NAME),
        "adapter": implementation["adapter"],
        # The quoted words that validate it again: those before and those after the selected case.
        "command": [shlex.join(harmless(word, _LONGEST_NAME) for word in words) for words in command_words(document)],
        "conformance": _GATE_VERDICTS[gate["open"]] if gate else summary["conformance"],
        # Name, words and sentence are the verdict in a line, as a terminal has it.
        "words": _GATE_VERDICTS[gate["open"]] if gate else words,
        "sentence": account["verdict"] if gate else f"{counts[:1].upper()}{counts[1:]}",
        **{name: account[name] for name in ("right", "heading", "offer", "closing")},
        "problems": [_problem(problem, document) for problem in account["problems"]],
        "counts": summary["statuses"],
        "clauses": [summary["clauses_graded"], summary["clauses"]],
        "elements": [summary["elements_graded"], summary["elements_not_graded"]],
        "median": summary["median"],
        "conventions": implementation["conventions"],
        **{name: document[name] for name in ("environment", "suite")},
    }


def _problem(problem: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem with all that is known beside its lines: the words for an engineer, and what was observed."""
    entries = [document["diagnosis"][position] for position in problem["diagnosis"]]
    engineer = [entry["engineer"] for entry in entries if entry["engineer"]]
    observed = [sentence for entry in entries for name in ("attended", "facts") for sentence in entry[name]]
    return {
        "lines": problem["lines"],
        "failures": problem["failures"],
        "mistakes": [entry["mistake"] for entry in entries if entry["sentence"]],
        "beside": list(dict.fromkeys((*engineer, *observed))),
    }


def _ranking(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    ranked = rank_reports(documents, names) if len(documents) > 1 else ()
    return [
        {"implementation": of.position, "median": _finite(of.median), "worst": _finite(of.worst), "runs": of.runs}
        for of in ranked
    ]


def _case(case_id: str, documents: Sequence[Mapping[str, Any]], suite: Suite | None) -> dict[str, Any]:
    case = suite.cases.get(case_id) if suite is not None else None
    if case is not None:
        about = {name: getattr(case, name) for name in ("title", "operation", "clauses", "errata")}
    else:
        result = next(entry for document in documents for entry in document["results"] if entry["case"] == case_id)
        about = {"title": None, **{name: result[name] for name in ("operation", "clauses", "errata")}}
    return {"id": case_id, "profile": profile_of(case_id), **about}


def _result(result: Mapping[str, Any], positions: Mapping[str, int], texts: _Texts) -> list[Any]:
    """Return one result as a short row: case, dtype, status, text, error / tolerance, check, first step, under."""
    worst = result["worst"]
    return [
        positions[result["case"]],
        (*FLOAT_DTYPES, ANY).index(result["dtype"]),
        _SHOWN_STATUSES.index(_KNOWN if is_known(result) else result["status"]),
        texts.position(f"{result['known']} ({result['message']})" if result.get("known") else result["message"]),
        None if worst is None else _finite(read_ratio(worst["ratio"])),
        *(texts.position(said or "") for said in (result["check"], step_sentence(result), result["under"])),
    ]


def _finite(value: float | None) -> float | str | None:
    """Return a ratio in a form that JSON can write, with as many digits as are read."""
    return "inf" if value == float("inf") else (None if value is None else float(f"{value:.3g}"))


def _drawn_cases(
    documents: Sequence[Mapping[str, Any]],
    known: Sequence[bool],
    suite: Suite,
    positions: Mapping[str, int],
    detailed: Sequence[str],
) -> dict[str, Any]:
    """Return the pictures of failing and requested cases, cropped so that they fit into a page."""
    failing = _failing(documents)
    chosen = list(dict.fromkeys((*detailed, *failing[:MOST_FAILING_CASES])))
    results: dict[str, list[tuple[int, Mapping[str, Any]]]] = {case_id: [] for case_id in chosen}
    for position, document in enumerate(documents):
        for result in document["results"]:
            if known[position] and result["case"] in results:
                results[result["case"]].append((position, result))
    cases = {
        case_id: suite.cases[case_id]
        for case_id in chosen
        if case_id in suite.cases and (results[case_id] or case_id in detailed)
    }
    most = _elements_drawn(cases.values(), results.values())
    arrays: dict[str, int] = {}
    drawn = {
        str(positions[case_id]): _drawn_case(cases.get(case_id), results[case_id], documents, most, arrays)
        for case_id in chosen
    }
    return {
        "drawn": drawn,
        "arrays": [json.loads(array) for array in arrays],
        "failing": [len(failing), len(failing[:MOST_FAILING_CASES])],
    }


def _failing(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of the failing cases, taking each profile in turn, so that the first ones are of many kinds."""
    wrong = {result["case"] for document in documents for result in wrong_results(document)}
    by_profile: dict[str, list[str]] = {}
    for case_id in sorted(wrong):
        by_profile.setdefault(profile_of(case_id), []).append(case_id)
    return [case_id for turn in zip_longest(*by_profile.values()) for case_id in turn if case_id is not None]


def _elements_drawn(cases: Iterable[Case], results: Iterable[Sequence[tuple[int, Mapping[str, Any]]]]) -> int:
    """Return the number of elements of each tensor that can be drawn in a page that is not too large."""
    drawn = [math.prod(shape) for case in cases if not case.generated for shape in case.shapes.values()]
    compared = [
        math.prod(got["shape"])
        for of_case in results
        for _, result in of_case
        for got in result.get("got", {}).values()
    ]
    most = _MOST_ELEMENTS
    while most > _FEWEST_ELEMENTS:
        # Expected, got, error and tolerance.
        count = sum(min(size, most) for size in drawn) + 4 * sum(min(size, most) for size in compared)
        if count * _CHARACTERS_OF_A_NUMBER <= _LARGEST_PICTURES:
            break
        most //= 2
    return most


def _drawn_case(
    case: Case | None,
    results: Sequence[tuple[int, Mapping[str, Any]]],
    documents: Sequence[Mapping[str, Any]],
    most: int,
    arrays: dict[str, int],
) -> dict[str, Any]:
    # Of a case that is sampled there is no picture: its tensors are too large, and its outputs are not kept.
    if case is None or case.generated:
        return {"runs": []}
    pictures = Pictures(case, most)
    answered = [(position, result) for position, result in results if "got" in result]
    return {
        "sources": sources(case.source.values()),
        "targets": case.targets,
        "attributes": {**dict.fromkeys(OPERATIONS[case.operation].attributes), **case.attributes},
        "stated": list(case.attributes),
        "memory_order": case.memory_order,
        "refusal": [case.rejects.reason, case.rejects.counterpart] if case.rejects is not None else None,
        "inputs": _shared(pictures.inputs(next((result["worst"] for _, result in answered), None)), arrays),
        "attended": pictures.attended(),
        "computed": _shared(pictures.expected(), arrays),
        "runs": [
            {
                "implementation": position,
                "dtype": (*FLOAT_DTYPES, ANY).index(result["dtype"]),
                "outputs": _shared(
                    pictures.compared(result["dtype"], result, documents[position]["implementation"]["conventions"]),
                    arrays,
                ),
            }
            for position, result in answered
        ],
    }


def _shared(pictures: Sequence[Mapping[str, Any]], arrays: dict[str, int]) -> list[dict[str, Any]]:
    """Return pictures with arrays of numbers replaced by indices into a list that holds each array once."""
    replaced: list[dict[str, Any]] = []
    for picture in pictures:
        entry = dict(picture)
        for name in _ARRAYS:
            if entry.get(name) is not None:
                text = json.dumps(entry[name], separators=(",", ":"))
                entry[name] = arrays.setdefault(text, len(arrays))
        if "got_alone" in entry:
            (entry["got_alone"],) = _shared([entry["got_alone"]], arrays)
        replaced.append(entry)
    return replaced


def harmless(text: str, longest: int = _LONGEST) -> str:
    """Return text with control, direction and surrogate characters spelt out, cut at `longest`, the rest counted."""
    kept = _ACTIVE.sub(lambda match: f"⟨{ord(match[0]):04X}⟩", text[:longest])
    cut = len(text) - longest
    return f"{kept} … ({cut:,} more characters)" if cut > 0 else kept


def harmless_data(value: Any) -> Any:
    """Return JSON data with every string in it made harmless, keys included."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, list | tuple):
        return [harmless_data(entry) for entry in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {harmless(key): harmless_data(entry) for key, entry in cast("dict[str, Any]", value).items()}
    return value


def as_island(data: Any) -> str:
    """Return data as JSON that can stand inside a script element: no character in it ends the element."""
    text = json.dumps(harmless_data(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
