"""Entries of a report.json: results, diagnoses and summaries as JSON types."""

from __future__ import annotations

import base64
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.diagnosis import Candidate, Declarations, Diagnosis, Suspect, Undeclared
    from attnspec.grading import Worst
    from attnspec.reports.summary import Summary
    from attnspec.runner import Result
    from attnspec.runner.result import Law

FORMAT = 1
_LARGEST_GOT = 64 * 1024


def diagnosis_to_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis, as an entry of the report's ``diagnosis``."""
    return {
        "operation": diagnosis.operation,
        "mistake": diagnosis.mistake,
        "clause": diagnosis.clause,
        "erratum": diagnosis.erratum,
        "sentence": diagnosis.sentence,
        "remedy": diagnosis.remedy,
        "explains": diagnosis.explains,
        "of": diagnosis.of,
        "engineer": diagnosis.engineer,
        "facts": list(diagnosis.facts),
        "attended": list(diagnosis.attended),
        "certainty": diagnosis.certainty,
        "suspects": [_suspect(suspect) for suspect in diagnosis.suspects],
        "same": list(diagnosis.same),
        "candidates": [_candidate(candidate) for candidate in diagnosis.candidates],
        "undeclared": None if diagnosis.undeclared is None else _undeclared(diagnosis.undeclared),
        "laws": [law_to_json(law) for law in diagnosis.laws],
    }


def _suspect(suspect: Suspect) -> dict[str, Any]:
    """Return a suspect by the field names of format 1, which say `is_told`."""
    entry = asdict(suspect)
    return {"is_told" if name == "is_reported" else name: value for name, value in entry.items()}


def law_to_json(law: Law) -> dict[str, Any]:
    """Return a law that was measured, as an entry of a diagnosis's ``laws``."""
    return {
        "kind": law.kind,
        "clauses": list(law.clauses),
        "sentence": law.sentence,
        "parameters": {
            name: value if isinstance(value, str) else _number(float(value)) for name, value in law.parameters.items()
        },
        "case": law.case,
        "confirmed": law.confirmed,
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    mistake = candidate.mistake
    counts = ("reproduced", "reproduced_fully", "by_numbers", "opposed", "elsewhere", "out_of_reach", "contradicted")
    return {
        "mistake": mistake.id,
        "clause": mistake.clause,
        "sentence": mistake.sentence,
        **{name: getattr(candidate, name) for name in counts},
    }


def _undeclared(undeclared: Undeclared) -> dict[str, Any]:
    return {**asdict(undeclared), "dtypes": list(undeclared.dtypes)}


def declarations_to_json(declarations: Declarations) -> dict[str, Any]:
    """Return possible declarations, as the report's ``could_be_declared``."""
    return {
        "without": [*declarations.without],
        "conventions": dict(declarations.conventions),
        "fewer": declarations.fewer,
        "of": declarations.of,
    }


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Return counts and conformance, as the report's ``summary`` has them of all results, a profile or a family."""
    return {
        "statuses": dict(summary.counts),
        "clauses_graded": summary.clauses_graded,
        "clauses": summary.clauses,
        "elements_graded": summary.elements_graded,
        "elements_not_graded": summary.elements_not_graded,
        "median": _number(summary.median),
        "conformance": summary.conformance,
    }


def result_to_json(result: Result, *, outputs: bool = True) -> dict[str, Any]:
    """Return one result, as an entry of the report's ``results``; `outputs`: with the arrays of a wrong answer."""
    verdict = result.verdict
    entry: dict[str, Any] = {
        "case": result.case.id,
        "dtype": result.dtype,
        "operation": result.case.operation,
        "status": verdict.status,
        "check": verdict.check,
        "output": verdict.output,
        "first_step": verdict.first_step,
        "agreeing_steps": list(verdict.agreeing_steps),
        "worst": None if verdict.worst is None else _worst(verdict.worst),
        "median": _number(verdict.median),
        "graded": verdict.graded,
        "ungraded": verdict.ungraded,
        "under": verdict.under,
        "fused": verdict.fused,
        "clauses": list(result.clauses),
        "errata": list(result.case.errata),
        "message": verdict.message,
        "seconds": round(result.seconds, 6),
        "same_bits": result.same_bits,
    }
    if outputs and result.is_wrong and result.got is not None:
        centre = verdict.worst.index if verdict.worst is not None else ()
        entry["got"] = {
            name: _got(array, centre if name == verdict.output else ()) for name, array in result.got.items()
        }
    return entry


def _worst(worst: Worst) -> dict[str, Any]:
    return {
        "output": worst.output,
        "index": list(worst.index),
        "expected": _number(worst.expected),
        "got": _number(worst.got),
        "error": _number(worst.error),
        "tolerance": _number(worst.tolerance),
        "ratio": _number(worst.ratio),
    }


def _number(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


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
