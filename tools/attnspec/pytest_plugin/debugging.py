"""Failures in the user's debugger: his own exception, or a frame where everything is at hand."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NoReturn, cast
from unittest import SkipTest

import numpy as np
import pytest
from numpy.typing import NDArray

from attnspec.contract.implementation import Wrapped
from attnspec.grading import Values
from attnspec.runner import Result, Run, inputs_as_handed_over
from attnspec.targets import Answer, Implementation, Outputs, Raised, Request
from attnspec.targets.target import Target

AT_HAND = (
    "Here are inputs, attributes, expected, got, error and tolerance, by name; `args` prints them all. "
    "call() calls it again, call(NAME=VALUE) with another argument, and `debug call()` steps into it."
)
"""Variables that the debugger finds where a wrong result is raised."""

_NOT_THE_USERS = ("attnspec", "attnspec.*", "numpy", "numpy.*")


class WrongResultError(Exception):
    """Wrong result of the implementation in one (case, dtype), in a sentence."""


class AsExpectedError(WrongResultError):
    """Wrong result as the baseline expects it."""


@dataclass
class Seen:
    """Exception of the last call in this process; `is_traced`: the debugger stops in the next call's first line."""

    raised: BaseException | None = None
    is_traced: bool = False


class Watched(Wrapped):
    """Implementation whose last exception is kept in `seen`."""

    def __init__(self, implementation: Implementation, _: Target, seen: Seen) -> None:
        super().__init__(implementation)
        self._seen = seen

    def run(self, request: Request) -> Answer:
        """Answer one request."""
        seen = self._seen
        seen.raised = None
        if seen.is_traced:
            seen.is_traced = False
            cast("Any", pytest).set_trace(header=f"PDB: a call of {request.operation}", skip=_NOT_THE_USERS)
        answer = self._implementation.run(request)
        if isinstance(answer, Raised):
            seen.raised = answer.error
        return answer


def belongs_to_the_user(error: BaseException | None) -> bool:
    """Return whether an exception raised in a test fails it as any other one: it means nothing to pytest."""
    return isinstance(error, Exception) and not isinstance(error, (SkipTest, pytest.exit.Exception))


def stop_at(result: Result, implementation: Implementation, wrong: WrongResultError) -> NoReturn:
    """Raise `wrong` where a debugger finds the returned and expected values of a wrong result."""
    run = result.run
    expected = dict(run.expected.outputs) if isinstance(run.expected, Values) else {}
    got = dict(result.got or {})

    def call(**changed: Any) -> Mapping[str, NDArray[Any]]:
        """Call the implementation with the case's own arguments, but for the given ones; return its outputs."""
        arguments = {**inputs_as_handed_over(run), **deepcopy(run.attributes), **changed}
        inputs, attributes = (
            {name: value for name, value in arguments.items() if (name in run.operation.attributes) is is_attribute}
            for is_attribute in (False, True)
        )
        answer = implementation.run(Request(run.case.operation, run.dtype, inputs, attributes))
        if isinstance(answer, Raised) and answer.error is not None:
            raise answer.error
        if not isinstance(answer, Outputs):
            raise WrongResultError(str(answer))
        return answer.values

    _stop_here(
        inputs=inputs_as_handed_over(run),
        attributes=deepcopy(run.attributes),
        expected=expected,
        got=got,
        error=_errors(got, expected),
        tolerance={name: _tolerance(run, name) for name in expected},
        call=call,
        wrong=wrong,
    )


def _stop_here(
    *,
    inputs: Mapping[str, NDArray[Any]],  # noqa: ARG001 - all but the last are there for the debugger
    attributes: Mapping[str, Any],  # noqa: ARG001
    expected: Mapping[str, NDArray[Any]],  # noqa: ARG001
    got: Mapping[str, NDArray[Any]],  # noqa: ARG001
    error: Mapping[str, NDArray[Any]],  # noqa: ARG001
    tolerance: Mapping[str, NDArray[Any]],  # noqa: ARG001
    call: Callable[..., Mapping[str, NDArray[Any]]],  # noqa: ARG001
    wrong: WrongResultError,
) -> NoReturn:
    raise wrong  # see inputs, attributes, expected, got, error, tolerance; call() calls it again


def _tolerance(run: Run, output: str) -> NDArray[Any]:
    """Return the allowed distance of each element from its expected value; infinite where nothing is graded."""
    assert run.bound is not None
    tolerance = run.bound.error(output, run.bound_index)
    if run.operation.outputs_by_name[output].exact:
        return np.zeros_like(tolerance)
    ungraded = run.bound.ungraded(output, run.bound_index)
    return tolerance if ungraded is None else np.where(ungraded, np.inf, tolerance)


def _errors(
    got: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[np.floating[Any]]]:
    """Return the distance of each element from its expected value, where the shapes allow it."""
    with np.errstate(all="ignore"):
        return {
            name: np.abs(got[name].astype(np.float64) - expected_output.astype(np.float64))
            for name, expected_output in expected.items()
            if name in got and got[name].shape == expected_output.shape
        }
