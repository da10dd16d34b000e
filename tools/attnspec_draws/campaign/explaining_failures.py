"""Distinct problems that a campaign's draws found, worded as in any report, each with a small draw."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from attnspec.cases import Case, suite_of_random
from attnspec.diagnosis import Declarations
from attnspec.guard.task import Task
from attnspec.reports.problems import problems_of, whole_of
from attnspec.reports.report import Report
from attnspec.reports.screen import cause_lines
from attnspec.runner import Result
from attnspec.validation import make_report, measure_failures
from attnspec_draws import draw, recipe_from_text
from attnspec_draws.campaign.outcome import DrawOutcome, PartOutcome, Tally
from attnspec_draws.campaign.plan import Plan
from attnspec_draws.campaign.working import DEADLY, ask, open_once, outcome_of, shrunk_failure

LOOKED_AT = 32
"""Draws of an operation that explain its failures, and as many that passed: golden cases taught from fewer."""


@dataclass(frozen=True)
class Evidence:
    """Evidence that explains the failures of one operation; `failed` counts all of its draws that failed.

    `failing` holds recipes of some, of each check as many as of any other; `passing` of as many that did not fail.
    """

    operation: str
    failed: int
    failing: tuple[str, ...]
    passing: tuple[str, ...]


@dataclass(frozen=True)
class FoundProblem:
    """Problem found, as plain data that a worker gives back: a sentence a line, and a small draw that shows it.

    `draws` counts those of the evidence that are put down to it.
    """

    draws: int
    lines: tuple[str, ...]
    small: DrawOutcome


@dataclass(frozen=True)
class Explained:
    """Problems of an operation, and what could be declared so that most of the evidence would not fail, if anything."""

    problems: tuple[FoundProblem, ...]
    could_be_declared: Declarations | None


def evidence_of(tally: Tally, outcomes: Mapping[str, PartOutcome], plan: Plan) -> tuple[Evidence, ...]:
    """Choose the evidence that explains the failures of each operation."""
    by_operation: dict[str, dict[str, list[str]]] = {}
    failed: dict[str, int] = {}
    for each in tally.wrong:
        operation, check = each.kind
        failed[operation] = failed.get(operation, 0) + 1
        # One of those would end all that is called with it, or take its time again.
        if each.status not in DEADLY:
            by_operation.setdefault(operation, {}).setdefault(check, []).append(each.recipe)
    found: list[Evidence] = []
    for operation, checks in by_operation.items():
        # As many as are looked at, evenly over all, so that those of many features are not left out.
        spread = [recipes[:: max(len(recipes) // LOOKED_AT, 1)] for recipes in checks.values()]
        in_turn = [each for together in zip_longest(*spread) for each in together if each is not None]
        passing = tuple(islice(_others(operation, outcomes, plan), LOOKED_AT))
        found.append(Evidence(operation, failed[operation], tuple(in_turn[:LOOKED_AT]), passing))
    return tuple(found)


def deadly(tally: Tally) -> dict[tuple[str, str], list[DrawOutcome]]:
    """Return the draws that ended their process or took too long, by operation and status."""
    found: dict[tuple[str, str], list[DrawOutcome]] = {}
    for each in tally.wrong:
        if each.status in DEADLY:
            found.setdefault(each.kind, []).append(each)
    return found


def explained(task: Task, evidence: Evidence) -> Explained:
    """Find the distinct problems of an operation, what could be declared, and a small draw that shows each of them.

    What failing draws have in common is said once the small ones are known: of those it must be true as well.
    """
    implementation = open_once(task)
    cases = [draw(recipe_from_text(text)) for text in (*evidence.failing, *evidence.passing)]
    results = ask(implementation, cases, task)
    measured = measure_failures(implementation, results)

    def report_of(cases: Sequence[Case], results: tuple[Result, ...]) -> Report:
        return make_report(
            suite_of_random(cases),
            implementation.declaration,
            results,
            conventions=task.conventions,
            measured=measured,
        )

    report = report_of(cases, results)
    declarations = report.could_be_declared
    first = problems_of(report.wrong, report.diagnosis)
    small = {each.recipe: each for each in (shrunk_failure(task, outcome_of(problem.clearest)) for problem in first)}
    known = {case.id for case in cases}
    added = [draw(recipe_from_text(text)) for text, each in small.items() if each.is_wrong and text not in known]
    if added:
        report = report_of([*cases, *added], (*results, *ask(implementation, added, task)))
    problems = problems_of(report.wrong, report.diagnosis)
    whole = whole_of(report.results, () if declarations is None else declarations.conventions)
    found = (
        FoundProblem(
            sum(result.case.id in known for result in problem.results) or 1,
            tuple(cause_lines(problem, whole, alone=len(problems) == 1)),
            next((small[result.case.id] for result in problem.results if result.case.id in small), None)
            or shrunk_failure(task, outcome_of(problem.clearest)),
        )
        for problem in problems
    )
    return Explained(tuple(found), declarations)


def _others(operation: str, outcomes: Mapping[str, PartOutcome], plan: Plan) -> Iterator[str]:
    """Give the draws of an operation that were called and did not go wrong."""
    for part in plan.parts_done(outcomes):
        if part.kind.operation != operation:
            continue
        wrong = {each.recipe for each in outcomes[part.key].others if each.is_wrong}
        yield from (recipe.text for recipe in part.recipes if recipe.text not in wrong)
