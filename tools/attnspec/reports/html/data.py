"""Data of the page: a JSON document made of reports and of the golden suite."""

from __future__ import annotations

import json
import math
import shlex
from typing import TYPE_CHECKING, Any

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.grading import STATUSES, WRONG
from attnspec.reports import wording
from attnspec.reports.accuracy import rank, ratio
from attnspec.reports.entries import clauses_graded, profile_of_case, step_sentence, without_a_name
from attnspec.reports.html.glossary import glossary, sources
from attnspec.reports.html.harmless import harmless
from attnspec.reports.html.pictures import Pictures
from attnspec.reports.invocation import command_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attnspec.cases import Case, Suite

MOST_FAILING_CASES = 100
"""Failing cases that are drawn; the others are listed in words."""

_LARGEST_PICTURES = 2_200_000
_CHARACTERS_OF_A_NUMBER = 12
_MOST_ELEMENTS, _FEWEST_ELEMENTS = 1024, 16
_LONGEST_NAME = 120
_SHORTEST_TEXT, _LONGEST_TEXT, _ALL_TEXTS = 200, 2000, 500_000


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
    places = {case_id: place for place, case_id in enumerate(ids)}
    texts = _Texts()
    return {
        "statuses": STATUSES,
        "wrong": WRONG,
        "dtypes": (*FLOAT_DTYPES, ANY),
        "notes": [*notes, *_strangers(documents, names, known, suite), *_numbers_alone(documents, names)],
        "suite": {"version": documents[0]["suite"]["version"], "digest": documents[0]["suite"]["digest"]},
        "implementations": [_implementation(document, name) for document, name in zip(documents, names, strict=True)],
        "ranking": _ranking(documents, names),
        "cases": [_case(case_id, documents, suite if any(known) else None) for case_id in ids],
        **glossary(documents, suite, detailed),
        "results": [[_result(result, places, texts) for result in document["results"]] for document in documents],
        "texts": texts.all,
        **_drawn_cases(documents, known, suite, places, detailed),
    }


class _Texts:
    """Texts that many results share, each kept once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    @property
    def all(self) -> list[str]:
        """The texts in order; the more there are, the shorter each one is cut."""
        longest = max(_SHORTEST_TEXT, min(_LONGEST_TEXT, _ALL_TEXTS // max(len(self._places), 1)))
        return [harmless(text, longest) for text in self._places]


def _strangers(
    documents: Sequence[Mapping[str, Any]], names: Sequence[str], known: Sequence[bool], suite: Suite
) -> list[str]:
    return [
        wording.of_another_suite(
            harmless(name, _LONGEST_NAME), (document["suite"]["version"], document["suite"]["digest"]), suite.digest
        )
        for document, name, is_known in zip(documents, names, known, strict=True)
        if not is_known
    ]


def _numbers_alone(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return sentences on the documents that grade answers in files, and on the checks not made there."""
    return [
        f"{harmless(name, _LONGEST_NAME)}: {wording.NUMBERS_ALONE}"
        for document, name in zip(documents, names, strict=True)
        if document["invocation"].get("export")
    ]


def _implementation(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    implementation, summary = document["implementation"], document["summary"]
    return {
        "name": harmless(name, _LONGEST_NAME),
        "adapter": implementation["adapter"],
        "command": _command(document),
        "conformance": summary["conformance"],
        "counts": summary["statuses"],
        "clauses": clauses_graded(summary),
        "elements": [summary["elements_graded"], summary["elements_not_graded"]],
        "median": summary["median"],
        "conventions": implementation["conventions"],
        "environment": document["environment"],
        "suite": document["suite"],
        "diagnosis": [_diagnosis(entry) for entry in document["diagnosis"]],
    }


def _diagnosis(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return one diagnosis, with the share explained; without a mistake, its sentence states the known facts.

    Where a check alone gives the broken clause, its cases are those `of_clause`.
    """
    share = wording.share(entry["operation"], entry["explains"], entry["of"])
    shown = {key: entry[key] for key in _OF_A_DIAGNOSIS} | {"sentence": entry["sentence"], "share": share}
    if entry["sentence"]:
        return shown | {"of_clause": None}
    return shown | {"of_clause": entry["clause"], "clause": None, "sentence": " ".join(without_a_name(entry))}


def _command(document: Mapping[str, Any]) -> list[str]:
    """Return the quoted words that validate it again: those before and those after the selected case."""
    return [shlex.join(harmless(word, _LONGEST_NAME) for word in words) for words in command_words(document)]


def _ranking(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    if len(documents) < 2:
        return []
    return [
        {
            "implementation": entry.position,
            "median": _finite(entry.median),
            "worst": _finite(entry.worst),
            "runs": entry.runs,
        }
        for entry in rank(documents, names)
    ]


def _case(case_id: str, documents: Sequence[Mapping[str, Any]], suite: Suite | None) -> dict[str, Any]:
    case = suite.cases.get(case_id) if suite is not None else None
    result = next((entry for document in documents for entry in document["results"] if entry["case"] == case_id), None)
    return {"id": case_id, "profile": profile_of_case(case_id), **_about(case, result)}


def _about(case: Case | None, result: Mapping[str, Any] | None) -> dict[str, Any]:
    if case is not None:
        return {
            "title": case.title,
            "operation": case.operation,
            "clauses": case.clauses,
            "errata": case.errata,
        }
    assert result is not None
    return {"title": None, "operation": result["operation"], "clauses": result["clauses"], "errata": result["errata"]}


def _result(result: Mapping[str, Any], places: Mapping[str, int], texts: _Texts) -> list[Any]:
    """Return one result as a short row: case, dtype, status, text, error / tolerance, check, first step, under."""
    worst = result["worst"]
    return [
        places[result["case"]],
        (*FLOAT_DTYPES, ANY).index(result["dtype"]),
        STATUSES.index(result["status"]),
        texts.place(result["message"]),
        None if worst is None else _finite(ratio(worst["ratio"])),
        texts.place(result["check"] or ""),
        texts.place(step_sentence(result) or ""),
        texts.place(result["under"] or ""),
    ]


def _finite(value: float | None) -> float | str | None:
    """Return a ratio in a form that JSON can write, with as many digits as are read."""
    return "inf" if value == float("inf") else (None if value is None else float(f"{value:.3g}"))


def _drawn_cases(
    documents: Sequence[Mapping[str, Any]],
    known: Sequence[bool],
    suite: Suite,
    places: Mapping[str, int],
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
        str(places[case_id]): _drawn_case(cases.get(case_id), results[case_id], documents, most, arrays)
        for case_id in chosen
    }
    return {
        "drawn": drawn,
        "arrays": [json.loads(array) for array in arrays],
        "failing": [len(failing), len(failing[:MOST_FAILING_CASES])],
    }


def _failing(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of the failing cases, taking each profile in turn, so that the first ones are of many kinds."""
    by_profile: dict[str, list[str]] = {}
    for case_id in sorted(
        {result["case"] for document in documents for result in document["results"] if result["status"] in WRONG}
    ):
        by_profile.setdefault(profile_of_case(case_id), []).append(case_id)
    turns = max(map(len, by_profile.values()), default=0)
    return [ids[turn] for turn in range(turns) for ids in by_profile.values() if turn < len(ids)]


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
        "presentation": case.memory_order,
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


_OF_A_DIAGNOSIS = ("operation", "mistake", "clause", "erratum", "engineer", "remedy", "facts", "attended")
_ARRAYS = ("values", "expected", "got", "error", "tolerance")


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
