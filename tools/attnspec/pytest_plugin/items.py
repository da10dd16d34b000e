"""Tests: one for each (case, dtype), and one for a baseline as a whole."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from attnspec.base.plain_text import plain_text
from attnspec.contract.dtypes import ANY
from attnspec.pytest_plugin.debugging import AT_HAND, AsExpectedError, WrongResultError
from attnspec.pytest_plugin.explaining import in_the_baseline, wrapped
from attnspec.pytest_plugin.options import for_one_case
from attnspec.pytest_plugin.tracebacks import in_words, of_the_user

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.gate.finding import Finding
    from attnspec.pytest_plugin.validating import Validating
    from attnspec.runner import Result

MARKER = "attnspec"
"""The marker of everything that is collected here."""

UNGRADED = "attnspec ungraded"
"""The property of an item in which nothing was graded; properties also travel from the workers of xdist."""


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
            validating.trace_next_call()
        result = self.result = validating.run(self.case, self.dtype)
        baseline = validating.baseline
        self._contradiction = None if baseline is None else baseline.contradicts(result)
        validating.check(result, self._contradiction)
        if result.status == "unsupported":
            reason = None if baseline is None else baseline.reason_of(result)
            pytest.skip(plain_text(reason or result.verdict.message))
        if result.status == "ungraded":
            self.user_properties.append((UNGRADED, plain_text(result.verdict.message)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the fault in a few lines, behind the traceback of the user's own exception."""
        error, result = excinfo.value, self.result
        is_ours = isinstance(error, WrongResultError)
        if result is None or not (is_ours or result.is_wrong):
            return super().repr_failure(excinfo, style)
        if isinstance(error, AsExpectedError) or not result.is_wrong:
            return in_words(excinfo, self.config, self._golden_file(), wrapped([str(error)]))
        lines = wrapped(self._sentences(result))
        if not self.config.option.usepdb:
            lines += ["", self._command()]
        elif is_ours:
            lines += ["", *wrapped([AT_HAND])]
        if is_ours:
            return in_words(excinfo, self.config, self._golden_file(), lines)
        return of_the_user(excinfo, self.config, lines)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the golden file and the name."""
        return self._golden_file(), None, self.name

    def _golden_file(self) -> Path:
        return self._validating.golden_file(self.case)

    def _sentences(self, result: Result) -> list[str]:
        """Return the fault, the likely mistake, and why the baseline does not excuse it."""
        said = self._validating.explaining.of(result)
        if self._contradiction is None or self._contradiction.kind == "new failure":
            return said
        return [*said, in_the_baseline(self._contradiction)]

    def _command(self) -> str:
        """Return the command that stops a debugger here."""
        words = for_one_case(self.config.invocation_params.args)
        return f"Debug it: {shlex.join(['pytest', *words, self.nodeid, '--pdb'])}"


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
        return in_words(excinfo, self.config, self._baseline(), wrapped(str(excinfo.value).splitlines()))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the baseline and the name."""
        return self._baseline(), None, self.name

    def _baseline(self) -> Path:
        return Path(self.config.option.attnspec_baseline)


@cache
def _marker(name: str) -> pytest.MarkDecorator:
    """Return a marker; to look one up takes longer than to put it on."""
    return getattr(pytest.mark, name)
