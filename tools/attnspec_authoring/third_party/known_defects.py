"""True defects of third-party implementations, committed with their evidence, and the results that they excuse.

A defect excuses the results that it names and no other. Each holds a program that shows it and what that prints, so
that a test can find out whether the evidence still stands.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attnspec_adapters
from attnspec.base.errors import FixtureError
from attnspec.cases import schema_validator
from attnspec.grading import WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.cases import Case
    from attnspec_authoring.third_party.running import Outcome


KNOWN_DEFECTS = Path(attnspec_adapters.__file__).parent / "known_defects.json"


@dataclass(frozen=True)
class KnownDefect:
    """Known defect; the schema ``known_defects.schema.json`` says what each entry means.

    Both versions are included, and a `last_version` of None is open. `cases` are shell patterns; `states` are inputs
    and attributes that a case must state; no `outputs` means any; `link` is None where no report was found.
    """

    id: str
    implementations: tuple[str, ...]
    first_version: str
    last_version: str | None
    cases: tuple[str, ...]
    states: tuple[str, ...]
    dtypes: tuple[str, ...]
    outputs: tuple[str, ...]
    sentence: str
    reproduction: str
    measured: str
    link: str | None

    def is_in(self, implementation: str, version: str | None) -> bool:
        """Return whether a version of an implementation has the defect."""
        if implementation not in self.implementations or version is None:
            return False
        last = self.last_version
        return _numbers(self.first_version) <= _numbers(version) and (
            last is None or _numbers(version) <= _numbers(last)
        )

    def excuses(self, result: Mapping[str, Any], case: Case) -> bool:
        """Check whether a wrong entry of a report's ``results``, on a case, is this defect's doing."""
        stated = {*case.inputs, *case.attributes}
        return (
            any(fnmatchcase(case.id, pattern) for pattern in self.cases)
            and stated.issuperset(self.states)
            and result["dtype"] in self.dtypes
            and result["status"] == "fail"
            and (not self.outputs or result["output"] in self.outputs)
        )


def read_known_defects(path: Path = KNOWN_DEFECTS) -> tuple[KnownDefect, ...]:
    """Read the committed defects; `FixtureError` where the file breaks its schema, or names a defect twice."""
    document = json.loads(path.read_text(encoding="utf-8"))
    _check(document, path)
    defects = tuple(_defect(entry) for entry in document["defects"])
    ids = [defect.id for defect in defects]
    for name in ids:
        if ids.count(name) > 1:
            raise FixtureError(f"{path.name} names the defect {name!r} {ids.count(name)} times; give each its own id.")
    return defects


def _check(document: object, path: Path) -> None:
    for error in schema_validator("known_defects").iter_errors(document):
        raise FixtureError(f"{path.name} does not follow its schema at {error.json_path}: {error.message}")


def _defect(entry: Mapping[str, Any]) -> KnownDefect:
    evidence = entry["evidence"]
    return KnownDefect(
        id=entry["id"],
        implementations=tuple(entry["implementations"]),
        first_version=entry["first_version"],
        last_version=entry["last_version"],
        cases=tuple(entry["cases"]),
        states=tuple(entry["states"]),
        dtypes=tuple(entry["dtypes"]),
        outputs=tuple(entry["outputs"]),
        sentence=entry["sentence"],
        reproduction="\n".join(evidence["reproduction"]),
        measured="\n".join(evidence["measured"]),
        link=entry["link"],
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with: 2.13.0+cpu is (2, 13, 0)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


@dataclass(frozen=True)
class Wrong:
    """A wrong result that no known defect excuses."""

    implementation: str
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Findings:
    """Findings about outcomes: which wrong results known defects excuse.

    `seen` has the defect by (implementation, case id, dtype) of excused results; `gone` are (defect, implementation)
    that did not show; `missing` could not be run, or graded nothing.
    """

    seen: Mapping[tuple[str, str, str], str]
    failures: tuple[Wrong, ...]
    gone: tuple[tuple[KnownDefect, str], ...]
    missing: tuple[Outcome, ...]

    @property
    def is_good(self) -> bool:
        """Whether every implementation ran, and did nothing wrong that is not known."""
        return not self.failures and not self.missing


def judge(outcomes: Sequence[Outcome], defects: Sequence[KnownDefect], cases: Mapping[str, Case]) -> Findings:
    """Judge the outcomes, one for each implementation, against the known defects; cases by id."""
    seen: dict[tuple[str, str, str], str] = {}
    failures: list[Wrong] = []
    for outcome in outcomes:
        possible = [defect for defect in defects if defect.is_in(outcome.name, outcome.version)]
        for result in outcome.results:
            if result["status"] not in WRONG:
                continue
            excuse = next((defect for defect in possible if defect.excuses(result, cases[result["case"]])), None)
            if excuse is None:
                failures.append(Wrong(outcome.name, result))
            else:
                seen[outcome.name, result["case"], result["dtype"]] = excuse.id
    shown = Counter((defect, implementation) for (implementation, _, _), defect in seen.items())
    gone = tuple(
        (defect, outcome.name)
        for defect in defects
        for outcome in outcomes
        if outcome.name in defect.implementations and outcome.problem is None and not shown[defect.id, outcome.name]
    )
    missing = tuple(outcome for outcome in outcomes if not outcome.has_passed)
    return Findings(seen, tuple(failures), gone, missing)
