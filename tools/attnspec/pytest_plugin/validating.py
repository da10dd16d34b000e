"""Validation of one (case, dtype) at a time, on one instance of the implementation, with messages on failures."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import pytest

from attnspec.base.errors import AttnspecError, UsageError
from attnspec.base.plain_text import plain_text
from attnspec.cases import Case, Suite, load_suite, read_index
from attnspec.cases.releases import read_retired
from attnspec.contract.dtypes import ANY
from attnspec.gate.finding import Finding
from attnspec.gate.single_results import BesideBaseline
from attnspec.gate.storing import read_baseline
from attnspec.grading import NotGraded, Verdict
from attnspec.process.opening import open_target
from attnspec.pytest_plugin.debugging import (
    AsExpectedError,
    Seen,
    Watched,
    WrongResultError,
    belongs_to_the_user,
    stop_at,
)
from attnspec.pytest_plugin.explaining import Explaining, contradiction_sentence
from attnspec.pytest_plugin.options import PREFIX, for_python_given
from attnspec.reports.taken_arguments import Taking
from attnspec.runner import Key, Resolved, Result, Run, Session, offered_part, planned_runs, run_by_itself, ungraded_run
from attnspec.runner.invariance import invariance_failures, measured_invariance
from attnspec.runner.of_run import layer_failures
from attnspec.runner.systematic import systematic_errors, systematic_failures, with_pulls
from attnspec.targets import Declaration, Implementation
from attnspec.targets.target import Target, option_of, pairs, target_of
from attnspec.validation import check_dtypes_and_conventions

_PASSES_KEPT = 24


@dataclass
class Validating:
    """Validation on the selected cases; no `dtypes` are the declared ones, and `conventions` go over the declared.

    `selected` has the dtypes in which each case will be run, as far as that is known.
    """

    suite: Suite
    implementation: Implementation
    seen: Seen
    dtypes: Sequence[str]
    conventions: Mapping[str, str]
    baseline: BesideBaseline | None
    is_debugged: bool = False
    selected: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def __post_init__(self) -> None:
        self.dtypes = tuple(self.dtypes) or self.implementation.declaration.dtypes
        declared = {**self.implementation.declaration.conventions, **self.conventions}
        self._session = Session(self.suite, self.implementation, Resolved(declared))
        self._planned: dict[Key, Run] = {}
        self._passed: dict[str, list[Result]] = {}
        self.of_run: dict[Key, Verdict] = {}
        self.explaining = Explaining(self._passed)
        self.taking = Taking(self.implementation.declaration, declared)

    @classmethod
    def from_options(cls, options: Any) -> Self:
        """Load cases and implementation of the command line; `AttnspecError` if something cannot be loaded."""
        conventions = stated_conventions(options)
        check_dtypes_and_conventions(options.attnspec_dtype, conventions)
        baseline = read_baseline(Path(options.attnspec_baseline)) if options.attnspec_baseline else None
        suite = selected_suite(options)
        seen = Seen()
        implementation = open_target(
            _target(options), dtypes=options.attnspec_dtype, nearest=(partial(Watched, seen=seen),)
        )
        try:
            offered = offered_part(suite, implementation.declaration.operations)
            against = None if baseline is None else BesideBaseline(baseline, implementation.declaration, conventions)
        except BaseException:
            implementation.close()
            raise
        return cls(offered.suite, implementation, seen, options.attnspec_dtype, conventions, against)

    def runs(self) -> Iterator[tuple[Case, str]]:
        """Return each selected case in each of its dtypes, in the order of ids and dtypes."""
        for case in self.suite.cases.values():
            for dtype in case.runs:
                if dtype in self.dtypes or dtype == ANY:
                    yield case, dtype

    def planned(self, case: Case, dtype: str) -> Run:
        """Return the run of one case in one dtype."""
        key = (case.id, dtype)
        if key not in self._planned:
            # The dtypes of a case that will be run are planned together, which costs little more than one alone.
            dtypes = self.dtypes if dtype == ANY else (dtype, *self.selected.get(case.id, ()))
            runs = planned_runs(case, dtypes, self.implementation.declaration, self._session.resolved)
            self._planned |= {(case.id, run.dtype): run for run in runs}
        return self._planned[key]

    def reason_not_called(self, case: Case, dtype: str) -> str | None:
        """Return why a case is skipped without a call; None where it is called, or the baseline contradicts that."""
        try:
            run = self.planned(case, dtype)
        except AttnspecError:
            return None  # it is the test's own error, when it is run
        if not isinstance(run.expected, NotGraded):
            return None
        result = self.run(case, dtype)
        if self.baseline is not None and self.baseline.contradicts(result) is not None:
            return None
        return self.reason_to_skip(result)

    def reason_to_skip(self, result: Result) -> str:
        """Return why a result is unsupported, in the words of the baseline where it has some."""
        reason = None if self.baseline is None else self.baseline.reason_of(result)
        return plain_text(reason or result.verdict.message)

    def run(self, case: Case, dtype: str) -> Result:
        """Run and grade one case in one dtype, twice in a row; a refusal together with its valid counterpart."""
        result = run_by_itself(self.planned(case, dtype), self._session)
        del self._planned[case.id, dtype]
        self.taking.add(result)
        if self.is_debugged and isinstance(self.seen.raised, pytest.exit.Exception):
            raise self.seen.raised  # his debugger was quit
        verdict = with_pulls([result])[0].verdict
        if verdict.pull is not None or verdict.parts:
            self.of_run[case.id, dtype] = Verdict(verdict.status, pull=verdict.pull, parts=verdict.parts)
        passed = self._passed.setdefault(case.operation, [])
        if result.status == "pass" and len(passed) < _PASSES_KEPT:
            passed.append(result)
        return result

    def check(self, result: Result, contradiction: Finding | None) -> None:
        """Raise if the last result is wrong, as the baseline expects or not, or is not as the baseline expects."""
        if not result.is_wrong:
            if contradiction is not None:
                raise WrongResultError(plain_text(contradiction_sentence(contradiction)))
            return
        message = plain_text(result.verdict.message or result.status)
        if self.baseline is not None and contradiction is None:
            stop_at(result, self.implementation, AsExpectedError(message))
        raised = self.seen.raised
        if result.status == "error" and raised is not None and belongs_to_the_user(raised):
            raise raised
        stop_at(result, self.implementation, WrongResultError(message))

    def contradictions(self) -> list[str]:
        """Return the claims of the baseline that are not true, whatever the results are."""
        if self.baseline is None:
            return []
        folder = self.suite.folder
        retired = {case_id: tombstone.reason for case_id, tombstone in read_retired(folder).items()}
        found = self.baseline.contradictions(read_index(folder), retired)
        remedy = ["Where that is meant, `attnspec gate` takes it in with --update-baseline."] if found else []
        return [*(plain_text(" ".join(filter(None, (one.subject, one.sentence)))) for one in found), *remedy]

    def beside_what_passed(self, wrong: Sequence[Result]) -> list[Result]:
        """Return wrong results after some passes of the same operations, which exclude causes."""
        operations = {result.case.operation for result in wrong}
        return [*(result for operation in operations for result in self._passed.get(operation, ())), *wrong]

    def close(self) -> None:
        """Release the implementation."""
        self.implementation.close()


def stated_conventions(options: Any) -> dict[str, str]:
    """Return the conventions of the command line; `UsageError` if it does not state them so."""
    return pairs(options.attnspec_convention, f"{PREFIX}-convention")


def selected_suite(options: Any) -> Suite:
    """Return the cases that the command line selects; `AttnspecError` if they cannot be read, or there are none."""
    return load_suite(
        Path(options.attnspec_golden) if options.attnspec_golden else None,
        profiles=options.attnspec_profile,
        select=options.attnspec_select,
    )


def _target(options: Any) -> Target:
    """Return the target; `UsageError` if an option for Python targets is given with a program."""
    given = cast("dict[str, Any]", vars(options))
    named = {each.name: f"attnspec_{option_of(each.name).strip('-')}" for each in fields(Target)}
    target = target_of(options.attnspec, {name: given[word] for name, word in named.items() if word in given})
    for option in for_python_given(options) if target.command is not None else ():
        raise UsageError(f"{option} is for Python targets; an {PREFIX}-command follows the protocol by itself.")
    if options.trace and not target.is_imported:
        raise UsageError(f"--trace steps through this process alone; leave out {PREFIX}-command and {PREFIX}-timeout.")
    return target


def contradictions_of_run(
    verdicts: Mapping[Key, Verdict], suite: Suite, declaration: Declaration, options: Any
) -> tuple[str, ...]:
    """Return what all passing results say together and no baseline expects, a sentence each."""
    conventions = stated_conventions(options)
    results = [
        Result(ungraded_run(suite.cases[case_id], dtype, ""), verdict, 0.0, None)
        for (case_id, dtype), verdict in verdicts.items()
    ]
    resolved = Resolved({**declaration.conventions, **conventions})
    errors, in_parts = systematic_errors(results, resolved), measured_invariance(results, resolved)
    if not options.attnspec_baseline:
        of_run = (*systematic_failures(errors), *invariance_failures(in_parts))
        failures = (*of_run, *layer_failures(declaration.layer_checks))
        return tuple(f"{each.case.id} ({each.dtype}): {each.verdict.message}" for each in failures)
    baseline = BesideBaseline(read_baseline(Path(options.attnspec_baseline)), declaration, conventions)
    found = baseline.contradicts_run(errors, in_parts)
    return tuple(f"{each.subject} ({each.dtype}): {each.sentence}" for each in found)


def packed(declaration: Declaration, results: Sequence[Result]) -> bytes:
    """Return results as bytes, without cases and expected values, which can be made anew; none of an ungraded case."""
    plain = [
        (result.case.id, result.dtype, result.verdict, result.seconds, result.got, result.same_bits)
        for result in results
    ]
    return pickle.dumps((declaration, plain), 5)


def unpacked(content: bytes, suite: Suite, conventions: Mapping[str, str]) -> list[Result]:
    """Return the results that another process of the same run packed; `conventions` go over the declared ones."""
    plain: list[tuple[Any, ...]]
    declaration, plain = pickle.loads(content)
    resolved = Resolved({**declaration.conventions, **conventions})
    results: list[Result] = []
    for case_id, dtype, *rest in plain:
        case = suite.cases[case_id]
        (run,) = planned_runs(case, [dtype], declaration, resolved)
        results.append(Result(run, *rest))
    return results
