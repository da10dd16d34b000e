"""Campaigns against small targets, on workers of this machine."""

from pathlib import Path

import pytest

from attnspec.guard.task import Task
from attnspec.targets.target import Target
from attnspec_draws.campaign.executors import open_executor
from attnspec_draws.campaign.plan import Plan, Sought
from attnspec_draws.campaign.working import planned, planned_apart, run_campaign

HERE = Path(__file__).parent


def task(target):
    """A task for a target, in float64."""
    file = HERE / f"{target}.py"
    return Task(Target(str(file) if file.exists() else target), dtypes=("float64",), probes=False)


@pytest.fixture
def campaign():
    """Run a campaign, and return its outcomes by part."""

    def run(target, cases, executor="local:1"):
        return planned_and_run(target, cases, executor)[1]

    return run


@pytest.fixture
def planned_campaign():
    """Run a campaign on one worker, and return its plan, and its outcomes by part."""
    return planned_and_run


@pytest.fixture(scope="session")
def crashing():
    """Return plan and outcomes of one campaign whose target ends its process; each such draw takes another process."""
    return planned_and_run("crashing", 40)


def planned_and_run(target, cases, executor="local:1", operation="scaled_dot_product_attention"):
    workers = open_executor(executor)
    outcomes = {}
    try:
        plans = planned_apart if target == "crashing" else planned
        sought = Sought("7", (operation,), {"elements": 1_000, "longest": 100})
        work = workers.submit(plans, task(target), sought)
        workers.done([work])
        plan = Plan("7", workers.result(work), cases)

        def keep(outcome):
            assert outcome.key not in outcomes
            outcomes[outcome.key] = outcome

        run_campaign(task(target), plan, workers, known={}, keep=keep, is_over=lambda: False)
    finally:
        workers.close()
    return plan, outcomes
