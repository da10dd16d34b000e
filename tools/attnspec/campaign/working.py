"""What a worker does: it opens the target once, draws, asks and grades, and gives back plain data."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.campaign.outcome import DrawOutcome, PartOutcome
from attnspec.campaign.plan import Kind
from attnspec.draws import draw, drawn_for, drawn_of, learned, not_offered, recipe_from_text, shrunk, suite_of_draws
from attnspec.draws.drawing import case_of
from attnspec.draws.shrinking import MOST
from attnspec.errors import UsageError
from attnspec.guard.task import opened
from attnspec.lattice import Limits
from attnspec.runner import resolved_for, run_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.adapters import Implementation
    from attnspec.campaign.plan import Part, Sought
    from attnspec.cases import Case
    from attnspec.guard.task import Task
    from attnspec.runner import Result

DEADLY = ("crash", "timeout")
"""Statuses after which a process is begun anew."""

_MOST_DEADLY = 60
"""Smaller draws that are tried of one that ends its process: each may take the start of another, or all its time."""

_TOLD = 200
"""Characters of a sentence that are kept of a draw."""

_OPENED: dict[str, Implementation] = {}
"""The target of this worker, by what opens it: a library takes seconds to load, and a part less than one."""


def planned(task: Task, sought: Sought, *, learning: bool = True) -> tuple[Kind, ...]:
    """Find what is to be drawn for a target: what it offers, without what it declines.

    Parameters
    ----------
    task
        The target, and how it is run.
    sought
        What is to be drawn, if it is offered.
    learning
        Whether small draws are tried, so that what is declined is left out; else what is declared alone is.

    Raises
    ------
    UsageError
        If it offers none of the operations.
    """
    implementation = open_once(task)
    declaration = implementation.declaration
    offered = [name for name in drawn_for(declaration) if not sought.operations or name in sought.operations]
    if not offered:
        asked = ", ".join(sought.operations) or "any operation of which cases can be drawn"
        reasons = (declaration.unfit[name] for name in sought.operations if name in declaration.unfit)
        raise UsageError(" ".join((f"{declaration.name} does not offer {asked}.", *reasons)))
    resolved = resolved_for(declaration, task.conventions)
    kinds: list[Kind] = []
    for operation in offered:
        for dtype in task.dtypes or declaration.dtypes_offered(operation):
            without = sought.without | not_offered(declaration, resolved.of(operation))
            limits = Limits(dtype, without, **sought.sizes)

            def is_offered(case: Case) -> bool:
                return ask(implementation, [case], task)[0].status != "unsupported"

            if learning:
                limits = replace(limits, without=learned(operation, limits, is_offered, f"{sought.seed}-offers"))
            kinds.append(Kind(operation, limits))
    return tuple(kinds)


def planned_as_declared(task: Task, sought: Sought) -> tuple[Kind, ...]:
    """Find what is to be drawn for a target that ends its process at a small draw: all that it declares."""
    return planned(task, sought, learning=False)


def run_part(task: Task, part: Part) -> PartOutcome:
    """Draw and grade a part.

    Parameters
    ----------
    task
        The target, and how it is run.
    part
        The draws.
    """
    implementation = open_once(task)
    statuses: Counter[str] = Counter()
    features: Counter[str] = Counter()
    longest: dict[str, int] = {}
    others: list[DrawOutcome] = []
    worst = 0.0
    for recipe in part.recipes:
        drawn = drawn_of(recipe)
        (result,) = ask(implementation, [case_of(recipe, drawn)], task)
        statuses[result.status] += 1
        features.update(drawn.features)
        for axis, length in drawn.extents.items():
            longest[axis] = max(longest.get(axis, 0), length)
        if result.status == "pass" and result.verdict.worst is not None:
            worst = max(worst, result.verdict.worst.ratio)
        if result.status not in ("pass", "unsupported"):
            others.append(outcome_of(result))
    return PartOutcome(part.key, dict(statuses), tuple(others), dict(features), longest, worst)


def shrunk_failure(task: Task, failed: DrawOutcome) -> DrawOutcome:
    """Make a draw small that went wrong, and return what comes of the small one.

    Parameters
    ----------
    task
        The target, and how it is run.
    failed
        What came of the draw. One that ends its process, or takes too long, is asked for in a process of its own.
    """
    deadly = failed.status in DEADLY
    implementation = open_once(replace(task, isolate=True) if deadly else task)

    def fails(case: Case) -> bool:
        (result,) = ask(implementation, [case], task)
        return result.is_wrong and (result.verdict.check or result.status) == failed.kind[1]

    small = shrunk(recipe_from_text(failed.recipe), fails, most=_MOST_DEADLY if deadly else MOST)
    return outcome_of(ask(implementation, [draw(small)], task)[0])


def open_once(task: Task) -> Implementation:
    """Open the target of a task; a worker that has opened it has it still."""
    words = repr(task)
    if words not in _OPENED:
        _OPENED[words] = opened(task)
    return _OPENED[words]


def ask(implementation: Implementation, cases: Sequence[Case], task: Task) -> tuple[Result, ...]:
    """Ask a target for some draws, and grade what it answers; what it warns of is its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dtypes = sorted({dtype for case in cases for dtype in case.dtypes})
        return run_suite(
            suite_of_draws(cases), implementation, dtypes=dtypes, conventions=task.conventions, goes_on=True
        )


def outcome_of(result: Result) -> DrawOutcome:
    """Return what came of a draw as plain data."""
    return DrawOutcome(result.case.id, result.status, result.verdict.check, result.verdict.message[:_TOLD])
