"""JUnit XML, as Jenkins, GitLab and their like read it: a testsuite a profile, a testcase a (case, dtype).

Jenkins groups by `classname`, of which the part before the last dot is the package; GitLab calls the `classname` the
suite, and distinguishes tests by it and by `name`. Hence the implementation and the profile are in the `classname`, and
the dtype is in the `name`, as pytest writes a parameter. A wrong answer is a `failure`; no answer, for whatever reason,
is an `error`; what is not offered is `skipped`. Elements and attributes are those of the schema junit-10.xsd of
Jenkins' xunit plugin; since some readers show attributes and others the text, a message is in both.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

from attnspec.base.plain_text import plain_text
from attnspec.grading import NOT_GRADED, WRONG
from attnspec.reports import wording
from attnspec.reports.entries import diagnosis_of, failure_of, implementation_name, profile_of, rerun_command

_LONGEST_MESSAGE = 300


def junit_xml(document: Mapping[str, Any]) -> str:
    """Return a report.json as JUnit XML."""
    by_profile: dict[str, list[Mapping[str, Any]]] = {}
    for result in document["results"]:
        by_profile.setdefault(profile_of(result["case"]), []).append(result)
    name = implementation_name(document)
    counts = _counts(document["results"])
    del counts["skipped"]  # which the schema knows of a testsuite alone
    root = Xml.Element("testsuites", {"name": f"attnspec: {name}", **counts})
    diagnoses = {
        operation: diagnosis_of(document, operation)
        for operation in {entry["operation"] for entry in document["diagnosis"]}
    }
    class_of_all = re.sub(r"\W+", "_", plain_text(document["implementation"]["name"], longest=80)).strip("_")
    for profile, results in by_profile.items():
        suite = Xml.SubElement(root, "testsuite", {"name": f"{name}: {plain_text(profile)}", **_counts(results)})
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
            _add_outcome(case, result, document, diagnoses.get(result["operation"], []))
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _counts(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    statuses = [result["status"] for result in results]
    failures, skipped = statuses.count("fail"), sum(status in NOT_GRADED for status in statuses)
    return {
        "tests": str(len(statuses)),
        "failures": str(failures),
        "errors": str(sum(status in WRONG for status in statuses) - failures),
        "skipped": str(skipped),
        "time": f"{sum(result['seconds'] for result in results):.6f}",
    }


def _add_properties(suite: Xml.Element, document: Mapping[str, Any]) -> None:
    implementation, measured = document["implementation"], document.get("systematic", ())
    known = {
        "attnspec.version": document["suite"]["version"],
        "attnspec.digest": document["suite"]["digest"],
        "implementation.name": implementation["name"],
        "implementation.version": implementation["version"] or "",
        "implementation.adapter": implementation["adapter"],
        **{f"convention.{name}": choice for name, choice in implementation["conventions"].items()},
        **document["environment"],
        **{
            f"systematic.{each['operation']}.{each['dtype']}.{each['direction']}": each["sentence"] for each in measured
        },
    }
    properties = Xml.SubElement(suite, "properties")
    for name, value in known.items():
        Xml.SubElement(properties, "property", {"name": plain_text(name), "value": plain_text(value)})


def _add_outcome(
    case: Xml.Element, result: Mapping[str, Any], document: Mapping[str, Any], diagnosis: Sequence[str]
) -> None:
    """Add nothing for a pass, else the one element for the outcome."""
    if result["status"] == "pass":
        return
    failure = failure_of([result])
    said = plain_text(failure.message, longest=_LONGEST_MESSAGE)
    if result["status"] in NOT_GRADED:
        Xml.SubElement(case, "skipped", {"type": result["status"], "message": said}).text = said
        return
    tag, kind = ("failure", result["check"]) if result["status"] == "fail" else ("error", result["status"])
    outcome = Xml.SubElement(case, tag, {"type": kind, "message": said})
    under = None if failure.under is None else f"Graded under {failure.under}"
    facts = [line for line in (failure.step, failure.worst, under) if line is not None]
    facts += [f"Clause {wording.clause_in_words(clause)}" for clause in failure.clauses]
    lines = [plain_text(failure.message), *diagnosis, *map(plain_text, facts)]
    again = f"Run it again: {rerun_command(document, result['case'], result['dtype'])}"
    outcome.text = "\n".join([*lines, again])
