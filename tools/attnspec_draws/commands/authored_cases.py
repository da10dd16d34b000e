"""Recipes of found cases, as an author of golden cases writes them; left to say is what each is for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.base.literals import array_literal
from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attnspec.cases import Case

PROFILE = "found"
"""The folder of what nobody has named yet: an author gives each case the profile and the name that it shall keep."""

COUNTERPART = "twin"
"""How the name of the valid case ends beside one that must be refused."""

_USUAL_DTYPES = ("float64", "float32")
"""The dtypes of an authored case that states none."""


@dataclass(frozen=True)
class FoundCase:
    """Case found by a campaign, to be written down, with the command that shows it.

    `counterpart` is the valid case of a refusal, which differs in the error alone; else None.
    """

    case: Case
    command: str
    counterpart: Case | None


def authored_cases(found: Sequence[FoundCase]) -> str:
    """Return a module of recipes: a function ``cases()`` that gives an ``AuthoredCase`` for each case."""
    made: list[str] = []
    for number, each in enumerate(found):
        own = f"{PROFILE}/{each.case.operation}_{number}"
        valid = f"{own}_{COUNTERPART}"
        made.append(_call(own, each.case, each.command, valid))
        made += [] if each.counterpart is None else [_call(valid, each.counterpart, f"The twin of {own}.", valid)]
    body = "".join(made)
    forms = (
        ("AuthoredCase", "Rejects", "Source") if any(each.counterpart for each in found) else ("AuthoredCase", "Source")
    )
    names = [name for name in ("inf", "nan") if re.search(rf"(?<![.\w]){name}\b", body)]
    return "\n".join(
        (
            '"""Cases that draws found: name each, say what it is for, and move it into its profile."""',
            "",
            "import numpy as np",
            *([f"from numpy import {', '.join(names)}"] if names else []),
            "",
            f"from attnspec_authoring.recipes import {', '.join(forms)}",
            "",
            "",
            "def cases() -> tuple[AuthoredCase, ...]:",
            '    """Return what draws found."""',
            "    return (",
            f"{body}    )",
            "",
        )
    )


def _call(own: str, case: Case, comment: str, counterpart: str) -> str:
    inputs = ",\n".join(f'                "{name}": {array_literal(array)}' for name, array in case.inputs.items())
    stated = {
        "id": own,
        "title": case.title,
        "operation": case.operation,
        "clauses": case.clauses,
    }
    lines = [f"            {name}={value!r}," for name, value in stated.items()]
    lines += ["            source=Source(),"]
    lines += [f"            inputs={{\n{inputs},\n            }},"] if inputs else []
    lines += [f"            {name}={value!r}," for name, value in _others(case)]
    if case.rejects is not None:
        refusal = f"{case.rejects.reason!r}, {counterpart!r}, {case.rejects.convention!r}"
        lines.append(f"            rejects=Rejects({refusal}),")
    return "\n".join((f"        # {comment}", "        AuthoredCase(", *lines, "        ),", ""))


def _others(case: Case) -> Iterator[tuple[str, object]]:
    """Give what most cases leave as it usually is."""
    if case.attributes:
        yield "attributes", dict(case.attributes)
    yield "outputs", tuple(case.golden(case.runs[0])) or (OPERATIONS[case.operation].outputs[0],)
    if not {*case.dtypes} <= {*_USUAL_DTYPES}:
        yield "dtypes", case.dtypes
    if case.conventions:
        yield "conventions", case.conventions
    if case.memory_order:
        yield "presentation", dict(case.memory_order)
