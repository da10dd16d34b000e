"""Trial of an adapter that is not written yet: which tensors, layout and dtypes, and what could be declared."""

import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import AttnspecError
from attnspec.cases import Case, Suite, load_suite
from attnspec.cases.selecting import SMOKE_PROFILE
from attnspec.contract import IN_LAYOUT, LAYOUTS, OPERATIONS
from attnspec.contract.arrangement import Circumstances
from attnspec.contract.implementation import Answer, Outputs, Raised, Request, TimedOut, Wrapped
from attnspec.contract.layout import operation_in
from attnspec.contract.operation import Operation
from attnspec.diagnosis import Declarations
from attnspec.families.lookup import family_of
from attnspec.grading.expectation import Values
from attnspec.process.opening import open_target
from attnspec.runner import Resolved, Result, planned_runs, request_of
from attnspec.scaffold.adapter_text import Draft, adapter_text
from attnspec.scaffold.naming import Call
from attnspec.targets import Implementation
from attnspec.targets.target import Target
from attnspec.validation import run_offered

_ALIKE = 0.02
"""Distance allowed from the expected output, as a share of its spread: half precision is alike, other axes not."""

_ALL_BITS = 64
_BITS = {"float64": 40, "float32": 14, "float16": 0, "bfloat16": 0}
"""Bits below which numbers are of a narrower dtype: float32 has 24, float16 11; sums lose some of float64's 53."""

_PROBES = 4
"""Cases of one kind that a guess is made from; each is called once for every layout."""

_OTHERS = 60
"""Further cases that are tried where none of these is answered."""

_SECONDS_FOR_MORE = 2.0
"""Where the cases for a quick look take longer, as they do where each shape is compiled, the others are not run."""

_SECONDS_OF_A_CALL = 10
"""A call of Python that takes longer is interrupted: a walk from parent to parent may never end."""

_GAVE = "it gave"

_LARGEST = 100.0
"""Inputs beyond it saturate, so that wrong layouts may look right."""


class Answered(NamedTuple):
    """Answers to probes: those of right shape and dtype, their mean distance from the expected, the first other one.

    `is_plain` where cases with required arguments alone were answered, and not only others.
    """

    answers: int
    distance: float
    trouble: str | None
    is_plain: bool = True

    @property
    def is_alike(self) -> bool:
        """Whether the outputs are the expected ones, but for roundings."""
        return self.answers > 0 and self.distance <= _ALIKE

    @property
    def bits(self) -> int:
        """Bits of the numbers that are right."""
        return round(-math.log2(self.distance)) if self.distance > 0 else _ALL_BITS

    def is_rougher_than(self, dtype: str) -> bool:
        """Whether all is alike, and clearly rougher than a dtype is."""
        return self.is_alike and self.bits < _BITS[dtype]


class Tried(NamedTuple):
    """Outcome of an adapter: declarations that could account for its failures, `wrong` results `of` so many graded.

    `raised` is what most of these raised, with their number; None where they raised nothing.
    """

    declarations: Declarations | None
    wrong: int
    of: int
    arguments: frozenset[str]
    raised: tuple[str, int] | None


class _OverTimeError(BaseException):
    """A call has not ended in time; no ``except Exception`` of the function's own holds it."""


class Limited(Wrapped):
    """An implementation of which a call of Python has `seconds`; requests that ran `over_time` are not tried again."""

    def __init__(self, implementation: Implementation, over_time: dict[str, str], seconds: float) -> None:
        super().__init__(implementation)
        self._over_time, self._seconds = over_time, seconds

    def run(self, request: Request) -> Answer:
        """Answer one request, or say that it took too long."""
        # Signals arrive in the main thread alone.
        if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
            return self._implementation.run(request)
        arrays = {name: (array.shape, array.tobytes()) for name, array in request.inputs.items()}
        key = repr((request.operation, arrays, request.attributes))
        if key in self._over_time:
            return TimedOut(self._over_time[key])
        before = signal.signal(signal.SIGALRM, _interrupt)
        try:
            # Once more if that is lost: what is raised while garbage is collected goes nowhere.
            signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds)
            answer = self._implementation.run(request)
        except _OverTimeError as error:
            answer = Raised(str(error), error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        if isinstance(answer, Raised) and isinstance(answer.error, _OverTimeError):
            self._over_time[key] = f"it did not end in {self._seconds} seconds"
            return TimedOut(self._over_time[key])
        return answer


def _interrupt(_: int, __: FrameType | None) -> None:
    raise _OverTimeError("it did not end in time")


class Prober:
    """Probes of one operation, for an adapter that is going to be at `path`; `over_time` has calls that did not end."""

    def __init__(self, operation: Operation, path: Path) -> None:
        self._path = path
        self.over_time: dict[str, str] = {}
        whole, smoke = load_suite(), load_suite(profiles=(SMOKE_PROFILE,))
        self._suite, self._quick = (
            replace(suite, cases={case.id: case for case in suite.cases.values() if case.operation == operation.name})
            for suite in (whole, smoke)
        )
        self._cases, self._others = _plain_cases(operation, [*self._suite.cases.values()])

    def answered(self, draft: Draft, dtype: str, output: str | None = None) -> Answered:
        """Return how the adapter answers the probes in a dtype, by an output: the first one where none is named."""
        try:
            implementation = self._opened(draft)
        except AttnspecError as error:
            return Answered(0, np.inf, str(error))
        with closing(implementation):
            found: list[float | str] = []
            if output is None:
                found += [_distance(implementation, case, dtype, None) for case in self._cases if _runs_in(case, dtype)]
            is_plain = any(isinstance(each, float) for each in found)
            if not is_plain:
                # A kernel may take some widths or numbers of tokens alone; outputs are expected of some cases alone.
                for case in self._holding(draft.call, output):
                    if _runs_in(case, dtype) and sum(isinstance(each, float) for each in found) < _PROBES:
                        found.append(_distance(implementation, case, dtype, output))
        distances = [each for each in found if isinstance(each, float)]
        troubles = [each for each in found if isinstance(each, str)]
        mean = float(np.mean(distances)) if distances else np.inf
        # Of other answers, a wrong dtype says more about the dtype than shapes that are not offered.
        reported = min(troubles, key=lambda trouble: not trouble.startswith(_GAVE), default=None)
        return Answered(len(distances), mean, reported, is_plain)

    def _holding(self, call: Call, output: str | None) -> list[Case]:
        """Return other cases whose arguments a call takes, or those whose expected values have an output."""
        if output is None:
            return [case for case in self._others if call.may_take((*case.inputs, *case.attributes))][:_OTHERS]
        return [case for case in self._others if any(output in values for values in (case.expected or {}).values())]

    def returned(self, draft: Draft, dtype: str) -> list[Any]:
        """Return what the function itself returned for the first probe that it answered; empty where it answered none.

        What the adapter makes of it may not be an output yet.
        """
        kept: list[Any] = []
        try:
            with closing(self._opened(draft, kept)) as implementation:
                for case in (*self._cases, *self._holding(draft.call, None)):
                    if _runs_in(case, dtype) and not kept:
                        _distance(implementation, case, dtype, None)
        except AttnspecError:
            return []
        return kept[:1]

    def tried(self, draft: Draft, dtype: str) -> Tried:
        """Run the cases in a dtype; those of the profile for a quick look alone where these take long."""
        from attnspec.diagnosis import could_be_declared

        with closing(self._opened(draft)) as implementation:
            began = time.monotonic()
            results = self._run(self._quick, implementation, dtype)
            if time.monotonic() - began <= _SECONDS_FOR_MORE:
                results = self._run(self._suite, implementation, dtype)
        graded = [result for result in results if result.is_wrong or result.establishes]
        stated = frozenset(name for result in graded for name in (*result.case.inputs, *result.case.attributes))
        wrong = sum(result.is_wrong for result in graded)
        raised = Counter(result.verdict.message for result in graded if result.status == "error").most_common(1)
        declarations = could_be_declared(results) if wrong else None
        return Tried(declarations, wrong, len(graded), stated, raised[0] if raised else None)

    def right_where_stated(self, draft: Draft, dtype: str, argument: str) -> tuple[int, int]:
        """Run the cases that state an argument; return how many were right, and how many were graded."""
        stating = {
            case_id: case
            for case_id, case in self._suite.cases.items()
            if argument in case.attributes or argument in case.inputs
        }
        with closing(self._opened(draft)) as implementation:
            suite = replace(self._suite, cases=stating, counterparts=self._suite.cases)
            results = self._run(suite, implementation, dtype)
        right = sum(result.establishes for result in results)
        return right, right + sum(result.is_wrong for result in results)

    def _run(self, suite: Suite, implementation: Implementation, dtype: str) -> tuple[Result, ...]:
        return run_offered(suite, implementation, dtypes=(dtype,), conventions={}, fail_fast=False)

    def _opened(self, draft: Draft, kept: list[Any] | None = None) -> Implementation:
        """Open an adapter; what its function returns is added to `kept`, if that is a list."""
        module = ModuleType(self._path.stem)
        module.__file__ = str(self._path.resolve())
        try:
            exec(compile(adapter_text(draft, self._path), self._path.name, "exec"), vars(module))
        except (Exception, SystemExit) as error:
            raise AttnspecError(f"{type(error).__name__}: {error}") from None
        name = draft.call.operation.name
        if kept is not None:
            setattr(module, name, _keeping(getattr(module, name), kept))
        return Limited(open_target(Target(module)), self.over_time, _SECONDS_OF_A_CALL)


def _keeping(function: Callable[..., Any], kept: list[Any]) -> Callable[..., Any]:
    """Return a function that keeps what it returns."""

    @wraps(function)
    def keeping(*arguments: Any, **named: Any) -> Any:
        returned = function(*arguments, **named)
        kept.append(returned)
        return returned

    return keeping


def layouts_of(operation: Operation) -> tuple[str, ...]:
    """Return the layouts in which an operation has these arguments, the contract's own first."""
    arranged = family_of(operation.name).layouts()
    probe: dict[str, NDArray[Any]] = {name: np.zeros((1,) * 4) for name in OPERATIONS[operation.name].inputs}
    return tuple(
        layout
        for layout in LAYOUTS
        if operation_in(operation.name, layout).arguments == operation.arguments
        and (
            arranged[layout](operation.name, probe, {}, Circumstances()) is not None
            if layout in arranged
            # In a layout of which its family knows nothing, it is as in the contract's own.
            else layout == LAYOUTS[0] or operation.name in IN_LAYOUT.get(layout, {})
        )
    )


def _plain_cases(operation: Operation, cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Return cases with required arguments alone: those whose extents differ most, and some whose are all alike.

    Beside them come others, those with fewest arguments first, and of these the widest.
    """
    usable = [case for case in cases if _is_usable(case)]
    required = {*OPERATIONS[operation.name].required_arguments}
    plain = [
        case
        for case in usable
        if {*case.inputs, *case.attributes} == required
        and all(min(array.shape, default=2) > 1 for array in case.inputs.values())
    ]
    # Where a convention reaches every case, its normative choice is as plain as can be.
    plain = [case for case in plain if not case.conventions] or plain
    distinct = sorted(
        plain,
        key=lambda case: (
            -len({length for array in case.inputs.values() for length in array.shape}),
            sum(map(np.size, case.inputs.values())),
        ),
    )
    alike = [case for case in distinct if len({array.shape for array in case.inputs.values()}) == 1]
    chosen = {case.id: case for case in [*distinct[:_PROBES], *alike[:_PROBES]]}
    others = [case for case in usable if case.id not in chosen]
    others.sort(key=lambda case: (len(case.inputs) + len(case.attributes), -_width(case)))
    return [*chosen.values()], others


def _width(case: Case) -> int:
    return max((array.shape[-1] for array in case.inputs.values() if array.ndim), default=0)


def _is_usable(case: Case) -> bool:
    output = OPERATIONS[case.operation].outputs[0]
    return (
        not (case.rejects or case.properties or case.sample or case.memory_order)
        and all(min(array.shape, default=1) > 0 for array in case.inputs.values())
        and all(np.all(np.abs(array) < _LARGEST) for array in case.inputs.values() if array.dtype.kind == "f")
        # Truth values that are all alike are right by chance.
        and (bool(case.dtypes) or any(np.unique(values[output]).size > 1 for values in (case.expected or {}).values()))
    )


def _runs_in(case: Case, dtype: str) -> bool:
    """Return whether a case is run in a dtype; one without floating-point numbers is run once, whatever the dtype."""
    return not case.dtypes or dtype in case.dtypes


def _distance(implementation: Implementation, case: Case, dtype: str, output: str | None) -> float | str:
    """Return how far an output, or the first one, lies from the expected one, or in words what came instead."""
    declaration = implementation.declaration
    (run,) = planned_runs(case, (dtype,), declaration, Resolved(declaration.conventions))
    answer = implementation.run(request_of(run))
    if not isinstance(answer, Outputs):
        return str(getattr(answer, "message", None) or getattr(answer, "reason", answer))
    assert isinstance(run.expected, Values)
    name = run.operation.outputs[0] if output is None else output
    if name not in answer.values or name not in run.expected.outputs:
        return f"{_GAVE} no {name}"
    expected, got = run.expected.outputs[name], answer.values[name]
    if got.shape != expected.shape:
        return f"{_GAVE} an output of shape {got.shape} where {expected.shape} is expected"
    if case.dtypes and got.dtype.name != dtype and output is None:
        return f"{_GAVE} {got.dtype.name} where {dtype} was given"
    with np.errstate(all="ignore"):
        spread = float(np.std(expected[np.isfinite(expected)])) or 1.0
        apart = np.where(got == expected, 0.0, got.astype(np.float64) - expected)
        distance = float(np.sqrt(np.mean(apart**2))) / spread
    return distance if np.isfinite(distance) else f"{_GAVE} infinity or NaN"
