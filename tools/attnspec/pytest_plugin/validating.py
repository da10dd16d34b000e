"""Running one (case, dtype) at a time, on one instance of the implementation, and saying what went wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.cases import load_suite
from attnspec.dtypes import ANY
from attnspec.errors import UsageError
from attnspec.reports import failure_text
from attnspec.runner import offered_part, run_suite
from attnspec.validation import check_asked, contract_names, in_layout, open_target, pairs, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attnspec.adapters import Implementation
    from attnspec.cases import Case, Suite
    from attnspec.diagnosis import Diagnosis
    from attnspec.runner import Result

_PASSES_KEPT = 24
_DIAGNOSED = 20
"""A diagnosis of each of a thousand failures would take long, and repeat itself."""


class Validating:
    """An implementation and the cases that it is held against.

    Parameters
    ----------
    suite
        The selected cases.
    implementation
        The software under test; `close` releases it.
    dtypes
        Dtypes to run in; those that the implementation declares if empty.
    conventions
        Conventions that it follows, over those that it declares.
    """

    def __init__(
        self, suite: Suite, implementation: Implementation, dtypes: Sequence[str], conventions: Mapping[str, str]
    ) -> None:
        self._suite = suite
        self._implementation = implementation
        self._dtypes = tuple(dtypes) or implementation.declaration.dtypes
        self._conventions = conventions
        self._passed: dict[str, list[Result]] = {}
        self._diagnosed: dict[str, int] = {}

    @classmethod
    def from_options(cls, options: Any) -> Validating:
        """Load cases and implementation as the command line says.

        Raises
        ------
        AttnspecError
            If something cannot be loaded.
        """
        conventions = pairs(options.attnspec_convention, "--attnspec-convention")
        check_asked(options.attnspec_dtype, conventions)
        suite = load_suite(
            Path(options.attnspec_golden) if options.attnspec_golden else None,
            profiles=options.attnspec_profile,
            select=options.attnspec_select,
        )
        implementation = _implementation(options)
        offered = offered_part(suite, implementation.declaration.operations)
        return cls(offered.suite, implementation, options.attnspec_dtype, conventions)

    def runs(self) -> Iterator[tuple[Case, str]]:
        """Return each selected case in each of its dtypes, in the order of ids and dtypes."""
        for case in self._suite.cases.values():
            for dtype in case.runs:
                if dtype in self._dtypes or dtype == ANY:
                    yield case, dtype

    def golden_file(self, case: Case) -> Path:
        """Return the file that holds a case."""
        return self._suite.folder / f"{case.id}.json"

    def run(self, case: Case, dtype: str) -> Result:
        """Run and grade one case in one dtype, twice in a row; a refusal together with its valid twin."""
        alone = replace(self._suite, cases={case.id: case}, twins=self._twin_of(case))
        dtypes = self._dtypes if dtype == ANY else (dtype,)
        (result,) = run_suite(alone, self._implementation, dtypes=dtypes, conventions=self._conventions, goes_on=True)
        passed = self._passed.setdefault(case.operation, [])
        if result.status == "pass" and len(passed) < _PASSES_KEPT:
            passed.append(result)
        return result

    def explain(self, result: Result) -> str:
        """Return in words what went wrong, with the mistake that it looks like in the light of what passed before."""
        operation = result.case.operation
        if result.got is None:
            return failure_text(result, ())
        self._diagnosed[operation] = self._diagnosed.get(operation, 0) + 1
        if self._diagnosed[operation] > _DIAGNOSED:
            return f"{failure_text(result, ())}\nOnly the first {_DIAGNOSED} failures of {operation} are diagnosed."
        return failure_text(result, self._diagnosis(result))

    def close(self) -> None:
        """Release the implementation."""
        self._implementation.close()

    def _twin_of(self, case: Case) -> dict[str, Case]:
        if case.rejects is None:
            return {}
        twin = case.rejects.twin
        return {twin: self._suite.cases.get(twin) or self._suite.twins[twin]}

    def _diagnosis(self, result: Result) -> tuple[Diagnosis, ...]:
        from attnspec.diagnosis import diagnose

        return diagnose([*self._passed.get(result.case.operation, ()), result])


def _implementation(options: Any) -> Implementation:
    """Return the implementation in its layout.

    Raises
    ------
    UsageError
        If an option for Python targets is given with a program.
    """
    command = options.attnspec_command
    for option, given in (
        ("--attnspec", options.attnspec),
        ("--attnspec-as", options.attnspec_as),
        ("--attnspec-rename", options.attnspec_rename),
        ("--attnspec-device", options.attnspec_device),
        ("--attnspec-tensors", options.attnspec_tensors),
    ):
        if command is not None and given:
            raise UsageError(f"{option} is for Python targets; an --attnspec-command follows the protocol by itself.")
    implementation = open_target(
        options.attnspec,
        command,
        operation=options.attnspec_as,
        renames=contract_names(pairs(options.attnspec_rename, "--attnspec-rename")),
        device=options.attnspec_device,
        tensors=options.attnspec_tensors,
        without=words(options.attnspec_without),
        timeout=options.attnspec_timeout,
    )
    try:
        return in_layout(implementation, options.attnspec_layout)
    except BaseException:
        implementation.close()
        raise
