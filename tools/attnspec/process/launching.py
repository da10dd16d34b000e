"""Start of a program from a command line, with a sentence for one that cannot be started."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.errors import TargetError
from attnspec.process.line_process import LineProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.process.transcript import Transcript

LINE_LIMIT = 64 * 1024 * 1024
"""Longest answer in bytes."""

SECONDS_TO_STOP = 1.0
"""Seconds that a program may take to end after the message to stop."""


def split_command(command: str | Sequence[str]) -> list[str]:
    """Return the words of a command line; TargetError if it is empty, or a quotation in it does not end."""
    try:
        # Backslashes are part of paths on Windows, and quote elsewhere.
        arguments = shlex.split(command, posix=os.name == "posix") if isinstance(command, str) else [*command]
    except ValueError as problem:
        raise TargetError(f"The command {command!r} cannot be read: {problem}.") from None
    if not arguments:
        raise TargetError('The command is empty; give one such as "node attention.mjs".')
    return arguments


def launch(
    arguments: Sequence[str],
    called: str,
    *,
    line_limit: int = LINE_LIMIT,
    show_stderr: bool = False,
    transcript: Transcript | None = None,
) -> LineProcess:
    """Start a program without a shell, as a :class:`~.line_process.LineProcess`; TargetError if that fails."""
    program = arguments[0]
    try:
        return LineProcess(arguments, line_limit=line_limit, show_stderr=show_stderr, transcript=transcript)
    except FileNotFoundError:
        if Path(program).name == program:
            problem = f"{program} is not installed or not on PATH"
        elif Path(program).exists():
            problem = f"{program} names an interpreter in its first line that is not installed"
        else:
            problem = f"there is no program {program}"
    except PermissionError:
        problem = f"{program} is not executable"
    except (OSError, ValueError) as error:
        problem = f"{program} cannot be started ({error})"
    raise TargetError(f"The command {called!r} cannot be run: {problem}.")
