"""From an answer to a verdict: shape, dtype, values, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attnspec.adapters.implementation import (
    Answer,
    Crashed,
    Declined,
    Malformed,
    Outputs,
    Raised,
    TimedOut,
)
from attnspec.comparison.expectation import Expectation, MustRefuse, NotGraded, Values
from attnspec.dtypes import ANY, FLOAT_DTYPES, is_float, numpy_dtype
from attnspec.operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.comparison.tolerance import Tolerance

Status = Literal["pass", "fail", "unsupported", "error", "crash", "timeout", "malformed"]
STATUSES: tuple[Status, ...] = ("pass", "fail", "unsupported", "error", "crash", "timeout", "malformed")
_LARGEST = {"float32": (2 - 2.0**-23) * 2.0**127, "float16": 65504.0, "bfloat16": (2 - 2.0**-7) * 2.0**127}

WRONG: tuple[Status, ...] = ("fail", "error", "crash", "timeout", "malformed")


@dataclass(frozen=True)
class Worst:
    """The element that lies furthest outside (or inside) its tolerance.

    Attributes
    ----------
    output
        Name of the output.
    index
        Its indices.
    expected, got, error, tolerance
        Numbers in float64.
    ratio
        Error divided by tolerance; infinite where the tolerance is 0 or the value has the wrong kind.
    """

    output: str
    index: tuple[int, ...]
    expected: float
    got: float
    error: float
    tolerance: float
    ratio: float


@dataclass(frozen=True)
class Verdict:
    """What one answer is worth.

    Attributes
    ----------
    status
        One of `STATUSES`.
    check
        The check that failed: values, dtype, shape, inputs_unchanged, repeatable, rejects; None otherwise.
    output
        The output that failed.
    first_step
        The first output in the order of computing that went wrong, when several were returned.
    agreeing_steps
        The outputs before it that were right.
    worst
        The worst element, over the output that failed, or over all when nothing did.
    median
        Median of error / tolerance over the graded elements of the first output.
    graded, ungraded
        How many elements were compared, and how many have a tolerance that says nothing.
    under
        The declared alternative under which it was graded, or None.
    message
        A sentence; empty for a plain pass.
    """

    status: Status
    check: str | None = None
    output: str | None = None
    first_step: str | None = None
    agreeing_steps: tuple[str, ...] = ()
    worst: Worst | None = None
    median: float | None = None
    graded: int = 0
    ungraded: int = 0
    under: str | None = None
    message: str = ""


@dataclass(frozen=True)
class _Compared:
    worst: Worst | None
    ratios: NDArray[Any]
    graded: int
    ungraded: int

    @property
    def wrong(self) -> bool:
        return self.worst is not None and not self.worst.ratio <= 1


def grade(
    operation: str, dtype: str, answer: Answer, expected: Expectation, bound: Tolerance | None, run: int = 0
) -> Verdict:
    """Return the verdict on one answer.

    Parameters
    ----------
    operation, dtype
        What was run.
    answer
        What came back.
    expected
        What should have.
    bound
        Tolerances; None only where the input must be refused.
    run
        Which of the runs that `bound` stands for.
    """
    if isinstance(expected, NotGraded):
        return Verdict("unsupported", message=expected.reason)
    under = expected.under
    match answer:
        case Declined(reason):
            return Verdict("unsupported", under=under, message=reason)
        case Crashed(message):
            return Verdict("crash", under=under, message=message)
        case TimedOut(message):
            return Verdict("timeout", under=under, message=message)
        case Malformed(message):
            return Verdict("malformed", under=under, message=message)
        case Raised(message) if isinstance(expected, MustRefuse):
            return Verdict("pass", under=under, message=f"refused: {message}")
        case Raised(message):
            return Verdict("error", under=under, message=f"raised {message}")
        case Outputs() if isinstance(expected, MustRefuse):
            return Verdict("fail", "rejects", under=under, message=f"accepted what it must refuse: {expected.reason}")
        case Outputs(values, inputs_changed):
            assert isinstance(expected, Values)
            assert bound is not None
            return _grade_values(operation, dtype, values, inputs_changed, expected, bound, run)


def _grade_values(
    operation: str,
    dtype: str,
    got: Mapping[str, NDArray[Any]],
    inputs_changed: tuple[str, ...],
    expected: Values,
    bound: Tolerance,
    run: int,
) -> Verdict:
    names = [name for name in OPERATIONS[operation].outputs if name in got and name in expected.outputs]
    for name in names:
        if got[name].shape != expected.outputs[name].shape:
            return Verdict(
                "fail",
                "shape",
                name,
                under=expected.under,
                message=f"{name} has the shape {got[name].shape}; owed is {expected.outputs[name].shape}",
            )
    with np.errstate(all="ignore"):
        compared = {name: _compare(name, got[name], expected, bound, run, dtype) for name in names}
    wrong = [name for name in OPERATIONS[operation].steps if name in compared and compared[name].wrong]
    shared: dict[str, Any] = {
        "median": _median(compared[names[0]].ratios),
        "graded": sum(entry.graded for entry in compared.values()),
        "ungraded": sum(entry.ungraded for entry in compared.values()),
        "under": expected.under,
    }
    if wrong:
        output = names[0] if names[0] in wrong else wrong[0]
        steps = [name for name in OPERATIONS[operation].steps if name in compared]
        worst = compared[output].worst
        assert worst is not None
        return Verdict(
            "fail",
            "values",
            output,
            first_step=wrong[0] if len(steps) > 1 else None,
            agreeing_steps=tuple(steps[: steps.index(wrong[0])]),
            worst=worst,
            message=_values_sentence(worst),
            **shared,
        )
    for name in names:
        problem = _dtype_problem(operation, dtype, name, got[name])
        if problem is not None:
            return Verdict("fail", "dtype", name, message=problem, **shared)
    if inputs_changed:
        message = f"changed its input {inputs_changed[0]!r} in place; inputs belong to the caller"
        return Verdict("fail", "inputs_unchanged", message=message, **shared)
    worst = max(
        (entry.worst for entry in compared.values() if entry.worst is not None),
        key=lambda entry: entry.ratio,
        default=None,
    )
    return Verdict("pass", worst=worst, **shared)


def _compare(name: str, got: NDArray[Any], expected: Values, bound: Tolerance, run: int, dtype: str) -> _Compared:
    owed = expected.outputs[name].astype(np.float64, copy=False)
    given = got.astype(np.float64, copy=False)
    allowed = bound.of(name, run).error
    same = given == owed
    if same.all():
        error = ratio = np.zeros(same.shape)
    else:
        same |= np.isnan(given) & np.isnan(owed)
        if dtype not in (ANY, "float64"):
            same |= np.isinf(given) & (np.sign(given) == np.sign(owed)) & (np.abs(owed) > _LARGEST[dtype])
        error = np.where(same, 0.0, np.abs(given - owed))
        ratio = np.where(same, 0.0, error / allowed)
        ratio[np.isnan(ratio)] = np.inf
    left_out = bound.ungraded(name, run)
    if not np.isfinite(allowed).all():
        beyond = ~np.isfinite(allowed)
        left_out = beyond if left_out is None else left_out | beyond
    if name in expected.ungraded:
        left_out = expected.ungraded[name] if left_out is None else left_out | expected.ungraded[name]
    ungraded = 0
    if left_out is not None and left_out.any():
        ungraded = int(np.count_nonzero(left_out))
        ratio = np.where(left_out, -1.0, ratio)
    graded = ratio.size - ungraded
    if graded == 0:
        return _Compared(None, ratio, 0, ungraded)
    flat = int(np.argmax(ratio))
    index = tuple(int(part) for part in np.unravel_index(flat, ratio.shape))
    worst = Worst(
        name,
        index,
        float(owed[index]),
        float(given[index]),
        float(error[index]),
        float(allowed[index]),
        float(ratio[index]),
    )
    return _Compared(worst, ratio, graded, ungraded)


def _median(ratios: NDArray[Any]) -> float | None:
    """Return the (upper) median of the graded elements; ungraded ones are marked by a negative ratio."""
    graded = np.sort(ratios[ratios >= 0], axis=None)
    return float(graded[graded.size // 2]) if graded.size else None


def _dtype_problem(operation: str, dtype: str, name: str, got: NDArray[Any]) -> str | None:
    """Return what is wrong with the dtype of an output, or None."""
    if operation == "causal_mask" or dtype == ANY or got.dtype == numpy_dtype(dtype):
        return None
    owed = name == OPERATIONS[operation].outputs[0]
    if not owed and is_float(got.dtype) and got.dtype.name in FLOAT_DTYPES:
        narrow = got.dtype.itemsize <= numpy_dtype(dtype).itemsize
        return f"{name} is {got.dtype}; owed is {dtype} or a wider one" if narrow else None
    cause = ""
    if dtype != "float64" and got.dtype == np.float64:
        cause = "; a usual cause: a NumPy float64 scalar, such as np.sqrt(4), widens what it is multiplied with"
    return f"{name} is {got.dtype}; owed is {dtype}{cause}"


def _values_sentence(worst: Worst) -> str:
    where = f"{worst.output}{list(worst.index)}" if worst.index else worst.output
    if not np.isfinite(worst.ratio):
        return f"{where} is {worst.got:.9g}; owed is {worst.expected:.9g}"
    return (
        f"{where} is {worst.got:.9g}; owed is {worst.expected:.9g} within {worst.tolerance:.2g} "
        f"(the error is {worst.ratio:.3g} times that)"
    )
