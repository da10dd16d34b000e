"""Running a campaign: parts are handed out, what comes back is kept, and a part whose worker dies is halved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.campaign.losing import WorkerLostError
from attnspec.campaign.outcome import DrawOutcome, PartOutcome
from attnspec.campaign.plan import numbers_done
from attnspec.campaign.working import run_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from attnspec.campaign.executors import Executor
    from attnspec.campaign.plan import Part, Plan
    from attnspec.guard.task import Task


def run_campaign(
    task: Task,
    plan: Plan,
    executor: Executor,
    *,
    known: Mapping[str, PartOutcome],
    keep: Callable[[PartOutcome], None],
    is_over: Callable[[], bool],
) -> None:
    """Work on the parts of a plan until all are done, or it is over.

    Parameters
    ----------
    task
        The target, and how it is run.
    plan
        The draws.
    executor
        Where parts are worked on.
    known
        Outcomes of parts that are done already, halves of parts among them.
    keep
        Told each new outcome.
    is_over
        Whether no more parts are to be begun.
    """
    waiting = _left(plan, known)
    halves: list[Part] = []
    pending: dict[Any, Part] = {}
    while True:
        while len(pending) < executor.capacity and (halves or not is_over()):
            part = halves.pop() if halves else next(waiting, None)
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
                    halves += part.halves()


def _left(plan: Plan, known: Mapping[str, PartOutcome]) -> Iterator[Part]:
    """Give the parts that are not done; of one that was halved, or cut off at the last draw asked, what is left."""
    done = numbers_done(known)
    for part in plan.parts():
        yield from part.without(done.get(part.kind.name, ()))


def _lost(part: Part) -> PartOutcome:
    """Say of a draw that it ends the process that asks for it."""
    recipe = part.recipes[0].text
    return PartOutcome(part.key, {"crash": 1}, (DrawOutcome(recipe, "crash", None, "the process ended"),))
