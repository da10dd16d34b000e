"""Proposed groups: as few as cover the unsupported results, in the terms that mean most to a reader.

Facts of the harness come first (a convention, a capability, a dtype), then arguments that nothing is graded with, then,
whichever covers most, a profile, a text, a glob.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY
from attnspec.gate.baseline import NOT_EXPLAINED, key_of, said_of
from attnspec.gate.group import Group, said_capability, said_convention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from attnspec.gate.baseline import Key
    from attnspec.reports.report import Report
    from attnspec.runner import Result

_Criteria = tuple[tuple[str, str], ...]
"""Criteria of a group in a hashable form."""

# Numbers and ids differ from case to case, where the reason is one and the same.
_VARYING = re.compile(r"[^\s,;:()]*[0-9/][^\s,;:()]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def of_offered(report: Report) -> list[Result]:
    """Return the results of the operations and dtypes on offer, which a baseline names once."""
    operations, dtypes = report.declaration.operations, (*report.declaration.dtypes, ANY)
    return [result for result in report.results if result.case.operation in operations and result.dtype in dtypes]


def kept_groups(groups: Iterable[Group], results: Sequence[Result]) -> tuple[Group, ...]:
    """Return the baseline's groups that still hold, each with its count in the results of the run."""
    return tuple(
        group
        for group in _counted(groups, results)
        if group.count and not (group.is_claim and _names_an_answer(group, results))
    )


def covered(group: Group, results: Iterable[Result]) -> list[Result]:
    """Return the unsupported results that a group names."""
    return [
        result
        for result in results
        if result.status == "unsupported" and group.names(result.case, result.dtype, said_of(result))
    ]


def proposed_groups(results: Sequence[Result], kept: Iterable[Group]) -> tuple[Group, ...]:
    """Return groups for the unsupported results that no kept group names."""
    named = {key_of(result) for group in kept for result in covered(group, results)}
    open_results = [result for result in results if result.status == "unsupported" and key_of(result) not in named]
    answered = [result for result in results if result.status != "unsupported"]
    chosen: list[_Criteria] = []
    for candidates in (_known_to_the_harness, _named_arguments, _arguments, _others):
        open_results = _choose(open_results, candidates(open_results, answered), chosen)
    return _counted((Group(dict(criteria), 0, NOT_EXPLAINED) for criteria in chosen), results)


def with_reasons_of(groups: Iterable[Group], gone: Sequence[Group]) -> tuple[Group, ...]:
    """Return groups, each with the reason of one that no longer holds and that named the same, if there is one.

    A group goes when one of its cases is graded. The rest of it gets a narrower group, for the same reason.
    """

    def named(group: Group) -> set[tuple[str, str]]:
        return {(name, value) for name, value in group.key if name not in ("dtype", "operation")}

    def reason(group: Group) -> str:
        return next((other.reason for other in gone if named(other) & named(group)), group.reason)

    return tuple(replace(group, reason=reason(group)) for group in groups)


def _choose(
    results: Sequence[Result], candidates: Callable[[Result], Iterable[_Criteria]], chosen: list[_Criteria]
) -> list[Result]:
    """Add to `chosen` the criteria that cover the most results, again and again; return results that nothing covers.

    Where several cover as many, the first that is named wins.
    """
    covers: dict[_Criteria, set[Key]] = defaultdict(set)
    for result in results:
        for criteria in candidates(result):
            covers[criteria].add(key_of(result))
    left = {key_of(result) for result in results}
    while covers:
        best = max(covers, key=lambda criteria: len(covers[criteria]))
        found = covers[best]
        if not found:
            break
        chosen.append(best)
        left -= found
        covers = {criteria: keys - found for criteria, keys in covers.items() if keys - found}
    return [result for result in results if key_of(result) in left]


def _counted(groups: Iterable[Group], results: Sequence[Result]) -> tuple[Group, ...]:
    return tuple(replace(group, count=len(covered(group, results))) for group in groups)


def _names_an_answer(group: Group, results: Iterable[Result]) -> bool:
    return any(result.status != "unsupported" and group.names(result.case, result.dtype, "") for result in results)


def _known_to_the_harness(_: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
    offered_dtypes = {result.dtype for result in answered}

    def candidates(result: Result) -> Iterator[_Criteria]:
        said = said_of(result)
        for name, value in (("convention", said_convention(said)), ("capability", said_capability(said))):
            if value is not None:
                yield ((name, value),)
        if result.dtype not in offered_dtypes:
            yield (("dtype", result.dtype),)

    return candidates


def _named_arguments(results: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
    """Yield the arguments that the message of a case without an answer names, for each case that states one of them."""
    reported = {
        (result.case.operation, word)
        for result in results
        for word in _WORD.findall(said_of(result))
        if word in _stated(result)
    }
    of_any = _arguments(results, answered)
    return lambda result: (
        criteria for criteria in of_any(result) if (result.case.operation, dict(criteria)["argument"]) in reported
    )


def _arguments(_: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
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


def _others(results: Sequence[Result], answered: Sequence[Result]) -> Callable[[Result], Iterator[_Criteria]]:
    """Yield an operation in a dtype, a profile, a text, a glob, of which nothing is answered."""
    operations = {(result.case.operation, result.dtype) for result in answered}
    profiles = {result.case.profile for result in answered}
    globs = {glob for result in answered for glob in _globs(result.case.id)}
    texts: dict[str, set[str]] = defaultdict(set)
    for result in results:
        texts[_VARYING.sub("*", said_of(result))].add(said_of(result))

    def candidates(result: Result) -> Iterator[_Criteria]:
        case, dtype, said = result.case, result.dtype, said_of(result)
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
    return [name for name in (*result.case.inputs, *result.case.attributes) if name not in required]


def _globs(case_id: str) -> list[str]:
    """Return the globs that begin like an id, the widest first, and the id."""
    profile, _, name = case_id.partition("/")
    parts = name.split("_")
    return [*(f"{profile}/{'_'.join(parts[:length])}_*" for length in range(1, len(parts))), case_id]
