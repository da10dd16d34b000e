"""Trying mutants: each is validated until a case fails it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from attnspec.cases import Suite, load_suite
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.runner import prepare_suite, run_once, run_suite
from attnspec.targets import load
from attnspec_authoring.mutation.mutated_reference import load_mutated_reference
from attnspec_authoring.shared_verdicts import SharedVerdicts

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from types import FrameType

    from attnspec.cases import Case
    from attnspec.runner import Result, Run
    from attnspec.targets import Implementation
    from attnspec_authoring.mutation.mutants import Mutant

SECONDS_ALLOWED = 60
"""Far more processor seconds than a mutant takes that no case notices: one that is still running hangs."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a mutant, by its id.

    `killed_by` has case, dtype and error, or that it hung or could not be imported; None for one that no case notices.
    """

    id: str
    killed_by: str | None


class MutantHangsError(KeyboardInterrupt):
    """Time is up: an interruption, which an adapter passes on; anything else is taken for the mutant's answer."""


@dataclass
class Examiner:
    """Examiner that finds a case failing an implementation; cases that failed others before are tried first.

    `failures` counts failed implementations by case. It orders the cases and decides nothing.
    """

    suite: Suite
    failures: Counter[str] = field(default_factory=Counter[str])
    _prepared: dict[tuple[str, bool], tuple[Run, ...]] = field(
        default_factory=dict[tuple[str, bool], tuple["Run", ...]]
    )
    _verdicts: SharedVerdicts = field(default_factory=SharedVerdicts)

    def first_failure(
        self, implementation: Implementation, dtypes: Sequence[str] = FLOAT_DTYPES, foremost: str | None = None
    ) -> Result | None:
        """Validate an implementation up to the first wrong result, in the first dtype, then in the others.

        `foremost` is a case to try before all others; None for the usual order.
        """
        ordered = self._ordered(implementation)
        ordered.sort(key=lambda case: case.id != foremost)
        suite = replace(self.suite, cases={case.id: case for case in ordered}, called_first=())
        for some in filter(None, (dtypes[:1], dtypes[1:])):
            for result in run_suite(suite, implementation, dtypes=some, fail_fast=True):
                if result.is_wrong:
                    self.failures[result.case.id] += 1
                    return result
        return None

    def first_failure_of_a_mutant(self, implementation: Implementation) -> Result | None:
        """Validate a mutant up to the first wrong result.

        Mutants declare nothing, so that their tolerances are computed once. It is called once; only cases that look for
        memory between calls, or for what is not repeatable, are validated as a whole, in float64.
        """
        cases = self._ordered(implementation)
        for in_first_dtype in (True, False):
            for part in _parts(cases):
                runs = [run for case in self._with_counterparts(part) for run in self._runs(case, in_first_dtype)]
                for result in run_once(runs, self.suite, implementation, self._verdicts.judge):
                    if result.is_wrong:
                        self.failures[result.case.id] += 1
                        return result
        repeated = replace(self.suite, cases={case.id: case for case in cases if case.changed_argument is not None})
        results = run_suite(repeated, implementation, dtypes=FLOAT_DTYPES[:1], fail_fast=True)
        return next((result for result in results if result.is_wrong), None)

    def _ordered(self, implementation: Implementation) -> list[Case]:
        operations = implementation.declaration.operations
        cases = [case for case in self.suite.cases.values() if case.operation in operations]
        return sorted(cases, key=lambda case: -self.failures[case.id])

    def _with_counterparts(self, part: Sequence[Case]) -> list[Case]:
        """Add the valid counterparts of refusals, which are graded with them."""
        known = {**self.suite.counterparts, **self.suite.cases}
        counterparts = [known[case.rejects.counterpart] for case in part if case.rejects is not None]
        return [*{case.id: case for case in (*part, *counterparts)}.values()]

    def _runs(self, case: Case, in_first_dtype: bool) -> Sequence[Run]:
        key = (case.id, in_first_dtype)
        if key not in self._prepared:
            alone = replace(self.suite, cases={case.id: case})
            runs = prepare_suite(alone, case.operation, FLOAT_DTYPES[:1] if in_first_dtype else FLOAT_DTYPES[1:])
            self._prepared[key] = tuple(run for run in runs if in_first_dtype or run.dtype != ANY)
        return self._prepared[key]


_LARGEST_PART = 64
"""How many cases are run before it is seen whether one has failed, once many have not."""


def _parts(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """Cut cases into parts, small ones first: most mutants fail one of the first cases."""
    start, size = 0, 1
    while start < len(cases):
        yield cases[start : start + size]
        start, size = start + size, min(2 * size, _LARGEST_PART)


def try_mutant(mutant: Mutant, examiner: Examiner) -> Outcome:
    """Validate one mutant until a case fails it: in float64, then in the other dtypes."""
    try:
        with _limited_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            failure = examiner.first_failure_of_a_mutant(load(load_mutated_reference(mutant)))
    except MutantHangsError:
        return Outcome(mutant.id, f"it was still running after {SECONDS_ALLOWED} seconds")
    except Exception as error:
        return Outcome(mutant.id, f"it cannot be imported: {type(error).__name__}")
    return Outcome(mutant.id, None if failure is None else _reported(failure))


def try_mutants(mutants: Sequence[Mutant], *, processes: int | None = None) -> Iterator[Outcome]:
    """Try mutants in processes of their own, one for each processor if None, and yield their outcomes in order."""
    # One thread each: the arrays are small, and several threads on one processor only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=context) as pool:
        yield from pool.map(_try, mutants, chunksize=8)


@cache
def _examiner() -> Examiner:
    """Return the one examiner of this process."""
    return Examiner(load_suite())


def _try(mutant: Mutant) -> Outcome:
    return try_mutant(mutant, _examiner())


@contextmanager
def _limited_time() -> Generator[None]:
    def expired(_signal: int, _frame: FrameType | None) -> None:
        raise MutantHangsError

    # Seconds of this process: on a busy machine those of the clock say nothing.
    previous = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_ALLOWED)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _reported(result: Result) -> str:
    what = f"{result.status}, {result.verdict.check}" if result.verdict.check else result.status
    return f"{result.case.id} ({result.dtype}): {what}"
