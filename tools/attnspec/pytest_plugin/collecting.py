"""Collection of the cases as pytest items, and a closing summary of their failures."""

from __future__ import annotations

import pickle
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from attnspec.base.errors import AttnspecError
from attnspec.base.files import GOLDEN_FOLDER
from attnspec.base.plain_text import plain_text
from attnspec.cases.reading import SUFFIX
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.pytest_plugin.items import MARKER, UNGRADED, BaselineAsAWhole, CaseInDtype
from attnspec.pytest_plugin.options import in_the_words_of_pytest
from attnspec.pytest_plugin.phases import has_one_phase, run_in_one_phase

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.gate.finding import Finding
    from attnspec.grading import Verdict
    from attnspec.pytest_plugin.validating import Validating
    from attnspec.reports.taken_arguments import TakenArgument
    from attnspec.runner import Key, Result
    from attnspec.targets import Declaration

_ROOT = "attnspec"
_BASELINE = f"{_ROOT}/baseline"
_TAKEN = f"{_ROOT} arguments"
_OF_RUN = f"{_ROOT} of run"
"""The name under which a worker of xdist hands over what the errors of its results say."""

# Pytest puts the way to its root folder before what it prints.
_PRINTED = re.compile(rf"(?:.*/)?({_ROOT}/[a-z0-9_]+(?:::.*)?)")


class Collecting:
    """Hooks of a run with ``--attnspec``; paths of `config` that name items of this plugin are taken out of it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._validating: Validating | None = None
        self._outcomes: set[str] = set()
        self._wrong: list[Result] = []
        self._from_workers: list[bytes] = []
        self._taken: list[Sequence[TakenArgument]] = []
        self._is_whole = True
        self._verdicts: dict[Key, Verdict] = {}
        self._declaration: Declaration | None = None
        self._of_run: tuple[str, ...] = ()
        on_this_command_line = any(str(argument).startswith("--attnspec") for argument in config.invocation_params.args)
        # A validation that is requested here, without any path, excludes other tests; one in a file adds to them.
        if on_this_command_line and config.args_source != pytest.Config.ArgsSource.ARGS:
            config.args, config.args_source = [], pytest.Config.ArgsSource.ARGS
        self.named = [node_id for argument in config.args if (node_id := _node_id(argument)) is not None]
        config.args = [argument for argument in config.args if _node_id(argument) is None]
        for line in _markers(config):
            config.addinivalue_line("markers", line)

    def validating(self) -> Validating:
        """Return the runner of the cases; it is made at the first call, since a controller of xdist needs none."""
        if self._validating is None:
            from attnspec.pytest_plugin.validating import Validating

            self._validating = Validating.from_options(self._config.option)
        return self._validating

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the cases to the session's collection."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            cases = _node(Cases, collector, name=_ROOT, nodeid=_ROOT, collecting=self)
            report.result = [*(report.result or ()), cases]
        return report

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note in which dtypes each case will be run."""
        selected: dict[str, list[str]] = {}
        for item in session.items:
            if isinstance(item, CaseInDtype):
                selected.setdefault(item.case.id, []).append(item.dtype)
        if self._validating is not None:
            self._validating.selected = selected

    def pytest_report_header(self, config: pytest.Config) -> str | None:
        """Print that nothing guards the process of pytest from TARGET."""
        if config.getoption("attnspec") is None or config.getoption("attnspec_timeout") is not None:
            return None
        return "attnspec: TARGET runs in this process, unprotected; `attnspec validate` guards its runs"

    def pytest_enter_pdb(self) -> None:
        """Note that a debugger was entered: quitting it ends the whole run."""
        if self._validating is not None:
            self._validating.is_debugged = True

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a case without setting anything up, where nobody asks for more."""
        if not isinstance(item, CaseInDtype) or not has_one_phase(item, nextitem):
            return None
        run_in_one_phase(item)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the results that fail a test."""
        report = yield
        if report.failed and isinstance(item, CaseInDtype) and item.result is not None and item.result.is_wrong:
            self._wrong.append(item.result)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of the items."""
        is_ours = report.nodeid.startswith(f"{_ROOT}/") and not report.nodeid.startswith(f"{_BASELINE}::")
        if is_ours and (report.when == "call" or report.skipped):
            is_expected = report.skipped and hasattr(report, "wasxfail")
            outcome = "ungraded" if _is_ungraded(report) else "failed" if is_expected else report.outcome
            self._outcomes.add(outcome)

    def pytest_report_teststatus(self, report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
        """Return a status of its own for an item in which nothing was wrong and nothing graded."""
        return ("ungraded", "u", "UNGRADED") if _is_ungraded(report) else None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Release the implementation; a worker of xdist hands over its results; fail by what is of the run as a whole.

        That is where nothing could be graded, and where all that passed shows a systematic error.
        """
        if self._validating is not None:
            self._validating.close()
            self._taken.append(self._validating.taking.found())
            self._verdicts, self._declaration = self._validating.of_run, self._validating.implementation.declaration
            if hasattr(session.config, "workeroutput"):
                self._hand_over(self._validating, cast("Any", session.config).workeroutput)
                self._verdicts = {}
        if self._verdicts and self._declaration is not None:
            from attnspec.pytest_plugin.validating import contradictions_of_run, selected_suite

            options = session.config.option
            suite = selected_suite(options) if self._validating is None else self._validating.suite
            self._of_run = contradictions_of_run(self._verdicts, suite, self._declaration, options)
        is_closed = self._graded_nothing() or any(finding.weight == "fails" for finding in self._of_arguments())
        if (is_closed or self._of_run) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _hand_over(self, validating: Validating, output: dict[str, Any]) -> None:
        """Hand failures, the arguments that are taken, and what errors say, over to the controller of xdist."""
        output[_OF_RUN] = pickle.dumps((validating.implementation.declaration, validating.of_run), 5)
        output[_TAKEN] = self._is_whole, [tuple(vars(each).values()) for each in validating.taking.found()]
        if self._wrong:
            from attnspec.pytest_plugin.validating import packed

            output[_ROOT] = packed(validating.implementation.declaration, validating.beside_what_passed(self._wrong))

    def _of_arguments(self) -> list[Finding]:
        """Return the findings on arguments that nothing graded shows; the gate's, where there is a baseline."""
        from attnspec.gate.storing import read_baseline
        from attnspec.gate.ungraded_arguments import findings
        from attnspec.reports.taken_arguments import merged

        option = self._config.option
        if not any(self._taken):
            return []
        taken = merged(self._taken)
        listed = read_baseline(Path(option.attnspec_baseline)).ungraded_arguments if option.attnspec_baseline else None
        found = findings(taken, listed, "notes")
        # Who selects tests leaves out some that may grade an argument.
        is_whole = self._is_whole and not self.named
        return [each if is_whole or each.weight != "fails" else replace(each, weight="warns") for each in found]

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note that not all is run."""
        self._is_whole = self._is_whole and not any(isinstance(item, CaseInDtype) for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the results of a worker of xdist; one that crashed has left none."""
        output: dict[str, Any] = getattr(node, "workeroutput", {})
        if _ROOT in output:
            self._from_workers.append(output[_ROOT])
        if _TAKEN in output:
            from attnspec.reports.taken_arguments import TakenArgument

            is_whole, taken = output[_TAKEN]
            self._is_whole = self._is_whole and is_whole
            self._taken.append([TakenArgument(*each) for each in taken])
        if _OF_RUN in output:
            self._declaration, of_worker = pickle.loads(output[_OF_RUN])
            self._verdicts |= of_worker

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Print the facts common to the failures, or that nothing could be graded."""
        results = self._results_to_diagnose() if self._config.getoption("tbstyle") != "no" else []
        if results:
            from attnspec.pytest_plugin.explaining import summary_lines

            terminalreporter.write_sep("=", "what went wrong", bold=True, red=True)
            for line in summary_lines(results, files=terminalreporter.isatty):
                terminalreporter.write_line(line)
        for finding in self._of_arguments():
            if finding.weight != "notes":
                line = f"attnspec: taken, and not graded: {finding.subject}: {finding.sentence}"
                terminalreporter.write_line(plain_text(line), red=finding.weight == "fails")
        for sentence in self._of_run:
            terminalreporter.write_line(f"attnspec: {plain_text(sentence)}", red=True)
        if self._graded_nothing() and exitstatus != pytest.ExitCode.INTERRUPTED:
            terminalreporter.write_line("attnspec: nothing could be graded; -rs says why.", red=True)

    def _results_to_diagnose(self) -> list[Result]:
        """Return the failures, here or in the workers of xdist, and some passes beside them."""
        if self._validating is not None and self._wrong:
            return self._validating.beside_what_passed(self._wrong)
        if not self._from_workers:
            return []
        from attnspec.pytest_plugin.validating import selected_suite, stated_conventions, unpacked

        suite, conventions = selected_suite(self._config.option), stated_conventions(self._config.option)
        return [result for content in self._from_workers for result in unpacked(content, suite, conventions)]

    def _graded_nothing(self) -> bool:
        return bool(self._outcomes) and self._outcomes <= {"skipped", "ungraded"}


class Cases(pytest.Collector):
    """All cases that the options select."""

    def __init__(self, *, collecting: Collecting, **of_node: Any) -> None:
        super().__init__(**of_node)
        self._collecting = collecting
        self.add_marker(MARKER)

    def collect(self) -> Iterator[pytest.Collector]:
        """Return a collector for each profile, and one for the baseline."""
        try:
            validating = self._collecting.validating()
        except AttnspecError as error:
            raise self.CollectError(f"attnspec: {plain_text(in_the_words_of_pytest(str(error)))}") from None
        named = {*self._collecting.named}
        missing = {*named}
        by_profile: dict[str, list[tuple[Case, str]]] = {}
        for case, dtype in validating.runs():
            profile = f"{_ROOT}/{case.profile}"
            names = {profile, f"{profile}::{case.id}", f"{profile}::{case.id}[{dtype}]"}
            if not named or names & named:
                by_profile.setdefault(case.profile, []).append((case, dtype))
            missing -= names
        baseline: str | None = self.config.option.attnspec_baseline
        of_baseline = {_BASELINE, f"{_BASELINE}::{Path(baseline).name}"} if baseline is not None else frozenset[str]()
        for name in missing - of_baseline:
            raise self.CollectError(f"attnspec: no case is named {plain_text(name)}; --collect-only -q shows all.")
        for profile, runs in by_profile.items():
            yield _node(Profile, self, name=profile, nodeid=f"{_ROOT}/{profile}", runs=runs, validating=validating)
        if baseline is not None and (not named or of_baseline & named):
            yield _node(AsAWhole, self, name=_BASELINE, nodeid=_BASELINE, validating=validating)


class Profile(pytest.Collector):
    """The cases of one profile."""

    def __init__(self, *, runs: list[tuple[Case, str]], validating: Validating, **of_node: Any) -> None:
        super().__init__(**of_node)
        self.add_marker(self.name)
        self._runs = runs
        self._validating = validating

    def collect(self) -> Iterator[pytest.Item]:
        """Return an item for each (case, dtype)."""
        for case, dtype in self._runs:
            name = f"{case.id}[{dtype}]"
            yield _item(CaseInDtype, self, name, case=case, dtype=dtype, validating=self._validating)


class AsAWhole(pytest.Collector):
    """The baseline beyond single results."""

    def __init__(self, *, validating: Validating, **of_node: Any) -> None:
        super().__init__(**of_node)
        self._validating = validating

    def collect(self) -> Iterator[pytest.Item]:
        """Return the one item."""
        name = Path(self.config.option.attnspec_baseline).name
        yield _item(BaselineAsAWhole, self, name, validating=self._validating)


def _markers(config: pytest.Config) -> Iterator[str]:
    """Return the markers that items may have, each with its meaning."""
    given: str | None = config.option.attnspec_golden
    folder = GOLDEN_FOLDER if given is None else Path(given)
    yield f"{MARKER}: a case of attnspec"
    # A wheel has a bundle for each profile, a checkout a folder of files.
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    for profile in (path.stem for path in paths if path.suffix == SUFFIX or any(path.rglob("*.json"))):
        yield f"{profile}: a case of attnspec's profile {profile}"
    for operation in OPERATIONS:
        yield f"{operation}: a case of attnspec's operation {operation}"
    for dtype in FLOAT_DTYPES:
        yield f"{dtype}: a case of attnspec in {dtype}"


def _is_ungraded(report: pytest.CollectReport | pytest.TestReport) -> bool:
    """Return whether an item of this plugin passed without anything graded."""
    return report.when == "call" and report.passed and any(name == UNGRADED for name, _ in report.user_properties)


def _node(kind: type[Any], parent: pytest.Collector, **own: Any) -> Any:
    """Return a node of pytest's tree; pytest does not say which keywords `from_parent` takes."""
    return kind.from_parent(parent, **own)


def _item(kind: type[Any], parent: pytest.Collector, name: str, **own: Any) -> Any:
    # The id is one text: pytest's cache knows items by ids that it has read back, where brackets hold a parameter.
    return _node(kind, parent, name=name, nodeid=f"{parent.nodeid}::{name}", **own)


def _node_id(argument: str) -> str | None:
    """Return the node id of a profile or an item in an argument, as pytest prints it; None for any other path."""
    found = _PRINTED.fullmatch(argument)
    return None if found is None or Path(argument.partition("::")[0]).exists() else found[1]
