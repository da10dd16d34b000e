"""Layouts in a word, ``NAME`` or ``NAME:SETTING=NUMBER,SETTING``, and the arguments and clauses of each alone."""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from attnspec.base.errors import UsageError, did_you_mean
from attnspec.contract import CLAUSES_INSTEAD, CLAUSES_OF_LAYOUTS, IN_LAYOUT, LAYOUT_SETTINGS, LAYOUTS, OPERATIONS
from attnspec.contract.operation import Operation

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class RequestedLayout(NamedTuple):
    """A layout that was requested, and its settings: the numbers as they were written, empty for a word alone."""

    name: str
    settings: Mapping[str, str]


def read_layout(word: str) -> RequestedLayout:
    """Read a layout, a name alone or with settings behind a colon; raise `UsageError` where there is no such one."""
    name, colon, rest = word.partition(":")
    if name not in LAYOUTS:
        hint = did_you_mean(name.lower(), LAYOUTS)
        raise UsageError(f"There is no layout {name!r}; the layouts are {', '.join(LAYOUTS)}.{hint}")
    known = LAYOUT_SETTINGS.get(name, {})
    settings: dict[str, str] = {}
    for written in rest.split(",") if colon else ():
        setting, equals, number = written.strip().partition("=")
        if setting not in known or bool(equals) != known[setting]:
            forms = [f"{each}=NUMBER" if takes_number else each for each, takes_number in known.items()]
            has = f"its settings are {', '.join(forms)}" if forms else "it has none"
            raise UsageError(f"The layout {name} has no setting {written.strip()!r}; {has}.")
        if equals and not _NUMBER.fullmatch(number):
            raise UsageError(f"The layout {name} with {written.strip()}: give a whole number of at least 1.")
        settings[setting] = number
    return RequestedLayout(name, settings)


def layout_with_setting(word: str | None, setting: str) -> str:
    """Return a layout with one more setting, for an option of that name; raise `UsageError` if it cannot have it."""
    if word is None:
        having = [name for name, known in LAYOUT_SETTINGS.items() if setting in known]
        option = f"--{setting.replace('_', '-')}"
        raise UsageError(f"{option} is for a layout that has it: say --layout, one of {', '.join(having)}.")
    added = f"{word}{',' if ':' in word else ':'}{setting}"
    read_layout(added)
    return added


def layout_name(word: str | None) -> str | None:
    """Return the name of a layout that was requested; None for the contract's own."""
    return None if word is None else word.partition(":")[0]


def operation_in(operation: str, layout: str | None) -> Operation:
    """Return an operation with the arguments and outputs that it has in a layout (None: the contract's own)."""
    return IN_LAYOUT.get(layout_name(layout) or "", {}).get(operation, OPERATIONS[operation])


@cache
def clauses_in(clauses: tuple[str, ...], layout: str | None) -> tuple[str, ...]:
    """Return the ids of clauses that apply in a layout (None: the contract's own), those of this layout alone first."""
    own = (clause for clause in clauses if layout_name(layout) in layouts_of_clause(clause))
    return (*own, *(clause for clause in clauses if not layouts_of_clause(clause)))


def clause_in(clause: str, layout: str | None) -> str:
    """Return the clause that says in a layout what one says of arguments that the layout lacks; else the same one."""
    return CLAUSES_INSTEAD.get(layout_name(layout) or "", {}).get(clause, clause)


@cache
def layouts_of_clause(clause: str) -> tuple[str, ...]:
    """Return the layouts in which alone a clause applies; empty for one that applies in all."""
    return next((layouts for beginning, layouts in CLAUSES_OF_LAYOUTS.items() if clause.startswith(beginning)), ())
