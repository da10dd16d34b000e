"""Document of a report, report.json, from which every format is written that is not for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attnspec.grading import NOT_GRADED, WRONG
from attnspec.reports import wording
from attnspec.reports.account import Account, account_of
from attnspec.reports.entries import diagnosis_of, is_known, verdict, wrong_results
from attnspec.reports.report import (
    Gated,
    Report,
    diagnosis_to_json,
    invariance_to_json,
    json_types,
    result_to_json,
    summary_to_json,
    systematic_to_json,
)
from attnspec.targets.target import invocation_fields

if TYPE_CHECKING:
    from attnspec.runner import Key

FORMAT = 1


def report_to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON types, following ``spec/schemas/report.schema.json``."""
    declaration, invocation = report.declaration, report.invocation
    summaries = {"profiles": report.by_profile, "families": report.by_family}
    without = {"without": [*declaration.without]} if declaration.without else {}
    requested_in: dict[str, Any] = {} if declaration.requested_in is None else {"asked_in": declaration.requested_in}
    if declaration.guessed is not None:
        requested_in["guessed"] = declaration.guessed
    if declaration.not_arranged:
        requested_in["not_arranged"] = [*declaration.not_arranged]
    gated = report.gated
    known: Mapping[Key, str] = {} if gated is None else gated.known
    optional: dict[str, Any] = {"not_run": report.not_run, "ended_early": report.ended_early, "probes": report.probes}
    optional["gate"] = None if gated is None else _gate_to_json(gated)
    return {
        "format": FORMAT,
        "suite": {"version": report.suite_version, "digest": report.suite_digest, "cases": report.cases},
        "implementation": {
            "name": declaration.name,
            "version": declaration.version,
            "adapter": declaration.adapter,
            "conventions": dict(report.conventions),
            **without,
            **requested_in,
        },
        "invocation": {
            **invocation_fields(invocation.target),
            "golden": invocation.golden,
            **({"export": True, "answers": invocation.answers} if invocation.export else {}),
        },
        "environment": dict(report.environment),
        "results": [
            result_to_json(result) | ({"known": known[key]} if (key := result.key) in known else {})
            for result in report.results
        ],
        "diagnosis": [diagnosis_to_json(entry) for entry in report.diagnosis],
        "summary": {
            **summary_to_json(report.summary),
            **{of: {name: summary_to_json(part) for name, part in parts.items()} for of, parts in summaries.items()},
        },
        "account": _account_to_json(account_of(report), report),
        "arguments": json_types(report.arguments),
        "left_out": dict(report.left_out),
        **{name: value for name, value in optional.items() if value is not None},
        "could_be_declared": json_types(report.could_be_declared),
        "systematic": systematic_to_json(report.systematic),
        "invariance": invariance_to_json(report.invariance),
        "count": len(report.results),
    }


def _account_to_json(account: Account, report: Report) -> dict[str, Any]:
    """Return an account, in which failures are positions among the results."""
    positions = {result.key: position for position, result in enumerate(report.results)}
    problems = [
        {
            "lines": list(problem.lines),
            "clearest": positions[problem.clearest],
            "failures": [positions[key] for key in problem.failures],
            "diagnosis": list(problem.diagnosis),
        }
        for problem in account.problems
    ]
    return {**json_types(account), "problems": problems}


def account_in(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the account of a run; that of a report from before there was one, by its operations."""
    if "account" in document:
        return document["account"]
    positions: dict[str, list[int]] = {}
    for position, result in enumerate(document["results"]):
        if result["status"] in WRONG and not is_known(result):
            positions.setdefault(result["operation"], []).append(position)
    problems = [
        {
            "lines": [f"{operation}: {len(failures)} went wrong.", *diagnosis_of(document, operation)],
            "clearest": failures[0],
            "failures": failures,
            "diagnosis": [],
        }
        for operation, failures in positions.items()
    ]
    tried = sum(result["status"] not in NOT_GRADED for result in document["results"])
    wrong = len(wrong_results(document))
    systematic = document.get("systematic")
    account = Account(
        guessed=(),
        verdict=verdict(document),
        right=None,
        heading=wording.went_wrong(wrong, tried) if wrong else None,
        offer=wording.offer_to_declare(document["could_be_declared"]) if document.get("could_be_declared") else (),
        problems=(),
        unseen=(wording.NUMBERS_ALONE,) if document["invocation"].get("export") else (),
        ungraded=wording.ungraded_arguments(document.get("arguments", ())),
        closing=(wording.systematic_in_short(systematic),) if systematic else (),
    )
    return {**json_types(account), "problems": problems}


def _gate_to_json(gated: Gated) -> dict[str, Any]:
    names = ("kind", "subject", "dtype", "sentence")
    failing = [dict(zip(names, finding, strict=True)) for finding in gated.failing]
    return {"open": gated.is_open, "headline": gated.headline, "failing": failing}
