"""report.json: the report for machines."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.reports.invocation import invocation_to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.comparison import Worst
    from attnspec.reports.report import Report, Summary
    from attnspec.runner import Result

FORMAT = 1
_LARGEST_GOT = 64 * 1024


def report_to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON types, following ``spec/schemas/report.schema.json``."""
    declaration = report.declaration
    return {
        "format": FORMAT,
        "suite": {
            "version": report.suite_version,
            "digest": report.suite_digest,
            "cases": len({result.case.id for result in report.results}),
        },
        "implementation": {
            "name": declaration.name,
            "version": declaration.version,
            "adapter": declaration.adapter,
            "conventions": dict(report.conventions),
        },
        "invocation": invocation_to_json(report.invocation),
        "environment": dict(report.environment),
        "results": [_result(result) for result in report.results],
        "diagnosis": [
            {
                "operation": entry.operation,
                "mistake": entry.mistake,
                "clause": entry.clause,
                "erratum": entry.erratum,
                "sentence": entry.sentence,
                "remedy": entry.remedy,
                "explains": entry.explains,
                "of": entry.of,
                "engineer": entry.engineer,
                "facts": list(entry.facts),
                "attended": list(entry.attended),
            }
            for entry in report.diagnosis
        ],
        "summary": {
            **_summary(report.summary),
            "profiles": {name: _summary(summary) for name, summary in report.by_profile.items()},
            "families": {name: _summary(summary) for name, summary in report.by_family.items()},
        },
        "left_out": dict(report.left_out),
        **({} if report.not_run is None else {"not_run": report.not_run}),
        "count": len(report.results),
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "statuses": dict(summary.counts),
        "clauses_graded": summary.clauses_graded,
        "clauses": summary.clauses,
        "elements_graded": summary.elements_graded,
        "elements_not_graded": summary.elements_not_graded,
        "median": _number(summary.median),
        "conformance": summary.conformance,
    }


def _result(result: Result) -> dict[str, Any]:
    verdict = result.verdict
    document: dict[str, Any] = {
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
        "clauses": list(result.case.clauses),
        "errata": list(result.case.errata),
        "message": verdict.message,
        "seconds": round(result.seconds, 6),
        "same_bits": result.same_bits,
    }
    if result.is_wrong and result.got is not None:
        centre = verdict.worst.index if verdict.worst is not None else ()
        document["got"] = {
            name: _got(array, centre if name == verdict.output else ()) for name, array in result.got.items()
        }
    return document


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
