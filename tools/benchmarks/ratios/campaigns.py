"""Campaigns: on one and on two workers, and of ten times as many draws."""

from __future__ import annotations

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from attnspec.guard.task import Task
from attnspec.targets.target import Target
from attnspec_draws.campaign.executors import open_executor
from attnspec_draws.campaign.plan import Plan, Sought
from attnspec_draws.campaign.working import planned_as_declared, run_campaign
from ratios.timing import Measured, Measurement, in_turn, seconds

if TYPE_CHECKING:
    from attnspec_draws.campaign.executors import Executor
    from attnspec_draws.campaign.outcome import PartOutcome

_DRAWS = 3_000
_FEW = 500
_STEPS = 6_000_000
_PARTS = 24
"""Of the yardstick: each takes a fraction of a second, as a part of a campaign does."""

_TASK = Task(Target("reference"), dtypes=("float32",), probes=False)


def _campaign(workers: Executor, cases: int) -> None:
    work = workers.submit(planned_as_declared, _TASK, Sought("bench", ("scaled_dot_product_attention",)))
    workers.done([work])
    plan = Plan("bench", workers.result(work), cases)
    outcomes: list[PartOutcome] = []
    run_campaign(_TASK, plan, workers, known={}, keep=outcomes.append, is_over=lambda: False)
    wrong = [outcome for outcome in outcomes if outcome.others]
    if wrong:
        raise SystemExit(f"{wrong[0].others[0].recipe}: {wrong[0].others[0].message}")


def _two_workers(runs: int) -> list[Measured]:
    one, two = open_executor("local:1"), open_executor("local:2")
    context = multiprocessing.get_context("spawn")
    try:
        campaigns = in_turn(
            "campaign on one worker",
            "the same campaign on two workers",
            runs,
            functools.partial(_campaign, one, _DRAWS),
            functools.partial(_campaign, two, _DRAWS),
        )
        with ProcessPoolExecutor(1, context) as alone, ProcessPoolExecutor(2, context) as both:
            machine = in_turn(
                "counting in one process",
                "the same counting in two processes",
                runs,
                functools.partial(_counted, alone),
                functools.partial(_counted, both),
            )
    finally:
        one.close()
        two.close()
    return [campaigns, machine]


def _counted(pool: ProcessPoolExecutor) -> None:
    list(pool.map(_count, [_STEPS] * _PARTS))


def _count(steps: int) -> int:
    total = 0
    for step in range(steps):
        total += step
    return total


def _ten_times(runs: int) -> list[Measured]:
    workers = open_executor("local:1")
    try:
        many = functools.partial(_campaign, workers, 10 * _FEW)
        few = functools.partial(_campaign, workers, _FEW)
        few()
        pairs = [(seconds(many), seconds(few)) for _ in range(min(runs, 3))]
    finally:
        workers.close()
    amounts, yardsticks = zip(*pairs, strict=True)
    return [Measured(f"campaign of {10 * _FEW:,} draws", None, f"one of {_FEW:,}", "s", amounts, yardsticks)]


CAMPAIGNS = (
    Measurement("campaign on two workers", _two_workers),
    Measurement("campaign ten times as long", _ten_times),
)
