"""What was said about a target beside its name, kept so that the reader of a report can repeat the run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from attnspec.targets.target import Target, invocation_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Invocation:
    """How a target was reached; which cases ran, and in which dtypes, the results say.

    Attributes
    ----------
    target
        What was said about it. A target of Python itself is left out: what implements it has its name.
    golden
        Another folder of golden files than the shipped one.
    export, answers
        Whether the target is a folder of exported cases, of which answers alone were graded, and the folder of these
        answers where it is another one.
    """

    target: Target = field(default_factory=Target)
    golden: str | None = None
    export: bool = False
    answers: str | None = None


def invocation_of(target: Target, golden: Path | None) -> Invocation:
    """Return how a target is reached, and by which golden files it is validated."""
    return Invocation(replace(target, python=None), None if golden is None else str(golden))


def invocation_to_json(invocation: Invocation) -> dict[str, Any]:
    """Return it as JSON types, under the names of the command line's options."""
    return {
        **invocation_fields(invocation.target),
        "golden": invocation.golden,
        **({"export": True, "answers": invocation.answers} if invocation.export else {}),
    }


def command_words(document: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the words that validate the implementation of a report.json again, not yet quoted nor made harmless.

    Returns
    -------
    list of str
        The words before those that select a case: the command and its target.
    list of str
        The words after them: the options.
    """
    implementation, invocation = document["implementation"], document["invocation"]
    if invocation.get("export"):
        kept = [(name, invocation[name]) for name in ("answers", "golden") if invocation[name] is not None]
        return ["attnspec", "grade", implementation["adapter"]], [word for k, v in kept for word in (f"--{k}", v)]
    target = [*(["--command"] if invocation["command"] else []), implementation["adapter"]]
    # What is a text or a number is said so; the others have forms of their own.
    names = (*invocation_fields(Target()), "golden")
    values = {name: invocation.get(name) for name in names if name not in ("command", "isolate", "rename")}
    given = [(name, str(value)) for name, value in values.items() if value is not None]
    given += [("without", word) for word in implementation.get("without", ())]
    given += [("rename", f"{own}={argument}") for own, argument in invocation["rename"].items()]
    given += [("convention", f"{name}={choice}") for name, choice in implementation["conventions"].items()]
    options = [word for name, value in given for word in (f"--{name}", value)]
    return ["attnspec", "validate", *target], [*options, *(["--isolate"] if invocation["isolate"] else [])]
