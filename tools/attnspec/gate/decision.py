"""Decision on a run: what fails the gate, by the baseline and by the demands of the user beyond it."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from attnspec.gate import ungraded_arguments
from attnspec.gate.baseline import Baseline, Entry, Key, check_same_implementation, count_graded
from attnspec.gate.finding import HEADINGS, Finding, Outcome, failure, result_ending
from attnspec.reports.report import Report, summarise
from attnspec.reports.wording import not_run_sentence, shown_name


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
        found = [*ungraded_arguments.findings(report.arguments, (), "fails")]
        found += [
            failure("new failure", result, f"{result.status}: {result_ending(result)}") for result in report.wrong
        ]
    else:
        from attnspec.gate.comparison import Comparison

        check_same_implementation(report, baseline)
        better = "warns" if demands.lenient else "fails"
        found = [*Comparison(report, baseline, better, suite_ids, retired).findings()]
    found += [*_whole_run_findings(report, demands.minimum_accuracy), *_required(report, demands.require)]
    order = list(HEADINGS)
    entries: Mapping[Key, Entry] = baseline.by_key if baseline is not None else {}
    return Outcome(
        name=shown_name(report.declaration.name, None, report.conventions),
        passed=sum(result.status == "pass" for result in report.results),
        graded=count_graded(report.results) + sum(result.is_of_run for result in report.results),
        expected=sum(
            (entry := entries.get(result.key)) is not None and entry.status == result.status for result in report.wrong
        ),
        findings=tuple(sorted(found, key=lambda finding: order.index(finding.kind))),
        groups=() if baseline is None else baseline.groups,
    )


def _whole_run_findings(report: Report, limit: float | None) -> Generator[Finding]:
    """Find that nothing was graded, that results not reached may be wrong, or that errors are above `limit`."""
    if not any(result.is_wrong or result.establishes for result in report.results):
        sentence = f"None of {len(report.results)} results says anything about conformance."
        yield Finding("nothing graded", "fails", "", None, sentence)
    left = not_run_sentence(report.not_run, len(report.results), report.ended_early)
    if left is not None:
        yield Finding("not run", "fails", "", None, left)
    median = report.summary.median
    # Written so that NaN, too, is refused.
    if limit is not None and (median is None or not median <= limit):
        sentence = "No number was compared, so that there is no accuracy to speak of."
        if median is not None:
            sentence = f"The median of error / tolerance is {median:.3g}, above --minimum-accuracy {limit:g}."
        yield Finding("accuracy", "fails", "", None, sentence)


def _required(report: Report, names: Sequence[str]) -> Generator[Finding]:
    """Find the required profiles and operations that do not conform wholly."""
    for name in names:
        of_name = tuple(result for result in report.results if name in (result.case.profile, result.case.operation))
        summary = summarise(of_name)
        if summary.conformance == "conforms":
            continue
        clauses_graded = f"{summary.clauses_graded} of {summary.clauses} clauses graded"
        sentence = f"{summary.conformance}: {clauses_graded}, {sum(result.is_wrong for result in of_name)} wrong"
        yield Finding("required", "fails", name, None, sentence if of_name else "none of its cases was run")
