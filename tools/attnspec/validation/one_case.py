"""One golden case for a test of the user's own.

>>> import attnspec
>>> case = attnspec.case("core/plain")
>>> case.check(my_attention(**case.arguments))
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from attnspec.base.errors import UsageError
from attnspec.cases import Case, is_random, load_suite, random_case
from attnspec.contract.dtypes import ANY, REFERENCE_DTYPE
from attnspec.grading import RIGHT, MustRefuse, NotGraded, Run, grade
from attnspec.grading.one_rule import bounded_outputs
from attnspec.reports.shown_elements import elements_text
from attnspec.reports.wording import as_sentence
from attnspec.runner import Resolved, planned_runs, request_of
from attnspec.targets import Declaration, Outputs
from attnspec.targets.calling import read_returned
from attnspec.validation import check_dtypes_and_conventions


def case(
    case_id: str,
    dtype: str | None = None,
    *,
    conventions: Mapping[str, str] | None = None,
    golden: Path | None = None,
) -> OneCase:
    """Return one golden case: inputs, attributes, what is expected, and within what.

    Parameters
    ----------
    case_id
        Its id, such as ``core/plain``; ``attnspec list`` shows them all. Or the recipe of a random case.
    dtype
        The dtype of the inputs, for which the tolerance holds; float64, or that of the random case, if None. It does
        not matter for a case without floats.
    conventions
        Conventions that the implementation follows, where they are not the normative ones.
    golden
        Another folder of golden files.

    Raises
    ------
    AttnspecError
        If there is no such case, or it is not offered in that dtype.
    """
    check_dtypes_and_conventions(() if dtype is None else (dtype,), conventions or {})
    if is_random(case_id):
        drawn = random_case(case_id)
        return OneCase(run_of(drawn, dtype or next(iter(drawn.dtypes), REFERENCE_DTYPE), conventions or {}))
    found = load_suite(golden, select=(case_id,)).cases.get(case_id)
    if found is None:
        raise UsageError(f"{case_id!r} is a pattern; name one case by its id.")
    return OneCase(run_of(found, dtype or REFERENCE_DTYPE, conventions or {}))


def run_of(found: Case, dtype: str, conventions: Mapping[str, str]) -> Run:
    """Return the run of a case, for an implementation with every capability; UsageError if not offered in the dtype."""
    dtype = dtype if found.dtypes else ANY
    if dtype not in found.runs:
        raise UsageError(f"{found.id} is not offered in {dtype}; it is in {', '.join(found.dtypes)}.")
    declaration = Declaration("", None, "", (found.operation,), (dtype,), conventions)
    (run,) = planned_runs(found, (dtype,), declaration, Resolved(declaration.conventions))
    return run


class OneCase:
    """A golden case in one dtype.

    Parameters
    ----------
    run
        The case, with its expected results.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def id(self) -> str:
        """Its id."""
        return self._run.case.id

    @property
    def title(self) -> str:
        """Its subject, in one line."""
        return self._run.case.title

    @property
    def operation(self) -> str:
        """The operation that it calls."""
        return self._run.case.operation

    @property
    def dtype(self) -> str:
        """The dtype of its inputs, or ``any`` for a case without floats."""
        return self._run.dtype

    @property
    def inputs(self) -> dict[str, NDArray[Any]]:
        """The tensors to call the implementation with, in the order of the operation's page.

        They are fresh arrays each time, in the memory layouts of the case.
        """
        given = request_of(self._run).inputs
        return {name: given[name] for name in self._run.operation.arguments if name in given}

    @property
    def attributes(self) -> dict[str, Any]:
        """Arguments beside the inputs, as plain Python values; one that is left out has its default."""
        return dict(request_of(self._run).attributes)

    @property
    def arguments(self) -> dict[str, Any]:
        """Inputs and attributes together."""
        return {**self.inputs, **self.attributes}

    @cached_property
    def expected(self) -> Mapping[str, NDArray[Any]]:
        """Output name to what is expected of it, in float64; empty for a case that is refused or has no one answer."""
        return MappingProxyType({name: output.expected for name, output in bounded_outputs(self._run).items()})

    @cached_property
    def tolerance(self) -> Mapping[str, NDArray[Any]]:
        """Output name to how far each element may lie from what is expected; infinite where it may hold anything."""
        return MappingProxyType({name: output.tolerance for name, output in bounded_outputs(self._run).items()})

    @property
    def required(self) -> tuple[str, ...]:
        """The outputs that every implementation returns; the others are graded where they are returned."""
        return self._run.operation.required(self._run.case.inputs) if self.expected else ()

    @property
    def refusal(self) -> str | None:
        """Why the inputs must be refused, by any exception; None where they are valid."""
        return self._run.expected.reason if isinstance(self._run.expected, MustRefuse) else None

    def check(self, returned: object) -> None:
        """Raise `AssertionError`, which shows the wrong elements, if what an implementation returned is wrong.

        Parameters
        ----------
        returned
            The return value of a call with `arguments`: the first output, a tuple in the order of the operation's page,
            or outputs by name.
        """
        __tracebackhide__ = True  # pytest then shows the line of the caller
        run = self._run
        if isinstance(run.expected, NotGraded):
            raise UsageError(f"{self.id} ({self.dtype}) says nothing here: {run.expected.reason}.")
        answer = read_returned(returned, run.operation, run.case.inputs)
        verdict = grade(run, answer)
        if verdict.status in RIGHT:
            return
        numbers = elements_text(run, answer.values) if isinstance(answer, Outputs) else ""
        raise AssertionError("\n".join(filter(None, (f"{self.id} ({self.dtype}): {verdict.message}", numbers))))

    def _repr_html_(self) -> str:
        from attnspec.reports.notebook import case_html

        if self.refusal is not None:
            said = as_sentence(f"It must be refused, by any exception: {self.refusal}")
        elif self.expected:
            said = f"case.check(f(**case.arguments)) raises nothing where {', '.join(self.required)} of f is right."
        else:
            said = "It has no one answer; case.check(f(**case.arguments)) says whether one is right."
        heading = f"{self.id} of {self.operation} in {self.dtype}: {self.title}"
        return case_html(heading, self.arguments, self.expected, said)

    def __repr__(self) -> str:
        return f"<case {self.id} of {self.operation} in {self.dtype}: {self.title}>"
