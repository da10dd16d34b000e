"""Tests, one for each (case, dtype) and one for a baseline as a whole, and the display of their failures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from functools import cache, cached_property
from inspect import getsourcefile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from attnspec.base.plain_text import LONGEST, plain_text
from attnspec.contract.dtypes import ANY
from attnspec.pytest_plugin.debugging import AT_HAND, AsExpectedError, WrongResultError
from attnspec.pytest_plugin.explaining import contradiction_sentence, wrapped
from attnspec.pytest_plugin.options import for_one_case
from attnspec.targets.calling import Signature

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.gate.finding import Finding
    from attnspec.pytest_plugin.validating import Validating
    from attnspec.runner import Result

MARKER = "attnspec"
"""The marker of everything that is collected here."""

UNGRADED = "attnspec ungraded"
"""The property of an item in which nothing was graded; properties also travel from the workers of xdist."""

_LAST_OF_OURS = Path(getsourcefile(Signature.call) or "")
"""The file of the last frame before the user's own."""

_LINES_OF_A_FRAME = 25
"""An exception may carry a whole log."""


class CaseInDtype(pytest.Item):
    """Test of one case in one dtype; `result` is None until it has run."""

    def __init__(self, *, case: Case, dtype: str, validating: Validating, **of_node: Any) -> None:
        cast("Any", super()).__init__(**of_node)
        self.case = case
        self.dtype = dtype
        self.result: Result | None = None
        self._contradiction: Finding | None = None
        self._validating = validating
        for name in (case.operation, dtype):
            if name != ANY:
                self.add_marker(_marker(name))
        reason = None if validating.baseline is None else validating.baseline.expected_failure(case.id, dtype)
        if reason is not None:
            self.add_marker(pytest.mark.xfail(reason=plain_text(reason), raises=AsExpectedError, strict=True))

    def runtest(self) -> None:
        """Run and grade it."""
        validating = self._validating
        if self.config.getoption("trace"):
            validating.seen.is_traced = True
        result = self.result = validating.run(self.case, self.dtype)
        baseline = validating.baseline
        self._contradiction = None if baseline is None else baseline.contradicts(result)
        validating.check(result, self._contradiction)
        if result.status == "unsupported":
            skip(validating.reason_to_skip(result))
        if result.status == "ungraded":
            self.user_properties.append((UNGRADED, plain_text(result.verdict.message)))

    def reason_not_called(self) -> str | None:
        """Return why it is skipped without a call; None where it must be run."""
        return self._validating.reason_not_called(self.case, self.dtype)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the fault in a few lines, behind the traceback of the user's own exception."""
        error, result = excinfo.value, self.result
        is_ours = isinstance(error, WrongResultError)
        if result is None or not (is_ours or result.is_wrong):
            return super().repr_failure(excinfo, style)
        if isinstance(error, AsExpectedError) or not result.is_wrong:
            return failure_in_words(excinfo, self.config, self._golden_file(), wrapped([str(error)]))
        said = self._validating.explaining.message_on(result)
        if self._contradiction is not None and self._contradiction.kind != "new failure":
            said.append(contradiction_sentence(self._contradiction))
        lines = wrapped(said)
        if not self.config.option.usepdb:
            words = for_one_case(self.config.invocation_params.args)
            lines += ["", f"Debug it: {shlex.join(['pytest', *words, self.nodeid, '--pdb'])}"]
        elif is_ours:
            lines += ["", *wrapped([AT_HAND])]
        if is_ours:
            return failure_in_words(excinfo, self.config, self._golden_file(), lines)
        return user_failure(excinfo, self.config, lines)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the golden file, its first line, without which pytest cannot say where a mark skips, and the name."""
        return self._golden_file(), 0, self.name

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """The golden file as pytest's root folder sees it, and the name; to ask pytest took as long as a call."""
        return f"{_from_root(self._validating.suite.folder, self.config.rootpath)}/{self.case.id}.json", None, self.name

    def _golden_file(self) -> Path:
        return self._validating.suite.folder / f"{self.case.id}.json"


class BaselineAsAWhole(pytest.Item):
    """Test of a baseline beyond single results: the operations, dtypes, conventions and cases on offer."""

    def __init__(self, *, validating: Validating, **of_node: Any) -> None:
        cast("Any", super()).__init__(**of_node)
        self._validating = validating

    def runtest(self) -> None:
        """Raise if anything in it is not true."""
        contradictions = self._validating.contradictions()
        if contradictions:
            raise WrongResultError("\n".join(contradictions))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return a sentence for each contradiction."""
        if not isinstance(excinfo.value, WrongResultError):
            return super().repr_failure(excinfo, style)
        return failure_in_words(excinfo, self.config, self._baseline(), wrapped(str(excinfo.value).splitlines()))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the baseline and the name."""
        return self._baseline(), None, self.name

    def _baseline(self) -> Path:
        return Path(self.config.option.attnspec_baseline)


@cache
def _from_root(folder: Path, root: Path) -> str:
    """Return the way from one folder to another; the folder where there is none, as between drives of Windows."""
    try:
        return os.path.relpath(folder, root)
    except ValueError:
        return str(folder)


def skip(reason: str) -> None:
    """Skip a test."""
    # Whoever skips does so here, since pytest counts together what was skipped in one line for one reason.
    pytest.skip(reason)


@cache
def _marker(name: str) -> pytest.MarkDecorator:
    """Return a marker; to look one up takes longer than to put it on."""
    return getattr(pytest.mark, name)


def failure_in_words(
    excinfo: pytest.ExceptionInfo[BaseException], config: pytest.Config, path: Path, lines: Sequence[str]
) -> Any:
    """Return pytest's display of a failure whose traceback says nothing: `lines`, at the file `path`."""
    # Of a plain text, pytest on CI repeats every line in its short summary; of a crash, the message alone.
    shown: Any = excinfo.getrepr(style="native")
    (entry,) = shown.reprtraceback.reprentries
    entry.lines = [] if config.option.tbstyle == "line" else ["\n".join(lines) + "\n"]
    crash = shown.reprcrash
    crash.path, crash.lineno, crash.message = str(path), 1, " ".join(str(excinfo.value).split("\n"))
    return shown


def user_failure(excinfo: pytest.ExceptionInfo[BaseException], config: pytest.Config, lines: Sequence[str]) -> Any:
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
    ours = [index for index, entry in enumerate(excinfo.traceback) if entry.path == _LAST_OF_OURS]
    return (excinfo.traceback[ours[-1] + 1 :] if ours else None) or excinfo.traceback


def _harmless(line: str) -> str:
    """Return a line without characters that steer a reader's screen, with the spaces that it has."""
    words = line[:LONGEST].split(" ")
    return " ".join(map(plain_text, words)) + (" …" if len(line) > LONGEST else "")
