"""Trying strangers' implementations: each is validated until a case fails it, and compared with the index.

A wrong one is tried first on the case that failed it before, so that hundreds take a minute.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import TargetError
from attnspec.cases import load_suite
from attnspec.process.opening import open_target
from attnspec.runner import run_suite
from attnspec.targets.target import Target
from attnspec_authoring.mutation import Examiner
from attnspec_authoring.strangers.archives import modules_of_its_own, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from attnspec.cases import Suite
    from attnspec.runner import Result
    from attnspec.targets import Implementation
    from attnspec_authoring.strangers.index import Stranger


@dataclass(frozen=True)
class Trial:
    """Trial of an implementation: a case that fails it, if any, and that case's message.

    `problem` says why it could not be validated at all.
    """

    stranger: Stranger
    noticed_by: str | None = None
    message: str | None = None
    problem: str | None = None

    @property
    def surprise(self) -> str | None:
        """Say what is not as the index has it; None where all is."""
        stranger = self.stranger
        if self.problem is not None:
            return None if stranger.needs else f"{stranger.name} cannot be validated: {self.problem}"
        if stranger.must_fail and self.noticed_by is None:
            return f"{stranger.name} is wrong ({stranger.sentence}), and {stranger.noticed_by} failed it; no case does."
        if stranger.must_pass and self.noticed_by is not None:
            return f"{stranger.name} is right, and {self.noticed_by} fails it: {self.message}"
        return None


def try_stranger(stranger: Stranger, examiner: Examiner) -> Trial:
    """Validate one implementation, unpacked where need be, in its declared dtypes until a case fails it."""
    foremost = partial(examiner.first_failure, foremost=stranger.noticed_by)
    try:
        failure = _examined(
            stranger, lambda implementation: foremost(implementation, implementation.declaration.dtypes)
        )
        if failure is None and not stranger.is_right:
            failure = _examined(stranger, partial(_failure_of_the_whole, examiner.suite))
    except TargetError as error:
        return Trial(stranger, problem=str(error))
    if failure is None:
        return Trial(stranger)
    return Trial(stranger, failure.case.id, failure.verdict.message)


def try_strangers(strangers: Sequence[Stranger], processes: int | None = None) -> Iterator[Trial]:
    """Try implementations in processes of their own, one for each usable core if None; yield trials in order."""
    # One thread each: the arrays are small, and several threads on one processor only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes or len(os.sched_getaffinity(0)), mp_context=context) as pool:
        yield from pool.map(_try, strangers, chunksize=16)


def _examined(stranger: Stranger, examine: Callable[[Implementation], Result | None]) -> Result | None:
    """Import an implementation anew, as it may keep what it was called with, and return what fails it."""
    batch = unpacked(stranger.batch)
    with modules_of_its_own(batch), einsum_of_nothing(), warnings.catch_warnings(), np.errstate():
        warnings.simplefilter("ignore")
        return examine(open_target(Target(str(batch / stranger.file))))


def _failure_of_the_whole(suite: Suite, implementation: Implementation) -> Result | None:
    """Validate in all dtypes together: memory between calls may show by the order of dtypes alone."""
    operations = implementation.declaration.operations
    own = {name: case for name, case in suite.cases.items() if case.operation in operations}
    results = run_suite(replace(suite, cases=own), implementation, dtypes=implementation.declaration.dtypes)
    return next((result for result in results if result.is_wrong), None)


@cache
def _examiner() -> Examiner:
    """Return the one examiner of this process."""
    return Examiner(load_suite())


def _try(stranger: Stranger) -> Trial:
    return try_stranger(stranger, _examiner())


@contextmanager
def einsum_of_nothing() -> Generator[None]:
    """Keep NumPy's einsum from reading memory behind an array without elements; here that holds zeros.

    Over an axis of no elements it can multiply the number behind an empty array by zero: where one operand's stride is
    0 and the other's is not, which NumPy 2.4 gives to some empty arrays. Where that memory happens to hold NaN, right
    implementations answer NaN for a case without keys.
    """
    einsum = np.einsum

    def inside(subscripts: str, *operands: Any, **options: Any) -> Any:
        filled = (np.zeros(each.shape, each.dtype) if getattr(each, "size", 1) == 0 else each for each in operands)
        return einsum(subscripts, *filled, **options)

    np.einsum = inside
    try:
        yield
    finally:
        np.einsum = einsum
