"""Results recovered from a journal: whole where the run was finished, else as many as there are."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from attnspec.cases import Suite
from attnspec.contract.layout import clauses_in
from attnspec.grading import WRONG, NotGraded, Verdict
from attnspec.guard.ending import how_it_ended
from attnspec.guard.journal import Ending, JournalEntry, Reported, Requested
from attnspec.runner import OCCASIONS, Key, Resolved, Result, beside_counterparts, planned_runs, ungraded_run
from attnspec.targets import Declaration

_NOT_EXPLAINED = "nothing in this run had to be explained"


def recovered_results(
    reported: Reported,
    suite: Suite,
    declaration: Declaration,
    dtypes: Sequence[str],
    resolved: Resolved,
) -> tuple[Result, ...]:
    """Return the results that a journal holds, in the order of ids and dtypes.

    `dtypes` are the requested dtypes, `resolved` the choice of every convention for each run.
    """
    entries = reported.results
    finished = reported.ending == "finished"
    # Expected values are computed anew only where there is something to diagnose, or something left.
    prepared = not finished or any(entry.verdict.status in WRONG for entry in entries.values())
    results: list[Result] = []
    for case in suite.cases.values():
        if prepared:
            runs = planned_runs(case, dtypes, declaration, resolved)
        else:
            named = case._replace(clauses=clauses_in(case.clauses, declaration.requested_in))
            runs = [ungraded_run(named, dtype, _NOT_EXPLAINED) for dtype in case.runs if (case.id, dtype) in entries]
        for run in runs:
            entry = entries.get((case.id, run.dtype))
            if entry is not None:
                got = reported.got((case.id, run.dtype)) if prepared else None
                results.append(Result(run, entry.verdict, entry.seconds, got, entry.same_bits))
            elif not finished and isinstance(run.expected, NotGraded):
                results.append(Result(run, Verdict("unsupported", message=run.expected.reason), 0.0, None))
    if finished:
        return tuple(results)
    return beside_counterparts(results, suite)


def journal_with_crash(reported: Reported, code: int) -> Reported:
    """Return the journal of a process that ended by accident with its last request as a crash; any other as it is.

    `code` is the exit status, or the negated signal.
    """
    if reported.ending is not None or reported.requested is None:
        return reported
    key = (reported.requested.case, reported.requested.dtype)
    return reported._replace(results={**reported.results, key: _crash(reported.requested, reported.results, code)})


def _crash(requested: Requested, entries: Mapping[Key, JournalEntry], ended: int) -> JournalEntry:
    before = entries.get((requested.case, requested.dtype))
    message = f"{OCCASIONS[requested.occasion]}it {how_it_ended(ended)}"
    return JournalEntry(Verdict("crash", message=message), before.seconds if before else 0.0, None)


def merged_journals(parts: Sequence[Reported]) -> Reported:
    """Return the journals of several processes as one.

    The run has ended as one of them did: refused, then interrupted, then by accident, then given up, before finished.
    """
    if len(parts) == 1:
        return parts[0]
    order: tuple[Ending | None, ...] = ("refused", "interrupted", None, "given up", "finished")
    last = min(parts, key=lambda reported: order.index(reported.ending))
    results: dict[Key, JournalEntry] = {}
    for reported in parts:
        results |= reported.results

    def got(of: Key) -> Mapping[str, NDArray[Any]] | None:
        return next(filter(None, (reported.got(of) for reported in parts)), None)

    return last._replace(results=results, got=got)
