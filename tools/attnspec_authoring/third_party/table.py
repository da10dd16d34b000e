"""Outcomes of the third parties, as text: for each dtype, profiles down, implementations across."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.grading import WRONG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attnspec.cases import Case
    from attnspec_authoring.results import Defect
    from attnspec_authoring.third_party.known_defects import Findings
    from attnspec_authoring.third_party.running import Outcome

_MOST_FAILURES = 25
_LEGEND = "Passed; ~ with a known defect; ! failed. What is not offered is not counted; a dot is nothing at all."


def lines(
    outcomes: Sequence[Outcome], findings: Findings, defects: Sequence[Defect], cases: Mapping[str, Case]
) -> Iterator[str]:
    """Give the lines of the whole printout."""
    ran = [outcome for outcome in outcomes if outcome.problem is None]
    for dtype in (*FLOAT_DTYPES, ANY):
        yield from _table(dtype, ran, findings, cases)
    yield _LEGEND
    yield ""
    for outcome in ran:
        yield f"{outcome.name} {outcome.version}: {len(outcome.results)} results, {outcome.seconds:.0f} s"
    for outcome in findings.missing:
        yield f"{outcome.name} could not be run: {outcome.problem or 'it passed nothing'}"
    yield from _defects(findings, defects)
    yield from _failures(findings)
    yield ""
    yield _closing(outcomes, findings)


def _table(dtype: str, outcomes: Sequence[Outcome], findings: Findings, cases: Mapping[str, Case]) -> Iterator[str]:
    offered = Counter(case.profile for case in cases.values() if dtype in case.runs)
    columns = {outcome.name: [result for result in outcome.results if result["dtype"] == dtype] for outcome in outcomes}
    rows = [(profile, str(count)) for profile, count in offered.items()]
    table = [
        (dtype, "cases", *columns),
        *(
            (*row, *(_cell(name, results, row[0], findings, cases) for name, results in columns.items()))
            for row in rows
        ),
        ("worst error / tolerance", "", *(_worst(results) for results in columns.values())),
    ]
    if not rows or all(set(row[2:]) <= {"."} for row in table[1:-1]):
        return
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        first, *others = (
            text.ljust(width) if index == 0 else text.rjust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join((first, *others)).rstrip()
    yield ""


def _cell(
    name: str, results: Sequence[Mapping[str, Any]], profile: str, findings: Findings, cases: Mapping[str, Case]
) -> str:
    counts: Counter[str] = Counter()
    for result in results:
        if cases[result["case"]].profile != profile:
            continue
        if result["status"] in WRONG:
            counts["~" if (name, result["case"], result["dtype"]) in findings.seen else "!"] += 1
        elif result["status"] == "pass":
            counts["pass"] += 1
    if not counts:
        return "."
    return " ".join([str(counts["pass"]), *(f"{mark}{counts[mark]}" for mark in "~!" if counts[mark])])


def _worst(results: Sequence[Mapping[str, Any]]) -> str:
    """Return how near the passes came to their tolerance."""
    ratios = [result["worst"]["ratio"] for result in results if result["status"] == "pass" and result["worst"]]
    return f"{max(ratios):.2f}" if ratios else "."


def _defects(findings: Findings, defects: Sequence[Defect]) -> Iterator[str]:
    counts = Counter((defect, implementation) for (implementation, _, _), defect in findings.seen.items())
    for defect in defects:
        found = {name: counts[defect.id, name] for name in defect.implementations if counts[defect.id, name]}
        if found:
            yield ""
            yield f"Known defect {defect.id}: " + ", ".join(f"{count} of {name}" for name, count in found.items())
            yield f"  {defect.sentence}"
            yield f"  {defect.link or 'no report of it was found'}"
    for defect, name in findings.gone:
        yield ""
        yield f"The known defect {defect.id} does not show in {name} any more, or not in the cases that were run."


def _failures(findings: Findings) -> Iterator[str]:
    for wrong in findings.failures[:_MOST_FAILURES]:
        result = wrong.result
        worst = result["worst"]
        figures = (
            f"; {worst['output']}{worst['index']} is {worst['got']}, expected {worst['expected']}" if worst else ""
        )
        yield ""
        yield f"{wrong.implementation} on {result['case']} in {result['dtype']}: {result['status']}{figures}"
        if result["message"]:
            yield f"  {result['message']}"
    if len(findings.failures) > _MOST_FAILURES:
        yield f"... and {len(findings.failures) - _MOST_FAILURES} more"


def _closing(outcomes: Sequence[Outcome], findings: Findings) -> str:
    passed = sum(result["status"] == "pass" for outcome in outcomes for result in outcome.results)
    return (
        f"{len(outcomes)} implementations: {passed} passed, {len(findings.seen)} with a known defect, "
        f"{len(findings.failures)} failed, {len(findings.missing)} could not be run."
    )
