"""Invocation of a target, kept so that the reader of a report can repeat the run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from attnspec.targets.target import Target, invocation_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Invocation:
    """Invocation of a target; cases and dtypes are left to the results.

    A Python target itself is left out of `target`: its name is that of the implementation. `golden` is a folder other
    than the shipped one. `export`: the target is a folder of exported cases, and only `answers` to them were graded, in
    a folder of their own where it is not None.
    """

    target: Target = field(default_factory=Target)
    golden: str | None = None
    export: bool = False
    answers: str | None = None


def invocation_of(target: Target, golden: Path | None) -> Invocation:
    """Return the invocation of a target, and the golden files that validate it."""
    return Invocation(replace(target, python=None), None if golden is None else str(golden))


def invocation_to_json(invocation: Invocation) -> dict[str, Any]:
    """Return it as JSON types, under the names of the command line's options."""
    return {
        **invocation_fields(invocation.target),
        "golden": invocation.golden,
        **({"export": True, "answers": invocation.answers} if invocation.export else {}),
    }


def command_words(document: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the words that validate a report.json's implementation again, neither quoted nor made harmless.

    The first list precedes the words that select a case (command and target), the second follows them (options).
    """
    implementation, invocation = document["implementation"], document["invocation"]
    if invocation.get("export"):
        kept = [(name, invocation[name]) for name in ("answers", "golden") if invocation[name] is not None]
        return ["attnspec", "grade", implementation["adapter"]], [word for k, v in kept for word in (f"--{k}", v)]
    target = [*(["--command"] if invocation["command"] else []), implementation["adapter"]]
    # Texts and numbers stand as they are; the others have forms of their own.
    names = (*invocation_fields(Target()), "golden")
    values = {name: invocation.get(name) for name in names if name not in ("command", "isolate", "rename")}
    given = [(name, str(value)) for name, value in values.items() if value is not None]
    given += [("without", word) for word in implementation.get("without", ())]
    given += [("rename", f"{own}={argument}") for own, argument in invocation["rename"].items()]
    given += [("convention", f"{name}={choice}") for name, choice in implementation["conventions"].items()]
    options = [word for name, value in given for word in (f"--{name}", value)]
    return ["attnspec", "validate", *target], [*options, *(["--isolate"] if invocation["isolate"] else [])]
