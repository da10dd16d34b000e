"""The candidate: in a process of its own, with limits, and without anything that is expected of it."""

import math
import os
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

from attnspec.base.errors import UsageError
from attnspec.base.extensions import BUILT_IN
from attnspec.contract.implementation import Wrapped
from attnspec.process.opening import behind_layers
from attnspec.process.process import SERVING, ProcessImplementation, isolated
from attnspec.targets import Implementation
from attnspec.targets.target import Target
from attnspec_draws.judge.own_folder import OwnFolder, environment_of
from attnspec_draws.judge.shapes import MESSAGE_LIMIT, Shape

_UNDECLARED = ("float64",)
"""The dtypes of an implementation that declares none."""

_ROOM = 2**26
"""Bytes of a line beside what its tensors take: as many as any line of the protocol may have."""

_SAID_BESIDE = 2**24
"""Bytes that a candidate may write on stdout and stderr in a call: a line each for thousands of rows."""

FOLDER = "{files}"
"""What stands in a sandbox's command line for the folder in which a candidate's files, and what serves it, are."""

_CHARACTERS = 32
"""Characters of a number at most, where a program writes it out; in base64 it has a third of them."""


@dataclass(frozen=True)
class Conditions:
    """Conditions under which a candidate runs.

    Attributes
    ----------
    seconds, start_seconds, total_seconds
        Limits for each call, for its start, and for all calls together; None for no total limit.
    megabytes
        Memory that its process may ask for; None for no limit.
    sandbox
        A command line that runs the command behind it as somebody else, or elsewhere; None for none. The folder that it
        needs stands for ``{files}``.
    forbidden
        Dotted names of functions that it must not call.
    """

    seconds: float = 60.0
    start_seconds: float = 120.0
    total_seconds: float | None = None
    megabytes: int | None = None
    sandbox: str | None = None
    forbidden: tuple[str, ...] = ()


def check_is_there(candidate: Target) -> None:
    """Raise `UsageError` if a candidate is a file that is not there."""
    file = "" if candidate.python is None else candidate.name.partition(":")[0]
    if file.endswith(".py") and not Path(file).is_file():
        raise UsageError(f"There is no file {file} to judge.")


def check_conditions(conditions: Conditions) -> None:
    """Raise `UsageError` if no candidate could run under some conditions."""
    for name in ("seconds", "start_seconds", "total_seconds", "megabytes"):
        limit: object = getattr(conditions, name)
        is_limit = isinstance(limit, int | float) and not isinstance(limit, bool) and 0 < limit < math.inf
        if limit is not None and not is_limit:
            raise UsageError(f"{name} is {limit!r}: a limit is a number above 0.")
    if conditions.sandbox is not None:
        words = shlex.split(conditions.sandbox)
        if not words or which(words[0]) is None:
            raise UsageError(f"--sandbox {conditions.sandbox}: there is no such program to run candidates behind.")


def opened(
    candidate: Target, conditions: Conditions, shapes: Sequence[Shape], own: OwnFolder | None, folder: Path
) -> Implementation:
    """Start the process of a candidate; `AttnspecError` where it cannot be started or loaded.

    `own` are its files, which are written into an empty `folder`; None where it is none of Python's files. The shapes
    bound its answers: no line of them may be much longer than they need.
    """
    before = shlex.split(conditions.sandbox.replace(FOLDER, str(folder))) if conditions.sandbox else []
    # A line of an answer, or of a question, has all numbers and some room.
    numbers = max(max(shape.sent, shape.expected) for shape in shapes)
    limits: dict[str, Any] = {
        "line_limit": min(MESSAGE_LIMIT, _ROOM + numbers * _CHARACTERS),
        "stderr_limit": _SAID_BESIDE,
        "environment": environment_of(os.environ),
    }
    limited = replace(candidate, timeout=conditions.seconds, start_timeout=conditions.start_seconds)
    if candidate.command is not None:
        if conditions.forbidden or conditions.megabytes is not None:
            raise UsageError("--forbid and --memory act inside Python; of a --command, let its --sandbox see to them.")
        command = [*before, *shlex.split(candidate.command)]
        return ProcessImplementation(command, limited, adapter=candidate.command, **limits)
    if candidate.python is None:
        raise UsageError("Say what to judge: a TARGET such as ./mine.py, or --command.")
    limited, serving = (limited, SERVING) if own is None else own.write(folder, limited)
    return isolated(
        limited,
        launcher=(*before, sys.executable),
        serving=serving,
        forbidden=conditions.forbidden,
        megabytes=conditions.megabytes,
        adapter=candidate.name,
        **limits,
    )


def as_judged(candidate: Target, implementation: Implementation, shapes: Sequence[Shape]) -> Implementation:
    """Wrap a candidate as it is judged: in its layout, and graded by no conventions of its own choice."""
    dtypes = {dtype: None for shape in shapes for dtype in shape.dtypes}
    return behind_layers(implementation, candidate, nearest=(partial(_without_own_choices, dtypes=dtypes.keys()),))


def _without_own_choices(implementation: Implementation, target: Target, dtypes: Collection[str]) -> Implementation:
    """Give an implementation no conventions of its own choice, and call it in some dtypes alone.

    The built-in ones keep their conventions, for it is known what they do; anything else could declare its own results
    right. An implementation that declares no dtypes is called in all of these.
    """
    declared = implementation.declaration
    offered = tuple(dtypes) if declared.dtypes == _UNDECLARED else declared.dtypes
    conventions: Mapping[str, str] = declared.conventions if target.python in BUILT_IN else {}
    kept = tuple(dtype for dtype in offered if dtype in dtypes)
    return Wrapped(implementation, replace(declared, conventions=conventions, dtypes=kept))
