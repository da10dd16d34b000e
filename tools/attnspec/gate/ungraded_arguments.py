"""Arguments that are taken and that nothing graded shows, beside a baseline, and results graded at a default.

A baseline from before arguments were looked at lists none. It keeps its gate open: what it does not know is a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attnspec.gate.finding import Finding, Weight
from attnspec.grading import NOT_GRADED, RIGHT
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from attnspec.reports.taken_arguments import TakenArgument
    from attnspec.runner import Result

NOT_SHOWN = "taken, not graded"
"""The kind of the finding."""


class UngradedArgument(NamedTuple):
    """Argument of an operation that is taken and that nothing graded shows, as a baseline lists it, with a reason."""

    operation: str
    argument: str
    reason: str

    @property
    def key(self) -> tuple[str, str]:
        """Operation and argument."""
        return self.operation, self.argument


def findings(
    arguments: Sequence[TakenArgument], listed: Sequence[UngradedArgument] | None, better: Weight
) -> Generator[Finding]:
    """Yield what differs from the arguments that a baseline lists; None for one from before, which lists none."""
    known = {each.key for each in listed or ()}
    found = {each.key: each for each in arguments if each.is_ungraded}
    for (operation, argument), taken in found.items():
        if (operation, argument) in known:
            continue
        sentence = (
            f"code that ignores it passes as well; {counted(taken.not_graded, 'result')} would show it, and none was "
            f"graded ({taken.reason})"
        )
        weight = "fails" if listed is not None else "warns"
        yield Finding(NOT_SHOWN, weight, f"{argument} of {operation}", None, sentence)
    for operation, argument in sorted(known - found.keys()):
        sentence = "is listed as taken and not graded, and is not so any more"
        yield Finding("graded now", better, f"{argument} of {operation}", None, sentence)


def left_out_at_default(result: Result) -> list[str]:
    """Return the attributes that a case states at their default, and that an implementation was called without."""
    return [name for name in result.case.attributes if name in result.at_default]


def newly_called(results: Sequence[Result]) -> Generator[Finding]:
    """Yield what became of results that were unsupported before a default needed no argument."""
    of: dict[str, Counter[bool]] = {}
    for result in results:
        if result.status in NOT_GRADED:
            continue
        for name in left_out_at_default(result):
            of.setdefault(name, Counter())[result.status in RIGHT] += 1
    for name, counts in of.items():
        wrong = f", {counts[False]} went wrong" if counts[False] else ""
        sentence = (
            f"a case that states its default is put to a function without it: {counted(counts.total(), 'result')} more "
            f"graded than before, {counts[True]} passed{wrong}"
        )
        yield Finding("called now", "warns", name, None, sentence)


def listed_anew(
    arguments: Sequence[TakenArgument], old: Sequence[UngradedArgument] | None, unexplained: str
) -> tuple[UngradedArgument, ...]:
    """Return the arguments to list, with the reasons that the old baseline gives."""
    reasons: Mapping[tuple[str, str], str] = {each.key: each.reason for each in old or ()}
    return tuple(
        UngradedArgument(*each.key, reasons.get(each.key, unexplained)) for each in arguments if each.is_ungraded
    )
