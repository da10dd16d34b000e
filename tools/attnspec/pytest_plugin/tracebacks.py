"""Display of a failure: in words alone, or in words below the user's own part of a traceback."""

from __future__ import annotations

from inspect import getsourcefile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.base.plain_text import LONGEST, plain_text
from attnspec.targets.calling import Signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

_LAST_OF_OURS = Path(getsourcefile(Signature.call) or "")
"""The file of the last frame before the user's own."""

_LINES_OF_A_FRAME = 25
"""An exception may carry a whole log."""


def in_words(
    excinfo: pytest.ExceptionInfo[BaseException], config: pytest.Config, path: Path, lines: Sequence[str]
) -> Any:
    """Return pytest's display of a failure whose traceback says nothing: `lines`, at the file `path`.

    The short summary quotes the message of the exception.
    """
    # Of a plain text, pytest on CI repeats every line in its short summary; of a crash, the message alone.
    shown: Any = excinfo.getrepr(style="native")
    (entry,) = shown.reprtraceback.reprentries
    entry.lines = [] if config.option.tbstyle == "line" else ["\n".join(lines) + "\n"]
    crash = shown.reprcrash
    crash.path, crash.lineno, crash.message = str(path), 1, " ".join(str(excinfo.value).split("\n"))
    return shown


def of_the_user(excinfo: pytest.ExceptionInfo[BaseException], config: pytest.Config, lines: Sequence[str]) -> Any:
    """Return pytest's display of the user's own exception: the traceback from his first frame on, then `lines`."""
    style, is_full = config.option.tbstyle, config.option.fulltrace
    shown: Any = excinfo.getrepr(
        style="long" if is_full else "short" if style == "auto" else style,
        showlocals=config.option.showlocals,
        tbfilter=False if is_full else _frames_of_the_user,
    )
    for traceback, crash, _ in getattr(shown, "chain", [(shown.reprtraceback, shown.reprcrash, None)]):
        for entry in traceback.reprentries:
            entry.lines = [_harmless(line) for line in "\n".join(entry.lines).split("\n")[:_LINES_OF_A_FRAME]]
            if getattr(entry, "reprlocals", None) is not None:
                entry.reprlocals.lines = [_harmless(line) for line in entry.reprlocals.lines]
        if crash is not None:
            crash.message = plain_text(crash.message)
    shown.addsection("attnspec", "\n".join(lines))
    return shown


def _frames_of_the_user(excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
    """Return the part of a traceback behind the last frame of this harness; all of it if there is none."""
    ours = [place for place, entry in enumerate(excinfo.traceback) if entry.path == _LAST_OF_OURS]
    return (excinfo.traceback[ours[-1] + 1 :] if ours else None) or excinfo.traceback


def _harmless(line: str) -> str:
    """Return a line without characters that steer a reader's screen, with the spaces that it has."""
    words = line[:LONGEST].split(" ")
    return " ".join(map(plain_text, words)) + (" …" if len(line) > LONGEST else "")
