"""Collecting the cases as pytest items, and running each through the runner."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from attnspec.errors import AttnspecError
from attnspec.plain_text import plain_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from attnspec.cases import Case
    from attnspec.pytest_plugin.validating import Validating
    from attnspec.runner import Result

_ROOT = "attnspec"
_UNGRADED = "attnspec ungraded"
"""The property of an item in which nothing was graded; properties also travel from the workers of xdist."""

# Pytest puts the way to its root folder before what it prints.
_PRINTED = re.compile(rf"(?:.*/)?({_ROOT}/[a-z0-9_]+(?:::.*)?)")


class WrongResultError(Exception):
    """The implementation did something wrong in one (case, dtype)."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.verdict.message or result.status)
        self.result = result


class Collecting:
    """The hooks of a run with ``--attnspec``.

    Parameters
    ----------
    config
        Pytest's configuration. Paths that name items of this plugin are taken out of it. Who asks for a validation on
        the command line, and names no path, wants no other tests; an option in a configuration file adds to them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._validating: Validating | None = None
        self._outcomes: set[str] = set()
        asked_here = any(str(argument).startswith("--attnspec") for argument in config.invocation_params.args)
        if asked_here and config.args_source != pytest.Config.ArgsSource.ARGS:
            config.args, config.args_source = [], pytest.Config.ArgsSource.ARGS
        self.named = [node_id for argument in config.args if (node_id := _node_id(argument)) is not None]
        config.args = [argument for argument in config.args if _node_id(argument) is None]

    def validating(self) -> Validating:
        """Return what runs the cases; it is made at the first call, since a controller of xdist needs none."""
        if self._validating is None:
            from attnspec.pytest_plugin.validating import Validating

            self._validating = Validating.from_options(self._config.option)
        return self._validating

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the cases to what the session collects."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            cases = _node(Cases, collector, name=_ROOT, nodeid=_ROOT, collecting=self)
            report.result = [*(report.result or ()), cases]
        return report

    def pytest_report_header(self, config: pytest.Config) -> str | None:
        """Say that nothing guards the process of pytest from what TARGET does to it."""
        if config.getoption("attnspec") is None or config.getoption("attnspec_timeout") is not None:
            return None
        return "attnspec: TARGET runs in this process, unprotected; `attnspec validate` guards its runs"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what came of the items."""
        if report.when == "call" and report.nodeid.startswith(f"{_ROOT}/"):
            self._outcomes.add("ungraded" if _is_ungraded(report) else report.outcome)

    def pytest_report_teststatus(self, report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
        """Tell an item in which nothing was wrong and nothing graded from one that passed."""
        return ("ungraded", "u", "UNGRADED") if _is_ungraded(report) else None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Release the implementation. A run in which nothing could be graded has failed."""
        if self._validating is not None:
            self._validating.close()
        if self._graded_nothing() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say that nothing could be graded."""
        if self._graded_nothing():
            terminalreporter.write_line("attnspec: nothing could be graded; -rs says why.", red=True)

    def _graded_nothing(self) -> bool:
        return bool(self._outcomes) and self._outcomes <= {"skipped", "ungraded"}


class Cases(pytest.Collector):
    """All cases that the options select."""

    def __init__(self, *, collecting: Collecting, **of_node: Any) -> None:
        super().__init__(**of_node)
        self._collecting = collecting

    def collect(self) -> Iterator[pytest.Collector]:
        """Return a collector for each profile."""
        try:
            validating = self._collecting.validating()
        except AttnspecError as error:
            raise self.CollectError(f"attnspec: {plain_text(str(error))}") from None
        missing = {*self._collecting.named}
        by_profile: dict[str, list[tuple[Case, str]]] = {}
        for case, dtype in validating.runs():
            profile = f"{_ROOT}/{case.profile}"
            names = {profile, f"{profile}::{case.id}", f"{profile}::{case.id}[{dtype}]"}
            if not self._collecting.named or names & {*self._collecting.named}:
                by_profile.setdefault(case.profile, []).append((case, dtype))
            missing -= names
        for name in missing:
            raise self.CollectError(f"attnspec: no case is named {plain_text(name)}; --collect-only -q shows all.")
        for profile, runs in by_profile.items():
            yield _node(Profile, self, name=profile, nodeid=f"{_ROOT}/{profile}", runs=runs, validating=validating)


class Profile(pytest.Collector):
    """The cases of one profile."""

    def __init__(self, *, runs: list[tuple[Case, str]], validating: Validating, **of_node: Any) -> None:
        super().__init__(**of_node)
        self._runs = runs
        self._validating = validating

    def collect(self) -> Iterator[pytest.Item]:
        """Return an item for each (case, dtype)."""
        for case, dtype in self._runs:
            yield _node(
                CaseInDtype, self, name=f"{case.id}[{dtype}]", case=case, dtype=dtype, validating=self._validating
            )


class CaseInDtype(pytest.Item):
    """One case in one dtype."""

    def __init__(self, *, case: Case, dtype: str, validating: Validating, **of_node: Any) -> None:
        cast("Any", super()).__init__(**of_node)
        self._case = case
        self._dtype = dtype
        self._validating = validating
        self.extra_keyword_matches.add(case.operation)

    def runtest(self) -> None:
        """Run and grade it."""
        result = self._validating.run(self._case, self._dtype)
        if result.is_wrong:
            raise WrongResultError(result)
        if result.status == "unsupported":
            pytest.skip(plain_text(result.verdict.message))
        if result.status == "ungraded":
            self.user_properties.append((_UNGRADED, plain_text(result.verdict.message)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what the console would say, for what the implementation did wrong."""
        if not isinstance(excinfo.value, WrongResultError):
            return super().repr_failure(excinfo, style)
        # Of a plain text, pytest on CI repeats every line in its short summary; of a crash, the message alone.
        shown: Any = excinfo.getrepr(style="native")
        (entry,) = shown.reprtraceback.reprentries
        entry.lines = [] if self.config.getoption("tbstyle") == "line" else [self._explanation(excinfo.value.result)]
        crash = shown.reprcrash
        crash.path, crash.lineno, crash.message = str(self._golden_file()), 1, plain_text(str(excinfo.value))
        return shown

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the golden file and the name."""
        return self._golden_file(), None, self.name

    def _golden_file(self) -> Path:
        return self._validating.golden_file(self._case)

    def _explanation(self, result: Result) -> str:
        return f"{self._validating.explain(result)}\n\nThe case: attnspec show {self._case.id}\n"


def _is_ungraded(report: pytest.CollectReport | pytest.TestReport) -> bool:
    """Tell whether an item of this plugin passed without anything that was graded."""
    return report.when == "call" and report.passed and any(name == _UNGRADED for name, _ in report.user_properties)


def _node(kind: type[Any], parent: pytest.Collector, **own: Any) -> Any:
    """Return a node of pytest's tree; pytest does not say which keywords `from_parent` takes."""
    return kind.from_parent(parent, **own)


def _node_id(argument: str) -> str | None:
    """Return the node id of a profile or an item that an argument is, as pytest prints it; None for any other path."""
    found = _PRINTED.fullmatch(argument)
    return None if found is None or Path(argument.partition("::")[0]).exists() else found[1]
