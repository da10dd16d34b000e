"""Whether draws ever fail what is right: many of them, on libraries and on the controls of this project.

``python tools/benchmarks/draw_alarms.py NAME=DTYPE=CASES[=WITHOUT] ...`` draws so many cases for each built-in
implementation, without words of which it is known to be wrong; NAME ``controls`` shares them out over the NumPy
controls. ``--write`` writes the table to ``spec/measurements/draw-alarms.md``. 100,000 cases take hours.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from measurement_page import MeasurementPage, add_write_option, publish, table

from attnspec.campaign import DrawOutcome, PartOutcome, Plan, Sought, open_executor, planned, run_campaign, tallied
from attnspec.cases import suite_of
from attnspec.draws import Recipe, draw, drawable
from attnspec.guard.task import Task
from attnspec.lattice import Limits
from attnspec.runner import Share, run_suite
from attnspec_authoring.proof.subjects import implementation_of
from attnspec_controls import CONTROLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec.campaign import Tally

SEED = "alarms"
CONTROLS_NAME = "controls"

ABOUT = """
Draws of up to 60,000 elements, axes up to 4,096 long, every class of numbers (equal, tied, nearly tied and uniform
scores among them), on implementations that are right. What is left out is a known defect of the library. A failure is
either a false alarm or a defect that nobody knew; each is named below the table.
"""


@dataclass(frozen=True)
class Asked:
    """What is drawn for one implementation."""

    name: str
    dtype: str
    cases: int
    without: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Asked:
        """Read it from a word of the command line."""
        name, dtype, cases, *without = text.split("=")
        return cls(name, dtype, int(cases), tuple(word for words in without for word in words.split("+")))


def on_library(asked: Asked, workers: str) -> Tally:
    """Draw for a built-in implementation, by a campaign."""
    task = Task(
        target=asked.name,
        command=None,
        operation=None,
        renames={},
        device=None,
        tensors=None,
        backward=None,
        without=(),
        layout=None,
        dtypes=(asked.dtype,),
        conventions={},
        fail_fast=False,
        isolate=False,
        timeout=None,
        start_timeout=None,
        show_stderr=False,
        transcript=None,
        give_up_after=None,
        probes=False,
        share=Share(0, 1),
    )
    executor = open_executor(workers)
    outcomes: list[PartOutcome] = []
    try:
        work = executor.submit(planned, task, Sought(SEED, without=frozenset(asked.without)))
        executor.done([work])
        plan = Plan(SEED, executor.result(work), asked.cases)
        run_campaign(task, plan, executor, known={}, keep=outcomes.append, is_over=lambda: False)
    finally:
        executor.close()
    return tallied(outcomes)


def on_controls(asked: Asked) -> Tally:
    """Share draws out over the controls of all operations of which cases can be drawn."""
    return tallied(_of_controls(asked))


def _of_controls(asked: Asked) -> Iterator[PartOutcome]:
    controls = [control for control in CONTROLS if control.operation in drawable()]
    opened = [implementation_of(control) for control in controls]
    for number in range(asked.cases):
        control, implementation = controls[number % len(controls)], opened[number % len(controls)]
        case = draw(Recipe(control.operation, SEED, number, Limits(asked.dtype, frozenset(asked.without))))
        (result,) = run_suite(suite_of([case]), implementation, dtypes=(asked.dtype,), goes_on=True)
        worst = result.verdict.worst
        said = DrawOutcome(f"{control.id}: {case.id}", result.status, result.verdict.check, result.verdict.message)
        ratio = worst.ratio if worst is not None and result.status == "pass" else 0.0
        yield PartOutcome(str(number), {result.status: 1}, () if result.status == "pass" else (said,), worst=ratio)


def main() -> None:
    """Draw, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("asked", nargs="+", type=Asked.read, metavar="NAME=DTYPE=CASES[=WITHOUT]")
    parser.add_argument("--executor", default="local:2")
    add_write_option(parser, "draw-alarms")
    options = parser.parse_args()
    rows: list[tuple[object, ...]] = []
    named: list[str] = []
    for asked in options.asked:
        start = time.perf_counter()
        tally = on_controls(asked) if asked.name == CONTROLS_NAME else on_library(asked, options.executor)
        seconds = time.perf_counter() - start
        rows.append(
            (
                f"`{asked.name}`",
                asked.dtype,
                f"{tally.draws:,}",
                f"{tally.passed:,}",
                f"{tally.declined:,}",
                f"{tally.ungraded:,}",
                len(tally.wrong),
                f"{tally.worst:.2f}",
                f"{tally.draws / seconds:.0f}",
                ", ".join(f"`{word}`" for word in asked.without),
            )
        )
        named += [f"- {asked.name}, {asked.dtype}: `{wrong.recipe}`: {wrong.message}" for wrong in tally.wrong[:5]]
    heading = ("implementation", "dtype", "draws", "passed", "declined", "not graded", "failed")
    heading += ("worst error / tolerance", "draws a second", "left out")
    publish(MeasurementPage("Draws on what is right", ABOUT, [*table(heading, rows), "", *named]), options.write)


if __name__ == "__main__":
    main()
