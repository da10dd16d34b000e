"""What the source documents printed, checked by nothing but the golden files and exact fractions.

No module of the suite is imported here: the claims are read as a stranger would read them.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CASES = {
    path.relative_to(ROOT / "golden").with_suffix("").as_posix(): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "golden").rglob("*.json"))
    if path.parent != ROOT / "golden"
}
ENTRIES = [
    pytest.param(case_id, number, id=f"{case_id}-{number}")
    for case_id, case in CASES.items()
    for number, _ in enumerate(case.get("printed", ()))
]


def certified(case: dict, name: str) -> dict:
    """The tensor that a printed entry is about: float64's certified output, or an input."""
    expected = case.get("expected", {})
    outputs = expected.get("all") or expected.get("float64") or {}
    return outputs.get(name) or case["inputs"][name]


def part(tensor: dict, entry: dict) -> tuple[list, list[int]]:
    """The printed part of a tensor and its shape."""
    data, shape = tensor["data"], tensor["shape"]
    for index in entry["index"]:
        data, shape = data[index], shape[1:]
    if entry["orientation"] == "transposed":
        assert len(shape) == 2, "only matrices are printed transposed"
        data, shape = [list(column) for column in zip(*data, strict=True)], shape[::-1]
    return data, shape


def flat(data) -> list:
    return [leaf for item in data for leaf in flat(item)] if isinstance(data, list) else [data]


def shape_of(data) -> list[int]:
    return [len(data), *shape_of(data[0])] if isinstance(data, list) else []


def exact(number: str) -> Fraction:
    mantissa, _, exponent = number.lower().partition("e")
    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def half_a_unit(number: str, decimals: int) -> Fraction:
    mantissa, _, exponent = number.lower().partition("e")
    assert len(mantissa.partition(".")[2]) <= decimals, f"{number} has more than {decimals} decimals"
    return Fraction(1, 2 * 10**decimals) * Fraction(10) ** int(exponent or 0)


def extent(case: dict, entry: dict) -> list[Fraction]:
    """How far each score can move while every printed query and key moves within half its unit: interval products."""
    if not entry["rounded_inputs"]:
        return []
    assert entry["of"] == "scores"
    (query, _), (key, _) = (part(certified(case, name), entry) for name in ("query", "key"))
    half = {name: Fraction(1, 2 * 10**decimals) for name, decimals in entry["rounded_inputs"].items()}
    scale = Fraction(case["attributes"]["scale"])
    moves = []
    for row, column in product(query, key):
        low = high = middle = Fraction(0)
        for left, right in zip(row, column, strict=True):
            ends = [
                (Fraction(left) + a * half["query"]) * (Fraction(right) + b * half["key"])
                for a, b in product((-1, 1), repeat=2)
            ]
            low, high, middle = low + min(ends), high + max(ends), middle + Fraction(left) * Fraction(right)
        moves.append(abs(scale) * max(high - middle, middle - low))
    return moves


def agrees(case: dict, entry: dict) -> bool:
    data, shape = part(certified(case, entry["of"]), entry)
    if entry["quantity"] == "shape":
        return entry["data"] == shape
    if shape_of(entry["data"]) != shape:
        return False
    values = [Fraction(value) for value in flat(data)]
    moves = extent(case, entry) or [Fraction(0)] * len(values)
    return all(
        number is None or abs(exact(number) - value) <= half_a_unit(number, entry["decimals"]) + move
        for number, value, move in zip(flat(entry["data"]), values, moves, strict=True)
    )


@pytest.mark.parametrize(("case_id", "number"), ENTRIES)
def test_what_a_case_claims_about_printed_numbers_is_true(case_id, number) -> None:
    case = CASES[case_id]
    entry = case["printed"][number]
    assert agrees(case, entry) is entry["agrees"], entry
    if entry["agrees"]:
        assert "erratum" not in entry
    else:
        assert entry["erratum"] in case["errata"]


def test_there_is_something_to_claim() -> None:
    entries = [(case["source"]["document"], entry) for case in CASES.values() for entry in case.get("printed", ())]
    assert len(entries) >= 60
    # Document 002 prints no number that belongs to what was meant.
    documents = {document[:3] for document, entry in entries if entry["quantity"] == "values"}
    assert documents == {"000", "001", "003", "004"}
    numbers = sum(isinstance(number, str) for _, entry in entries for number in flat(entry["data"]))
    assert numbers > 450


def test_the_entries_that_disagree_are_two() -> None:
    disagreeing = {
        (case_id, entry["of"], entry["erratum"])
        for case_id, case in CASES.items()
        for entry in case.get("printed", ())
        if not entry["agrees"]
    }
    assert disagreeing == {
        ("documents/003/context_vector", "context", "E003.context_broadcast"),
        ("documents/003/concatenated_heads", "output", "E003.concatenated_weights"),
    }


def test_every_disagreement_is_explained_on_the_page_of_errata() -> None:
    page = (ROOT / "spec" / "errata.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^### `(E\d{3}\.[a-z0-9_]+)` — ", page, re.MULTILINE))
    named = {entry["erratum"] for case in CASES.values() for entry in case.get("printed", ()) if not entry["agrees"]}
    assert named
    assert named <= explained


def test_the_attention_output_of_document_001_stands_as_printed() -> None:
    as_printed = ["1.93662106", "6.68310531", "1.59506841"]
    cases = [
        case
        for case in CASES.values()
        for entry in case.get("printed", ())
        if as_printed in (entry["data"], *entry["data"][:1]) and entry["agrees"]
    ]
    assert len(cases) >= 2
    output = CASES["documents/001/single_head"]["expected"]["all"]["output"]["data"][0]
    assert [f"{value:.8f}" for value in output] == as_printed


def test_the_context_vector_of_document_003_stands_as_it_should_be_and_as_printed() -> None:
    case = CASES["documents/003/context_vector"]
    for dtype in ("float64", "float32"):
        context = case["expected"][dtype]["context"]["data"]
        decimals = 8 if dtype == "float64" else 7
        correct = [0.09578694, 0.14982156, 0.24673243, 0.38854995]
        assert [round(value, decimals) for value in context] == [round(value, decimals) for value in correct]
    entry = next(entry for entry in case["printed"] if entry["of"] == "context")
    assert entry["data"] == ["0.07694035", "-0.00526995", "0.38974566", "0.45122057"]
    assert entry["agrees"] is False
    assert entry["erratum"] == "E003.context_broadcast"
    # The document weights features instead of tokens; its own numbers follow from that mistake.
    weights = [Fraction(value) for value in case["expected"]["float64"]["weights"]["data"]]
    states = case["inputs"]["encoder_states"]["data"]
    mistaken = [weight * sum(Fraction(row[feature]) for row in states) for feature, weight in enumerate(weights)]
    for number, value in zip(entry["data"], mistaken, strict=True):
        assert abs(exact(number) - value) <= half_a_unit(number, 8)
