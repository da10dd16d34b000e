"""Account of a run: verdict, problems and sentences, each written once for terminal, page and notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.contract import TITLES
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.contract.implementation import GUESSED
from attnspec.grading import NOT_GRADED
from attnspec.reports import wording
from attnspec.reports.problems import Problem, Whole, problems_of, whole_of
from attnspec.reports.report import Report, invariance_to_json, json_types, summary_to_json, systematic_to_json
from attnspec.reports.screen import problem_lines

if TYPE_CHECKING:
    from attnspec.diagnosis import Diagnosis
    from attnspec.runner import Key, Result

_UNDECLARED = "float64"
"""Dtype that is graded where none is declared: a reminder of the forgotten others, though all is right."""


@dataclass(frozen=True)
class ProblemInWords:
    """Problem of a run in a few lines: fault, remedy, clause, and the failure that shows it best.

    `clearest` are case and dtype of that failure, `failures` of each; `diagnosis` are positions in the report's
    diagnosis.
    """

    lines: tuple[str, ...]
    clearest: Key
    failures: tuple[Key, ...]
    diagnosis: tuple[int, ...]


@dataclass(frozen=True)
class Account:
    """Account of a run, in the order in which it is read.

    `guessed` says what a target was taken for. `verdict` is that of the gate, where the run was gated. `right` is None
    but where all that failed is about edges. `heading` counts what went wrong, None where nothing did; `offer` is a
    sentence and the options to declare, empty where there is none. The failures of the problems add up to what the
    heading counts. `unseen` are sentences on what was not called, graded or shown, `ungraded` on arguments that
    are taken and that nothing graded shows, `closing` on the numbers of the run.
    """

    guessed: tuple[str, ...]
    verdict: str
    right: str | None
    heading: str | None
    offer: tuple[str, ...]
    problems: tuple[ProblemInWords, ...]
    unseen: tuple[str, ...]
    ungraded: str | None
    closing: tuple[str, ...]


def account_of(report: Report) -> Account:
    """Return the account of a run; known failures of a gated run are none of its problems."""
    gated, declaration = report.gated, report.declaration
    known: Mapping[Key, str] = {} if gated is None else gated.known
    wrong = [result for result in report.wrong if result.key not in known]
    tried = sum(result.status not in NOT_GRADED for result in report.results)
    declared = None if gated is not None else report.could_be_declared
    offered = None if declared is None else json_types(declared)
    unit = "result" if len({result.dtype for result in report.results} & {*FLOAT_DTYPES}) > 1 else "case"
    unseen = (
        wording.layout_sentence(declaration.requested_in, declaration.not_arranged),
        wording.functions_not_graded(declaration.not_graded, declaration.adapter),
        *(f"Not graded: {reason}" for reason in declaration.unfit.values()),
        wording.NUMBERS_ALONE if report.invocation.export else None,
        wording.not_run_sentence(report.not_run, len(report.results), report.ended_early),
        wording.graded_of_expressible(*_expressible(report)) if declaration.is_layer else None,
        wording.warned([result.verdict.warned for result in report.results if result.verdict.warned[0]]),
    )
    name = wording.shown_name(declaration.name, declaration.version, report.conventions)
    verdict = wording.verdict_line(name, summary_to_json(report.summary), report.not_run)
    heading = wording.went_wrong(len(wrong), tried) if gated is None else wording.unexpected(len(wrong))
    ungraded = wording.ungraded_arguments(json_types(report.arguments))
    return Account(
        guessed=tuple(map(plain_text, (declaration.guessed or "").splitlines())),
        right=None if offered is None else wording.what_is_right(offered, unit),
        verdict=verdict if gated is None else plain_text(gated.headline),
        heading=heading if wrong else None,
        offer=tuple(
            map(
                plain_text, wording.offer_to_declare(offered) if offered is not None else _adapter(report, wrong, tried)
            )
        ),
        problems=problems_in_words(
            problems_of(wrong, report.diagnosis),
            whole_of(report.results, () if declared is None else declared.conventions),
            report.diagnosis,
        ),
        unseen=tuple(plain_text(said) for said in unseen if said is not None),
        ungraded=None if ungraded is None else plain_text(ungraded),
        closing=tuple(map(plain_text, _closing(report))),
    )


def problems_in_words(
    problems: Sequence[Problem], whole: Whole, diagnosis: Sequence[Diagnosis]
) -> tuple[ProblemInWords, ...]:
    """Return problems in words, in their order; `diagnosis` is that of all of them."""
    positions = {id(entry): position for position, entry in enumerate(diagnosis)}
    return tuple(
        ProblemInWords(
            lines=tuple(map(plain_text, problem_lines(problem, whole, alone=len(problems) == 1))),
            clearest=problem.clearest.key,
            failures=tuple(result.key for result in problem.results),
            diagnosis=tuple(positions[id(entry)] for entry in problem.diagnosis),
        )
        for problem in problems
    )


_ABOUT_CALLS = ("shape", "dtype")
"""Checks that fail where a function is called in another way than it wants."""


def _adapter(report: Report, wrong: Sequence[Result], tried: int) -> tuple[str, ...]:
    """Return the command that finds out how a single function wants to be called, where most of it went wrong so."""
    operation, target = report.invocation.target.operation, report.declaration.adapter
    # From Python there is no name by which another process finds the function.
    is_named = report.invocation.target.command is None and (":" in target or target.endswith(".py"))
    is_function = operation is not None or (report.declaration.guessed or "").startswith(GUESSED)
    if report.gated is not None or not is_named or not is_function or 2 * len(wrong) <= tried:
        return ()
    about_calls = [
        result for result in wrong if result.status in ("error", "malformed") or result.verdict.check in _ABOUT_CALLS
    ]
    return wording.offer_of_an_adapter(target, operation) if 2 * len(about_calls) > len(wrong) else ()


_EXPRESSED = ("it is declared to be without empty", "graded only under", "the valid counterpart")
"""Beginnings of reasons why results are not graded, though the call of a layer can say what the case asks."""


def _expressible(report: Report) -> tuple[int, int]:
    """Return how many (case, dtype) were graded, and how many the call of a layer can say, in dtypes it lacks, too."""
    offered = [result for result in report.results if result.case.operation in report.declaration.operations]
    offered = [result for result in offered if not result.is_of_run]
    said = [
        result for result in offered if result.status != "unsupported" or result.verdict.message.startswith(_EXPRESSED)
    ]
    cases = {result.case.id: result.case for result in said}
    dtypes = {*report.declaration.dtypes}
    # Where only some dtypes were requested, those that it lacks were not.
    is_whole = dtypes <= {result.dtype for result in said}
    lacking = sum(len({*case.dtypes} - dtypes) for case in cases.values()) if is_whole else 0
    return sum(result.status not in NOT_GRADED for result in said), len(said) + lacking


def _closing(report: Report) -> Iterator[str]:
    """Give numbers compared, what was measured of the run, and the verdict of each family where there are several."""
    summary = report.summary
    if report.probes:
        again = wording.counted(report.probes, "more time")
        yield f"It was called {again} to measure what it computes; --no-probes forbids it."
    compared = wording.numbers_compared(summary_to_json(summary), (summary.fused, summary.unfused))
    if compared is not None:
        yield f"{compared}."
    if report.systematic:
        yield wording.systematic_in_short(systematic_to_json(report.systematic))
    yield from wording.invariance_in_short(invariance_to_json(report.invariance))
    if report.declaration.dtypes == (_UNDECLARED,) and compared is not None:
        yield wording.ONE_DTYPE_ALONE
    for family, of_family in report.by_family.items() if len(report.by_family) > 1 else ():
        yield wording.verdict_line(f"In {TITLES[family]}, it", summary_to_json(of_family))
