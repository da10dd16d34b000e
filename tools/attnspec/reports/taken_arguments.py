"""Arguments that an implementation takes, and whether anything was graded that would be wrong without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import resolve_conventions
from attnspec.grading import NOT_GRADED

if TYPE_CHECKING:
    from attnspec.runner import Result
    from attnspec.targets import Declaration


NEVER_GIVEN = "the operation has no such argument"
"""Why nothing was given to an argument that an implementation has beside the contract's."""


@dataclass(frozen=True)
class TakenArgument:
    """Argument that an operation takes, and need not be given.

    `graded` and `not_graded` count (case, dtype) in which a right answer would be wrong if the argument were ignored.
    `reason` is the most frequent one why some were not graded, None where all were. Of an argument that a signature
    names beside the contract's, nothing is counted, and the reason is `NEVER_GIVEN`.
    """

    operation: str
    argument: str
    graded: int
    not_graded: int
    reason: str | None

    @property
    def key(self) -> tuple[str, str]:
        """Operation and argument."""
        return self.operation, self.argument

    @property
    def is_ungraded(self) -> bool:
        """Whether cases would show it, and none of them was graded: it may be ignored, and nobody would know."""
        return not self.graded and bool(self.not_graded)


@dataclass
class _Seen:
    """Results that show an argument: how many were graded, and why others were not; whether any was answered."""

    graded: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])
    is_answered: bool = False


class Taking:
    """The arguments that operations take, counted result by result.

    They are those that a signature names, or, where none can be read, those with which anything was answered. What
    follows from other inputs, is declared to be missing, or has one value alone by a convention is not looked for.
    """

    def __init__(self, declaration: Declaration, conventions: Mapping[str, str]) -> None:
        self._named = declaration.arguments
        self._never_given = declaration.never_given
        self._looked_for = {name: _looked_for(name, declaration, conventions) for name in declaration.operations}
        self._seen: dict[tuple[str, str], _Seen] = {}

    def add(self, result: Result) -> None:
        """Count a result for the arguments that its case states."""
        case, status = result.case, result.status
        looked_for = self._looked_for.get(case.operation, ())
        for argument in (*case.inputs, *case.attributes):
            if argument not in looked_for:
                continue
            seen = self._seen.setdefault((case.operation, argument), _Seen())
            is_answered = status != "unsupported" and argument not in result.verdict.at_default
            seen.is_answered = seen.is_answered or is_answered
            if not case.shows(argument, result.dtype):
                continue
            if status in NOT_GRADED:
                seen.reasons[result.verdict.message] += 1
            else:
                seen.graded += 1

    def found(self) -> tuple[TakenArgument, ...]:
        """Return the arguments that are taken, in the contract's order, and then those to which nothing is given."""
        never_given = (
            TakenArgument(operation, argument, 0, 0, NEVER_GIVEN)
            for operation, arguments in self._never_given.items()
            for argument in arguments
        )
        taken = (
            TakenArgument(operation, argument, seen.graded, seen.reasons.total(), _most_frequent(seen.reasons))
            for operation, arguments in self._looked_for.items()
            for argument in arguments
            if (seen := self._seen.get((operation, argument))) is not None
            and (seen.is_answered or operation in self._named)
        )
        return (*taken, *never_given)


def taken_arguments(
    declaration: Declaration, conventions: Mapping[str, str], results: Sequence[Result]
) -> tuple[TakenArgument, ...]:
    """Return the arguments that operations take, over some results; `conventions` are those of the grading."""
    taking = Taking(declaration, conventions)
    for result in results:
        taking.add(result)
    return taking.found()


def merged(parts: Iterable[Sequence[TakenArgument]]) -> tuple[TakenArgument, ...]:
    """Return the arguments of several shares of one run."""
    found: dict[tuple[str, str], TakenArgument] = {}
    for each in (each for part in parts for each in part):
        other = found.get(each.key, TakenArgument(*each.key, 0, 0, None))
        counts = other.graded + each.graded, other.not_graded + each.not_graded
        found[each.key] = TakenArgument(*each.key, *counts, other.reason or each.reason)
    return tuple(found.values())


def _looked_for(operation: str, declaration: Declaration, conventions: Mapping[str, str]) -> tuple[str, ...]:
    """Return the arguments of an operation that it may take."""
    contract = OPERATIONS[operation]
    fixed = resolve_conventions(conventions, operation).departing[Settles.ATTRIBUTE]
    left_out = {*contract.required_arguments, *contract.derived, *fixed}
    return tuple(
        argument
        for argument in contract.arguments
        if argument not in left_out and not declaration.lacks_argument(operation, argument)
    )


def _most_frequent(reasons: Counter[str]) -> str | None:
    return next((reason for reason, _ in reasons.most_common(1)), None)
