"""How often the diagnosis names the right mistake, and how often a wrong one.

The outputs come from the switched engine in ``tests/examples``, which shares no code with the catalogue and
makes one mistake at a time. ``python tools/benchmarks/diagnosis_study.py`` prints what was named otherwise, and tables:
with the whole catalogue, with the mistake taken out of it, with two mistakes at once, and with mistakes of which the
catalogue knows nothing; ``--write`` writes the tables to ``spec/studies/diagnosis.md``. ``--only GLOB`` and ``--dtype
GLOB`` narrow it. The whole takes some twenty minutes; progress is printed on stderr.
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
sys.path.insert(0, str(ROOT / "tests" / "examples"))

from study import Study, add_write_option, publish, table  # noqa: E402
from switched_engine import SwitchedEngine  # noqa: E402

from attnspec.cases import load_suite  # noqa: E402
from attnspec.diagnosis import diagnose  # noqa: E402
from attnspec.runner import run_suite  # noqa: E402
from attnspec.targets import load  # noqa: E402
from attnspec_mistakes import CATALOGUE, Mistake  # noqa: E402

if TYPE_CHECKING:
    from attnspec.cases import Suite
    from attnspec.runner import Result

MISTAKES = {mistake.id: mistake for mistake in CATALOGUE}
OPERATIONS = {mistake.id.partition(".")[0]: mistake.operation for mistake in CATALOGUE}
NOT_SEEN = "not seen"
ABOUT = """
How often the report names the mistake that was made: when the catalogue holds it, when it does not, and when two were
made at once. It backs [decision 21](../decisions/0021-diagnosis.md).

The outputs come from the engine in `tests/examples/switched_engine`, which shares no code with the catalogue. It
returns `output` alone unless a setting says *steps*; *plain* has no cache, lengths, window, softcap, ALiBi or sinks;
*unfused* rounds scores and weights to the dtype. *Not seen* is a mistake that no case of the setting shows; shares are
of the others. *Taken out* means that the mistake was struck from the catalogue before the diagnosis.

Transposed scores, and the weight matrices of query and key exchanged, give the same output. Both are named, and with
steps the right one; so are weights that overwrite transposed scores, which nothing distinguishes from them. In float64
and float32, two mistakes stay unknown where there are no steps because the engine reads their sentences otherwise than
the catalogue: it counts past keys in a scale from the number of keys, and broadcasts a mask of three axes, read as a
batch, to another shape. In bfloat16 the noise of the dtype hides a few more. Of the mistakes that the catalogue does
not hold, some show in no case, like grouped heads in an operation without them, and one equals in exact arithmetic the
mistake that it is taken for.

The engine was written by those who know the catalogue. The rates say how well numbers are recognised, not how well
strangers read a rule.
"""


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


def share(count: int, of: int) -> str:
    """Return a count, what it is of, and the percentage."""
    return f"{count} of {of} ({count / max(of, 1):.1%})"


def study(suites: Suites, setting: Setting, chosen: list[Mistake], confusions: list[str]) -> tuple[object, ...]:
    """Return the row of one setting, and add what was taken for what."""
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
        kind = "right" if named == mistake.id else "unknown" if named == "unknown" else "another"
        right[kind] += 1
        if kind != "right":
            confusions.append(f"{setting}: `{mistake.id}` is {taken_for(named)}")
        other = first_named(results, frozenset({mistake.id}))
        kind = (
            "unknown"
            if other == "unknown"
            else "same clause"
            if MISTAKES[other].clause == mistake.clause
            else "wrong clause"
        )
        taken_out[kind] += 1
        if kind == "wrong clause":
            confusions.append(f"{setting}: without `{mistake.id}` in the catalogue, it is {taken_for(other)}")
    seen, out = sum(right.values()) - right[NOT_SEEN], sum(taken_out.values())
    return (
        setting,
        share(right["right"], seen),
        right["unknown"],
        right["another"],
        right[NOT_SEEN],
        taken_out["same clause"],
        share(taken_out["wrong clause"], out),
        f"{slowest:.2f} s",
    )


def taken_for(named: str) -> str:
    """Say what somebody's mistake was taken for."""
    return "left unknown" if named == "unknown" else f"taken for `{named}`"


def study_pairs(suites: Suites, chosen: list[Mistake], count: int, confusions: list[str]) -> Counter[str]:
    """Return what two mistakes at once came to, and add what was taken for what."""
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
            kind = "one of the two, which hides the other" if hidden else "one of the two, beside a rest"
        else:
            kind = named if named in ("unknown", NOT_SEEN) else "another"
        outcome[kind] += 1
        if kind in ("another", "one of the two, beside a rest"):
            confusions.append(f"two at once: `{first.id}` and `{second}` are {taken_for(named)}")
    return outcome


def study_unlisted(suites: Suites, unlisted: list[str], confusions: list[str]) -> Counter[str]:
    """Return what mistakes came to that the catalogue does not hold, and add what was taken for what."""
    outcome: Counter[str] = Counter()
    for mistake in unlisted:
        results = run(suites, OPERATIONS[mistake.partition(".")[0]], Setting("float64"), mistake)
        named = first_named(results)
        kind = named if named in ("unknown", NOT_SEEN) else "named"
        outcome[kind] += 1
        if kind == "named":
            confusions.append(f"`{mistake}`, which is not in the catalogue, is {taken_for(named)}")
    return outcome


def measure(suites: Suites, engine: SwitchedEngine, options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Measure everything that was requested, and return the page's tables, and what was named otherwise."""
    chosen = [mistake for mistake in CATALOGUE if mistake.id in engine.known and fnmatch(mistake.id, options.only)]
    confusions: list[str] = []
    rows: list[tuple[object, ...]] = []
    for setting in SETTINGS:
        if fnmatch(setting.dtype, options.dtype):
            rows.append(study(suites, setting, chosen, confusions))
            print(*rows[-1], file=sys.stderr, flush=True)  # noqa: T201
    heading = (
        "setting",
        "right mistake first",
        "unknown",
        "another",
        "not seen",
        "taken out: a relative under the same clause",
        "taken out: wrong clause",
        "slowest diagnosis",
    )
    lines = [f"The engine can make {len(chosen)} of the mistakes of the catalogue.", "", *table(heading, rows)]
    if options.dtype == "*":
        unlisted = sorted(engine.known - MISTAKES.keys())
        outcome = study_unlisted(suites, unlisted, confusions)
        lines += ["", f"Mistakes that the catalogue does not hold, float64, {len(unlisted)} of them:", ""]
        lines += table(("named", "mistakes"), outcome.most_common())
    if options.pairs:
        outcome = study_pairs(suites, chosen, options.pairs, confusions)
        lines += ["", f"Two mistakes of one operation at once, float64, {options.pairs} random pairs:", ""]
        lines += table(
            ("named", "pairs"), [(kind, share(count, options.pairs)) for kind, count in outcome.most_common()]
        )
    return lines, ["Named otherwise, or not at all:", "", *(f"- {each}" for each in confusions), ""]


def main() -> None:
    """Measure, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--only", default="*")
    parser.add_argument("--dtype", default="*")
    add_write_option(parser, "diagnosis")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    suites = Suites()
    engine = SwitchedEngine()
    for operation in suites.of:
        if operation != "glorot_normal":
            run_suite(suites.of[operation], load(engine), dtypes=["float64"])
    publish(Study("How well mistakes are named", ABOUT, *measure(suites, engine, options)), options.write)


if __name__ == "__main__":
    main()
