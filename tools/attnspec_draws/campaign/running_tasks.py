"""Running a campaign: parts are handed out, what comes back is kept, and what ends a worker is found draw by draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_draws.campaign.losing import WorkerLostError
from attnspec_draws.campaign.outcome import DrawOutcome, PartOutcome
from attnspec_draws.campaign.plan import numbers_done
from attnspec_draws.campaign.working import run_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from attnspec.guard.task import Task
    from attnspec_draws.campaign.executors import Executor
    from attnspec_draws.campaign.plan import Part, Plan


def run_campaign(
    task: Task,
    plan: Plan,
    executor: Executor,
    *,
    known: Mapping[str, PartOutcome],
    keep: Callable[[PartOutcome], None],
    is_over: Callable[[], bool],
) -> None:
    """Run the parts of a plan until all are done, or `is_over` says that no more are to be begun.

    `known` has outcomes of parts done already, pieces of parts among them; `keep` receives each new one.
    """
    waiting = _left(plan, known)
    alone: list[Part] = []
    pending: dict[Any, Part] = {}
    while True:
        while len(pending) < executor.capacity and (alone or not is_over()):
            part = alone.pop(0) if alone else next(waiting, None)
            if part is None:
                break
            pending[executor.submit(run_part, task, part)] = part
        if not pending:
            return
        for work in executor.done(list(pending)):
            part = pending.pop(work)
            try:
                keep(executor.result(work))
            except WorkerLostError:
                if part.count == 1:
                    keep(_lost(part))
                else:
                    alone += part.one_by_one()


def _left(plan: Plan, known: Mapping[str, PartOutcome]) -> Iterator[Part]:
    """Give the parts that are not done; of one that was taken apart or cut off, what is left."""
    done = numbers_done(known)
    for part in plan.parts():
        yield from part.without(done.get(part.kind.name, ()))


def _lost(part: Part) -> PartOutcome:
    """Say of a draw that it ends the process that asks for it."""
    recipe = part.recipes[0].text
    return PartOutcome(part.key, {"crash": 1}, (DrawOutcome(recipe, "crash", None, "the process ended"),))
