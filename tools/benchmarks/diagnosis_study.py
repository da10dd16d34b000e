"""How often the diagnosis names the right mistake, and how often a wrong one.

The outputs come from the switched engine in ``tests/implementations``, which shares no code with the catalogue and
makes one mistake at a time. ``python tools/benchmarks/diagnosis_study.py [--pairs N] [--only GLOB] [--dtype DTYPE]
[--told]`` prints a table: with the whole catalogue, with the mistake taken out of it, with two mistakes at once, and
with mistakes of which the catalogue knows nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "implementations"))

from switched_engine import SwitchedEngine  # noqa: E402

from attnspec.adapters import load  # noqa: E402
from attnspec.cases import load_suite  # noqa: E402
from attnspec.diagnosis import diagnose  # noqa: E402
from attnspec.runner import run_suite  # noqa: E402
from attnspec_mistakes import CATALOGUE, Mistake  # noqa: E402

if TYPE_CHECKING:
    from attnspec.cases import Suite
    from attnspec.runner import Result

MISTAKES = {mistake.id: mistake for mistake in CATALOGUE}
OPERATIONS = {mistake.id.partition(".")[0]: mistake.operation for mistake in CATALOGUE}
NOT_SEEN = "not seen"


@dataclass(frozen=True)
class Setting:
    """How the engine is run."""

    dtype: str
    steps: bool = False
    unfused: bool = False
    plain: bool = False

    def __str__(self) -> str:
        extra = [name for name in ("steps", "unfused", "plain") if getattr(self, name)]
        return " ".join([self.dtype, *extra])


SETTINGS = (
    Setting("float64"),
    Setting("float64", steps=True),
    Setting("float64", plain=True),
    Setting("float32"),
    Setting("float32", plain=True),
    Setting("bfloat16"),
    Setting("bfloat16", unfused=True),
)


class Suites:
    """The cases of each operation."""

    def __init__(self) -> None:
        ids: dict[str, list[str]] = {}
        for case in load_suite().cases.values():
            ids.setdefault(case.operation, []).append(case.id)
        self.of: dict[str, Suite] = {operation: load_suite(select=tuple(found)) for operation, found in ids.items()}


def run(suites: Suites, operation: str, setting: Setting, *mistakes: str) -> tuple[Result, ...]:
    """Run the engine over the cases of one operation."""
    engine = SwitchedEngine(*mistakes, plain=setting.plain, unfused=setting.unfused, steps=setting.steps)
    return run_suite(suites.of[operation], load(engine), dtypes=[setting.dtype])


def first_named(results: tuple[Result, ...], without: frozenset[str] = frozenset()) -> str:
    """Return the first mistake named, ``unknown``, or that nothing failed."""
    found = diagnose(results, without)
    return found[0].mistake if found else NOT_SEEN


def study(suites: Suites, setting: Setting, chosen: list[Mistake], *, told: bool) -> None:
    """Print what one setting came to."""
    right: Counter[str] = Counter()
    taken_out: Counter[str] = Counter()
    slowest = 0.0
    for mistake in chosen:
        results = run(suites, mistake.operation, setting, mistake.id)
        start = time.process_time()
        named = first_named(results)
        slowest = max(slowest, time.process_time() - start)
        if named == NOT_SEEN:
            right[NOT_SEEN] += 1
            continue
        kind = "right" if named == mistake.id else "unknown" if named == "unknown" else "other"
        right[kind] += 1
        if kind != "right" and told:
            print(f"    {setting}: {mistake.id} is taken for {named}")  # noqa: T201
        other = first_named(results, frozenset({mistake.id}))
        kind = (
            "unknown"
            if other == "unknown"
            else "same clause"
            if MISTAKES[other].clause == mistake.clause
            else "wrong clause"
        )
        taken_out[kind] += 1
        if kind == "wrong clause" and told:
            print(f"    {setting}: without {mistake.id}, it is taken for {other}")  # noqa: T201
    seen, out = sum(right.values()) - right[NOT_SEEN], sum(taken_out.values())
    print(  # noqa: T201
        f"{setting!s:24} right first {right['right']}/{seen} ({right['right'] / max(seen, 1):.1%}), "
        f"unknown {right['unknown']}, other {right['other']}, not seen {right[NOT_SEEN]} | taken out: "
        f"unknown {taken_out['unknown']}, same clause {taken_out['same clause']}, "
        f"wrong clause {taken_out['wrong clause']}/{out} ({taken_out['wrong clause'] / max(out, 1):.1%}) | "
        f"slowest diagnosis {slowest:.2f} s of CPU",
        flush=True,
    )


def study_pairs(suites: Suites, chosen: list[Mistake], count: int, *, told: bool) -> None:
    """Print what two mistakes at once came to."""
    randomness = random.Random(20)
    by_operation: dict[str, list[str]] = {}
    for mistake in chosen:
        by_operation.setdefault(mistake.operation, []).append(mistake.id)
    alone: dict[str, set[str]] = {}

    def failing_alone(mistake: str) -> set[str]:
        if mistake not in alone:
            results = run(suites, MISTAKES[mistake].operation, Setting("float64"), mistake)
            alone[mistake] = {result.case.id for result in results if result.is_wrong}
        return alone[mistake]

    outcome: Counter[str] = Counter()
    while sum(outcome.values()) < count:
        first = randomness.choice(chosen)
        second = randomness.choice(by_operation[first.operation])
        if first.id == second:
            continue
        results = run(suites, first.operation, Setting("float64"), first.id, second)
        failing = {result.case.id for result in results if result.is_wrong}
        # Where one hides the other, there is one mistake to be seen, and naming it is right.
        hidden = failing in (failing_alone(first.id), failing_alone(second))
        named = first_named(results)
        if named in (first.id, second):
            kind = "one of the two, which hides the other" if hidden else "one of the two"
        else:
            kind = named if named in ("unknown", NOT_SEEN) else "wrong"
        outcome[kind] += 1
        if kind in ("wrong", "one of the two") and told:
            print(f"    {first.id} and {second} are taken for {named}")  # noqa: T201
    told_of = ", ".join(f"{kind} {number} ({number / count:.1%})" for kind, number in outcome.most_common())
    print(f"two mistakes at once, float64, {count} random pairs: {told_of}", flush=True)  # noqa: T201


def study_unlisted(suites: Suites, unlisted: list[str], *, told: bool) -> None:
    """Print what mistakes came to that the engine can make and the catalogue does not hold."""
    outcome: Counter[str] = Counter()
    for mistake in unlisted:
        results = run(suites, OPERATIONS[mistake.partition(".")[0]], Setting("float64"), mistake)
        named = first_named(results)
        kind = named if named in ("unknown", NOT_SEEN) else "named"
        outcome[kind] += 1
        if kind == "named" and told:
            print(f"    {mistake}, which is not in the catalogue, is taken for {named}")  # noqa: T201
    print(f"not in the catalogue, float64, {len(unlisted)} mistakes: {dict(outcome)}", flush=True)  # noqa: T201


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--only", default="*")
    parser.add_argument("--dtype", default="*")
    parser.add_argument("--told", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    suites = Suites()
    engine = SwitchedEngine()
    for operation in suites.of:
        if operation != "glorot_normal":
            run_suite(suites.of[operation], load(engine), dtypes=["float64"])
    chosen = [mistake for mistake in CATALOGUE if mistake.id in engine.known and fnmatch(mistake.id, options.only)]
    print(f"{len(chosen)} of the {len(CATALOGUE)} mistakes of the catalogue")  # noqa: T201
    for setting in SETTINGS:
        if fnmatch(setting.dtype, options.dtype):
            study(suites, setting, chosen, told=options.told)
    if options.dtype == "*":
        study_unlisted(suites, sorted(engine.known - MISTAKES.keys()), told=options.told)
    if options.pairs:
        study_pairs(suites, chosen, options.pairs, told=options.told)


if __name__ == "__main__":
    main()
