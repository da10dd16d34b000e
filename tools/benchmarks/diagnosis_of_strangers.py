"""How often the diagnosis points at the right clause for wrong implementations that nobody of the project wrote.

``python tools/benchmarks/diagnosis_of_strangers.py batch_11`` runs every implementation of a batch that is put away, or
of a folder that is named, in every setting, and holds what the report says first against the clauses that two judges
had written down before in the batch's ``clauses.json``. It prints a table of the settings; ``--write`` writes the row
of the batch to ``spec/studies/diagnosis-of-strangers.md``, beside those of others. ``--every N`` takes each N-th
implementation, ``--setting`` and ``--dtype`` narrow it, ``--misses`` prints what was named instead; ``--seen`` says on
the page that the batch is not blind any more. Of a batch that stands beside the catalogue, the diagnosis sees the other
batches alone.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from study import STUDIES, Study, publish, table, today

from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import numpy_dtype
from attnspec.contract.implementation import Wrapped
from attnspec.diagnosis import diagnose, suspects
from attnspec.families.attention.steps.attendance import attendance
from attnspec.process.opening import open_target
from attnspec.runner import run_suite
from attnspec.targets import Outputs
from attnspec.targets.target import Target
from attnspec_authoring.strangers import batch_folder
from attnspec_probes import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.contract.operation import Operation
    from attnspec.diagnosis import Diagnosis
    from attnspec.runner import Result
    from attnspec.targets import Answer, Declaration, Request
    from attnspec_mistakes.labelled_mistakes import Judged

ABOUT = """
Wrong implementations of a blind batch, each in several settings: it gives the required outputs alone, or all; it
declares logarithms to the base 2, or NaN for rows without keys, and its answers are turned into those, and logarithms
that it is handed back from them; float64, or bfloat16 by way of float32. A setting that changes nothing for an
operation is left out. Before any diagnosis was run, two judges, separately, listed from code and pages up to three
clauses whose sentences an implementation contradicts. Right is a clause that is named first if either has it; where one
of k clauses is named, and one is right, that counts 1 / k. *Sure* is what is named without "most likely" and without
"one of these". Counted are the pairs of implementation and setting in which something fails. *Each N* takes each N-th
implementation. What was named wrongly of a batch that is *seen* was looked at, and the diagnosis was changed for whole
classes of it: its figures are not blind.
"""
PAGE = STUDIES / "diagnosis-of-strangers.md"
DTYPES = ("float64", "bfloat16")
FIGURES = ("fail", "right first", "of those agreed on", "first is wrong", "sure", "sure and wrong", "none named")
SECONDS_ALLOWED = 120
"""For one implementation in one setting; loops in plain Python take half a minute."""


class Setting(Wrapped):
    """An implementation of which a setting changes what it declares and answers: nothing, for one."""

    conventions: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def concerns(cls, operation: Operation) -> bool:
        """Return whether the setting is one of its own for an operation."""
        return all(name in operation.conventions for name in cls.conventions)

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself, in both dtypes."""
        known = super().declaration
        return replace(known, dtypes=DTYPES, conventions={**known.conventions, **self.conventions})

    def run(self, request: Request) -> Answer:
        """Answer a request; one in bfloat16 is computed in float32."""
        computed = self.handed(_in_float32(request) if request.dtype == "bfloat16" else request)
        answer = super().run(computed)
        if not isinstance(answer, Outputs):
            return answer
        values = self.changed(answer.values, request)
        if request.dtype == "bfloat16":
            values = {name: _in_bfloat16(array) for name, array in values.items()}
        return answer._replace(values=values)

    def handed(self, request: Request) -> Request:
        """Return what the implementation is called with in this setting."""
        return request

    def changed(self, values: Mapping[str, Any], request: Request) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the answer of the setting."""
        return values


class OutputAlone(Setting):
    """What is expected alone."""

    @classmethod
    def concerns(cls, operation: Operation) -> bool:
        """Return whether anything may be given that is not expected."""
        return not all(output.required for output in operation.gives)

    def changed(self, values: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
        """Drop what is not expected."""
        required = OPERATIONS[request.operation].required(request.inputs)
        return {name: array for name, array in values.items() if name in required}


class BaseTwo(Setting):
    """Logarithms to the base 2, those that are handed over among them."""

    conventions: ClassVar[Mapping[str, str]] = {"logsumexp_base": "2"}

    def handed(self, request: Request) -> Request:
        """Turn logarithms into natural ones; the loss moves with such a one as much less."""
        return request._replace(inputs={name: _natural(name, array) for name, array in request.inputs.items()})

    def changed(self, values: Mapping[str, Any], request: Request) -> Mapping[str, Any]:  # noqa: ARG002
        """Turn logsumexp into one."""
        return {name: array * math.log2(math.e) if name == "logsumexp" else array for name, array in values.items()}


class NanRows(Setting):
    """NaN for rows without keys."""

    conventions: ClassVar[Mapping[str, str]] = {"fully_masked_row": "nan"}

    def changed(self, values: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
        """Replace the results of such rows."""
        if "sinks" in request.inputs:
            return values
        given, said = request.inputs, request.attributes
        past = given["past_key"].shape[2] if "past_key" in given else 0
        placing = {name: said[name] for name in ("is_causal", "causal_alignment", "window") if name in said}
        if past + given["key"].shape[2] == 0:
            return values
        try:
            shape = (*given["query"].shape[:3], past + given["key"].shape[2])
            dead: Any = ~attendance(shape, past, given, **placing).attendable.any(axis=-1)
        except (IndexError, ValueError):
            return values
        return {
            name: np.where(dead[..., np.newaxis], np.nan, array)
            if name in ("output", "weights", "grad_query")
            and array.ndim == dead.ndim + 1
            and array.shape[:3] == dead.shape
            else array
            for name, array in values.items()
        }


SETTINGS: Mapping[str, type[Setting]] = {
    "output alone": OutputAlone,
    "all outputs": Setting,
    "base 2": BaseTwo,
    "NaN rows": NanRows,
}


def _in_float32(request: Request) -> Request:
    inputs = {
        name: array.astype(np.float32) if array.dtype.name == "bfloat16" else array
        for name, array in request.inputs.items()
    }
    attributes = {name: "float32" if name == "output_dtype" else value for name, value in request.attributes.items()}
    return request._replace(dtype="float32", inputs=inputs, attributes=attributes)


def _natural(name: str, array: Any) -> Any:
    if name == "grad_logsumexp":
        return (array * math.log2(math.e)).astype(array.dtype)
    return (array * math.log(2)).astype(array.dtype) if name.startswith("logsumexp") else array


def _in_bfloat16(array: Any) -> Any:
    return array.astype(numpy_dtype("bfloat16")) if array.dtype.kind == "f" else array


@dataclass(frozen=True)
class Named:
    """What the diagnosis says of one implementation in one setting.

    `clauses`: the clauses of its first sentence; none where it says none; `certainty`: how sure it is; `seconds`: how
    long the run and the diagnosis took.
    """

    clauses: tuple[str, ...]
    certainty: str
    seconds: tuple[float, float]


@dataclass(frozen=True)
class Task:
    """One implementation in one setting and dtype."""

    path: Path
    setting: str
    dtype: str
    no_probes: bool


def first_named(found: Sequence[Diagnosis]) -> tuple[tuple[str, ...], str]:
    """Return the clauses of what is said first, and how sure that is."""
    if not found:
        return (), "nothing"
    first = found[0]
    if first.clause is not None:
        same = [entry for entry in found if entry.mistake != "unknown" and entry.certainty == "one of these"]
        same = same if first.certainty == "one of these" else []
        tied = tuple(dict.fromkeys(entry.clause for entry in same if entry.clause)) or (first.clause,)
        return (tied, first.certainty if len(tied) == 1 else "one of these")
    return tuple(suspect.clause for suspect in first.suspects if suspect.is_reported), first.certainty


def run_one(task: Task) -> Named | None:
    """Validate and diagnose; None where nothing fails, or it takes too long."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(SECONDS_ALLOWED)
    try:
        target = open_target(Target(str(task.path)))
        setting, declared = SETTINGS[task.setting], target.declaration
        if setting.conventions.items() <= declared.conventions.items() and setting.conventions:
            return None
        if not any(setting.concerns(OPERATIONS[operation]) for operation in declared.operations):
            return None
        implementation = setting(target)
        suite = load_suite()
        own = {k: case for k, case in suite.cases.items() if case.operation in implementation.declaration.operations}
        start = time.perf_counter()
        results: tuple[Result, ...] = run_suite(replace(suite, cases=own), implementation, dtypes=[task.dtype])
        between = time.perf_counter()
        laws = () if task.no_probes else measured(implementation, results).laws
        probed = time.perf_counter()
        found = diagnose(results, laws=laws)
        took = (between - start, time.perf_counter() - probed)
    except KeyboardInterrupt:
        return None
    finally:
        signal.alarm(0)
    return Named(*first_named(found), took) if found else None


def leave_out(batch: Path) -> None:
    """Hide the implementations of a batch from the diagnosis, which would find each of them again."""
    known = suspects.judged_implementations

    def others(operation: str) -> tuple[Judged, ...]:
        return tuple(entry for entry in known(operation) if not entry.id.startswith(f"{batch.name}/"))

    suspects.judged_implementations = others


def tasks_of(batch: Path, options: argparse.Namespace) -> list[Task]:
    """Return what is run: the implementations that judges have judged."""
    judged = json.loads((batch / "clauses.json").read_text(encoding="utf-8"))
    return [
        Task(batch / name, setting, dtype, options.no_probes)
        for name in sorted(judged)[options.first :: options.every]
        for setting in SETTINGS
        if options.setting in (None, setting)
        for dtype in DTYPES
        if options.dtype in (None, dtype)
    ]


def kinds_of(batch: Path) -> dict[str, str]:
    """Return the file of each implementation to its operation, and to the kind of layout where it has one."""
    known: list[dict[str, Any]] = json.loads((batch / "batch.json").read_text(encoding="utf-8"))
    kinds: dict[str, str] = {}
    for entry in known:
        layout = (entry.get("layout") or "").partition("_")[0]
        kinds[entry["file"]] = f"`{entry['operation']}`{f' ({layout})' if layout else ''}"
    return kinds


def measure(batch: Path, options: argparse.Namespace) -> tuple[tuple[object, ...], list[str]]:
    """Run everything, and return the figures of all settings together, and the table of each."""
    judged: dict[str, Any] = json.loads((batch / "clauses.json").read_text(encoding="utf-8"))
    kinds = kinds_of(batch)
    tasks = tasks_of(batch, options)
    leave_out(batch)
    load_suite()
    with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0)), maxtasksperchild=1) as pool:
        named = pool.map(run_one, tasks, chunksize=1)
    counts: dict[str, Counter[str]] = {}
    rights: dict[str, float] = {}
    misses: list[str] = []
    for task, said in zip(tasks, named, strict=True):
        if said is None:
            continue
        entry = judged[f"{task.path.parent.name}/{task.path.name}"]
        accepted = set(entry["accepted"])
        right = len(accepted & set(said.clauses)) / len(said.clauses) if said.clauses else 0.0
        kind = kinds[f"{task.path.parent.name}/{task.path.name}"]
        for row in (f"{task.setting}, {task.dtype}", "all", *((kind,) if len({*kinds.values()}) > 1 else ())):
            tally = counts.setdefault(row, Counter())
            tally["pairs"] += 1
            tally[said.certainty] += 1
            rights[row] = rights.get(row, 0.0) + right
            if entry["agreed"]:
                tally["agreed"] += 1
                rights[f"{row} agreed"] = rights.get(f"{row} agreed", 0.0) + right
            if said.clauses and said.clauses[0] not in accepted:
                tally["first wrong"] += 1
                if not accepted & set(said.clauses):
                    tally["wrong"] += 1
                tally["sure and wrong"] += said.certainty == "it is"
            tally["silent"] += not said.clauses
        if right < 1:
            misses.append(
                f"{task.path.stem} ({task.setting}, {task.dtype}): {said.certainty} {', '.join(said.clauses)}"
                f"; judged {', '.join(entry['accepted'])}"
            )
    if options.misses:
        print(*misses, sep="\n", file=sys.stderr)  # noqa: T201
    seconds = [said.seconds for said in named if said is not None]
    rows = [
        (
            row,
            tally["pairs"],
            f"{rights[row] / tally['pairs']:.1%}",
            f"{rights.get(f'{row} agreed', 0) / max(tally['agreed'], 1):.1%}",
            f"{tally['first wrong'] / tally['pairs']:.1%}",
            f"{tally['it is'] / tally['pairs']:.0%}",
            f"{tally['sure and wrong'] / tally['pairs']:.1%}",
            tally["silent"],
        )
        for row, tally in counts.items()
    ]
    slowest = max((diagnosis for _, diagnosis in seconds), default=0.0)
    return next(row[1:] for row in rows if row[0] == "all"), [
        *table(("setting", *FIGURES), rows),
        "",
        f"The slowest diagnosis took {slowest:.2f} s; the median one {np.median([each[1] for each in seconds]):.2f} s, "
        f"and {np.median([each[1] / each[0] for each in seconds]):.2f} of the run before it.",
        "",
    ]


def kept_rows() -> dict[str, tuple[object, ...]]:
    """Return the rows that the page has, by what was run."""
    lines = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| batch ")
    ][1:]
    return {row[0]: row for row in rows}


def label_of(options: argparse.Namespace) -> str:
    """Say what was run."""
    words = [options.batch.name.replace("_", " ")]
    words += [f"each {options.every}"] if options.every > 1 else []
    words += [f"from {options.first}"] if options.first else []
    words += [word for word in (options.setting, options.dtype) if word]
    return ", ".join([*words, *(["seen"] if options.seen else [])])


def main() -> None:
    """Measure, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("batch", type=Path, help="folder of the batch, or name of one that is put away")
    parser.add_argument("--write", action="store_true", help="write the row of the batch")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th implementation")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with this one")
    parser.add_argument("--setting", choices=SETTINGS)
    parser.add_argument("--dtype", choices=DTYPES)
    parser.add_argument("--no-probes", action="store_true", help="call no implementation again")
    parser.add_argument("--seen", action="store_true", help="say that the diagnosis was changed after a look at this")
    parser.add_argument("--misses", action="store_true", help="print what was named wrongly")
    options = parser.parse_args()
    options.batch = batch_folder(options.batch)
    figures, details = measure(options.batch, options)
    suite = load_suite()
    row = (label_of(options), today(), f"{len(suite.cases)}, `{suite.digest[:8]}`", *figures)
    rows = {**kept_rows(), str(row[0]): row}
    lines = table(("batch", "date", "cases, digest", *FIGURES), rows.values())
    publish(Study("Pointing at the clause", ABOUT, lines, details), PAGE if options.write else None)


if __name__ == "__main__":
    main()
