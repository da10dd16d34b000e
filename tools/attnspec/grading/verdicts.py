"""From an answer to a verdict: shape, dtype, values, element by element."""

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnspec.contract import CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import CHOICES, conventions_settling
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES, is_float, numpy_dtype, own_dtype
from attnspec.contract.implementation import (
    Answer,
    Crashed,
    Declined,
    Malformed,
    Outputs,
    Raised,
    TimedOut,
)
from attnspec.grading.elements import Compared, Worst, compare, sampled_outputs
from attnspec.grading.expectation import MustRefuse, NotGraded, Properties, Run, Values
from attnspec.grading.pull import Pull

Status = Literal["pass", "ungraded", "fail", "unsupported", "error", "crash", "timeout", "malformed"]
STATUSES: tuple[Status, ...] = ("pass", "ungraded", "fail", "unsupported", "error", "crash", "timeout", "malformed")

WRONG: tuple[Status, ...] = ("fail", "error", "crash", "timeout", "malformed")
RIGHT: tuple[Status, ...] = ("pass", "ungraded")
"""Statuses with which nothing is wrong: something was graded in the answer, or nothing could be."""

NOT_GRADED: tuple[Status, ...] = ("ungraded", "unsupported")
"""Statuses that are never wrong and speak for no clause."""

INPUTS_UNCHANGED = "inputs_unchanged"
"""The check that fails where a call writes into what it is given."""

OUTPUTS_UNCHANGED = "outputs_unchanged"
"""The check that fails where a call writes over what an earlier one returned."""

SYSTEMATIC = "systematic"
"""The check of a run that fails where the errors of all results together have a cause that no rounding has."""

LAYER = "layer"
"""The check of a run that fails where a layer does wrong in what no case can express."""

INVARIANCE = "invariance"
"""The check of a run that fails where results have other bits in another batch, though they are declared not to."""

STATE = "state"
"""The check of a run that fails where steps that go on from what earlier ones kept do not give what one pass gives."""

OF_RUN = (SYSTEMATIC, LAYER, INVARIANCE, STATE)
"""Checks of a run as a whole: their failures are of no case, and their profiles are named after them."""


def is_clause_of_run(clause: str) -> bool:
    """Return whether a clause is of a run as a whole, so that no case exercises it: ``multi_head.layer.cache``."""
    return clause.endswith(f".{SYSTEMATIC}") or any(f".{check}." in clause for check in (LAYER, INVARIANCE, STATE))


_ALLOWED = " or ".join(f"{name}={CHOICES[name][1]}" for name in conventions_settling(Settles.LIFETIME))

_NO_ELEMENT_GRADED = "for every element, the tolerance would pass anything, or nothing is expected of it"


PartCompared: TypeAlias = tuple[str, float, str]
"""Kind of a part, by how many units in the last digit it is furthest from the whole call, and a sentence on where.

Of steps, whose kind is `STATE`: 0, or infinity where they do not give what the whole call gives.
"""


class Verdict(NamedTuple):
    """Verdict on one answer: its status, the check and the output that failed, and a sentence, empty for a plain pass.

    Checks are values, dtype, shape, inputs_unchanged, outputs_unchanged, repeatable and rejects; of a run as a whole
    systematic, layer, invariance and state. Of several outputs, the first wrong step in the order of computing is named
    with those right before it. `worst`: of the output that failed, or of all; `median` is of error / tolerance over the
    graded elements of the first output. `ungraded` elements have a tolerance that says nothing, or are expected of
    nobody. `under` names declared alternatives. `fused`: whether half precision graded unfused would pass the fused
    grade too; None where that is not the question. `at_default`: attributes that a request stated at their default,
    and without which the answer came: it was declined with them.
    `pull`: what the errors of a pass say together, for the fit of systematic errors over a run. `accounts_for`: the
    (case, dtype) of other failures that would pass without a systematic error. `warned`: how often the implementation's
    own code warned in the first call, and the first of these warnings. `parts`: calls of parts of the case, beside it.
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
    fused: bool | None = None
    message: str = ""
    at_default: tuple[str, ...] = ()
    pull: Pull | None = None
    accounts_for: tuple[tuple[str, str], ...] = ()
    warned: tuple[int, str] = (0, "")
    parts: tuple[PartCompared, ...] = ()


def grade(run: Run, answer: Answer) -> Verdict:
    """Return the verdict on one answer; its `overwritten` is empty where outputs need hold only until the next call."""
    expected = run.expected
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
        case Outputs(values) if isinstance(expected, Properties):
            verdict = _grade_properties(run, values)
        case Outputs():
            assert isinstance(expected, Values)
            verdict = _grade_outputs(run, expected, answer)
    return with_overwritten(verdict, answer) if answer.overwritten and verdict.status in RIGHT else verdict


def with_overwritten(verdict: Verdict, answer: Outputs) -> Verdict:
    """Return the fail of a call whose answer is right, and which wrote over the outputs of an earlier one."""
    output = answer.overwritten[0]
    message = (
        f"{output!r}, which an earlier call had returned, was overwritten; outputs belong to the caller. "
        f"Return new arrays, or declare {_ALLOWED}"
    )
    return verdict._replace(status="fail", check=OUTPUTS_UNCHANGED, output=output, message=message)


def _grade_outputs(run: Run, expected: Values, answer: Outputs) -> Verdict:
    values, stray, changed = answer.values, None, answer.inputs_changed
    if expected.thinned:
        values, stray = sampled_outputs(run, expected, values)
    verdict = _grade_values(run, expected, values, changed, run.bound_index)
    if stray is not None and verdict.status in RIGHT:
        return _with_stray(verdict, stray)
    if run.fused_index is None or verdict.check not in (None, "values"):
        return verdict
    fused = _compared(run, expected, values, run.fused_index)
    is_wrong = bool(changed) or any(
        compared.wrong or _dtype_problem(run, name, values[name]) for name, compared in fused.items()
    )
    if not is_wrong and _nothing_graded(fused):
        return verdict
    return verdict._replace(fused=not is_wrong and stray is None)


def _grade_properties(run: Run, got: Mapping[str, NDArray[Any]]) -> Verdict:
    first = run.operation.outputs[0]
    problem = run.family.lacks_property(run.operation.name, run.attributes, got)
    if problem is None:
        return Verdict("pass", graded=got[first].size)
    graded = got[first].size if problem.check == "values" else 0
    return Verdict("fail", problem.check, first, graded=graded, message=problem.message)


def _grade_values(
    run: Run, expected: Values, got: Mapping[str, NDArray[Any]], inputs_changed: tuple[str, ...], index: int
) -> Verdict:
    for output in run.operation.gives:
        if output.capability is not None and output.required and output.name not in got:
            message = f"returned no {output.name!r}, which is expected of all that are not without {output.capability}"
            return Verdict("malformed", output=output.name, under=expected.under, message=message)
    names = [name for name in run.operation.outputs if name in expected.outputs and name in got]
    for name in names:
        if got[name].shape != expected.outputs[name].shape:
            shape = expected.thinned.get(name, expected.outputs[name].shape)
            message = f"{name} has the shape {got[name].shape}; expected {shape}"
            return Verdict("fail", "shape", name, under=expected.under, message=message)
    compared = _compared(run, expected, got, index)
    steps = [name for name in run.operation.computed_in_order if name in compared]
    wrong = [name for name in steps if compared[name].wrong]
    shared: dict[str, Any] = {
        "median": compared[names[0]].median,
        "graded": sum(entry.graded for entry in compared.values()),
        "ungraded": sum(entry.ungraded for entry in compared.values()),
        "under": expected.under,
    }
    if wrong:
        output = names[0] if names[0] in wrong else wrong[0]
        worst = compared[output].element(compared[output].position)
        problem = _dtype_problem(run, output, got[output])
        return Verdict(
            "fail",
            "values",
            output,
            first_step=wrong[0] if len(steps) > 1 else None,
            agreeing_steps=tuple(steps[: steps.index(wrong[0])]),
            worst=worst,
            # Numbers that are nearly right are often computed in the dtype in which they came.
            message=_values_sentence(compared[output])
            + (_extent_of_wrong(compared[output]) if output in expected.thinned else "")
            + ("" if problem is None else f". Its dtype is wrong too: {problem}"),
            **shared,
        )
    for name in names:
        problem = _dtype_problem(run, name, got[name])
        if problem is not None:
            return Verdict("fail", "dtype", name, message=problem, **shared)
    if inputs_changed:
        names = (name for name in run.operation.conventions if inputs_changed[0] in CONVENTIONS[name].changes)
        declared = "".join(f", unless {name}={CHOICES[name][1]} is declared" for name in names)
        message = f"changed its input {inputs_changed[0]!r} in place; inputs belong to the caller{declared}"
        return Verdict("fail", INPUTS_UNCHANGED, message=message, **shared)
    if _nothing_graded(compared):
        return Verdict("ungraded", message=_NO_ELEMENT_GRADED, **shared)
    graded = [entry for entry in compared.values() if entry.graded]
    largest = max(graded, key=attrgetter("top"), default=None)
    worst = None if largest is None else largest.element(largest.position)
    return Verdict("pass", worst=worst, **shared)


def _compared(run: Run, expected: Values, got: Mapping[str, NDArray[Any]], index: int) -> dict[str, Compared]:
    """Return the outputs beside their expected values, in the contract's order; `index` as in `compare`."""
    names = (name for name in run.operation.outputs if name in expected.outputs and name in got)
    with np.errstate(all="ignore"):
        return {name: compare(run, expected, name, got[name], index) for name in names}


def _nothing_graded(compared: Mapping[str, Compared]) -> bool:
    """Return whether there are elements, and none of them can be graded."""
    return any(entry.ungraded for entry in compared.values()) and not any(entry.graded for entry in compared.values())


def _dtype_problem(run: Run, name: str, got: NDArray[Any]) -> str | None:
    """Return the fault in the dtype of an output, or None."""
    dtype, output = run.dtype, run.operation.outputs_by_name[name]
    rule = "any" if output.like is not None and own_dtype(run.case.inputs[output.like]) else output.dtype
    if rule == "any" or dtype == ANY or got.dtype == numpy_dtype(dtype):
        return None
    if rule == "of the run or wider" and is_float(got.dtype) and got.dtype.name in FLOAT_DTYPES:
        narrow = got.dtype.itemsize <= numpy_dtype(dtype).itemsize
        return f"{name} is {got.dtype}; expected {dtype} or a wider one" if narrow else None
    cause = ""
    if dtype != "float64" and got.dtype == np.float64:
        cause = "; a usual cause: a NumPy float64 scalar, such as np.sqrt(4), widens what it is multiplied with"
    return f"{name} is {got.dtype}; expected {dtype}{cause}"


def _with_stray(verdict: Verdict, stray: Worst) -> Verdict:
    """Return the fail of an answer whose sampled elements are right, and another one cannot be."""
    where = f"{stray.output}{list(stray.index)}"
    message = (
        f"{where} is {stray.got:.9g}; no average of the values can be: none of them lies beyond {stray.expected:.9g}"
    )
    return verdict._replace(status="fail", check="values", output=stray.output, worst=stray, message=message)


def _extent_of_wrong(compared: Compared) -> str:
    """Return how many of the sampled elements are wrong, and where the first of them lies."""
    wrong = np.flatnonzero(compared.ratios > 1)
    first = compared.element(int(wrong[0]))
    return f"; {wrong.size} of {compared.ratios.size} sampled elements are wrong, the first {list(first.index)}"


def _values_sentence(compared: Compared) -> str:
    worst, to_interval = compared.element(compared.position), compared.in_interval
    where = f"{worst.output}{list(worst.index)}" if worst.index else worst.output
    if to_interval is not None and to_interval.elements.flat[compared.position]:
        lowest, highest = to_interval.lowest.item(compared.position), to_interval.highest.item(compared.position)
        any_other = f"from {lowest:.9g} to {highest:.9g}" if math.isfinite(highest - lowest) else "that is finite"
        return (
            f"{where} is {worst.got:.9g}; expected {worst.expected:.9g}, "
            f"and where so much precision may be lost, any number {any_other}"
        )
    if not np.isfinite(worst.ratio):
        return f"{where} is {worst.got:.9g}; expected {worst.expected:.9g}"
    return (
        f"{where} is {worst.got:.9g}; expected {worst.expected:.9g} within {worst.tolerance:.2g} "
        f"(the error is {worst.ratio:.3g} times that)"
    )
