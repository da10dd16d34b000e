"""Files that a campaign leaves behind: the small draws that fail, and the coverage of golden cases and draws."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError
from attnspec.base.files import check_replaceable, replace_file
from attnspec.base.literals import array_literal
from attnspec.cases import Case, load_suite
from attnspec.contract import OPERATIONS
from attnspec_draws import draw, recipe_from_text
from attnspec_draws.campaign.covering import coverage_page, covered, together

if TYPE_CHECKING:
    from attnspec_draws.campaign.executors import Executor
    from attnspec_draws.campaign.outcome import PartOutcome
    from attnspec_draws.campaign.plan import Plan


def check_files(recipes: Path | None, coverage: Path | None, resume: Path | None) -> None:
    """Refuse unwritable files, or two that are one, by `UsageError` before anything is drawn; none is touched."""
    named = {"--recipes": recipes, "--coverage": coverage, "--resume": resume}
    options: dict[Path, str] = {}
    for option, path in named.items():
        if path is None:
            continue
        other = options.setdefault(path.resolve(), option)
        if other != option:
            raise UsageError(f"{other} and {option} name one file, {path}: name another one.")
        if option != "--resume":
            check_replaceable(path, option)


def write_recipes(path: Path, recipes: Sequence[str]) -> None:
    """Write small draws: a text a line, or golden recipes where the file is Python; `UsageError` if refused."""
    if path.suffix != ".py":
        _write(path, "".join(f"{recipe}\n" for recipe in recipes))
        return
    found: list[FoundCase] = []
    for recipe in recipes:
        case = draw(recipe_from_text(recipe))
        counterpart = None if case.rejects is None else draw(recipe_from_text(case.rejects.counterpart))
        found.append(FoundCase(case, f"attnspec show --python {shlex.quote(recipe)}", counterpart))
    _write(path, authored_cases(found))


def write_coverage(path: Path, workers: Executor, plan: Plan, outcomes: Mapping[str, PartOutcome]) -> None:
    """Write the coverage of golden cases and draws, which the workers draw once more; `UsageError` if refused."""
    found: list[Any] = []
    pending: list[Any] = []
    for part in plan.parts_done(outcomes):
        pending.append(workers.submit(covered, part))
        if len(pending) == workers.capacity:
            found += _taken(workers, pending)
    while pending:
        found += _taken(workers, pending)
    _write(path, coverage_page(tuple(load_suite().cases.values()), together(found)))


def _taken(workers: Executor, pending: list[Any]) -> list[Any]:
    """Wait until something is counted, and take it from what is pending."""
    done = workers.done(pending)
    for each in done:
        pending.remove(each)
    return [workers.result(each) for each in done]


def _write(path: Path, text: str) -> None:
    try:
        replace_file(path, text)
    except OSError as error:
        raise UsageError(f"{path} could not be written: {error.strerror}.") from None


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
        made += (
            []
            if each.counterpart is None
            else [_call(valid, each.counterpart, f"The valid counterpart of {own}.", valid)]
        )
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
        yield "memory_order", dict(case.memory_order)
