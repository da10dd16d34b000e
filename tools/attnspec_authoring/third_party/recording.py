"""Recording of one run for the table: a report, and what known defects excuse of it, counted into a small document."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import FixtureError
from attnspec.base.files import replace_file
from attnspec.cases import canonical_json, schema_validator
from attnspec.grading import WRONG
from attnspec_authoring.results import BIN_EDGES, read_implementations, result_of
from attnspec_authoring.results.stored import RESULTS, release_of
from attnspec_authoring.third_party.known_defects import judge

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from attnspec.cases import Case
    from attnspec_authoring.results import Defect, Witness
    from attnspec_authoring.third_party.running import Outcome

FORMAT = 1
"""Version of the format of the files."""

_LONGEST = 240
"""Characters of a sentence: what a library raises may go on for pages, and begins with what matters."""

_ORDER = ("passed", "known", "failed", "unsupported")


def recorded(
    outcome: Outcome,
    defects: Sequence[Defect],
    cases: Mapping[str, Case],
    *,
    date: datetime.date,
    profiles: Sequence[str] = (),
    searched: int = 0,
    witnesses: Iterable[Witness] = (),
) -> dict[str, Any]:
    """Return what is stored of an outcome that has a report, by the schema ``results.schema.json``.

    `profiles` are those that were chosen, where not all were run.
    """
    report = outcome.report
    if report is None:
        raise FixtureError(f"{outcome.name} has no report to record: {outcome.problem}")
    excused = judge([outcome], defects, cases).seen
    classes = [_class(outcome.name, result, excused) for result in outcome.results]
    failures, sentences = _failures(outcome, excused)
    implementation = report["implementation"]
    return {
        "format": FORMAT,
        "implementation": {
            "name": outcome.name,
            "version": outcome.version,
            "conventions": implementation["conventions"],
        },
        "date": date.isoformat(),
        "command": command_of(outcome, profiles),
        "environment": report["environment"],
        "suite": report["suite"],
        "profiles": sorted({cases[result["case"]].profile for result in outcome.results}),
        "dtypes": sorted({result["dtype"] for result in outcome.results}),
        "not_run": report.get("not_run", 0),
        "left_out": report["left_out"],
        "counts": _counts(outcome.results, classes, cases),
        "distributions": _distributions(outcome.results),
        "sentences": sentences,
        "failures": failures,
        "unsupported": _unsupported(outcome.results),
        "searched": searched,
        "witnesses": [list(witness) for witness in witnesses],
    }


def command_of(outcome: Outcome, profiles: Sequence[str]) -> str:
    """Return the command that makes the results of an outcome again; a library gets an environment of its own."""
    options = [f"--profile={profile}" for profile in profiles]
    if read_implementations()[outcome.name].packages:
        options.append(f"--version={release_of(outcome.version or '')}")
    return " ".join(("python -m attnspec_authoring.third_party", outcome.name, *options, "--write"))


def write_result(document: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write a document to its file in the table, once it is seen to follow the schema."""
    for error in schema_validator("results").iter_errors(document):
        raise FixtureError(f"What was recorded does not follow its schema at {error.json_path}: {error.message}")
    result = result_of(document)
    path = folder / result.name / f"{result.release}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, canonical_json(document))
    return path


def _class(name: str, result: Mapping[str, Any], excused: Mapping[tuple[str, str, str], str]) -> str:
    if result["status"] in WRONG:
        return "known" if (name, result["case"], result["dtype"]) in excused else "failed"
    return "passed" if result["status"] == "pass" else "unsupported"


def _counts(
    results: Sequence[Mapping[str, Any]], classes: Sequence[str], cases: Mapping[str, Case]
) -> list[list[str | int]]:
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for result, kind in zip(results, classes, strict=True):
        key = (result["operation"], cases[result["case"]].profile, result["dtype"])
        found.setdefault(key, Counter())[kind] += 1
    return [[*key, *(counts[kind] for kind in _ORDER)] for key, counts in sorted(found.items())]


def _distributions(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result in results:
        if result["worst"] is not None:
            found.setdefault((result["operation"], result["dtype"]), []).append(result)
    return [
        {"operation": operation, "dtype": dtype, "bins": _bins(entries), "worst": _worst(entries)}
        for (operation, dtype), entries in sorted(found.items())
    ]


def _bins(results: Iterable[Mapping[str, Any]]) -> list[int]:
    bins = [0] * (len(BIN_EDGES) + 2)
    for result in results:
        ratio = float(result["worst"]["ratio"])
        # What is not a number is no near miss.
        bins[0 if ratio == 0 else -1 if math.isnan(ratio) else 1 + bisect_left(BIN_EDGES, ratio)] += 1
    return bins


def _worst(results: Iterable[Mapping[str, Any]]) -> list[Any] | None:
    passed = [result for result in results if result["status"] == "pass"]
    if not passed:
        return None
    worst = max(passed, key=lambda result: float(result["worst"]["ratio"]))
    return [worst["case"], worst["worst"]["output"], _rounded(worst["worst"]["ratio"])]


def _failures(outcome: Outcome, excused: Mapping[tuple[str, str, str], str]) -> tuple[list[list[Any]], list[str]]:
    """Return the rows of what went wrong, and the sentences that they number."""
    sentences: dict[str, int] = {}
    rows: list[list[Any]] = []
    for result in outcome.results:
        if result["status"] in WRONG:
            worst = result["worst"]
            defect = excused.get((outcome.name, result["case"], result["dtype"]))
            sentence = sentences.setdefault(_sentence(result), len(sentences))
            ratio = None if worst is None else _rounded(worst["ratio"])
            rows.append([result["case"], result["dtype"], result["status"], result["output"], ratio, defect, sentence])
    return sorted(rows, key=lambda row: row[:2]), [*sentences]


def _sentence(result: Mapping[str, Any]) -> str:
    worst = result["worst"]
    if result["message"] or worst is None:
        return _shortened(result["message"] or f"It came to a {result['status']}.")
    position = ", ".join(map(str, worst["index"]))
    return (
        f"{worst['output']}[{position}] is {_figure(worst['got'])}; expected {_figure(worst['expected'])} "
        f"within {_figure(worst['tolerance'])}."
    )


def _unsupported(results: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result["status"] not in (*WRONG, "pass"):
            found.setdefault((result["operation"], _shortened(result["message"])), []).append(result["case"])
    return [[*key, len(ids), ids[0]] for key, ids in sorted(found.items(), key=lambda entry: -len(entry[1]))]


def _shortened(message: str) -> str:
    text = " ".join(message.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _figure(number: Any) -> str:
    return f"{float(number):.6g}" if isinstance(number, int | float) else str(number)


def _rounded(ratio: float | str) -> float | str:
    """Return error / tolerance with four digits, which no reader exceeds; "inf" and "nan" as they are."""
    return ratio if isinstance(ratio, str) else float(f"{ratio:.4g}")
