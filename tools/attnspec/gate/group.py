"""Group of results that are unsupported for one reason, named by their common properties.

A group names cases (by an argument that they state, a capability that they need, their profile or id), or the message
of a result that was not graded (a text, a convention). One that names cases alone is a claim: nothing that it names is
graded. Groups may overlap, so that the count of each depends on that group alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.contract import OPERATIONS
from attnspec.families.lookup import needed_capabilities

if TYPE_CHECKING:
    from attnspec.cases import Case

# Messages of the harness itself on results not graded, in `grading/expectation.py` and where runs are planned.
_BY_CONVENTION = re.compile(
    r"graded only under ([a-z][a-z0-9_]*)[=@].*|([a-z][a-z0-9_]*)=\S+ is not offered; it has \S+ alone"
)
_BY_CAPABILITY = re.compile(r"it is declared to be without ([a-z][a-z0-9_]*)")

_LONGEST_TITLE = 200
"""Characters of a group that a sentence about it shows."""


def criterion_in(said: str) -> tuple[str, str] | None:
    """Return a criterion, and its value, that a message of the harness names; None where it names none."""
    if found := _BY_CONVENTION.fullmatch(said):
        return "convention", found[1] or found[2]
    found = _BY_CAPABILITY.fullmatch(said)
    return ("capability", found[1]) if found else None


def _of_refusal(case: Case) -> str | None:
    """Return the convention under which a case must be refused, where not everyone must refuse it."""
    return case.rejects.convention[0] if case.rejects is not None and case.rejects.convention is not None else None


@lru_cache(maxsize=1024)
def _said_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a text in which ``*`` stands for anything."""
    return re.compile(".*".join(map(re.escape, text.split("*"))))


def stated_arguments(case: Case) -> list[str]:
    """Return the arguments that a case states, without attributes at their default: these need no argument."""
    return [*case.inputs, *OPERATIONS[case.operation].beside_defaults(case.attributes, ())]


BY_CASE: Mapping[str, Callable[[str, Case, str], bool]] = {
    "argument": lambda value, case, _: value in stated_arguments(case),
    "capability": lambda value, case, _: value in needed_capabilities(case),
    "dtype": lambda value, _, dtype: dtype == value,
    "profile": lambda value, case, _: case.profile == value,
    "operation": lambda value, case, _: case.operation == value,
    "cases": lambda value, case, _: fnmatchcase(case.id, value),
}
"""Criterion to the function by which its value names a case in a dtype."""

BY_WORDS: Mapping[str, Callable[[str, Case, str], bool]] = {
    # A case that is graded under another choice alone may have another message first.
    "convention": lambda value, case, said: value == _of_refusal(case) or criterion_in(said) == ("convention", value),
    "said": lambda value, _, said: _said_pattern(value).fullmatch(said) is not None,
}
"""Criterion to the function by which its value names a message."""


@dataclass(frozen=True)
class Group:
    """Unsupported results for one reason: `count` of them meet every criterion (of `BY_CASE` and `BY_WORDS`).

    In a baseline from before a default needed no argument, an `argument` was one `at_default`, too.
    """

    criteria: Mapping[str, str]
    count: int
    reason: str
    at_default: bool = False

    @property
    def is_claim(self) -> bool:
        """Whether it names cases, whatever their message: none of them is graded then."""
        return not any(name in BY_WORDS for name in self.criteria)

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        named = (f"{name} {self.criteria[name]}" for name in (*BY_CASE, *BY_WORDS) if name in self.criteria)
        return plain_text(", ".join(named), longest=_LONGEST_TITLE)

    @property
    def key(self) -> frozenset[tuple[str, str]]:
        """Its criteria, which distinguish it from other groups."""
        return frozenset(self.criteria.items())

    def covers(self, case: Case, dtype: str, said: str) -> bool:
        """Return whether it names a case in a dtype that was not graded with the message `said`.

        That the result is unsupported is for the caller to see; a group never covers any other one.
        """
        return all(
            BY_CASE[name](value, case, dtype) if name in BY_CASE else BY_WORDS[name](value, case, said)
            for name, value in self.criteria.items()
            if not (self.at_default and name == "argument" and value in case.attributes)
        )
