"""Whether two versions of the suite say the same: reports of one compared with reports of the other, result by result.

``python tools/benchmarks/same_reports.py OLD NEW`` takes two folders of report.json files under equal names. A result
of NEW that OLD has no case for is new to the suite and not compared. Exit status: 0 when they say the same, else 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RENAMED_FIELDS: dict[str, str] = {}
"""Field of a result or a diagnosis, as the older version called it, to its name today: none was renamed since 0.1.0."""

RENAMED_WORDS: dict[str, str] = {}
"""Words in messages, facts and sentences, to those of today: none was changed since 0.1.0."""

UNTOLD = ("seconds",)
"""What differs from run to run."""


def as_of_today(value: Any) -> Any:
    """Return a value of an older report in today's names and words."""
    if isinstance(value, dict):
        return {RENAMED_FIELDS.get(key, key): as_of_today(entry) for key, entry in value.items() if key not in UNTOLD}
    if isinstance(value, list):
        return [as_of_today(entry) for entry in value]
    if isinstance(value, str):
        for old, new in RENAMED_WORDS.items():
            value = value.replace(old, new)
    return value


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return a sentence for each result, diagnosis or verdict that is not the same."""
    known = {result["case"] for result in old["results"]}
    ran = {(result["case"], result["dtype"]): as_of_today(result) for result in old["results"]}
    runs = {(result["case"], result["dtype"]): as_of_today(result) for result in new["results"]}
    told = [f"{case} ({dtype}) has no result any more" for case, dtype in ran.keys() - runs.keys()]
    for run, result in runs.items():
        if run[0] in known and ran.get(run) != result:
            before = ran.get(run) or {}
            told.append(f"{run[0]} ({run[1]}): {', '.join(key for key in result if result[key] != before.get(key))}")
    if as_of_today(old["diagnosis"]) != as_of_today(new["diagnosis"]):
        told.append("the diagnosis differs")
    if old["summary"]["conformance"] != new["summary"]["conformance"]:
        told.append(f"{old['summary']['conformance']} became {new['summary']['conformance']}")
    return told


def main(old: Path, new: Path) -> int:
    """Compare two folders and print what differs."""
    failed = False
    for path in sorted(old.glob("*.json")):
        before = json.loads(path.read_text(encoding="utf-8"))
        told = differences(before, json.loads((new / path.name).read_text(encoding="utf-8")))
        print(f"{path.stem}: {len(before['results'])} results, {len(told)} differ", *told[:10], sep="\n  ")  # noqa: T201
        failed |= bool(told)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
