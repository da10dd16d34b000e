"""Reading and writing the file of a baseline, in its present format and in the one before."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from attnspec.base.errors import BaselineError, FixtureError
from attnspec.base.files import replace_file
from attnspec.cases import canonical_json, check_file
from attnspec.gate.baseline import FORMAT, Baseline, Entry, name_of
from attnspec.gate.group import BY_CASE, BY_WORDS, Group
from attnspec.gate.ungraded_arguments import UngradedArgument

_READ = (1, FORMAT)
_RESTORE = "Restore it, or remove it and write it anew with --update-baseline."


def read_baseline(path: Path) -> Baseline:
    """Read a baseline, of this format or the one before; `BaselineError` if missing, damaged or something else."""
    if not path.is_file():
        raise BaselineError(f"There is no baseline {str(path)!r}. Write it with --update-baseline.")
    try:
        document = check_file(path, kind="baseline")
    except FixtureError as error:
        raise BaselineError(f"{error} {_what_to_do(path)}") from None
    baseline = _from_json(document, path)
    # A group is recognised by its criteria, of which a title shows the beginning.
    groups = {group.key: group.title for group in baseline.groups}
    counts = [("entries", name_of(key), count) for key, count in Counter(each.key for each in baseline.entries).items()]
    counts += [("groups", groups[key], count) for key, count in Counter(group.key for group in baseline.groups).items()]
    for kind, title, count in counts:
        if count > 1:
            many = "two" if count == 2 else count
            raise BaselineError(f"{path} has {many} {kind} for {title}. Keep one of them.")
    return baseline


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline, in canonical bytes and in one step; `BaselineError` if the file cannot be written."""
    try:
        replace_file(path, canonical_json(_to_json(baseline)))
    except OSError as error:
        raise BaselineError(f"The baseline could not be written to {path}: {error.strerror}.") from None


def _what_to_do(path: Path) -> str:
    """Return the remedy for a file that is no baseline, from a look at its content."""
    import json

    try:
        document: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return _RESTORE
    fields = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if "results" in fields:
        return "It looks like a report; a baseline is written with --update-baseline."
    if "suite" in fields and fields.get("format") not in _READ:
        formats = " and ".join(map(str, _READ))
        return f"This attnspec reads baselines of the formats {formats}; was it written by another version?"
    return _RESTORE


def _from_json(document: Mapping[str, Any], path: Path) -> Baseline:
    implementation, suite = document["implementation"], document["suite"]
    arguments = document.get("ungraded_arguments")
    groups = tuple(
        Group(
            {name: group[name] for name in (*BY_CASE, *BY_WORDS) if name in group},
            group["count"],
            group["reason"],
            at_default=arguments is None,
        )
        for group in document.get("groups", ())
    )
    baseline = Baseline(
        name=implementation["name"],
        operations=tuple(implementation["operations"]),
        dtypes=tuple(implementation["dtypes"]),
        conventions=implementation["conventions"],
        entries=tuple(Entry(**entry) for entry in document["entries" if document["format"] == 1 else "failures"]),
        groups=groups,
        graded=document["graded"],
        suite_version=suite["version"],
        suite_digest=suite["digest"],
        cases=suite["cases"],
        answered=_answered_from_json(suite, path) if "answered" in suite else None,
        format=document["format"],
        ungraded_arguments=None if arguments is None else tuple(UngradedArgument(**each) for each in arguments),
    )
    if baseline.answered is not None and baseline.graded > (marked := sum(map(len, baseline.answered.values()))):
        raise BaselineError(
            f"{path} says {baseline.graded} at /graded, but marks {marked} results at /suite/answered. {_RESTORE}"
        )
    return baseline


def _to_json(baseline: Baseline) -> dict[str, Any]:
    assert baseline.answered is not None
    arguments = baseline.ungraded_arguments
    # A mark for each case and dtype lets the gate name the losses, and is a line for each dtype, not for each case.
    marks = {case_id: 1 << index for index, case_id in enumerate(sorted(baseline.cases))}
    answered = {dtype: f"{sum(marks[case_id] for case_id in ids):x}" for dtype, ids in baseline.answered.items()}
    return {
        "format": FORMAT,
        "failures": [asdict(entry) for entry in baseline.entries],
        "graded": baseline.graded,
        "groups": [{**group.criteria, "count": group.count, "reason": group.reason} for group in baseline.groups],
        "implementation": {
            "name": baseline.name,
            "operations": list(baseline.operations),
            "dtypes": list(baseline.dtypes),
            "conventions": dict(baseline.conventions),
        },
        "suite": {
            "version": baseline.suite_version,
            "digest": baseline.suite_digest,
            "cases": dict(baseline.cases),
            "answered": answered,
        },
        **({} if arguments is None else {"ungraded_arguments": [each._asdict() for each in arguments]}),
    }


def _answered_from_json(suite: Mapping[str, Any], path: Path) -> dict[str, frozenset[str]]:
    ids = sorted(suite["cases"])
    answered: dict[str, frozenset[str]] = {}
    for dtype, digits in suite["answered"].items():
        marks = int(digits, 16)
        if marks.bit_length() > len(ids):
            raise BaselineError(f"{path} marks more cases at /suite/answered/{dtype} than it names. {_RESTORE}")
        answered[dtype] = frozenset(case_id for index, case_id in enumerate(ids) if marks >> index & 1)
    return answered
