"""JUnit XML, as Jenkins, GitLab and their like read it: a testsuite a profile, a testcase a (case, dtype).

Jenkins groups by `classname`, of which the part before the last dot is the package; GitLab calls the `classname` the
suite, and distinguishes tests by it and by `name`. Hence the implementation and the profile are in the `classname`, and
the dtype is in the `name`, as pytest writes a parameter. A wrong answer is a `failure`; no answer, for whatever reason,
is an `error`; what is not offered is `skipped`. In a gated run a failure that the baseline knows is `skipped`, with its
reason, and what closes the gate fails: a test, or the one testcase of the testsuite of the gate itself. Elements and
attributes are those of the schema junit-10.xsd of Jenkins' xunit plugin; since some readers show attributes and others
the text, a message is in both.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

from attnspec.base.plain_text import plain_text
from attnspec.grading import NOT_GRADED, WRONG
from attnspec.reports import wording
from attnspec.reports.entries import (
    diagnosis_of,
    failure_of,
    finding_line,
    implementation_name,
    is_known,
    profile_of,
    rerun_command,
)

_LONGEST_MESSAGE = 300


def junit_xml(document: Mapping[str, Any]) -> str:
    """Return a report.json as JUnit XML."""
    by_profile: dict[str, list[Mapping[str, Any]]] = {}
    for result in document["results"]:
        by_profile.setdefault(profile_of(result["case"]), []).append(result)
    name = implementation_name(document)
    gate = document.get("gate")
    results, findings = document["results"], _findings(document)
    apart = [sentence for key, sentence in findings.items() if key[1] is None]
    counts = _counts(results, findings)
    if gate is not None:
        counts |= {"tests": str(len(results) + 1), "failures": str(int(counts["failures"]) + bool(apart))}
    del counts["skipped"]  # which the schema knows of a testsuite alone
    root = Xml.Element("testsuites", {"name": f"attnspec: {name}", **counts})
    diagnoses = {
        operation: diagnosis_of(document, operation)
        for operation in {entry["operation"] for entry in document["diagnosis"]}
    }
    class_of_all = re.sub(r"\W+", "_", plain_text(document["implementation"]["name"], longest=80)).strip("_")
    for profile, results in by_profile.items():
        of_suite = {"name": f"{name}: {plain_text(profile)}", **_counts(results, findings)}
        suite = Xml.SubElement(root, "testsuite", of_suite)
        _add_properties(suite, document)
        for result in results:
            case = Xml.SubElement(
                suite,
                "testcase",
                {
                    "classname": f"{class_of_all}.{plain_text(profile)}",
                    "name": f"{plain_text(result['case'])}[{result['dtype']}]",
                    "time": f"{result['seconds']:.6f}",
                },
            )
            _add_outcome(case, result, document, diagnoses.get(result["operation"], []), findings)
    if gate is not None:
        _add_gate(root, gate, apart, name, class_of_all)
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


_Findings = Mapping[tuple[str, str | None], str]
"""What closes the gate: by case and dtype, or by a number and None where it is about no single result."""


def _findings(document: Mapping[str, Any]) -> _Findings:
    """Return what closes the gate beside wrong results, whose own words say more."""
    results = {(result["case"], result["dtype"]): result["status"] for result in document["results"]}
    found: dict[tuple[str, str | None], str] = {}
    for number, finding in enumerate(document.get("gate", {}).get("failing", ())):
        key = finding["subject"], finding["dtype"]
        if key not in results:
            found[str(number), None] = finding_line(finding)
        elif results[key] not in WRONG:
            found[key] = finding["sentence"]
    return found


def _tag(result: Mapping[str, Any], findings: _Findings) -> str | None:
    """Return the element for the outcome of a result; None for a pass."""
    if (result["case"], result["dtype"]) in findings:
        return "failure"
    if result["status"] in NOT_GRADED or is_known(result):
        return "skipped"
    return {"pass": None, "fail": "failure"}.get(result["status"], "error")


def _counts(results: Sequence[Mapping[str, Any]], findings: _Findings) -> dict[str, str]:
    tags = [_tag(result, findings) for result in results]
    return {
        "tests": str(len(tags)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": str(tags.count("skipped")),
        "time": f"{sum(result['seconds'] for result in results):.6f}",
    }


def _add_gate(root: Xml.Element, gate: Mapping[str, Any], apart: Sequence[str], name: str, class_of_all: str) -> None:
    """Add the testsuite of the gate, whose one testcase fails for all that is about no single result."""
    counts = {"tests": "1", "failures": str(int(bool(apart))), "errors": "0", "skipped": "0", "time": "0.000000"}
    suite = Xml.SubElement(root, "testsuite", {"name": f"{name}: gate", **counts})
    case = Xml.SubElement(suite, "testcase", {"classname": f"{class_of_all}.gate", "name": "gate", "time": "0.000000"})
    if apart:
        said = {"type": "gate", "message": plain_text(gate["headline"], longest=_LONGEST_MESSAGE)}
        Xml.SubElement(case, "failure", said).text = "\n".join(map(plain_text, apart))


def _add_properties(suite: Xml.Element, document: Mapping[str, Any]) -> None:
    implementation, ungraded = document["implementation"], wording.ungraded_arguments(document.get("arguments", ()))
    measured = document.get("systematic", ())
    known = {
        "attnspec.version": document["suite"]["version"],
        "attnspec.digest": document["suite"]["digest"],
        "implementation.name": implementation["name"],
        "implementation.version": implementation["version"] or "",
        "implementation.adapter": implementation["adapter"],
        **{f"convention.{name}": choice for name, choice in implementation["conventions"].items()},
        **({} if ungraded is None else {"arguments.not_graded": ungraded}),
        **document["environment"],
        **{
            f"systematic.{each['operation']}.{each['dtype']}.{each['direction']}": each["sentence"] for each in measured
        },
    }
    properties = Xml.SubElement(suite, "properties")
    for name, value in known.items():
        Xml.SubElement(properties, "property", {"name": plain_text(name), "value": plain_text(value)})


def _add_outcome(
    case: Xml.Element,
    result: Mapping[str, Any],
    document: Mapping[str, Any],
    diagnosis: Sequence[str],
    findings: _Findings,
) -> None:
    """Add nothing for a pass, else the one element for the outcome."""
    tag, status = _tag(result, findings), result["status"]
    if tag is None:
        return
    failure = failure_of([result])
    found = findings.get((result["case"], result["dtype"]))
    message = failure.message if found is None else found
    if tag == "skipped" and result.get("known"):
        message = f"{result['known']} ({status}: {message})"
    said = plain_text(message, longest=_LONGEST_MESSAGE)
    if tag == "skipped" or found is not None:
        kind = "known failure" if is_known(result) else status if found is None else "gate"
        Xml.SubElement(case, tag, {"type": kind, "message": said}).text = said
        return
    kind = result["check"] if tag == "failure" else status
    outcome = Xml.SubElement(case, tag, {"type": kind, "message": said})
    under = None if failure.under is None else f"Graded under {failure.under}"
    facts = [line for line in (failure.step, failure.worst, under) if line is not None]
    facts += [f"Clause {wording.clause_in_words(clause)}" for clause in failure.clauses]
    lines = [plain_text(failure.message), *diagnosis, *map(plain_text, facts)]
    again = f"Run it again: {rerun_command(document, result['case'], result['dtype'])}"
    outcome.text = "\n".join([*lines, again])
