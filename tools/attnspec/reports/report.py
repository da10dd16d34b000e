"""Report of one run: its results, summary and invocation, and the document that all formats are made from."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.base.extensions import import_object
from attnspec.contract import FAMILIES, OPERATIONS
from attnspec.grading import STATUSES, WRONG
from attnspec.targets.target import Target

if TYPE_CHECKING:
    from attnspec.diagnosis import Diagnosis
    from attnspec.diagnosis.offers import Declarations
    from attnspec.reports.taken_arguments import TakenArgument
    from attnspec.reports.wording import EndedEarly
    from attnspec.runner import Key, Result
    from attnspec.runner.invariance import Invariance
    from attnspec.runner.systematic import SystematicError
    from attnspec.targets import Declaration

_LARGEST_GOT = 64 * 1024

Conformance = Literal["conforms", "conforms in part", "does not conform", "nothing graded"]


@dataclass(frozen=True)
class Summary:
    """Counts of (case, dtype) by status and conformance, over all results or over one profile or family.

    `clauses_graded` by a passing case, of all `clauses` of the selected cases. `elements_not_graded`: their tolerance
    says nothing, or declared conventions leave them open. `median`: (upper) median of the results' median error /
    tolerance in their first output. `fused` of the `unfused` passes in half precision would pass the fused grade too.

    ``conforms``: every clause graded, nothing wrong, and nothing ungraded that is taken; ``conforms in part``: some
    clauses graded, nothing wrong; ``does not conform``: something wrong; ``nothing graded``: neither.
    """

    counts: Mapping[str, int]
    clauses_graded: int
    clauses: int
    elements_graded: int
    elements_not_graded: int
    median: float | None
    fused: int
    unfused: int
    conformance: Conformance


def summarise(results: Sequence[Result]) -> Summary:
    """Return counts and conformance over some results."""
    seen: Counter[str] = Counter()
    clauses: set[str] = set()
    graded: set[str] = set()
    medians: list[float] = []
    elements = elements_not_graded = fused = unfused = 0
    is_established = False
    # In one pass: a report has tens of thousands of results, and is summed up three times.
    for result in results:
        verdict = result.verdict
        seen[verdict.status] += 1
        clauses.update(result.case.clauses)
        elements += verdict.graded
        elements_not_graded += verdict.ungraded
        if verdict.median is not None:
            medians.append(verdict.median)
        if verdict.status == "pass":
            graded.update(result.clauses)
            is_established = is_established or result.establishes
            if verdict.fused is not None:
                fused, unfused = fused + verdict.fused, unfused + 1
    conformance: Conformance = "nothing graded"
    if any(seen[status] for status in WRONG):
        conformance = "does not conform"
    elif is_established:
        conformance = "conforms" if graded == clauses else "conforms in part"
    medians.sort()
    return Summary(
        counts={status: seen[status] for status in STATUSES if seen[status]},
        clauses_graded=len(graded),
        clauses=len(clauses),
        elements_graded=elements,
        elements_not_graded=elements_not_graded,
        median=medians[len(medians) // 2] if medians else None,
        fused=fused,
        unfused=unfused,
        conformance=conformance,
    )


@dataclass(frozen=True)
class Invocation:
    """Invocation of a target; cases and dtypes are left to the results.

    A Python target itself is left out of `target`: its name is that of the implementation. `golden` is a folder other
    than the shipped one. `export`: the target is a folder of exported cases, and only `answers` to them were graded, in
    a folder of their own where it is not None.
    """

    target: Target = field(default_factory=Target)
    golden: str | None = None
    export: bool = False
    answers: str | None = None


def invocation_of(target: Target, golden: Path | None) -> Invocation:
    """Return the invocation of a target, and the golden files that validate it."""
    return Invocation(replace(target, python=None), None if golden is None else str(golden))


@dataclass(frozen=True)
class Gated:
    """Word of the gate on a run, which its reports say in place of the verdict.

    `known` maps case and dtype of results that the baseline expects, failures and unsupported ones, to its reasons;
    `failing` are the findings that close the gate: kind, what it is about (a case or other words), dtype, sentence.
    """

    is_open: bool
    headline: str
    known: Mapping[Key, str]
    failing: tuple[tuple[str, str, str | None, str], ...]


@dataclass(frozen=True, repr=False)
class Report:
    """Report of one run.

    Attributes
    ----------
    declaration
        Declaration of the implementation.
    conventions
        The conventions under which it was graded.
    suite_version, suite_digest
        Which suite.
    environment
        Python, NumPy and platform of the harness.
    results
        A result for each (case, dtype), without families that are left out.
    diagnosis
        Diagnoses of the failures.
    left_out
        Family to the number of its cases, for the families of which nothing is offered.
    invocation
        How the implementation was reached.
    not_run
        How many (case, dtype) have no result, where the run ended early; None where it reached its end. Ended early, a
        run does not conform, whatever passed before.
    ended_early
        Why it ended early, where it did.
    probes
        How often the implementation was called again, to measure what it computes; None where it was not.
    could_be_declared
        Declarations under which most failures would be none; None where there are none.
    systematic
        Factors that were fitted over all passing results; a wrong one is among the results, too.
    invariance
        Whether results have the same bits in another batch; where that is declared and wrong, it is among the results.
    gated
        The word of the gate; None where none was asked.
    """

    declaration: Declaration
    conventions: Mapping[str, str]
    suite_version: str
    suite_digest: str
    environment: Mapping[str, str]
    results: tuple[Result, ...]
    diagnosis: tuple[Diagnosis, ...]
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    invocation: Invocation = field(default_factory=Invocation)
    not_run: int | None = None
    ended_early: EndedEarly | None = None
    probes: int | None = None
    could_be_declared: Declarations | None = None
    systematic: tuple[SystematicError, ...] = ()
    invariance: tuple[Invariance, ...] = ()
    gated: Gated | None = None

    @property
    def conforms(self) -> bool:
        """Whether nothing is wrong and something was graded."""
        return self.summary.conformance in ("conforms", "conforms in part")

    @cached_property
    def wrong(self) -> tuple[Result, ...]:
        """The results at which the implementation did something wrong."""
        return tuple(result for result in self.results if result.is_wrong)

    @property
    def cases(self) -> int:
        """Number of cases that were run, or tried."""
        return len({result.case.id for result in self.results if not result.is_of_run})

    @cached_property
    def arguments(self) -> tuple[TakenArgument, ...]:
        """The arguments that it takes and need not be given, with how often each was graded."""
        from attnspec.reports.taken_arguments import taken_arguments

        return taken_arguments(self.declaration, self.conventions, self.results)

    @property
    def ungraded_arguments(self) -> tuple[TakenArgument, ...]:
        """Those that nothing graded shows: code that ignores them passes as well."""
        return tuple(each for each in self.arguments if each.is_ungraded)

    @cached_property
    def summary(self) -> Summary:
        """Counts and conformance over all results."""
        summary = self._summarise(self.results)
        if summary.conformance == "conforms" and self.ungraded_arguments:
            return replace(summary, conformance="conforms in part")
        return summary

    @cached_property
    def by_profile(self) -> Mapping[str, Summary]:
        """Counts and conformance of each profile."""
        return self._summaries(lambda result: result.case.profile, sorted)

    @cached_property
    def by_family(self) -> Mapping[str, Summary]:
        """Counts and conformance of each family that is not left out, in the order of the spec."""
        return self._summaries(
            lambda result: OPERATIONS[result.case.operation].family,
            lambda found: [family for family in FAMILIES if family in found],
        )

    def _summaries(
        self, part_of: Callable[[Result], str], ordered: Callable[[Collection[str]], Iterable[str]]
    ) -> Mapping[str, Summary]:
        """Return counts and conformance of each part, in an order of the parts."""
        parts: dict[str, list[Result]] = {}
        for result in self.results:
            parts.setdefault(part_of(result), []).append(result)
        if len(parts) == 1:
            return dict.fromkeys(parts, self.summary)
        return {part: self._summarise(parts[part]) for part in ordered(parts)}

    def _summarise(self, results: Sequence[Result]) -> Summary:
        summary = summarise(results)
        if self.not_run is None or summary.conformance == "nothing graded":
            return summary
        return replace(summary, conformance="does not conform")

    def __repr__(self) -> str:
        """Return the verdict in a few lines: implementation, suite and environment; arrays are never printed."""
        from attnspec.reports import wording

        name = wording.shown_name(self.declaration.name, self.declaration.version, self.conventions)
        made_by = wording.made_by(self.suite_version, self.suite_digest, self.cases, self.environment)
        operations = ", ".join(self.declaration.operations) or "no operation"
        lines = (
            f"Report: {wording.verdict_line(name, summary_to_json(self.summary), self.not_run)}",
            wording.ungraded_arguments(json_types(self.arguments)),
            f"It offers {operations}, in {', '.join(self.declaration.dtypes)}.",
            f"By {made_by}.",
        )
        return "\n".join(filter(None, lines))

    def _repr_html_(self) -> str:
        # By its name, for it knows reports.
        return import_object("attnspec.reports.notebook:notebook_html")(self)


def systematic_to_json(errors: Sequence[SystematicError]) -> list[dict[str, Any]]:
    """Return systematic errors, as the report's ``systematic`` has them."""
    names = ("operation", "dtype", "direction", "sentence", "deviation", "uncertainty", "cases", "limit", "is_wrong")
    return [{name: json_types(getattr(error, name)) for name in names} for error in errors]


def invariance_to_json(measured: Sequence[Invariance]) -> list[dict[str, Any]]:
    """Return what was measured of batch invariance, as the report's ``invariance`` has it."""
    return [{**json_types(each), "is_wrong": each.is_wrong} for each in measured]


def json_types(value: Any) -> Any:
    """Return a value as JSON types: data classes by their fields, and floats that are no numbers as words."""
    if isinstance(value, float):
        return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {key: json_types(entry) for key, entry in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [json_types(entry) for entry in cast("Sequence[Any]", value)]
    return json_types(asdict(value)) if is_dataclass(value) and not isinstance(value, type) else value


def diagnosis_to_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis, as an entry of the report's ``diagnosis``, by the field names of format 1."""
    names = ("operation", "mistake", "clause", "erratum", "sentence", "remedy", "explains", "of", "engineer")
    names += ("facts", "attended", "certainty", "same", "undeclared")
    of_law = ("kind", "clauses", "sentence", "case", "confirmed")
    suspects = [{**vars(suspect), "is_told": suspect.is_reported} for suspect in diagnosis.suspects]
    counts = ("reproduced", "reproduced_fully", "by_numbers", "opposed", "elsewhere", "contradicted")
    return {
        **{name: json_types(getattr(diagnosis, name)) for name in names},
        "suspects": [{name: suspect[name] for name in suspect if name != "is_reported"} for suspect in suspects],
        "candidates": [
            {
                "mistake": candidate.mistake.listed_as,
                "clause": candidate.mistake.clause,
                "sentence": candidate.mistake.sentence,
                **{name: getattr(candidate, name) for name in counts},
                "out_of_reach": candidate.undecided,
            }
            for candidate in diagnosis.candidates
        ],
        "laws": [
            {
                **{name: json_types(getattr(law, name)) for name in of_law},
                "parameters": {
                    name: value if isinstance(value, str) else json_types(float(value))
                    for name, value in law.parameters.items()
                },
            }
            for law in diagnosis.laws
        ],
    }


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Return counts and conformance, as the report's ``summary`` has them of all results, a profile or a family."""
    names = ("clauses_graded", "clauses", "elements_graded", "elements_not_graded", "median", "conformance")
    return {"statuses": dict(summary.counts), **{name: json_types(getattr(summary, name)) for name in names}}


def result_to_json(result: Result, *, outputs: bool = True) -> dict[str, Any]:
    """Return one result, as an entry of the report's ``results``; `outputs`: with the arrays of a wrong answer."""
    verdict = result.verdict
    names = ("status", "check", "output", "first_step", "agreeing_steps", "worst", "median", "graded", "ungraded")
    names += ("under", "fused", "message")
    entry: dict[str, Any] = {
        "case": result.case.id,
        "dtype": result.dtype,
        "operation": result.case.operation,
        **{name: json_types(getattr(verdict, name)) for name in names},
        "clauses": list(result.clauses),
        "errata": list(result.case.errata),
        "seconds": round(result.seconds, 6),
        "same_bits": result.same_bits,
    }
    if outputs and result.is_wrong and result.got is not None:
        centre = verdict.worst.index if verdict.worst is not None else ()
        entry["got"] = {
            name: _got(array, centre if name == verdict.output else ()) for name, array in result.got.items()
        }
    return entry


def _got(array: NDArray[Any], centre: tuple[int, ...]) -> dict[str, Any]:
    """Return a returned tensor as base64; a large one is cropped round the worst element, with offsets."""
    offsets = [0] * array.ndim
    cropped = array
    while cropped.nbytes > _LARGEST_GOT:
        axis = int(np.argmax(cropped.shape))
        length = max(1, cropped.shape[axis] // 2)
        middle = centre[axis] - offsets[axis] if axis < len(centre) else 0
        start = min(max(0, middle - length // 2), cropped.shape[axis] - length)
        cropped = np.take(cropped, range(start, start + length), axis=axis)
        offsets[axis] += start
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "crop": None if cropped is array else {"offsets": offsets, "shape": list(cropped.shape)},
        "data": base64.b64encode(cropped.astype(cropped.dtype.newbyteorder("<")).tobytes()).decode("ascii"),
    }
