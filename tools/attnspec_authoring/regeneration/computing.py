"""Computing the golden texts of many cases, on every processor where that pays.

A golden text depends on its case alone, so the order and the number of processes change nothing but the time.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING

from attnspec.cases import canonical_json
from attnspec_authoring.regeneration.filling import filled_document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec_authoring.recipes import AuthoredCase

_FEW = 64
"""Up to so many cases, starting processes takes longer than it saves."""


def computed_texts(cases: Sequence[AuthoredCase], progress: Callable[[], None] | None = None) -> dict[str, str]:
    """Return id to golden text, computed anew.

    Parameters
    ----------
    cases
        The cases.
    progress
        Called once a case.

    Raises
    ------
    RecipeError
        If a case contradicts itself; of several, the first one of `cases` that was met.
    """
    workers = min(_processors(), len(cases))
    if workers < 2 or len(cases) <= _FEW:
        texts: dict[str, str] = {}
        for case in cases:
            texts[case.id] = text_of(case)
            if progress is not None:
                progress()
        return texts
    return _in_processes(cases, workers, progress)


def text_of(case: AuthoredCase) -> str:
    """Return the golden text of one case."""
    return canonical_json(filled_document(case))


def _in_processes(cases: Sequence[AuthoredCase], workers: int, progress: Callable[[], None] | None) -> dict[str, str]:
    texts: dict[str, str] = {}
    # The longest go first, so that no processor is left with one of them at the end.
    longest_first = sorted(cases, key=_effort, reverse=True)
    # A forked process would inherit the threads' locks without the threads.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(text_of, case): case.id for case in longest_first}
        try:
            for done in as_completed(running):
                texts[running[done]] = done.result()
                if progress is not None:
                    progress()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return texts


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _effort(case: AuthoredCase) -> int:
    """Return a number that grows with the time that a case takes: what its two largest inputs are to each other."""
    sizes = sorted((array.size for array in case.inputs.values()), reverse=True)
    return math.prod(sizes[:2])
