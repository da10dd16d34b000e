"""Decision on a run beside its baseline: worse, better, new.

Whatever a baseline says must be true. A run that is worse fails; one that is better fails too, because a baseline that
is not kept up to date would let the same mistake in again (`lenient` makes that a warning).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.contract import conventions as convention_rules
from attnspec.contract.dtypes import ANY
from attnspec.gate.baseline import graded, key_of
from attnspec.gate.finding import HEADINGS, Finding, Outcome
from attnspec.gate.unsupported import Unsupported, judge_unsupported
from attnspec.gate.updating import check_same_implementation
from attnspec.grading import RIGHT
from attnspec.reports.summary import summarise
from attnspec.reports.wording import ending, not_run_sentence

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from attnspec.gate.baseline import Baseline, Entry, Key
    from attnspec.gate.finding import Weight
    from attnspec.reports.report import Report
    from attnspec.runner import Result


@dataclass(frozen=True)
class Demands:
    """Demands of the user beyond the baseline.

    `lenient` only warns of better results; profiles and operations in `require` must conform wholly, whatever the
    baseline says; `minimum_accuracy` is the most that the median of error / tolerance may be.
    """

    lenient: bool = False
    require: tuple[str, ...] = ()
    minimum_accuracy: float | None = None


def judge(
    report: Report,
    baseline: Baseline | None,
    demands: Demands,
    *,
    suite_ids: Mapping[str, object],
    retired: Mapping[str, str],
) -> Outcome:
    """Compare a run with a baseline, or, for None, with the demand that each result passes or is unsupported.

    `suite_ids` has the ids of all cases, selected or not, as keys; `retired` maps ids taken out of the suite to
    reasons. `BaselineError` if the baseline is about another implementation.
    """
    if baseline is None:
        found = [_new_failure(result) for result in report.wrong]
    else:
        check_same_implementation(report, baseline)
        found = [*_against(_Comparison(report, baseline, demands, suite_ids, retired))]
    found += _nothing_graded(report)
    found += _not_run(report)
    found += _required(report, demands.require)
    found += _accuracy(report, demands.minimum_accuracy)
    order = list(HEADINGS)
    entries: Mapping[Key, Entry] = baseline.by_key if baseline is not None else {}
    return Outcome(
        name=plain_text(report.declaration.name),
        passed=sum(result.status == "pass" for result in report.results),
        graded=graded(report.results),
        expected=sum(
            (entry := entries.get(key_of(result))) is not None and entry.status == result.status
            for result in report.wrong
        ),
        findings=tuple(sorted(found, key=lambda finding: order.index(finding.kind))),
        groups=() if baseline is None else baseline.groups,
    )


@dataclass(frozen=True)
class _Comparison:
    """Run beside its baseline."""

    report: Report
    baseline: Baseline
    demands: Demands
    suite_ids: Mapping[str, object]
    retired: Mapping[str, str]

    @property
    def better(self) -> Weight:
        """The weight of results that are better than the baseline says."""
        return "warns" if self.demands.lenient else "fails"

    def is_known(self, result: Result) -> bool:
        """Return whether the baseline has seen this case, as it is now."""
        return self.baseline.cases.get(result.case.id) == result.case.revision

    def was_unsupported(self, result: Result) -> bool:
        """Return whether the baseline has seen a result, as unsupported."""
        return self.baseline.has_seen(result.case, result.dtype) and self.baseline.was_unsupported(key_of(result))

    def is_offered(self, result: Result) -> bool:
        """Return whether operation and dtype of a result were offered, and still are."""
        return all(
            result.case.operation in offered.operations and result.dtype in (*offered.dtypes, ANY)
            for offered in (self.report.declaration, self.baseline)
        )


def _against(comparison: _Comparison) -> Generator[Finding]:
    yield from _results(comparison)
    yield from judge_unsupported(_unsupported(comparison))
    yield from _entries_without_result(comparison)
    yield from _capabilities(comparison)
    yield from _conventions(comparison)
    yield from _counts(comparison)
    yield from _new_cases(comparison)


def _results(comparison: _Comparison) -> Generator[Finding]:
    """Judge each result by its entry, or by having none."""
    entries = comparison.baseline.by_key
    for result in comparison.report.results:
        entry = entries.get(key_of(result))
        if entry is not None:
            yield from _listed(result, entry, comparison)
        elif result.is_wrong and not comparison.is_known(result):
            yield _new_case_fails(result, comparison)
        elif result.is_wrong and comparison.was_unsupported(result):
            sentence = f"was unsupported, and ends in {result.status} now: {_said(result)}"
            yield Finding("another status", "fails", *key_of(result), sentence, result)
        elif result.is_wrong:
            yield _new_failure(result)


def _listed(result: Result, entry: Entry, comparison: _Comparison) -> Generator[Finding]:
    subject = key_of(result)
    if result.status == entry.status:
        return
    if result.status in RIGHT:
        now = "passes" if result.status == "pass" else f"is {result.status}"
        yield Finding(
            "passes now", comparison.better, *subject, f"is listed as {entry.status} and {now} now: remove it"
        )
    elif result.is_wrong:
        sentence = f"is listed as {entry.status}, but ends in {result.status}: {_said(result)}"
        yield Finding("another status", "fails", *subject, sentence, result)
    elif result.status == "unsupported" and comparison.is_offered(result):
        sentence = f"is listed as {entry.status} and is unsupported now: {_said(result)}"
        yield Finding("lost", "fails", *subject, sentence, result)


def _unsupported(comparison: _Comparison) -> Unsupported:
    """Return the facts about groups: results that the baseline has seen and does not list, and those it misses."""
    report, baseline = comparison.report, comparison.baseline
    unlisted = [
        result for result in report.results if key_of(result) not in baseline.by_key and comparison.is_offered(result)
    ]
    run = {key_of(result) for result in report.results}
    dtypes = {result.case.id: result.case.runs for result in report.results}
    known = [case_id for case_id in baseline.cases if case_id in comparison.suite_ids]
    was_run = all(
        case_id in dtypes and all((case_id, dtype) in run for dtype in dtypes[case_id] if dtype in baseline.ran_in)
        for case_id in known
    )
    offered, before = report.declaration, baseline
    still_offered = {*before.operations, *before.dtypes} <= {*offered.operations, *offered.dtypes}
    return Unsupported(
        baseline=baseline,
        seen=[result for result in unlisted if baseline.has_seen(result.case, result.dtype)],
        revised=sum(result.case.id in baseline.cases and not comparison.is_known(result) for result in report.results),
        gone=len(baseline.cases) - len(known),
        is_whole=was_run and still_offered,
        better=comparison.better,
    )


def _new_failure(result: Result) -> Finding:
    return Finding("new failure", "fails", *key_of(result), f"{result.status}: {_said(result)}", result)


def _new_case_fails(result: Result, comparison: _Comparison) -> Finding:
    revised = result.case.id in comparison.baseline.cases
    what = f"revised to {result.case.revision}" if revised else "new in the suite"
    return Finding("new cases fail", "fails", *key_of(result), f"{what}, {result.status}: {_said(result)}", result)


def _entries_without_result(comparison: _Comparison) -> Generator[Finding]:
    """Find the entries that no run of the present suite can meet."""
    dtypes: dict[str, set[str]] = {}
    for result in comparison.report.results:
        dtypes.setdefault(result.case.id, set()).update(result.case.runs)
    for entry in comparison.baseline.entries:
        if entry.case not in comparison.suite_ids:
            reason = comparison.retired.get(entry.case)
            why = f" (retired: {reason})" if reason else ""
            yield Finding("vanished", "fails", *entry.key, f"is listed, but there is no such case{why}: remove it")
        elif entry.case in dtypes and entry.dtype not in dtypes[entry.case]:
            yield Finding(
                "vanished", "fails", *entry.key, "is listed, but the case is not offered in this dtype: remove it"
            )


def _capabilities(comparison: _Comparison) -> Generator[Finding]:
    """Compare the operations and dtypes that are offered."""
    now, before = comparison.report.declaration, comparison.baseline
    for what, offered, known in (
        ("operation", now.operations, before.operations),
        ("dtype", now.dtypes, before.dtypes),
    ):
        for name in sorted(set(known) - set(offered)):
            yield Finding("lost", "fails", name, None, f"the {what} was offered before and is not offered now")
        for name in sorted(set(offered) - set(known)):
            sentence = f"the {what} is offered now: take it into the baseline with --update-baseline"
            yield Finding("offered now", comparison.better, name, None, sentence)


def _conventions(comparison: _Comparison) -> Generator[Finding]:
    """Find the conventions that differ from the baseline: another choice can excuse a wrong result."""
    changes: dict[tuple[str, str, str], list[str]] = {}
    for operation in sorted(set(comparison.report.declaration.operations) & set(comparison.baseline.operations)):
        before = convention_rules.resolve(comparison.baseline.conventions, operation)
        for name, choice in convention_rules.resolve(comparison.report.conventions, operation).items():
            if before.get(name) != choice:
                changes.setdefault((name, before.get(name, "unknown"), choice), []).append(operation)
    for (name, before, now), operations in changes.items():
        sentence = f"was {before} and is {now} for {', '.join(operations)}; if that is meant, --update-baseline"
        yield Finding("conventions changed", "fails", name, None, sentence)
    was, stands = (convention_rules.conditional(each.conventions) for each in (comparison.baseline, comparison.report))
    for key in sorted(was.keys() | stands.keys()):
        before, now = (found.get(key, "not declared") for found in (was, stands))
        if before != now:
            sentence = f"was {before} and is {now}; if that is meant, --update-baseline"
            yield Finding("conventions changed", "fails", key, None, sentence)


def _counts(comparison: _Comparison) -> Generator[Finding]:
    # New cases do not make up for lost ones.
    known = [result for result in comparison.report.results if result.case.id in comparison.baseline.cases]
    # A result that was wrong when the baseline was written, and is right now where nothing can be graded, is no loss.
    entries = comparison.baseline.by_key
    improved = sum(result.status == "ungraded" and key_of(result) in entries for result in known)
    now, before = graded(known) + improved, comparison.baseline.graded
    if now < before:
        sentence = (
            f"{now} results were graded, but {before} when the baseline was written. Give the same --profile, --select "
            "and --dtype as then; if fewer are meant, remove the baseline and write it anew with --update-baseline."
        )
        yield Finding("fewer graded", "fails", "", None, sentence)


def _new_cases(comparison: _Comparison) -> Generator[Finding]:
    """Name the cases that the baseline has not seen, and those that it has seen and that are gone."""
    statuses: dict[str, list[Result]] = {}
    for result in comparison.report.results:
        if not comparison.is_known(result):
            statuses.setdefault(result.case.id, []).append(result)
    for case_id, results in statuses.items():
        revised = f"revision {results[0].case.revision}, " if case_id in comparison.baseline.cases else ""
        counts = Counter(result.status for result in results)
        said = ", ".join(f"{status} ({count})" if len(counts) > 1 else status for status, count in counts.items())
        yield Finding("new cases", "tells", case_id, None, f"{revised}{said}")
    for case_id in comparison.baseline.cases:
        if case_id not in comparison.suite_ids:
            yield Finding(
                "retired", "tells", case_id, None, comparison.retired.get(case_id, "is no longer in the suite")
            )


def _nothing_graded(report: Report) -> Generator[Finding]:
    if not any(result.is_wrong or result.establishes for result in report.results):
        sentence = f"None of {len(report.results)} results says anything about conformance."
        yield Finding("nothing graded", "fails", "", None, sentence)


def _not_run(report: Report) -> Generator[Finding]:
    """Find that the run ended early: the results not reached may be wrong, whatever the baseline expects."""
    sentence = not_run_sentence(report.not_run, len(report.results), report.ended_early)
    if sentence is not None:
        yield Finding("not run", "fails", "", None, sentence)


def _required(report: Report, names: Sequence[str]) -> Generator[Finding]:
    """Find the required profiles and operations that do not conform wholly."""
    for name in names:
        of_name = tuple(result for result in report.results if name in (result.case.profile, result.case.operation))
        if not of_name:
            yield Finding("required", "fails", name, None, "none of its cases was run")
            continue
        summary = summarise(of_name)
        if summary.conformance != "conforms":
            wrong = sum(result.is_wrong for result in of_name)
            sentence = (
                f"{summary.conformance}: {summary.clauses_graded} of {summary.clauses} clauses graded, {wrong} wrong"
            )
            yield Finding("required", "fails", name, None, sentence)


def _accuracy(report: Report, limit: float | None) -> Generator[Finding]:
    if limit is None:
        return
    median = report.summary.median
    if median is None:
        yield Finding(
            "accuracy", "fails", "", None, "No number was compared, so that there is no accuracy to speak of."
        )
    # Written so that NaN, too, is refused.
    elif not median <= limit:
        sentence = f"The median of error / tolerance is {median:.3g}, above --minimum-accuracy {limit:g}."
        yield Finding("accuracy", "fails", "", None, sentence)


def _said(result: Result) -> str:
    return plain_text(ending(result.verdict.message or result.status, result.verdict.under))
