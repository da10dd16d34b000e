"""Running an implementation over the cases, and grading what it answers.

Each (case, dtype) runs twice on the same instance, so that a result that depends on what ran before is seen. The first
time a case runs in every dtype before the next one; the second time in the opposite order, and one dtype after the
other, so that a call also follows another case of its dtype. A few cases are then called with one argument changed, for
results that are kept without regard to it: an input is written over where it lies, for results that are kept as long as
they are asked of the same array.
"""

from __future__ import annotations

import warnings
from time import perf_counter  # bound here, whatever an implementation makes of the module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec import conventions as convention_rules
from attnspec.adapters.implementation import Answer, Crashed, Outputs, finish, hear_out
from attnspec.comparison import RIGHT, NotGraded, Run, Values, Verdict
from attnspec.contract import OPERATIONS
from attnspec.convention import Settles
from attnspec.dtypes import ANY
from attnspec.families.lookup import lacking
from attnspec.layout import operation_in
from attnspec.runner.afterwards import Afterwards
from attnspec.runner.changed_arguments import (
    asks_no_more,
    can_be_written_over,
    changed_call,
    owed_by_reference,
    write_over,
)
from attnspec.runner.following import SECOND_CALL
from attnspec.runner.judging import OUTPUTS_UNCHANGED, judged, told_overwritten
from attnspec.runner.planning import planned_runs, resolved_for
from attnspec.runner.preparing import prepare
from attnspec.runner.presenting import inputs_of, request_of
from attnspec.runner.result import Result
from attnspec.runner.twins import beside_their_twins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.adapters.implementation import Declaration, Implementation
    from attnspec.cases import Case, Suite
    from attnspec.comparison import Status
    from attnspec.runner.changed_arguments import ChangedCall
    from attnspec.runner.following import Follower, Occasion
    from attnspec.runner.planning import Resolved

_NO_ANSWER = ("error", "crash", "timeout", "malformed")
"""Statuses that keep their name in the second pass: there is no value that could differ."""


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

    Parameters
    ----------
    suite
        The cases.
    implementation
        The software under test. It is not closed here.
    dtypes
        Dtypes to run in; those that the implementation declares if None.
    conventions
        Conventions that the implementation follows, over those that it declares.
    fail_fast
        Stop at the first wrong result.
    follower
        Told what is asked, and each result as it comes.
    goes_on
        Whether the implementation is asked for more after this; else its process, if it has one, is ended, so that
        what it still says is heard.
    known
        Gives the result of a run that an earlier one has settled; it is not asked for again.
    """
    declaration = implementation.declaration
    resolved = resolved_for(declaration, conventions)
    asked = tuple(dtypes) if dtypes else declaration.dtypes
    asking = _Asking(implementation, Afterwards(follower), _lending(resolved))
    # What an implementation warns about is not judged, and would only blur the report.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = _two_passes(suite, asking, asked, resolved, known, fail_fast=fail_fast)
        checked = _with_twins(results, suite, asking, resolved)
    (hear_out if goes_on else finish)(implementation)
    return tuple(map(asking.follower.amended, checked))


def prepare_suite(suite: Suite, operation: str, dtypes: Sequence[str]) -> tuple[Run, ...]:
    """Prepare an operation's cases once, for many implementations that declare nothing and are run by `run_once`.

    Parameters
    ----------
    suite
        The cases.
    operation
        The operation whose cases are prepared.
    dtypes
        Dtypes to run in.
    """
    resolved = convention_rules.resolve({}, operation)
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
    judge: Callable[[Run, Answer], Verdict] = judged,
) -> tuple[Result, ...]:
    """Ask an implementation for prepared runs, in one pass: what depends on earlier calls is not looked for.

    Parameters
    ----------
    runs
        What `prepare_suite` gave.
    suite
        The cases that it was given.
    implementation
        The software under test; it must offer the operation of the runs, in their dtypes.
    judge
        Gives the verdict on an answer: `judged`, or what gives the same and remembers.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        resolved = resolved_for(implementation.declaration, None)
        asking = _Asking(implementation, Afterwards(), _lending(resolved), judge)
        results = [_first_pass(run, asking) for run in runs]
        return _with_twins(results, suite, asking, resolved)


def _lending(resolved: Resolved) -> frozenset[str]:
    """Return the operations whose outputs need hold only until the next call."""
    return frozenset(
        operation for operation in OPERATIONS if convention_rules.departs(Settles.LIFETIME, resolved.of(operation))
    )


class _Asking(NamedTuple):
    """An implementation, the operations that lend what they return, who follows what is asked, and who judges."""

    implementation: Implementation
    follower: Afterwards
    lending: frozenset[str]
    judge: Callable[[Run, Answer], Verdict] = judged

    @property
    def declaration(self) -> Declaration:
        return self.implementation.declaration

    def ask(
        self,
        run: Run,
        occasion: Occasion,
        on_behalf_of: Run | None = None,
        handed: Mapping[str, NDArray[Any]] | None = None,
    ) -> tuple[Answer, float]:
        """Return the answer to a run, and the seconds that it took; fresh arrays are handed over if none are given."""
        self.follower.asks(on_behalf_of or run, occasion)
        request = request_of(run, self.follower.listener(on_behalf_of or run, occasion), handed)
        start = perf_counter()
        answer = self.implementation.run(request)
        seconds = perf_counter() - start
        if isinstance(answer, Outputs) and answer.overwritten and run.case.operation in self.lending:
            answer = answer._replace(overwritten=())
        return answer, seconds

    def tell(self, result: Result) -> None:
        """Pass a result on to who follows."""
        self.follower.has(result)


def _two_passes(
    suite: Suite,
    asking: _Asking,
    asked: Sequence[str],
    resolved: Resolved,
    known: Callable[[Run], Result | None] | None,
    *,
    fail_fast: bool,
) -> list[Result]:
    runs: list[Run] = []
    results: list[Result] = []
    settled: set[int] = set()
    for case in suite.cases.values():
        for run in planned_runs(case, asked, asking.declaration, resolved):
            earlier = known(run) if known is not None else None
            if earlier is not None:
                settled.add(len(results))
            result = earlier or _first_pass(run, asking)
            runs.append(run)
            results.append(result)
            asking.tell(result)
            if fail_fast and (result.is_wrong or not asking.follower.is_silent):
                return [*map(asking.follower.amended, results)]
    for position in _backwards(runs, asked):
        if position in settled:
            continue
        first = asking.follower.amended(results[position])
        second = _second_pass(runs[position], first, asking)
        results[position] = _changed_argument(runs[position], second, asking, resolved)
        if results[position] is not first:
            asking.tell(results[position])
    return [*map(asking.follower.amended, results)]


def _backwards(runs: Sequence[Run], asked: Sequence[str]) -> list[int]:
    """Return the places of runs from the last to the first, those of one dtype together.

    Memory that is kept for a dtype is often made anew when another one comes, and then holds nothing of a former case.
    """
    order = {dtype: place for place, dtype in enumerate(asked)}
    return sorted(range(len(runs) - 1, -1, -1), key=lambda position: -order.get(runs[position].dtype, 0))


def _first_pass(run: Run, asking: _Asking, *, for_refusal: Run | None = None) -> Result:
    if isinstance(run.expected, NotGraded):
        return Result(run, Verdict("unsupported", message=run.expected.reason), 0.0, None)
    answer, seconds = asking.ask(run, "first" if for_refusal is None else "twin", for_refusal)
    # What a thinned case returns is let go: kept, the outputs of a few such cases would fill the memory.
    got = answer.values if isinstance(answer, Outputs) and not run.case.thinned else None
    return Result(run, asking.judge(run, answer), seconds, got)


def _with_twins(results: Sequence[Result], suite: Suite, asking: _Asking, resolved: Resolved) -> tuple[Result, ...]:
    """Take back the passes of refusals whose twins do not pass; a twin that was not selected is asked now."""

    def ask(refusal: Result, twin: Case, dtype: str) -> Status:
        (run,) = planned_runs(twin, [dtype], asking.declaration, resolved)
        return _first_pass(run, asking, for_refusal=refusal.run).status

    checked = beside_their_twins(results, suite, ask)
    for before, now in zip(results, checked, strict=True):
        if now is not before:
            asking.tell(now)
    return checked


def _second_pass(run: Run, result: Result, asking: _Asking) -> Result:
    # Without a first answer to hold it against, as for thinned cases, a second call would say little for its time.
    if result.status not in RIGHT or result.got is None:
        return result
    answer, _ = asking.ask(run, "again")
    if (
        isinstance(answer, Outputs)
        and not answer.inputs_changed
        and not answer.overwritten
        and _same_bits(answer.values, result.got)
    ):
        return result._replace(same_bits=True)
    if isinstance(answer, Crashed) and not answer.was_asked:
        return result
    verdict = judged(run, answer)
    if verdict.status in RIGHT and run.case.properties is None:
        return result._replace(same_bits=False)
    if verdict.status in _NO_ANSWER:
        message = f"{SECOND_CALL}: {verdict.message}"
        return result._replace(verdict=verdict._replace(message=message), got=None)
    if verdict.check == OUTPUTS_UNCHANGED:
        return result._replace(verdict=verdict)
    what = verdict.message or "other numbers for the same seed"
    if _is_handed_anew(run):
        # It was given the same case and not the same arguments, so that nothing is said of repeating itself.
        told = verdict._replace(message=f"{SECOND_CALL}, with other contents where nothing may be read: {what}")
        return result._replace(
            verdict=told, got=answer.values if isinstance(answer, Outputs) else None, same_bits=False
        )
    failed = verdict._replace(status="fail", check="repeatable", message=f"{SECOND_CALL}, did not pass: {what}")
    return result._replace(
        verdict=failed,
        got=answer.values if isinstance(answer, Outputs) else None,
        same_bits=False,
    )


def _is_handed_anew(run: Run) -> bool:
    """Tell whether a case is put with other arguments each time it is asked for, as its layout chooses them."""
    return operation_in(run.operation.name, run.layout) is not run.operation


def _changed_argument(run: Run, result: Result, asking: _Asking, resolved: Resolved) -> Result:
    """Fail a run whose output stays the same when an argument changes that it depends on, or is wrong then."""
    changed = changed_call(run)
    if changed is None or result.status not in RIGHT or result.got is None:
        return result
    if lacking(changed.run.case, asking.declaration.without) is not None:
        return result
    handed = inputs_of(run)
    if can_be_written_over(handed, changed):
        # Asked once more, so that what is kept by the arrays themselves is kept by these.
        before, _ = asking.ask(run, "again", handed=handed)
        if isinstance(before, Outputs) and (before.overwritten or before.inputs_changed):
            return result._replace(verdict=judged(run, before))
        write_over(handed, changed)
        answer, _ = asking.ask(changed.run, "changed", run, handed)
    else:
        answer, _ = asking.ask(changed.run, "changed", run)
    if isinstance(answer, Outputs) and answer.overwritten:
        return result._replace(verdict=told_overwritten(result.verdict, answer))
    if not isinstance(answer, Outputs):
        return result
    output = run.operation.outputs[0]
    stayed = _equal_bits(answer.values[output], result.got[output])
    follows = owed_by_reference(run, changed)
    if not stayed and (follows is None or not asks_no_more(run, follows)):
        return result
    verdict = None if follows is None else _verdict_on_changed(run, follows, answer, asking, resolved)
    if verdict is None:
        # What would have changed may be NaN, before and after.
        is_kept = stayed and not _is_nan_by_declaration(run, output, result.got[output])
    else:
        is_kept = verdict.status not in RIGHT
    return _told_of_change(result, changed, None if stayed else verdict) if is_kept else result


def _told_of_change(result: Result, changed: ChangedCall, verdict: Verdict | None) -> Result:
    """Return the fail of a run that kept what was computed before: all of it without a verdict, or part of it."""
    when = f"when {changed.argument} alone became {changed.change}"
    if verdict is None:
        output: str | None = result.run.operation.outputs[0]
        message = f"{output} stayed the same to the last bit {when}, as if results were kept without regard to it"
    else:
        output = verdict.output
        found = f": {verdict.message}" if verdict.message else ""
        message = (
            f"{output or 'the answer'} was wrong {when}, after a right answer{found}, as if something were kept "
            "without regard to it"
        )
    return result._replace(verdict=Verdict("fail", check="repeatable", output=output, message=message))


def _verdict_on_changed(
    run: Run, follows: Case, answer: Outputs, asking: _Asking, resolved: Resolved
) -> Verdict | None:
    """Return the verdict on the answer to a changed call; None where a convention says nothing of it."""
    (owed,) = planned_runs(follows, [run.dtype], asking.declaration, resolved)
    if isinstance(owed.expected, NotGraded) or not _is_asked_whole(owed):
        return None
    return judged(owed, answer)


def _is_asked_whole(run: Run) -> bool:
    """Tell whether the case says of each attribute that a declared convention takes away what it is then."""
    attributes = {**run.operation.attributes, **run.case.attributes}
    fixed = convention_rules.fixed_attributes(run.conventions)
    return all(attributes.get(name) == only for name, only in fixed.items())


def _is_nan_by_declaration(run: Run, output: str, got: NDArray[Any]) -> bool:
    """Tell whether NaN came where the page owes numbers: what passes so has declared it."""
    if not isinstance(run.expected, Values):
        return False
    is_nan, owed = np.isnan(got), run.case.golden(run.dtype).get(output)
    if run.case.sample.get(output) is None and owed is not None and owed.shape == got.shape:
        is_nan &= ~np.isnan(owed)
    return bool(is_nan.any())


def _same_bits(second: Mapping[str, NDArray[Any]], first: Mapping[str, NDArray[Any]]) -> bool:
    return second.keys() == first.keys() and all(_equal_bits(second[name], array) for name, array in first.items())


def _equal_bits(second: NDArray[Any], first: NDArray[Any]) -> bool:
    return second.dtype == first.dtype and second.shape == first.shape and second.tobytes() == first.tobytes()
