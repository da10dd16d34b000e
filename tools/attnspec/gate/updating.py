"""Update of a baseline from a run: reasons that people wrote are kept, and groups proposed for results without one.

Groups are as few as cover the unsupported results, in the terms that mean most to a reader: facts of the harness (a
convention, a capability, a dtype), then arguments that nothing is graded with, then, whichever covers most, a profile,
a text, a glob.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING

from attnspec.base.errors import BaselineError
from attnspec.base.plain_text import plain_text
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY
from attnspec.gate.baseline import (
    FORMAT,
    NOT_EXPLAINED,
    Baseline,
    Entry,
    Key,
    baseline_of,
    check_same_implementation,
    count_graded,
    name_of,
    result_message,
)
from attnspec.gate.group import Group, criterion_in, stated_arguments
from attnspec.gate.ungraded_arguments import listed_anew
from attnspec.grading import RIGHT
from attnspec.reports.wording import counted, not_run_sentence

if TYPE_CHECKING:
    from attnspec.reports.report import Report
    from attnspec.runner import Result

_SHOWN, _SHOWN_OF_ENTRIES, _SHOWN_OF_GROUPS = 3, 6, 20

_Criteria = tuple[tuple[str, str], ...]
"""Criteria of a group in a hashable form."""

# Numbers and ids differ from case to case, where the reason is one and the same.
_VARYING = re.compile(r"[^\s,;:()]*[0-9/][^\s,;:()]*")
_GLOB = re.compile(r"\S*[*/]\S*")
"""A glob of case ids, which all have a slash, and no reason in words."""

_NO_REASONS: Mapping[str, str] = MappingProxyType({})
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _reasons_of(texts: Sequence[str]) -> dict[str, str]:
    """Return glob of case ids to reason, from texts such as ``window/*=planned`` or, of all cases, ``planned``."""
    found: dict[str, str] = {}
    for text in texts:
        glob, sign, reason = text.partition("=")
        if sign and reason and _GLOB.fullmatch(glob):
            found[glob] = plain_text(reason)
        else:
            found["*"] = plain_text(text)
    return found


def updated_baseline(
    old: Baseline | None, report: Report, *, suite_ids: Container[str], reasons: Sequence[str] = ()
) -> Baseline | None:
    """Return the baseline that a run meets exactly, with the reasons written into the old one; None for nothing graded.

    `suite_ids` has the ids of all cases, selected or not; `reasons` are for failures without one, each a text, or one
    behind a glob of case ids and an equals sign; the first that matches counts. `BaselineError` if the run ended early,
    or the old baseline is about another implementation, or knows cases that the run left out.
    """
    left = not_run_sentence(report.not_run, len(report.results), report.ended_early)
    if left is not None:
        raise BaselineError(f"The run ended early, and a baseline is written from a whole run. {left}")
    if not count_graded(report.results):
        return None
    if old is not None:
        check_same_implementation(report, old)
        _check_nothing_left_out(report, old, suite_ids)
    # Operations and dtypes that are not on offer stand in a baseline once.
    operations, dtypes = report.declaration.operations, (*report.declaration.dtypes, ANY)
    results = [result for result in report.results if result.case.operation in operations and result.dtype in dtypes]
    given = _reasons_of(reasons)
    entries = [
        Entry(*result.key, result.status, _reason(result, old, given))
        for result in results
        if result.status not in RIGHT and result.status != "unsupported"
    ]
    of_cases = [result for result in results if not result.is_of_run]
    arguments = listed_anew(report.arguments, None if old is None else old.ungraded_arguments, NOT_EXPLAINED)
    return baseline_of(report, entries, _groups(of_cases, old), arguments)


def _reason(result: Result, old: Baseline | None, reasons: Mapping[str, str] = _NO_REASONS) -> str:
    """Return the reason that the old baseline gives for a result, if it lists it with one, or else the new one."""
    entry = None if old is None else old.by_key.get(result.key)
    if entry is not None and entry.reason not in ("", NOT_EXPLAINED):
        return entry.reason
    given = (reason for glob, reason in reasons.items() if fnmatchcase(result.case.id, glob))
    return next(given, NOT_EXPLAINED if entry is None else entry.reason)


def _groups(results: Sequence[Result], old: Baseline | None) -> tuple[Group, ...]:
    """Return the old groups that still hold, each with its count, and new ones for the remaining results.

    A group goes when a case that it claims is graded. The rest of it gets a narrower group, for the same reason.
    """
    if old is None:
        return _proposed_groups(results, ())
    answered = [result for result in results if result.status != "unsupported"]
    kept = [
        group
        for group in _counted((replace(group, at_default=False) for group in old.groups), results)
        if group.count
        and not (group.is_claim and any(group.covers(result.case, result.dtype, "") for result in answered))
    ]
    still = {group.key for group in kept}
    gone = [group for group in old.groups if group.key not in still]

    def reason(group: Group) -> str:
        if old.format == 1:
            reasons = dict.fromkeys(_reason(result, old) for result in _covered(group, results))
            return "; ".join(said for said in reasons if said not in ("", NOT_EXPLAINED)) or NOT_EXPLAINED
        named = {(name, value) for name, value in group.key if name not in ("dtype", "operation")}
        return next((other.reason for other in gone if other.key & named), group.reason)

    return (*kept, *(replace(group, reason=reason(group)) for group in _proposed_groups(results, kept)))


def _check_nothing_left_out(report: Report, baseline: Baseline, suite_ids: Container[str]) -> None:
    """Raise `BaselineError` where the baseline knows offered cases that the run, by its selection, left out."""
    run = {result.key for result in report.results}
    cases = {result.case.id: result.case for result in report.results}
    left_out = [case_id for case_id in baseline.cases if case_id in suite_ids and case_id not in cases]
    answered = baseline.answered or {}
    known = {*baseline.by_key, *((case_id, dtype) for dtype, ids in answered.items() for case_id in ids)}
    left_out += [
        name_of((case_id, dtype))
        for case_id, dtype in sorted(known - run)
        if (case := cases.get(case_id)) is not None
        and dtype in case.runs
        and dtype in (*report.declaration.dtypes, ANY)
    ]
    if left_out:
        shown = ", ".join(left_out[:_SHOWN]) + (", …" if len(left_out) > _SHOWN else "")
        raise BaselineError(
            f"This run leaves out {len(left_out)} that the baseline knows ({shown}), and an update would forget them. "
            "Give the same --profile, --select and --dtype as then, or remove the baseline first."
        )


def _covered(group: Group, results: Iterable[Result]) -> list[Result]:
    """Return the unsupported results that a group names."""
    return [
        result
        for result in results
        if result.status == "unsupported" and group.covers(result.case, result.dtype, result_message(result))
    ]


def _proposed_groups(results: Sequence[Result], kept: Iterable[Group]) -> tuple[Group, ...]:
    """Return groups for the unsupported results that no kept group names."""
    named = {result.key for group in kept for result in _covered(group, results)}
    open_results = [result for result in results if result.status == "unsupported" and result.key not in named]
    answered = [result for result in results if result.status != "unsupported"]
    chosen: list[_Criteria] = []
    for candidates in (_harness_criteria, _named_criteria, _argument_criteria, _other_criteria):
        open_results = _choose(open_results, candidates(open_results, answered), chosen)
    return _counted((Group(dict(criteria), 0, NOT_EXPLAINED) for criteria in chosen), results)


def _choose(
    results: Sequence[Result], candidates: Callable[[Result], Iterable[_Criteria]], chosen: list[_Criteria]
) -> list[Result]:
    """Add to `chosen` the criteria that cover the most results, again and again; return results that nothing covers.

    Where several cover as many, the first that is named wins.
    """
    covers: dict[_Criteria, set[Key]] = defaultdict(set)
    for result in results:
        for criteria in candidates(result):
            covers[criteria].add(result.key)
    left = {result.key for result in results}
    while covers:
        best = max(covers, key=lambda criteria: len(covers[criteria]))
        found = covers[best]
        if not found:
            break
        chosen.append(best)
        left -= found
        covers = {criteria: keys - found for criteria, keys in covers.items() if keys - found}
    return [result for result in results if result.key in left]


def _counted(groups: Iterable[Group], results: Sequence[Result]) -> tuple[Group, ...]:
    return tuple(replace(group, count=len(_covered(group, results))) for group in groups)


def _harness_criteria(_: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
    offered_dtypes = {result.dtype for result in answered}

    def candidates(result: Result) -> Iterator[_Criteria]:
        reason = criterion_in(result_message(result))
        if reason is not None:
            yield (reason,)
        if result.dtype not in offered_dtypes:
            yield (("dtype", result.dtype),)

    return candidates


def _named_criteria(results: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
    """Yield the arguments that the message of a case without an answer names, for each case that states one of them."""
    reported = {
        (result.case.operation, word)
        for result in results
        for word in _WORD.findall(result_message(result))
        if word in _stated(result)
    }
    of_any = _argument_criteria(results, answered)
    return lambda result: (
        criteria for criteria in of_any(result) if (result.case.operation, dict(criteria)["argument"]) in reported
    )


def _argument_criteria(_: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
    """Yield the arguments that a case states and with which nothing is answered, by itself or of an operation."""
    taken = {(result.case.operation, argument) for result in answered for argument in _stated(result)}
    taken_anywhere = {argument for _, argument in taken}

    def candidates(result: Result) -> Iterator[_Criteria]:
        operation = result.case.operation
        for argument in _stated(result):
            if argument not in taken_anywhere:
                yield (("argument", argument),)
            elif (operation, argument) not in taken:
                yield (("argument", argument), ("operation", operation))

    return candidates


def _other_criteria(results: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
    """Yield an operation in a dtype, a profile, a text, a glob, of which nothing is answered."""
    operations = {(result.case.operation, result.dtype) for result in answered}
    profiles = {result.case.profile for result in answered}
    globs = {glob for result in answered for glob in _globs(result.case.id)}
    texts: dict[str, set[str]] = defaultdict(set)
    for result in results:
        texts[_VARYING.sub("*", result_message(result))].add(result_message(result))

    def candidates(result: Result) -> Iterator[_Criteria]:
        case, dtype, said = result.case, result.dtype, result_message(result)
        if (case.operation, dtype) not in operations:
            yield (("dtype", dtype), ("operation", case.operation))
        if case.profile not in profiles:
            yield (("profile", case.profile),)
        general = _VARYING.sub("*", said)
        yield (("said", general if len(texts[general]) > 1 else said),)
        for glob in _globs(case.id):
            if glob not in globs:
                yield (("cases", glob),)

    return candidates


def _stated(result: Result) -> list[str]:
    """Return the arguments of a case that it need not state."""
    required = OPERATIONS[result.case.operation].required_arguments
    return [name for name in stated_arguments(result.case) if name not in required]


def _globs(case_id: str) -> list[str]:
    """Return the globs that begin like an id, the widest first, and the id."""
    profile, _, name = case_id.partition("/")
    parts = name.split("_")
    return [*(f"{profile}/{'_'.join(parts[:length])}_*" for length in range(1, len(parts))), case_id]


def update_sentences(new: Baseline, old: Baseline | None, path: str, reasons: Sequence[str] = ()) -> tuple[str, ...]:
    """Return sentences on an update: the file written, and all that it accepts from now on."""

    def changes(**counts: int) -> str:
        said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        return f" ({said})" if said else ""

    before: Mapping[Key, Entry] = old.by_key if old is not None else {}
    wrong_before = {key for key, entry in before.items() if entry.status != "unsupported"}
    added = [entry for entry in new.entries if entry.key not in wrong_before]
    failures = changes(
        added=len(added),
        removed=len(wrong_before - new.by_key.keys()),
        changed=sum(entry.key in wrong_before and before[entry.key].status != entry.status for entry in new.entries),
    )
    groups_before = {group.key: group for group in old.groups} if old is not None else {}
    added_groups = [group for group in new.groups if group.key not in groups_before]
    groups = changes(
        added=len(added_groups),
        removed=len(groups_before.keys() - {group.key for group in new.groups}),
        changed=sum(
            group.key in groups_before and groups_before[group.key].count != group.count for group in new.groups
        ),
    )
    stated = [entry.reason for entry in new.entries]
    alike = sum(reason in ("", NOT_EXPLAINED) for reason in stated)
    arguments, known = new.ungraded_arguments or (), {each.key for each in (old and old.ungraded_arguments) or ()}
    unexplained = alike + sum(each.reason in ("", NOT_EXPLAINED) for each in (*new.groups, *arguments))
    at_once = "; --reason TEXT says it of all failures at once, --reason 'GLOB=TEXT' of some" if alike > 1 else ""
    was = f" It had format {old.format} and has format {FORMAT} now." if old and old.format != FORMAT else ""
    sentences = [
        f"The baseline {path} is written: {counted(len(new.entries), 'known failure')}{failures}, "
        f"{counted(len(new.groups), 'group')} of what is unsupported{groups}, {counted(new.graded, 'graded result')}."
        + was
        + (f" Say why beside the {unexplained} without a reason{at_once}." if unexplained else "")
    ]
    added_arguments = [f"{each.argument} of {each.operation}" for each in arguments if each.key not in known]
    if added_arguments:
        sentences.append(f"Taken, and not graded: {_some(added_arguments)}.")
    if added:
        sentences.append(f"New among the known failures: {_some([name_of(entry.key) for entry in added])}.")
    if added_groups:
        named = [f"{group.title} ({group.count})" for group in added_groups]
        sentences.append(f"New groups: {_some(named, shown=_SHOWN_OF_GROUPS)}.")
    lost = [
        name_of((case_id, dtype))
        for dtype, ids in ((old and old.answered) or {}).items()
        for case_id in sorted(ids & (new.cases.keys() - (new.answered or {}).get(dtype, frozenset())))
    ]
    sentences += [
        f"--reason: no failure without a reason matches {glob}."
        for glob, reason in _reasons_of(reasons).items()
        if reason not in stated
    ]
    if lost:
        sentences.append(f"Not unsupported before, and unsupported now: {_some(lost)}.")
    return tuple(sentences)


def _some(names: Sequence[str], *, shown: int = _SHOWN_OF_ENTRIES) -> str:
    """Return the first of many names, and how many follow."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f", and {rest} more" if rest > 0 else "")
