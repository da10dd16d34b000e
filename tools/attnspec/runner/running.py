"""Running an implementation over the cases, and grading what it answers.

The core is called first, in its recorded order, then all other cases by id; results come in the order of ids.
Each (case, dtype) runs twice on the same instance, so that a result that depends on what ran before is seen. The first
time a case runs in every dtype before the next one; the second time in the opposite order, and one dtype after the
other, so that a call also follows another case of its dtype.
"""

from collections.abc import Callable, Mapping, Sequence

from attnspec.cases import Suite
from attnspec.contract import CALLED_IN_PARTS, CALLED_IN_STEPS, declarations
from attnspec.contract.dtypes import ANY
from attnspec.contract.implementation import Answer, Conversing, Implementation, hear_out
from attnspec.grading import Run, Verdict, grade
from attnspec.runner.checks import CHECKS, Check
from attnspec.runner.planning import Resolved, planned_runs, prepare
from attnspec.runner.result import Result
from attnspec.runner.session import Follower, Key, Session


def run_suite(
    suite: Suite,
    implementation: Implementation,
    *,
    dtypes: Sequence[str] | None = None,
    conventions: Mapping[str, str] | None = None,
    fail_fast: bool = False,
    follower: Follower | None = None,
    goes_on: bool = False,
    known: Callable[[Run], Result | None] | None = None,
) -> tuple[Result, ...]:
    """Run the selected cases and return a result for each (case, dtype), in the order of ids and dtypes.

    `dtypes` None are the declared ones; `conventions` override declared ones; `known` gives results that an earlier run
    has settled. Nothing is closed here, but unless it `goes_on`, a process is ended, so that all it says is read.
    """
    declaration = implementation.declaration
    session = Session(suite, implementation, Resolved({**declaration.conventions, **(conventions or {})}), follower)
    requested = tuple(dtypes) if dtypes else declaration.dtypes
    of_each_run, of_parts, of_all_runs = CHECKS
    with session.warned.counting():
        settled, is_whole = _first_pass(session, requested, known, fail_fast=fail_fast)
        if is_whole:
            # From the last run to the first, those of one dtype together: memory that is kept for a dtype is often made
            # anew when another one comes, and then holds nothing of a former case.
            order = {dtype: position for position, dtype in enumerate(requested)}
            numbered = [(order.get(key[1], 0), number, key) for number, key in enumerate(session.results)]
            backwards = [key for *_, key in sorted(numbered, reverse=True)]
            unsettled = [key for key in backwards if key not in settled]
            # Parts come last, so that calls of the cases alone lie between two of the same.
            _check(session, of_each_run, unsettled)
            called = CALLED_IN_PARTS.keys() | CALLED_IN_STEPS.keys()
            _check(session, of_parts, [key for key in unsettled if key[0] in called])
        _check(session, of_all_runs, [*session.results])
        if is_whole:
            session.keep_pulls()
    if isinstance(implementation, Conversing):
        (implementation.hear_out if goes_on else implementation.finish)()
    positions = {case_id: position for position, case_id in enumerate(suite.cases)}
    return tuple(sorted(session.results.values(), key=lambda result: positions[result.case.id]))


def run_by_itself(run: Run, session: Session) -> Result:
    """Call one run and make every check of it at once, so that its second call follows the first one directly.

    The session keeps its status alone, for refusals of which it is the valid counterpart.
    """
    key = (run.case.id, run.dtype)
    with session.warned.counting():
        session.keep(session.first_result(run))
        for checks in CHECKS:
            _check(session, checks, [key])
    hear_out(session.implementation)
    result = session.results.pop(key)
    session.statuses[key] = result.status
    session.found_late.pop(key, None)
    return result


def prepare_suite(suite: Suite, operation: str, dtypes: Sequence[str]) -> tuple[Run, ...]:
    """Prepare an operation's cases once, for many implementations that declare nothing and are run by `run_once`."""
    resolved = declarations.resolve_conventions({}, operation)
    return tuple(
        run
        for case in suite.cases.values()
        if case.operation == operation
        for run in prepare(case, [dtype for dtype in case.runs if dtype in dtypes or dtype == ANY], resolved).values()
    )


def run_once(
    runs: Sequence[Run],
    suite: Suite,
    implementation: Implementation,
    judge: Callable[[Run, Answer], Verdict] = grade,
) -> tuple[Result, ...]:
    """Call an implementation for prepared runs of a suite, in one pass: effects of earlier calls are not looked for.

    It must offer the operation of the runs in their dtypes. `judge` is `grade`, or a function with the same verdicts.
    """
    session = Session(suite, implementation, Resolved(implementation.declaration.conventions), judge=judge)
    with session.warned.counting():
        for run in runs:
            session.keep(session.first_result(run))
        _check(session, CHECKS[-1], [*session.results])
    return tuple(session.results.values())


def _first_pass(
    session: Session,
    requested: Sequence[str],
    known: Callable[[Run], Result | None] | None,
    *,
    fail_fast: bool,
) -> tuple[set[Key], bool]:
    """Call every run for the first time; return those that were settled before, and whether none was left out."""
    settled: set[Key] = set()
    declaration = session.implementation.declaration
    for case in session.suite.in_calling_order:
        for run in planned_runs(case, requested, declaration, session.resolved):
            earlier = None if known is None else known(run)
            if earlier is not None:
                settled.add((case.id, run.dtype))
            result = earlier or session.first_result(run)
            session.keep(result)
            if fail_fast and (result.is_wrong or session.found_late):
                return settled, False
    return settled, True


def _check(session: Session, checks: Sequence[Check], keys: Sequence[Key]) -> None:
    """Make the checks of one round on some runs, and keep the results that they changed."""
    for key in keys:
        before = result = session.results[key]
        for check in checks:
            result = check(result, session)
        if result is not before:
            session.keep(result)
