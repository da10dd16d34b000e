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

from attnspec.adapters import load
from attnspec.cases import Suite, load_suite
from attnspec.dtypes import FLOAT_DTYPES
from attnspec.runner import run_suite
from attnspec_authoring.mutation.mutated_reference import load_mutated_reference

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from types import FrameType

    from attnspec.adapters import Implementation
    from attnspec.runner import Result
    from attnspec_authoring.mutation.mutants import Mutant

SECONDS_ALLOWED = 60
"""Far longer than a mutant takes that no case notices: one that is still running hangs."""


@dataclass(frozen=True)
class Outcome:
    """What came of a mutant.

    Attributes
    ----------
    id
        The mutant.
    killed_by
        Case, dtype and what was wrong there; or that it could not be imported, or hung. None for a mutant that no
        case in any dtype tells from the reference.
    """

    id: str
    killed_by: str | None


class MutantHangsError(KeyboardInterrupt):
    """Time is up: an interruption, which an adapter passes on; anything else is taken for the mutant's answer."""


@dataclass
class Examiner:
    """Finds a case that fails an implementation; cases that have failed others before are tried first.

    Attributes
    ----------
    suite
        The cases.
    failures
        How many implementations each case has failed. It orders the cases and decides nothing.
    """

    suite: Suite
    failures: Counter[str] = field(default_factory=Counter[str])

    def first_failure(self, implementation: Implementation, dtypes: Sequence[str] = FLOAT_DTYPES) -> Result | None:
        """Validate an implementation up to the first result that is wrong: in the first dtype, then in the others."""
        operations = implementation.declaration.operations
        cases = [case for case in self.suite.cases.values() if case.operation in operations]
        cases.sort(key=lambda case: -self.failures[case.id])
        suite = replace(self.suite, cases={case.id: case for case in cases})
        for some in filter(None, (dtypes[:1], dtypes[1:])):
            for result in run_suite(suite, implementation, dtypes=some, fail_fast=True):
                if result.is_wrong:
                    self.failures[result.case.id] += 1
                    return result
        return None


def try_mutant(mutant: Mutant, examiner: Examiner) -> Outcome:
    """Validate one mutant until a case fails it: in float64, then in the other dtypes."""
    try:
        with _limited_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            failure = examiner.first_failure(load(load_mutated_reference(mutant)))
    except MutantHangsError:
        return Outcome(mutant.id, f"it was still running after {SECONDS_ALLOWED} seconds")
    except Exception as error:
        return Outcome(mutant.id, f"it cannot be imported: {type(error).__name__}")
    return Outcome(mutant.id, None if failure is None else _told(failure))


def try_mutants(mutants: Sequence[Mutant], *, processes: int | None = None) -> Iterator[Outcome]:
    """Try mutants in processes of their own, and yield what came of each, in their order.

    Parameters
    ----------
    mutants
        The mutants.
    processes
        How many at a time; one for each processor if None.
    """
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

    previous = signal.signal(signal.SIGALRM, expired)
    signal.alarm(SECONDS_ALLOWED)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def _told(result: Result) -> str:
    what = f"{result.status}, {result.verdict.check}" if result.verdict.check else result.status
    return f"{result.case.id} ({result.dtype}): {what}"
