"""How many draws it takes to find a mistake, and how small its failure becomes.

``python tools/benchmarks/draw_power.py [--mistakes N] [--seconds S] [--strangers]`` takes N mistakes of the catalogue,
evenly over those of which cases can be drawn, and draws for each until one fails or the seconds are over; then makes it
small. With ``--strangers``, a campaign is begun for each wrong implementation of the blind batches that survived the
golden cases of its day, in all that it offers, and ends with the first part that holds a failure; ``--batch NAME``
takes those of one batch alone. ``--write`` writes the figures to ``spec/studies/draw-power.md``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from study import Study, add_write_option, publish, table

from attnspec.base.errors import TargetError
from attnspec.cases import suite_of_random
from attnspec.guard.task import Task
from attnspec.runner import run_suite
from attnspec.targets.target import Target
from attnspec_authoring.proof.subjects import implementation_of
from attnspec_authoring.strangers import SURVIVED, read_index, unpacked
from attnspec_draws import Recipe, draw, drawable, drawn_of, recipe_from_text, shrunk
from attnspec_draws.campaign.plan import Plan, Sought
from attnspec_draws.campaign.working import planned, run_part, shrunk_failure
from attnspec_draws.generators.limits import Limits
from attnspec_mistakes import CATALOGUE, Mistake

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attnspec.cases import Case
    from attnspec.targets import Implementation

SEED = "power"

ABOUT = """
Mistakes of the catalogue, taken evenly over those of operations of which cases can be drawn; each in the first dtype
in which it shows, on one processor. Mistakes of layouts of serving are among them, which these draws do not ask for:
those are not found, and are named.

Strangers are the wrong implementations of blind batches that the golden cases let pass when the batch was scored. Each
has a campaign of its own, in every operation and dtype that it offers, and the time is that of the campaign from its
beginning: learning what is declined is in it.
"""


@dataclass(frozen=True)
class Found:
    """What came of the draws for one mistake; no draws where none failed."""

    mistake: str
    draws: int | None
    seconds: float
    keys: int


def find(mistake: Mistake, limit: float) -> Found:
    """Draw until a mistake fails or the time is over, and make the failure small."""
    implementation = implementation_of(mistake)
    dtype = mistake.shows_in[0] if mistake.shows_in else "float64"
    start = time.perf_counter()
    number = 0
    while time.perf_counter() - start < limit:
        recipe = Recipe(mistake.operation, SEED, number, Limits(dtype))
        number += 1
        check = _failed(recipe, implementation)
        if check is None:
            continue
        seconds = time.perf_counter() - start
        fails = partial(_fails_likewise, implementation=implementation, check=check)
        small = drawn_of(shrunk(recipe, fails))
        keys = small.extents.get("keys", 0) + small.extents.get("past", 0)
        return Found(mistake.id, number, seconds, keys)
    return Found(mistake.id, None, limit, 0)


def _failed(recipe: Recipe, implementation: Implementation) -> str | None:
    return _check(draw(recipe), implementation)


def _fails_likewise(case: Case, implementation: Implementation, check: str) -> bool:
    return _check(case, implementation) == check


def _check(case: Case, implementation: Implementation) -> str | None:
    """Return the check that a case fails, or how it ends; None where it is right."""
    (result,) = run_suite(suite_of_random([case]), implementation, dtypes=case.dtypes, goes_on=True)
    return (result.verdict.check or result.status) if result.is_wrong else None


def survivors(batch: str | None) -> list[Path]:
    """Return the wrong implementations that survived when they were scored, of operations of which cases can be drawn.

    `batch`: the batch, such as ``batch_21``; None for all.
    """
    return [
        unpacked(stranger.batch) / stranger.file
        for stranger in read_index().strangers
        if stranger.first == SURVIVED and stranger.operation in drawable() and batch in (None, stranger.batch)
    ]


def hunt(path: Path, limit: float) -> Found | None:
    """Run a campaign for an implementation until a part holds a failure or the time is over, and make it small.

    None where it cannot be loaded, as for lack of a library.
    """
    task = Task(Target(str(path)), probes=False)
    name = f"{path.parents[1].name}/{path.stem}"
    start = time.perf_counter()
    draws = 0
    try:
        plan = Plan(SEED, planned(task, Sought(SEED)), None)
    except TargetError as error:
        print(f"{name} is not hunted: {error}", file=sys.stderr)  # noqa: T201
        return None
    for part in plan.parts():
        outcome = run_part(task, part)
        wrong = [each for each in outcome.others if each.status in _WRONG]
        if wrong:
            seconds = time.perf_counter() - start
            recipes = [recipe.text for recipe in part.recipes]
            small = drawn_of(recipe_from_text(shrunk_failure(task, wrong[0]).recipe))
            keys = small.extents.get("keys", 0) + small.extents.get("past", 0)
            return Found(name, draws + recipes.index(wrong[0].recipe) + 1, seconds, keys)
        draws += len(part.recipes)
        if time.perf_counter() - start > limit:
            break
    return Found(name, None, limit, 0)


_WRONG = ("fail", "error", "crash", "timeout", "malformed")


def figures(every: Sequence[Found], limit: float) -> list[str]:
    """Return the table of what was found."""
    found = [each for each in every if each.draws is not None]
    if not found:
        return [f"None of {len(every)} was found within {limit:g} s."]
    draws, seconds = sorted(each.draws or 0 for each in found), sorted(each.seconds for each in found)
    few = sum(each.keys <= FEW for each in found)
    return [
        *table(
            ("", "figure"),
            [
                ("tried", len(every)),
                (f"found within {limit:g} s", f"{len(found)} ({len(found) / len(every):.0%})"),
                ("draws to the first failure, median", f"{statistics.median(draws):.0f}"),
                ("the same, 90th percentile", draws[int(len(draws) * 0.9)]),
                ("seconds to the first failure, median", f"{statistics.median(seconds):.2f}"),
                (f"made small to at most {FEW} keys", f"{few} of {len(found)}"),
            ],
        ),
        "",
        "Not found: " + (", ".join(f"`{each.mistake}`" for each in every if each.draws is None) or "none") + ".",
        "",
        f"With more than {FEW} keys: "
        + (", ".join(f"`{each.mistake}` ({each.keys})" for each in found if each.keys > FEW) or "none")
        + ".",
    ]


FEW = 4
"""Keys of a case that one looks at by hand."""


def main() -> None:
    """Draw, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mistakes", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--strangers", action="store_true")
    parser.add_argument("--batch", metavar="NAME", help="of the strangers those of one batch, such as batch_21")
    add_write_option(parser, "draw-power")
    options = parser.parse_args()
    candidates = [mistake for mistake in CATALOGUE if mistake.operation in drawable()]
    chosen = candidates[:: max(len(candidates) // max(options.mistakes, 1), 1)][: options.mistakes]
    lines = ["## Mistakes of the catalogue", ""]
    if chosen:
        lines += figures([find(mistake, options.seconds) for mistake in chosen], options.seconds)
    if options.strangers:
        lines += ["", "## Survivors of blind batches", ""]
        # A process for each: batches share names of modules.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
            hunted: list[Found] = []
            for found in pool.map(partial(hunt, limit=options.seconds), survivors(options.batch)):
                hunted += [] if found is None else [found]
                print(found, file=sys.stderr)  # noqa: T201
        lines += figures(hunted, options.seconds)
    publish(Study("Power of draws", ABOUT, lines), options.write)


if __name__ == "__main__":
    main()
