"""What was said about a target beside its name, kept so that the reader of a report can repeat the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Invocation:
    """How a target was reached; which cases ran, and in which dtypes, the results say.

    Attributes
    ----------
    command
        Whether the target is a program that speaks the process protocol.
    operation
        The operation for which a bare function stands.
    layout
        How its arrays are laid out, where not as the contract says.
    renames
        Its own argument name to the contract's.
    device
        Where it was told to run.
    tensors
        The library whose tensors it was told to take and return.
    backward
        How it was told to come to backward passes that it does not have itself.
    isolate, timeout
        Whether a Python target ran in a process of its own, and the seconds that a call was given.
    golden
        Another folder of golden files than the shipped one.
    export, answers
        Whether the target is a folder of exported cases, of which answers alone were graded, and the folder of these
        answers where it is another one.
    """

    command: bool = False
    operation: str | None = None
    layout: str | None = None
    renames: Mapping[str, str] = field(default_factory=dict[str, str])
    device: str | None = None
    tensors: str | None = None
    backward: str | None = None
    isolate: bool = False
    timeout: float | None = None
    golden: str | None = None
    export: bool = False
    answers: str | None = None


def invocation_to_json(invocation: Invocation) -> dict[str, Any]:
    """Return it as JSON types, under the names of the command line's options."""
    return {
        "command": invocation.command,
        "as": invocation.operation,
        "layout": invocation.layout,
        "rename": dict(invocation.renames),
        "device": invocation.device,
        "tensors": invocation.tensors,
        "backward": invocation.backward,
        "isolate": invocation.isolate,
        "timeout": invocation.timeout,
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
    given = [
        (name, str(invocation[name]))
        for name in ("as", "layout", "device", "tensors", "backward", "timeout", "golden")
        if invocation.get(name) is not None
    ]
    given += [("without", word) for word in implementation.get("without", ())]
    given += [("rename", f"{own}={argument}") for own, argument in invocation["rename"].items()]
    given += [("convention", f"{name}={choice}") for name, choice in implementation["conventions"].items()]
    options = [word for name, value in given for word in (f"--{name}", value)]
    return ["attnspec", "validate", *target], [*options, *(["--isolate"] if invocation["isolate"] else [])]
