"""Run beside its baseline: worse, better, new.

Whatever a baseline says must be true. A run that is worse fails; one that is better fails too, because a baseline that
is not kept up to date would let the same mistake in again (`Demands.lenient` makes that a warning).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from attnspec.contract import declarations
from attnspec.contract.dtypes import ANY
from attnspec.gate import ungraded_arguments
from attnspec.gate.baseline import Baseline, Key, count_graded, name_of, result_message
from attnspec.gate.finding import Finding, Weight, failure, result_ending
from attnspec.grading import RIGHT
from attnspec.reports.entries import is_of_run
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from attnspec.gate.group import Group
    from attnspec.reports.report import Report
    from attnspec.runner import Result

_NAMED = 3


@dataclass(frozen=True)
class Comparison:
    """Run beside its baseline; `better` is the weight of better results, the rest is as for `attnspec.gate.judge`."""

    report: Report
    baseline: Baseline
    better: Weight
    suite_ids: Mapping[str, object] = field(default_factory=dict[str, object])
    retired: Mapping[str, str] = field(default_factory=dict[str, str])

    def of_results(self) -> Generator[Finding]:
        """Yield the differences that single results show, whatever else was run."""
        yield from self._results()
        yield from self._unsupported()
        yield from self._newly_graded_findings()

    def findings(self) -> Generator[Finding]:
        """Yield the differences, in no order of importance."""
        yield from self.of_results()
        if self._is_whole:
            yield from self._count_findings()
            yield from ungraded_arguments.findings(self.report.arguments, self.baseline.ungraded_arguments, self.better)
        yield from ungraded_arguments.newly_called(self._newly_called)
        yield from self.entries_without_result()
        yield from self._capabilities()
        yield from self._conventions()
        yield from self._fewer_graded()
        yield from self._new_cases()

    def _is_known(self, result: Result) -> bool:
        """Return whether the baseline has seen this case, as it is now; what is of the whole run is always known."""
        return result.is_of_run or self.baseline.cases.get(result.case.id) == result.case.revision

    def _was_unsupported(self, result: Result) -> bool:
        """Return whether the baseline has seen a result, as unsupported."""
        return self.baseline.has_seen(result.case, result.dtype) and self.baseline.was_unsupported(result.key)

    def _is_offered(self, result: Result) -> bool:
        """Return whether operation and dtype of a result were offered, and still are."""
        return all(
            result.case.operation in offered.operations and result.dtype in (*offered.dtypes, ANY)
            for offered in (self.report.declaration, self.baseline)
        )

    def _results(self) -> Generator[Finding]:
        """Judge each result by its entry, or by having none."""
        for result in self.report.results:
            entry = self.baseline.by_key.get(result.key)
            status, said = result.status, result_ending(result)
            if entry is not None and status == entry.status:
                continue
            if entry is not None and status in RIGHT:
                sentence = f"is listed as {entry.status} and {_ends(result)} now"
                yield Finding("passes now", self.better, *result.key, sentence)
            elif entry is not None and result.is_wrong:
                yield failure("another status", result, f"is listed as {entry.status}, but ends in {status}: {said}")
            elif entry is not None and status == "unsupported" and self._is_offered(result):
                yield failure("lost", result, f"is listed as {entry.status} and is unsupported now: {said}")
            elif entry is not None or not result.is_wrong or result.key in self._newly_called_keys:
                continue
            elif not self._is_known(result):
                revised = result.case.id in self.baseline.cases
                what = f"revised to {result.case.revision}" if revised else "new in the suite"
                yield failure("new cases fail", result, f"{what}, {status}: {said}")
            elif self._was_unsupported(result):
                yield failure("another status", result, f"was unsupported, and ends in {status} now: {said}")
            else:
                yield failure("new failure", result, f"{status}: {said}")

    @cached_property
    def _newly_called(self) -> list[Result]:
        """The results that a baseline from before knows as unsupported, for an argument that no default needs."""
        if self.baseline.ungraded_arguments is not None:
            return []
        return [
            result
            for result in self.report.results
            if result.status != "unsupported"
            and self._was_unsupported(result)
            and ungraded_arguments.left_out_at_default(result)
        ]

    @cached_property
    def _newly_called_keys(self) -> frozenset[Key]:
        return frozenset(each.key for each in self._newly_called)

    @cached_property
    def _seen_results(self) -> list[Result]:
        """The offered results that the baseline knows as they are, and does not list one by one."""
        return [
            result
            for result in self.report.results
            if result.key not in self.baseline.by_key
            and self._is_offered(result)
            and self.baseline.has_seen(result.case, result.dtype)
        ]

    @property
    def _vanished_cases(self) -> list[str]:
        """The known cases that are no longer in the suite."""
        return [case_id for case_id in self.baseline.cases if case_id not in self.suite_ids]

    @property
    def _is_whole(self) -> bool:
        """Whether all that the baseline knows and the suite still has was run and is offered."""
        run = {result.key for result in self.report.results}
        dtypes = {result.case.id: result.case.runs for result in self.report.results}
        was_run = all(
            case_id in dtypes
            and all((case_id, dtype) in run for dtype in dtypes[case_id] if dtype in self.baseline.ran_in)
            for case_id in self.baseline.cases.keys() - self._vanished_cases
        )
        offered, before = self.report.declaration, self.baseline
        return was_run and {*before.operations, *before.dtypes} <= {*offered.operations, *offered.dtypes}

    def _unsupported(self) -> Generator[Finding]:
        """Find the results that are unsupported, and were not, or were for another reason than the baseline gives."""
        nameless: dict[str, list[Result]] = {}
        for result in self._seen_results:
            said = result_message(result)
            if result.status != "unsupported":
                continue
            if not self.baseline.was_unsupported(result.key):
                yield failure("lost", result, f"is unsupported now, and was not before: {said}")
            elif not any(group.covers(result.case, result.dtype, said) for group in self.baseline.groups):
                nameless.setdefault(said, []).append(result)
        for said, results in nameless.items():
            sentence = (
                f"{counted(len(results), 'result')}, such as {_some(results)}; --update-baseline proposes a group"
            )
            yield Finding("in no group", "fails", said, None, sentence)

    def _newly_graded_findings(self) -> Generator[Finding]:
        """Find results that were unsupported and are right now: by groups that claim otherwise, or else one by one."""
        right = [
            result
            for result in self._seen_results
            if result.status in RIGHT and self._was_unsupported(result) and result.key not in self._newly_called_keys
        ]
        claimed: set[Key] = set()
        for group in self.baseline.groups:
            if group.is_claim and (of_group := _results_of_group(group, right)):
                claimed |= {result.key for result in of_group}
                no_longer = f"{len(of_group)} of {group.count} are no longer unsupported"
                sentence = f"{no_longer}, such as {_some(of_group)}"
                yield Finding("graded now", self.better, group.title, None, sentence)
        for result in right:
            if result.key not in claimed:
                sentence = f"was unsupported and {_ends(result)} now"
                yield Finding("graded now", self.better, *result.key, sentence)

    def _count_findings(self) -> Generator[Finding]:
        """Find the groups that cover more or fewer results than they say, where no other finding says why."""
        gone = len(self._vanished_cases)
        # Results of a case that was revised since may have joined a group or left it.
        revised = sum(
            result.case.id in self.baseline.cases and not self._is_known(result) for result in self.report.results
        )
        for group in self.baseline.groups:
            now = len(_results_of_group(group, self._seen_results))
            if now <= group.count <= now + revised + len(self._newly_called):
                continue
            sentence = f"covers {counted(now, 'result')}, not {group.count}"
            if now < group.count and gone:
                sentence += f" ({counted(gone, 'case')} that the baseline knows left the suite)"
            weight = self.better if now < group.count and not group.is_claim and not gone else "fails"
            yield Finding("another count", weight, group.title, None, sentence)

    def entries_without_result(self) -> Generator[Finding]:
        """Find the entries that no run of the present suite can meet."""
        dtypes = {result.case.id: result.case.runs for result in self.report.results}
        for entry in self.baseline.entries:
            if is_of_run(entry.case):
                if entry.key not in self._right_of_run:
                    continue
                sentence = f"is listed as {entry.status} and is right now: remove it"
                yield Finding("passes now", self.better, *entry.key, sentence)
                continue
            if entry.case not in self.suite_ids:
                reason = self.retired.get(entry.case)
                sentence = f"is listed, but there is no such case{f' (retired: {reason})' if reason else ''}"
            elif entry.dtype not in dtypes.get(entry.case, (entry.dtype,)):
                sentence = "is listed, but the case is not offered in this dtype"
            else:
                continue
            yield Finding("vanished", "fails", *entry.key, sentence)

    @property
    def _right_of_run(self) -> set[Key]:
        """What was measured of a run and is right: systematic errors, batch invariance, the checks of a layer."""
        checks = self.report.declaration.layer_checks
        unbroken = {(check.id, check.dtype) for check in checks if not check.message}
        measured = (*self.report.systematic, *self.report.invariance)
        return unbroken | {(each.id, each.dtype) for each in measured if not each.is_wrong}

    def _capabilities(self) -> Generator[Finding]:
        """Compare the operations and dtypes that are offered."""
        now, before = self.report.declaration, self.baseline
        for what, offered, known in (
            ("operation", {*now.operations}, {*before.operations}),
            ("dtype", {*now.dtypes}, {*before.dtypes}),
        ):
            for name in sorted(known - offered):
                yield Finding("lost", "fails", name, None, f"the {what} was offered before and is not offered now")
            for name in sorted(offered - known):
                sentence = f"the {what} is offered now: take it into the baseline with --update-baseline"
                yield Finding("offered now", self.better, name, None, sentence)

    def _conventions(self) -> Iterator[Finding]:
        """Find the conventions that differ from the baseline: another choice can excuse a wrong result."""
        changes: dict[tuple[str, str, str], list[str]] = {}
        declared = (self.baseline.conventions, self.report.conventions)
        for operation in sorted({*self.report.declaration.operations} & {*self.baseline.operations}):
            before, now = (declarations.resolve_conventions(choices, operation) for choices in declared)
            for name, choice in now.items():
                if before.get(name) != choice:
                    changes.setdefault((name, before.get(name, "unknown"), choice), []).append(operation)
        found = [
            (name, f"was {before} and is {now} for {', '.join(operations)}")
            for (name, before, now), operations in changes.items()
        ]
        was, stands = map(declarations.conditional_conventions, declared)
        for key in sorted(was.keys() | stands.keys()):
            before, now = (choices.get(key, "not declared") for choices in (was, stands))
            if before != now:
                found.append((key, f"was {before} and is {now}"))
        for name, said in found:
            sentence = f"{said}; if that is meant, --update-baseline"
            yield Finding("conventions changed", "fails", name, None, sentence)

    def _fewer_graded(self) -> Generator[Finding]:
        # New cases do not make up for lost ones.
        known = [result for result in self.report.results if result.case.id in self.baseline.cases]
        # A result that was wrong when the baseline was written, and is right where nothing can be graded, is no loss.
        improved = sum(result.status == "ungraded" and result.key in self.baseline.by_key for result in known)
        now, before = count_graded(known) + improved, self.baseline.graded
        if now < before:
            sentence = (
                f"{now} results were graded, but {before} when the baseline was written. Give the same --profile, "
                "--select and --dtype as then; if fewer are meant, remove the baseline and write it anew with "
                "--update-baseline."
            )
            yield Finding("fewer graded", "fails", "", None, sentence)

    def _new_cases(self) -> Generator[Finding]:
        """Name the cases that the baseline has not seen, and those that it has seen and that are gone."""
        statuses: dict[str, list[Result]] = {}
        for result in self.report.results:
            if not self._is_known(result):
                statuses.setdefault(result.case.id, []).append(result)
        for case_id, results in statuses.items():
            revised = f"revision {results[0].case.revision}, " if case_id in self.baseline.cases else ""
            counts = Counter(result.status for result in results)
            said = ", ".join(f"{status} ({count})" if len(counts) > 1 else status for status, count in counts.items())
            yield Finding("new cases", "notes", case_id, None, f"{revised}{said}")
        for case_id in self._vanished_cases:
            sentence = self.retired.get(case_id, "is no longer in the suite")
            yield Finding("retired", "notes", case_id, None, sentence)


def _results_of_group(group: Group, results: Sequence[Result]) -> list[Result]:
    """Return the results of a group: by message, the unsupported ones; by a claim, any."""
    return [
        result
        for result in results
        if (group.is_claim or result.status == "unsupported")
        and group.covers(result.case, result.dtype, result_message(result))
    ]


def _ends(result: Result) -> str:
    return "passes" if result.status == "pass" else f"is {result.status}"


def _some(results: Sequence[Result]) -> str:
    """Return the names of the first results."""
    return ", ".join(name_of(result.key) for result in results[:_NAMED])
