"""Which known mistake reproduces the wrong numbers.

A mistake explains an operation's failures when it computes the very outputs that came back, on every failing case,
and agrees with what passed on the passing ones. Failures that no known mistake reproduces stay unknown: a wrong
name would be worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.implementation import Outputs
from attnspec.adapters.returned import read_returned
from attnspec.comparison import precision_of
from attnspec.dtypes import ANY, to_run_dtype
from attnspec.operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.runner import Result
    from attnspec_reference.mistakes import Mistake

_PASSING_CASES_TRIED = 24


@dataclass(frozen=True)
class Diagnosis:
    """What explains the failures of one operation.

    Attributes
    ----------
    operation
        The operation.
    mistake
        Id of the mistake, or ``unknown``.
    clause
        The clause that it violates; None when unknown.
    erratum
        The erratum of a source document that made the same mistake, or None.
    sentence, remedy
        What went wrong and what to do, in plain words; empty when unknown.
    explains, of
        How many of the operation's failing (case, dtype) it reproduces, and how many there are.
    first_case
        Id of the first failing case.
    """

    operation: str
    mistake: str
    clause: str | None
    erratum: str | None
    sentence: str
    remedy: str
    explains: int
    of: int
    first_case: str


def diagnose(results: Sequence[Result]) -> tuple[Diagnosis, ...]:
    """Return a diagnosis for each operation that failed on values or shapes, in the order of the results.

    Several mistakes that explain the same failures equally well are all given, so that none is named wrongly.
    """
    failing: dict[str, list[Result]] = {}
    passing: dict[str, list[Result]] = {}
    for result in results:
        if result.got is None or result.case.properties is not None:
            continue
        if result.status == "fail" and result.verdict.check in ("values", "shape"):
            failing.setdefault(result.case.operation, []).append(result)
        elif result.status == "pass":
            passing.setdefault(result.case.operation, []).append(result)
    found: list[Diagnosis] = []
    for operation, wrong in failing.items():
        found.extend(_diagnose_operation(operation, wrong, passing.get(operation, [])[:_PASSING_CASES_TRIED]))
    return tuple(found)


def _diagnose_operation(operation: str, failing: Sequence[Result], passing: Sequence[Result]) -> list[Diagnosis]:
    from attnspec_reference.mistakes import mistakes_of

    matches: list[tuple[int, Mistake]] = []
    for mistake in mistakes_of(operation):
        explained = sum(_reproduces(mistake, result) for result in failing)
        if explained and all(_reproduces(mistake, result) for result in passing):
            matches.append((explained, mistake))
    most = max((explained for explained, _ in matches), default=0)
    best = [mistake for explained, mistake in matches if explained == most]
    of, first = len(failing), failing[0].case.id
    if not best or 2 * most < of:
        return [_unknown(operation, of, of, first)]
    rest = [] if most == of else [_unknown(operation, of - most, of, first)]
    return [*(_named(mistake, most, of, first) for mistake in best), *rest]


def _unknown(operation: str, explains: int, of: int, first: str) -> Diagnosis:
    return Diagnosis(operation, "unknown", None, None, "", "", explains, of, first)


def _named(mistake: Mistake, explains: int, of: int, first: str) -> Diagnosis:
    return Diagnosis(
        mistake.operation,
        mistake.id,
        mistake.clause,
        mistake.erratum,
        mistake.sentence,
        mistake.remedy,
        explains,
        of,
        first,
    )


def _reproduces(mistake: Mistake, result: Result) -> bool:
    """Tell whether a mistake gives the returned numbers, as far as the dtype of the run lets one see."""
    assert result.got is not None
    computed = _outputs(mistake, result)
    if computed is None:
        return False
    return all(name not in computed or _close(result.got[name], computed[name], result.dtype) for name in result.got)


def _outputs(mistake: Mistake, result: Result) -> Mapping[str, NDArray[Any]] | None:
    case = result.case
    dtype = "float64" if result.dtype == ANY else result.dtype
    inputs = {name: to_run_dtype(array, dtype) for name, array in case.inputs.items()}
    try:
        with np.errstate(all="ignore"):
            returned = mistake.function(**inputs, **case.attributes)
    except (ArithmeticError, IndexError, ValueError):
        return None
    answer = read_returned(returned, OPERATIONS[case.operation])
    return answer.values if isinstance(answer, Outputs) else None


def _close(got: NDArray[Any], computed: NDArray[Any], dtype: str) -> bool:
    """Compare with the slack of a few dozen roundings, relative to each row's largest number."""
    if got.shape != computed.shape:
        return False
    given, owed = got.astype(np.float64), computed.astype(np.float64)
    unit = precision_of(dtype).output
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(owed)
        size = np.max(np.abs(np.where(finite, owed, 0.0)), axis=-1, keepdims=True, initial=0.0)
        near = finite & (np.abs(given - owed) <= 64 * unit * np.maximum(size, np.abs(owed)))
        return bool(np.all(near | (given == owed) | (np.isnan(given) & np.isnan(owed))))
