"""Running an implementation over the cases, and grading what it answers.

Each (case, dtype) runs twice, the second time in the opposite order on the same instance, so that a result that
depends on what ran before is seen. A few cases are then called with one argument changed, for results that are kept
without regard to it.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec import conventions as convention_rules
from attnspec.adapters.implementation import Answer, Crashed, Outputs, Request
from attnspec.comparison import NotGraded, Run, Verdict, grade
from attnspec.contract import OPERATIONS
from attnspec.dtypes import ANY, to_run_dtype
from attnspec.runner.changed_arguments import changed_call
from attnspec.runner.preparing import not_graded, prepare
from attnspec.runner.presenting import presented
from attnspec.runner.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.adapters.implementation import Implementation
    from attnspec.cases import Case, Suite

SECOND_CALL = "a second call with the same inputs, after other cases had run"
_NO_ANSWER = ("error", "crash", "timeout", "malformed")
"""Statuses that keep their name in the second pass: there is no value that could differ."""


def run_suite(
    suite: Suite,
    implementation: Implementation,
    *,
    dtypes: Sequence[str] | None = None,
    conventions: Mapping[str, str] | None = None,
    fail_fast: bool = False,
    progress: Callable[[Result], None] | None = None,
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
    progress
        Called with each result of the first pass.
    """
    declared = {**implementation.declaration.conventions, **(conventions or {})}
    resolved = _resolved(declared)
    asked = tuple(dtypes) if dtypes else implementation.declaration.dtypes
    # What an implementation warns about is not judged, and would only blur the report.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = _two_passes(suite, implementation, asked, resolved, fail_fast=fail_fast, progress=progress)
        return _with_twins(results, suite, implementation, resolved)


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


def run_once(runs: Sequence[Run], suite: Suite, implementation: Implementation) -> tuple[Result, ...]:
    """Ask an implementation for prepared runs, in one pass: what depends on earlier calls is not looked for.

    Parameters
    ----------
    runs
        What `prepare_suite` gave.
    suite
        The cases that it was given.
    implementation
        The software under test; it must offer the operation of the runs, in their dtypes.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = [_first_pass(run, implementation) for run in runs]
        return _with_twins(results, suite, implementation, _resolved({}))


def _resolved(declared: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return every convention's choice for each operation."""
    return {operation: convention_rules.resolve(declared, operation) for operation in OPERATIONS}


def _two_passes(
    suite: Suite,
    implementation: Implementation,
    asked: Sequence[str],
    resolved: Mapping[str, Mapping[str, str]],
    *,
    fail_fast: bool,
    progress: Callable[[Result], None] | None,
) -> list[Result]:
    runs: list[Run] = []
    results: list[Result] = []
    for case in suite.cases.values():
        for run in _runs(case, asked, implementation, resolved[case.operation]):
            result = _first_pass(run, implementation)
            runs.append(run)
            results.append(result)
            if progress is not None:
                progress(result)
            if fail_fast and result.is_wrong:
                return results
    for position in range(len(runs) - 1, -1, -1):
        second = _second_pass(runs[position], results[position], implementation)
        results[position] = _changed_argument(runs[position], second, implementation)
    return results


def _runs(case: Case, asked: Sequence[str], implementation: Implementation, resolved: Mapping[str, str]) -> list[Run]:
    """Prepare a case's run in each of its dtypes that is asked for."""
    dtypes = [dtype for dtype in case.runs if dtype in asked or dtype == ANY]
    refusals = {dtype: _not_offered(case, dtype, implementation, resolved) for dtype in dtypes}
    offered = prepare(case, [dtype for dtype in dtypes if refusals[dtype] is None], resolved)
    return [offered.get(dtype) or not_graded(case, dtype, refusals[dtype] or "") for dtype in dtypes]


def _first_pass(run: Run, implementation: Implementation) -> Result:
    if isinstance(run.expected, NotGraded):
        return Result(run, Verdict("unsupported", message=run.expected.reason), 0.0, None)
    answer, seconds = _ask(run, implementation)
    got = answer.values if isinstance(answer, Outputs) else None
    return Result(run, grade(run, answer), seconds, got)


def _not_offered(case: Case, dtype: str, implementation: Implementation, resolved: Mapping[str, str]) -> str | None:
    declaration = implementation.declaration
    if case.operation not in declaration.operations:
        return f"{case.operation} is not offered"
    if dtype not in (*declaration.dtypes, ANY):
        return f"{dtype} is not offered: the adapter's `dtypes` are {', '.join(declaration.dtypes)}"
    for name, only in convention_rules.fixed_attributes(resolved).items():
        asked = case.attributes.get(name)
        if asked is not None and asked != only:
            return f"{name}={asked} is not offered; it has {only} alone"
    return None


def _ask(run: Run, implementation: Implementation) -> tuple[Answer, float]:
    layouts = run.case.presentation
    inputs = {
        name: presented(to_run_dtype(array, run.dtype), layouts.get(name)) for name, array in run.case.inputs.items()
    }
    request = Request(run.case.operation, run.dtype, inputs, dict(run.attributes))
    start = time.perf_counter()
    answer = implementation.run(request)
    return answer, time.perf_counter() - start


def _with_twins(
    results: Sequence[Result],
    suite: Suite,
    implementation: Implementation,
    resolved: Mapping[str, Mapping[str, str]],
) -> tuple[Result, ...]:
    """Take back the pass of a refusal whose valid twin does not pass: who refuses everything refuses nothing."""
    known = {(result.case.id, result.dtype): result.status for result in results}

    def twin_passes(twin: Case, dtype: str) -> bool:
        key = (twin.id, dtype if dtype in twin.runs else twin.runs[0])
        if key not in known:
            (run,) = _runs(twin, [key[1]], implementation, resolved[twin.operation])
            known[key] = _first_pass(run, implementation).status
        return known[key] == "pass"

    checked: list[Result] = []
    for result in results:
        if result.case.rejects is not None and result.status == "pass":
            twin = suite.cases.get(result.case.rejects.twin) or suite.twins[result.case.rejects.twin]
            if not twin_passes(twin, result.dtype):
                message = f"the valid twin {twin.id} did not pass, so a refusal says nothing"
                result = result._replace(verdict=Verdict("unsupported", message=message))  # noqa: PLW2901
        checked.append(result)
    return tuple(checked)


def _second_pass(run: Run, result: Result, implementation: Implementation) -> Result:
    if result.status != "pass" or result.got is None:
        return result
    answer, _ = _ask(run, implementation)
    if isinstance(answer, Outputs) and not answer.inputs_changed and _same_bits(answer.values, result.got):
        return result._replace(same_bits=True)
    if isinstance(answer, Crashed) and not answer.was_asked:
        return result
    verdict = grade(run, answer)
    if verdict.status == "pass" and run.case.properties is None:
        return result._replace(same_bits=False)
    if verdict.status in _NO_ANSWER:
        message = f"{SECOND_CALL}: {verdict.message}"
        return result._replace(verdict=verdict._replace(message=message), got=None)
    what = verdict.message or "other numbers for the same seed"
    failed = verdict._replace(status="fail", check="repeatable", message=f"{SECOND_CALL}, did not pass: {what}")
    return result._replace(
        verdict=failed,
        got=answer.values if isinstance(answer, Outputs) else None,
        same_bits=False,
    )


def _changed_argument(run: Run, result: Result, implementation: Implementation) -> Result:
    """Fail a run whose output stays the same when an argument changes that it depends on."""
    changed = changed_call(run)
    if changed is None or result.status != "pass" or result.got is None:
        return result
    answer, _ = _ask(changed.run, implementation)
    output = run.operation.outputs[0]
    if not isinstance(answer, Outputs) or not _equal_bits(answer.values[output], result.got[output]):
        return result
    message = (
        f"{output} stayed the same to the last bit when {changed.argument} alone became {changed.change}, "
        "as if results were kept without regard to it"
    )
    return result._replace(verdict=Verdict("fail", check="repeatable", output=output, message=message))


def _same_bits(second: Mapping[str, NDArray[Any]], first: Mapping[str, NDArray[Any]]) -> bool:
    return second.keys() == first.keys() and all(_equal_bits(second[name], array) for name, array in first.items())


def _equal_bits(second: NDArray[Any], first: NDArray[Any]) -> bool:
    return second.dtype == first.dtype and second.shape == first.shape and second.tobytes() == first.tobytes()
