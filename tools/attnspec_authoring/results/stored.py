"""Results of one version of an implementation as ``spec/results/NAME/VERSION.json`` stores them: small, and counted.

The schema is ``spec/schemas/results.schema.json``. Rows of the file are tuples here, under the names of their columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parents[3] / "spec" / "results"
"""The folder of the table."""

FILES = "*/[0-9]*.json"
"""Results in that folder, which have the name of a release."""

# A distribution has no shape worth seeing below a millionth of the tolerance, or above a thousand of it.
BIN_EDGES: tuple[float, ...] = tuple(2.0**power for power in range(-20, 11))
"""Upper edges of the bins of error / tolerance; a bin for 0 comes before the first, one for the rest after the last."""


class Count(NamedTuple):
    """Results of one operation, profile and dtype, counted; `known` failed by a known defect, `failed` otherwise."""

    operation: str
    profile: str
    dtype: str
    passed: int
    known: int
    failed: int
    unsupported: int


class Worst(NamedTuple):
    """The largest error / tolerance among what passed, with its case and output."""

    case: str
    output: str
    ratio: float


class Distribution(NamedTuple):
    """Error / tolerance of an operation and dtype: how many results lie in each bin of `BIN_EDGES`, and the worst pass.

    Each result counts once, by its worst element; a result without numbers (a refusal, an exception) does not.
    """

    operation: str
    dtype: str
    bins: tuple[int, ...]
    worst: Worst | None


class Failure(NamedTuple):
    """A result that went wrong: its case, what was said, and the id of the known defect behind it, or None.

    `ratio` is error / tolerance of its worst element: infinite where no number came, None where none was compared.
    """

    case: str
    dtype: str
    status: str
    output: str | None
    ratio: float | None
    defect: str | None
    sentence: str


class Unsupported(NamedTuple):
    """A reason for which cases were not taken, with how many results it explains and one of their cases."""

    operation: str
    sentence: str
    results: int
    case: str


class Witness(NamedTuple):
    """The random case that passed with the largest error / tolerance of a search, as a text that runs it again."""

    dtype: str
    text: str
    output: str
    ratio: float


class Result(NamedTuple):
    """Everything that is stored of one version of an implementation.

    `version` is as the library says it; `name` and `release` are the folder and the name of the file. `profiles` are
    those that were run, `not_run` is how many results are missing because the run ended early, `left_out` are families
    of which the implementation offers nothing; `searched` are the random cases that were tried for the witnesses.
    """

    name: str
    version: str
    release: str
    date: str
    command: str
    environment: Mapping[str, str]
    suite: Mapping[str, Any]
    conventions: Mapping[str, str]
    profiles: tuple[str, ...]
    dtypes: tuple[str, ...]
    not_run: int
    left_out: Mapping[str, int]
    counts: tuple[Count, ...]
    distributions: tuple[Distribution, ...]
    failures: tuple[Failure, ...]
    unsupported: tuple[Unsupported, ...]
    searched: int
    witnesses: tuple[Witness, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all profiles were run, to the end."""
        return "--profile" not in self.command and not self.not_run

    @property
    def passed(self) -> int:
        """How many results passed."""
        return sum(count.passed for count in self.counts)

    @property
    def known(self) -> int:
        """How many results a known defect explains."""
        return sum(count.known for count in self.counts)

    @property
    def failed(self) -> int:
        """How many results went wrong for no known reason."""
        return sum(count.failed for count in self.counts)


def read_results(folder: Path = RESULTS) -> tuple[Result, ...]:
    """Read all committed results, by name and with the newest release of each first."""
    found = [read_result(path) for path in sorted(folder.glob(FILES))]
    found.sort(key=lambda result: numbers(result.release), reverse=True)
    return tuple(sorted(found, key=lambda result: result.name))


def read_result(path: Path) -> Result:
    """Read the results of one version."""
    return result_of(json.loads(path.read_text(encoding="utf-8")))


def result_of(document: Mapping[str, Any]) -> Result:
    """Return the results that a document of the schema holds."""
    implementation = document["implementation"]
    return Result(
        name=implementation["name"],
        version=implementation["version"],
        release=release_of(implementation["version"]),
        date=document["date"],
        command=document["command"],
        environment=document["environment"],
        suite=document["suite"],
        conventions=implementation["conventions"],
        profiles=tuple(document["profiles"]),
        dtypes=tuple(document["dtypes"]),
        not_run=document["not_run"],
        left_out=document["left_out"],
        counts=tuple(Count(*row) for row in document["counts"]),
        distributions=tuple(map(_distribution, document["distributions"])),
        failures=tuple(_failure(row, document["sentences"]) for row in document["failures"]),
        unsupported=tuple(Unsupported(*row) for row in document["unsupported"]),
        searched=document["searched"],
        witnesses=tuple(Witness(*row) for row in document["witnesses"]),
    )


def _distribution(entry: Mapping[str, Any]) -> Distribution:
    worst = entry["worst"]
    return Distribution(
        entry["operation"], entry["dtype"], tuple(entry["bins"]), None if worst is None else Worst(*worst)
    )


def _failure(row: Sequence[Any], sentences: Sequence[str]) -> Failure:
    case, dtype, status, output, ratio, defect, index = row
    sentence = sentences[int(index)]
    return Failure(case, dtype, status, output, None if ratio is None else float(ratio), defect, sentence)


def release_of(version: str) -> str:
    """Return a version without its local part: 2.13.0+cpu is 2.13.0."""
    return version.partition("+")[0]


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with: 2.13.0+cpu is (2, 13, 0)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
