"""Whether draws ever fail what is right: many of them, on libraries and on the controls of this project.

``python tools/benchmarks/draw_alarms.py NAME=DTYPE=CASES[=WITHOUT[=SHAPES]] ...`` draws so many cases for each built-in
implementation, without words of which it is known to be wrong, joined by +, and of so many shapes alone, for a library
that compiles for each; NAME ``controls`` shares them out over the NumPy controls. ``--seed`` has others than the last
time, which looked at what its author has mended since. ``--write`` writes the table to
``spec/studies/draw-alarms.md``, beside the rows of other implementations, which ``draw-alarms.json`` keeps.
100,000 cases take half an hour on a core.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from study import STUDIES, Study, add_write_option, publish, table, today

from attnspec.cases import suite_of_random
from attnspec.guard.task import Task
from attnspec.runner import Resolved, run_suite
from attnspec.targets import load
from attnspec.targets.target import Target
from attnspec_authoring.proof.subjects import implementation_of
from attnspec_controls import CONTROLS
from attnspec_draws import Recipe, draw, drawable, drawn_for, drawn_of, learned, not_offered
from attnspec_draws.campaign.executors import open_executor
from attnspec_draws.campaign.outcome import DrawOutcome, PartOutcome, tallied
from attnspec_draws.campaign.plan import Plan, Sought
from attnspec_draws.campaign.working import planned, run_campaign
from attnspec_draws.generators.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attnspec.cases import Case
    from attnspec.runner import Result
    from attnspec.targets import Implementation
    from attnspec_draws.campaign.outcome import Tally

CONTROLS_NAME = "controls"
KEPT = STUDIES / "draw-alarms.json"
_NAMED, _KEPT = 5, 100
"""Failures that are named, and that are kept beside the page: each has to be looked at."""

ABOUT = """
Draws of up to 60,000 elements, axes up to 4,096 long, every class of numbers (equal, tied, nearly tied and uniform
scores among them), on implementations that are right. What is left out is a known defect of the library. A failure is
either a false alarm or a defect that nobody knew; each is named below the table.

Earlier runs of the controls had two failures, which were false alarms and are why the tolerance has two more terms
([decision 40](../decisions/0040-orders-of-summing.md)). Their worst ratio is that of rotations, whose tolerance is a
worst case of three roundings that they come near; of all other operations it was 0.606.

The 13 failures of torch in float32 were all looked at; they are one defect that nobody knew, and no false alarm. Where
there are no keys at all, PyTorch 2.13 makes the output by multiplying with 0, so that one NaN in a query makes all
outputs NaN, and one in the gradient of the output the gradients of all queries, also in other heads and batch entries:
with keys of the shape (2, 2, 0, 4) and one NaN among 48 numbers, `F.scaled_dot_product_attention` gives 48 NaN. The
page confines it to its own query.
The run before, with other draws, had 35 failures, which were false alarms and have been mended: rows that are NaN by
declaration were said to be kept results. What is declined are layers of one head whose matrices are not square.

The failures of torch's flash kernel in bfloat16 are of gradients alone, and are no false alarms. Five of 46 are the
same NaN without keys. In the other 41 sums of gradients are rounded to bfloat16 on the way, after blocks of queries and
after each head of a group, where the page has sums in float32 at least: of their 291 wrong elements 281 lie within a
tolerance of sums that are rounded like that, and the other ten within 1.3 of it.
[Gradients of that kernel](flash-gradients.md) has the program.

Jax divides by the number of key heads and so raises `ZeroDivisionError` where there are none; these draws are left out.
Its row is of an earlier run. The last one, of 10,800 draws by the seed winter on 200 shapes, had 12 failures, all of
them false alarms: outputs that, as declared, stay the same when an argument is changed, and NaN that one query gives to
the values beside another that averages them. Both are mended, and all 12 pass. Draws on MLX showed three more of the
first kind, and three that had to be refused and that the page leaves out: queries and keys without features.
"""


@dataclass(frozen=True)
class Wanted:
    """What is drawn for one implementation."""

    name: str
    dtype: str
    cases: int
    without: tuple[str, ...]
    shapes: int | None
    seed: str = "alarms"

    @classmethod
    def read(cls, text: str) -> Wanted:
        """Read it from a word of the command line."""
        name, dtype, cases, *others = text.split("=")
        without = tuple(word for word in others[0].split("+") if word) if others else ()
        return cls(name, dtype, int(cases), without, int(others[1]) if len(others) > 1 else None)


def on_library(wanted: Wanted, workers: str) -> Tally:
    """Draw for a built-in implementation, by a campaign."""
    task = Task(Target(wanted.name), dtypes=(wanted.dtype,), probes=False)
    executor = open_executor(workers)
    outcomes: list[PartOutcome] = []
    try:
        work = executor.submit(planned, task, Sought(wanted.seed, without=frozenset(wanted.without)))
        executor.done([work])
        plan = Plan(wanted.seed, executor.result(work), wanted.cases)
        run_campaign(task, plan, executor, known={}, keep=outcomes.append, is_over=lambda: False)
    finally:
        executor.close()
    return tallied(outcomes)


def on_shapes(wanted: Wanted) -> Tally:
    """Draw for a built-in implementation, all draws of one shape after another."""
    return tallied(_of_shapes(wanted))


def _of_shapes(wanted: Wanted) -> Iterator[PartOutcome]:
    assert wanted.shapes is not None
    implementation = load(wanted.name)
    declaration = implementation.declaration
    resolved = Resolved(declaration.conventions)
    offered = drawn_for(declaration)
    each = wanted.cases // (wanted.shapes * len(offered))
    for operation in offered:
        limits = Limits(wanted.dtype, frozenset(wanted.without) | not_offered(declaration, resolved.of(operation)))

        def is_offered(case: Case) -> bool:
            return _result(case, implementation).status != "unsupported"

        limits = learned(operation, limits, is_offered, f"{wanted.seed}-offers")
        for shape in range(wanted.shapes):
            _forget_compiled()
            extents = drawn_of(Recipe(operation, f"{wanted.seed}-shapes", shape, limits)).extents
            for number in range(shape * each, (shape + 1) * each):
                case = draw(Recipe(operation, wanted.seed, number, limits).with_extents(extents))
                yield _outcome(case.id, _result(case, implementation), case.id)


def _forget_compiled() -> None:
    """Let JAX forget what it compiled for the shape before: what it keeps of hundreds fills the memory."""
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.clear_caches()


def _result(case: Case, implementation: Implementation) -> Result:
    (result,) = run_suite(suite_of_random([case]), implementation, dtypes=case.dtypes, goes_on=True)
    return result


def _outcome(key: str, result: Result, recipe: str) -> PartOutcome:
    """Return what came of one draw as a part of its own."""
    worst = result.verdict.worst
    ratio = worst.ratio if worst is not None and result.status == "pass" else 0.0
    said = DrawOutcome(recipe, result.status, result.verdict.check, result.verdict.message)
    kept = () if result.status in ("pass", "unsupported") else (said,)
    return PartOutcome(key, {result.status: 1}, kept, worst=ratio)


def on_controls(wanted: Wanted) -> Tally:
    """Share draws out over the controls of all operations of which cases can be drawn."""
    return tallied(_of_controls(wanted))


def _of_controls(wanted: Wanted) -> Iterator[PartOutcome]:
    controls = [control for control in CONTROLS if control.operation in drawable()]
    opened = [implementation_of(control) for control in controls]
    for number in range(wanted.cases):
        control, implementation = controls[number % len(controls)], opened[number % len(controls)]
        case = draw(Recipe(control.operation, wanted.seed, number, Limits(wanted.dtype, frozenset(wanted.without))))
        yield _outcome(str(number), _result(case, implementation), f"{control.id}: {case.id}")


def row_of(wanted: Wanted, tally: Tally, seconds: float) -> dict[str, Any]:
    """Return what is kept of an implementation's draws."""
    return {
        "implementation": wanted.name,
        "dtype": wanted.dtype,
        "draws": tally.draws,
        "passed": tally.passed,
        "declined": tally.declined,
        "not graded": tally.ungraded,
        "failed": len(tally.wrong),
        "worst error / tolerance": round(tally.worst, 3),
        "draws a second": round(tally.draws / seconds),
        "shapes": wanted.shapes,
        "seed": wanted.seed,
        "date": today(),
        "left out": list(wanted.without),
        "failures": [f"`{wrong.recipe}`: {wrong.message}" for wrong in tally.wrong[:_KEPT]],
    }


def figures_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of all rows, and below it the failures."""
    heading = [name for name in rows[0] if name != "failures"]
    cells = [[_cell(row[name]) for name in heading] for row in rows]
    named = [
        f"- {row['implementation']}, {row['dtype']}: {failure}" for row in rows for failure in row["failures"][:_NAMED]
    ]
    return [*table(heading, cells), "", *(named or ["No draw failed."])]


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(f"`{word}`" for word in cast("list[str]", value))
    if value is None:
        return "any"
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    """Draw, print, and keep the rows on request, beside those of other implementations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("requests", nargs="+", type=Wanted.read, metavar="NAME=DTYPE=CASES[=WITHOUT[=SHAPES]]")
    parser.add_argument("--executor", default="local:2")
    parser.add_argument("--seed", default="alarms")
    add_write_option(parser, "draw-alarms")
    options = parser.parse_args()
    kept = {} if not KEPT.exists() else {_key(row): row for row in json.loads(KEPT.read_text(encoding="utf-8"))}
    for wanted in (replace(wanted, seed=options.seed) for wanted in options.requests):
        start = time.perf_counter()
        if wanted.name == CONTROLS_NAME:
            tally = on_controls(wanted)
        else:
            tally = on_shapes(wanted) if wanted.shapes else on_library(wanted, options.executor)
        row = row_of(wanted, tally, time.perf_counter() - start)
        print(*figures_of([row]), sep="\n", flush=True)  # noqa: T201
        kept[_key(row)] = row
        if options.write:
            rows = [kept[key] for key in sorted(kept)]
            KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
            publish(Study("Draws on what is right", ABOUT, figures_of(rows)), options.write)


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["implementation"], row["dtype"]


if __name__ == "__main__":
    main()
