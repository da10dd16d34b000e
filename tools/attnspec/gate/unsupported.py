"""Unsupported results beside the groups of a baseline: lost, no longer so, in no group, more or fewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.gate.baseline import key_of, name_of, said_of
from attnspec.gate.finding import Finding
from attnspec.grading import RIGHT
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from attnspec.gate.baseline import Baseline
    from attnspec.gate.finding import Weight
    from attnspec.gate.group import Group
    from attnspec.runner import Result

_NAMED = 3
_TAKE_IN = "--update-baseline takes that in"


@dataclass(frozen=True)
class Unsupported:
    """Results that are, or were, unsupported, as a run and its baseline have them.

    `seen` are those that the baseline knows as they are and does not list one by one. `revised` counts results of cases
    revised since, which may have joined a group or left it; `gone`, known cases no longer in the suite. `is_whole`: all
    that the baseline knows and the suite still has was run and is offered. `better`: the weight of better results.
    """

    baseline: Baseline
    seen: Sequence[Result]
    revised: int
    gone: int
    is_whole: bool
    better: Weight


def judge_unsupported(held: Unsupported) -> Generator[Finding]:
    """Compare unsupported results with the baseline."""
    yield from _lost(held)
    yield from _in_no_group(held)
    yield from _graded_now(held)
    if held.is_whole:
        yield from _counts(held)


def _lost(held: Unsupported) -> Generator[Finding]:
    for result in held.seen:
        if result.status == "unsupported" and not held.baseline.was_unsupported(key_of(result)):
            sentence = f"is unsupported now, and was not before: {said_of(result)}"
            yield Finding("lost", "fails", *key_of(result), sentence, result)


def _in_no_group(held: Unsupported) -> Generator[Finding]:
    """Find the results that are unsupported as before, for another reason than the baseline gives."""
    nameless: dict[str, list[Result]] = {}
    for result in held.seen:
        if result.status == "unsupported" and held.baseline.was_unsupported(key_of(result)):
            said = said_of(result)
            if not any(group.names(result.case, result.dtype, said) for group in held.baseline.groups):
                nameless.setdefault(said, []).append(result)
    for said, results in nameless.items():
        sentence = f"{counted(len(results), 'result')}, such as {_some(results)}; --update-baseline proposes a group"
        yield Finding("in no group", "fails", said, None, sentence)


def _graded_now(held: Unsupported) -> Generator[Finding]:
    """Find results that were unsupported and are right now: by the groups that claim otherwise, or else one by one."""
    right = [result for result in held.seen if result.status in RIGHT and held.baseline.was_unsupported(key_of(result))]
    claimed: set[tuple[str, str]] = set()
    for group in held.baseline.groups:
        if group.is_claim and (of_group := _named(group, right)):
            claimed |= {key_of(result) for result in of_group}
            sentence = (
                f"{len(of_group)} of {group.count} are no longer unsupported, such as {_some(of_group)}; {_TAKE_IN}"
            )
            yield Finding("graded now", held.better, group.title, None, sentence)
    for result in right:
        if key_of(result) not in claimed:
            sentence = f"was unsupported and {_ends(result)} now; {_TAKE_IN}"
            yield Finding("graded now", held.better, *key_of(result), sentence)


def _counts(held: Unsupported) -> Generator[Finding]:
    """Find the groups that cover more or fewer results than they say, where no other finding says why."""
    for group in held.baseline.groups:
        now = len(_named(group, held.seen))
        if now <= group.count <= now + held.revised:
            continue
        sentence = f"covers {counted(now, 'result')}, not {group.count}"
        if now < group.count and held.gone:
            sentence += f" ({counted(held.gone, 'case')} that the baseline knows left the suite)"
        is_better = now < group.count and not group.is_claim and not held.gone
        what_to_do = _TAKE_IN if now else "remove it"
        yield Finding(
            "another count", held.better if is_better else "fails", group.title, None, f"{sentence}; {what_to_do}"
        )


def _named(group: Group, results: Sequence[Result]) -> list[Result]:
    """Return the results of a group: by message, the unsupported ones; by a claim, any."""
    return [
        result
        for result in results
        if (group.is_claim or result.status == "unsupported")
        and group.names(result.case, result.dtype, said_of(result))
    ]


def _ends(result: Result) -> str:
    return "passes" if result.status == "pass" else f"is {result.status}"


def _some(results: Sequence[Result]) -> str:
    """Return the names of the first results."""
    return ", ".join(name_of(key_of(result)) for result in results[:_NAMED])
