"""The candidate: in a process of its own, with limits, and without anything that is expected of it."""

from __future__ import annotations

import math
import shlex
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnspec.adapters.process import ProcessImplementation, isolated
from attnspec.dtypes import numpy_dtype
from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.adapters import Implementation
    from attnspec.judgement.shapes import Shape

MESSAGE_LIMIT = 2**32
"""Longest message in bytes: tensors of real sizes fit, and what a candidate sends without end does not."""

_BYTES_SENT = 4 / 3
"""Characters of base64 to a byte."""


@dataclass(frozen=True)
class Conditions:
    """Under what a candidate runs.

    Attributes
    ----------
    seconds
        For each call.
    start_seconds
        For its start.
    megabytes
        How much memory its process may ask for; None for no limit.
    sandbox
        A command line that runs the command behind it as somebody else, or elsewhere; None for none.
    forbidden
        Dotted names of functions that it must not call.
    """

    seconds: float = 60.0
    start_seconds: float = 120.0
    megabytes: int | None = None
    sandbox: str | None = None
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """What is judged, and how it is reached.

    Attributes
    ----------
    target, command
        A Python target, or a program that speaks the process protocol; one of them is None.
    operation, device, tensors, renames
        As `attnspec.validate` takes them, for a Python target.
    """

    target: str | None = None
    command: str | None = None
    operation: str | None = None
    device: str | None = None
    tensors: str | None = None
    renames: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """How reports call it."""
        return self.target or self.command or ""


def check_size(shape: Shape) -> None:
    """Raise `UsageError` if the inputs of a shape are too large for a message to the candidate."""
    numbers = sum(math.prod(of) for of in shape.shapes.values())
    widest = max(numpy_dtype(dtype).itemsize for dtype in shape.dtypes)
    if numbers * widest * _BYTES_SENT > MESSAGE_LIMIT:
        raise UsageError(
            f"The inputs of {shape.text} have {numbers * widest / 1e9:.1f} GB, and a candidate can be sent "
            f"{MESSAGE_LIMIT / _BYTES_SENT / 1e9:.1f} GB: take fewer batch entries or heads."
        )


def opened(candidate: Candidate, conditions: Conditions) -> Implementation:
    """Start the process of a candidate.

    Raises
    ------
    AttnspecError
        If it cannot be started or loaded.
    """
    before = shlex.split(conditions.sandbox) if conditions.sandbox else []
    if candidate.command is not None:
        if conditions.forbidden or conditions.megabytes is not None:
            raise UsageError("--forbid and --memory act inside Python; of a --command, let its --sandbox see to them.")
        return ProcessImplementation(
            [*before, *shlex.split(candidate.command)],
            adapter=candidate.command,
            timeout=conditions.seconds,
            start_timeout=conditions.start_seconds,
            line_limit=MESSAGE_LIMIT,
        )
    if candidate.target is None:
        raise UsageError("Say what to judge: a TARGET such as ./mine.py, or --command.")
    return isolated(
        candidate.target,
        bare_operation=candidate.operation,
        renames=candidate.renames,
        device=candidate.device,
        tensors=candidate.tensors,
        timeout=conditions.seconds,
        start_timeout=conditions.start_seconds,
        line_limit=MESSAGE_LIMIT,
        launcher=(*before, sys.executable),
        forbidden=conditions.forbidden,
        megabytes=conditions.megabytes,
    )
