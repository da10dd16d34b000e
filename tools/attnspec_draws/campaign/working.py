"""Running a campaign: parts are handed out, and workers draw, call, grade, and give back plain data."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attnspec.base.errors import UsageError
from attnspec.base.plain_text import plain_text
from attnspec.cases import Case, suite_of_random
from attnspec.guard.task import Task, opened_target
from attnspec.runner import Resolved, Result, run_suite
from attnspec.targets import Implementation
from attnspec_draws import Recipe, draw, drawn_for, drawn_of, learned, not_offered, recipe_from_text, shrunk
from attnspec_draws.campaign.executors import Executor
from attnspec_draws.campaign.outcome import DrawOutcome, PartOutcome, merged
from attnspec_draws.campaign.plan import Kind, Part, Plan, Sought, numbers_done
from attnspec_draws.campaign.workers import WorkerLostError
from attnspec_draws.drawing import case_of
from attnspec_draws.generators.limits import Limits
from attnspec_draws.least_offered import offered_under_flags
from attnspec_draws.offering import small
from attnspec_draws.shrinking import MOST

DEADLY = ("crash", "timeout")
"""Statuses after which a process is begun anew."""

_MOST_DEADLY = 60
"""Smaller draws that are tried of one that ends its process: each may take the start of another, or all its time."""

_DEATHS = 20
"""Draws that may end their process while it is found out what is offered; the others are not called then."""

_REPORTED = 200
"""Characters of a sentence that are kept of a draw."""

_OPENED: dict[str, Implementation] = {}
"""The target of this worker, by what opens it: a library takes seconds to load, and a part less than one."""


def planned(task: Task, sought: Sought, *, learning: bool = True) -> tuple[Kind, ...]:
    """Plan the kinds to draw for a target: what it offers, without what it declines.

    Without `learning` only declarations are left out, and no small draws are tried. `UsageError` where it offers none
    of the operations or dtypes.
    """
    implementation = open_once(task)
    declaration = implementation.declaration
    operations = [name for name in drawn_for(declaration) if not sought.operations or name in sought.operations]
    if not operations:
        wanted = ", ".join(sought.operations) or "any operation of which cases can be drawn"
        reasons = (declaration.unfit[name] for name in sought.operations if name in declaration.unfit)
        raise UsageError(" ".join((f"{declaration.name} does not offer {wanted}.", *reasons)))
    offered = [(operation, dtype) for operation in operations for dtype in declaration.dtypes_offered(operation)]
    drawn = [(operation, dtype) for operation, dtype in offered if not task.dtypes or dtype in task.dtypes]
    if not drawn:
        others = ", ".join(dict.fromkeys(dtype for _, dtype in offered))
        raise UsageError(
            f"{declaration.name} does not offer {', '.join(task.dtypes)}; it offers {others or 'no dtype'}."
        )
    resolved = Resolved({**declaration.conventions, **task.conventions})
    kinds: list[Kind] = []
    for operation, dtype in drawn:
        without = sought.without | not_offered(declaration, resolved.of(operation))
        limits = Limits(dtype, without, **sought.sizes)
        if learning:
            offers = _Offers(implementation, task)
            known = learned(operation, limits, offers, f"{sought.seed}-offers")
            kinds.append(Kind(operation, known))
            under = offered_under_flags(operation, small(limits), small(known), offers, f"{sought.seed}-flags")
            kinds += [Kind(operation, replace(known, without=each.without, stated=each.stated)) for each in under]
        else:
            kinds.append(Kind(operation, limits))
    return tuple(kinds)


def planned_as_declared(task: Task, sought: Sought) -> tuple[Kind, ...]:
    """Find what is to be drawn for a target that is not called: all that it declares."""
    return planned(task, sought, learning=False)


def planned_apart(task: Task, sought: Sought) -> tuple[Kind, ...]:
    """Find what is to be drawn for a target that ends its process at small draws: it has a process of its own."""
    return planned(_apart(task), sought)


def _apart(task: Task) -> Task:
    return replace(task, target=replace(task.target, isolate=True))


class _Offers:
    """Offers of a target: whether it answers a case; None where it ends its process, or takes too long."""

    def __init__(self, implementation: Implementation, task: Task) -> None:
        self._implementation = implementation
        self._task = task
        self._deaths = 0

    def __call__(self, case: Case) -> bool | None:
        """Ask for a case, unless too many came to nothing."""
        if self._deaths >= _DEATHS:
            return None
        (result,) = ask(self._implementation, [case], self._task)
        if result.status in DEADLY:
            self._deaths += 1
            return None
        return result.status != "unsupported"


def run_part(task: Task, part: Part) -> PartOutcome:
    """Draw and grade a part."""
    implementation = open_once(task)
    return merged(part.key, [_outcome(implementation, task, recipe) for recipe in part.recipes])


def _outcome(implementation: Implementation, task: Task, recipe: Recipe) -> PartOutcome:
    drawn = drawn_of(recipe)
    (result,) = ask(implementation, [case_of(recipe, drawn)], task)
    passed, worst = result.status == "pass", result.verdict.worst
    others = () if passed or result.status == "unsupported" else (outcome_of(result),)
    ratio = worst.ratio if passed and worst is not None else 0.0
    return PartOutcome(recipe.text, {result.status: 1}, others, Counter(drawn.features), drawn.extents, ratio)


def shrunk_failure(task: Task, failed: DrawOutcome) -> DrawOutcome:
    """Shrink a draw that went wrong, and return the small one's outcome.

    A draw that ends its process, or takes too long, runs in a process of its own.
    """
    deadly = failed.status in DEADLY
    implementation = open_once(_apart(task) if deadly else task)

    def fails(case: Case) -> bool:
        (result,) = ask(implementation, [case], task)
        return result.is_wrong and (result.verdict.check or result.status) == failed.kind[1]

    small = shrunk(recipe_from_text(failed.recipe), fails, most=_MOST_DEADLY if deadly else MOST)
    return outcome_of(ask(implementation, [draw(small)], task)[0])


def open_once(task: Task) -> Implementation:
    """Open the target of a task; a worker that has opened it has it still."""
    words = repr(task)
    if words not in _OPENED:
        _OPENED[words] = opened_target(task)
    return _OPENED[words]


def ask(implementation: Implementation, cases: Sequence[Case], task: Task) -> tuple[Result, ...]:
    """Ask a target for some draws, and grade its answers; its warnings are its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dtypes = sorted({dtype for case in cases for dtype in case.dtypes})
        return run_suite(
            suite_of_random(cases), implementation, dtypes=dtypes, conventions=task.conventions, goes_on=True
        )


def outcome_of(result: Result) -> DrawOutcome:
    """Return what came of a draw as plain data."""
    return DrawOutcome(
        result.case.id, result.status, result.verdict.check, plain_text(result.verdict.message, longest=_REPORTED)
    )


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
                    lost = DrawOutcome(part.recipes[0].text, "crash", None, "the process ended")
                    keep(PartOutcome(part.key, {"crash": 1}, (lost,)))
                else:
                    alone += part.one_by_one()


def _left(plan: Plan, known: Mapping[str, PartOutcome]) -> Iterator[Part]:
    """Give the parts that are not done; of one that was taken apart or cut off, what is left."""
    done = numbers_done(known)
    for part in plan.parts():
        yield from part.without(done.get(part.kind.name, ()))
