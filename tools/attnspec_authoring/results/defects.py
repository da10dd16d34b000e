"""True defects of implementations, committed with their evidence: ``spec/results/defects.json``.

A defect excuses the results that it names and no other. Each holds a program that shows it and what that prints, so
that a test can find out whether the evidence still stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import FixtureError
from attnspec_authoring.results.stored import RESULTS, numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.cases import Case

DEFECTS = RESULTS / "defects.json"


@dataclass(frozen=True)
class Defect:
    """Known defect; the schema ``defects.schema.json`` says what each entry means.

    Both versions are included, and a `last_version` of None is open. `cases` are shell patterns; `states` are inputs
    and attributes that a case must state; no `outputs` means any. `expected` says what the reproduction would print.
    """

    id: str
    title: str
    implementations: tuple[str, ...]
    first_version: str
    last_version: str | None
    cases: tuple[str, ...]
    states: tuple[str, ...]
    dtypes: tuple[str, ...]
    outputs: tuple[str, ...]
    sentence: str
    expected: str
    reproduction: str
    measured: str
    link: str | None

    @property
    def report(self) -> str | None:
        """The page in ``spec/results/reports/`` that is ready to be sent; None where there is a link."""
        return f"{self.id}.md" if self.link is None else None

    def is_in(self, implementation: str, version: str | None) -> bool:
        """Return whether a version of an implementation has the defect."""
        if implementation not in self.implementations or version is None:
            return False
        last = self.last_version
        return numbers(self.first_version) <= numbers(version) and (last is None or numbers(version) <= numbers(last))

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


def read_defects(path: Path = DEFECTS) -> tuple[Defect, ...]:
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
    # Reading schemas loads NumPy, which readers of the table do without.
    from jsonschema import Draft202012Validator

    from attnspec.base.files import SCHEMA_FOLDER

    schema = json.loads((SCHEMA_FOLDER / "defects.schema.json").read_text(encoding="utf-8"))
    validator: Any = Draft202012Validator(schema)
    for error in validator.iter_errors(document):
        raise FixtureError(f"{path.name} does not follow its schema at {error.json_path}: {error.message}")


def _defect(entry: Mapping[str, Any]) -> Defect:
    evidence = entry["evidence"]
    return Defect(
        id=entry["id"],
        title=entry["title"],
        implementations=tuple(entry["implementations"]),
        first_version=entry["first_version"],
        last_version=entry["last_version"],
        cases=tuple(entry["cases"]),
        states=tuple(entry["states"]),
        dtypes=tuple(entry["dtypes"]),
        outputs=tuple(entry["outputs"]),
        sentence=entry["sentence"],
        expected=entry["expected"],
        reproduction="\n".join(evidence["reproduction"]),
        measured="\n".join(evidence["measured"]),
        link=entry["link"],
    )
