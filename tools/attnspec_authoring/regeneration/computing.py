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
from attnspec.cases.tensor_json import generated_of, shapes_of
from attnspec_authoring.regeneration.filling import filled_document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec_authoring.recipes import AuthoredCase

_FEW = 64
"""Up to so many cases, the start of processes takes longer than it saves."""


def computed_texts(
    cases: Sequence[AuthoredCase], progress: Callable[[], None] | None = None, *, cached: bool = True
) -> dict[str, str]:
    """Compute golden texts anew, by id; `cached` takes rows of sampled cases that were certified before.

    `progress` is called once a case; `RecipeError` where a case contradicts itself, for the first of several met.
    """
    workers = min(_processors(), len(cases))
    if workers < 2 or (len(cases) <= _FEW and not any(map(_takes_long, cases))):
        texts: dict[str, str] = {}
        for case in cases:
            texts[case.id] = text_of(case, cached=cached)
            if progress is not None:
                progress()
        return texts
    return _in_processes(cases, workers, progress, cached=cached)


def text_of(case: AuthoredCase, *, cached: bool = True) -> str:
    """Return the golden text of one case."""
    return canonical_json(filled_document(case, cached=cached))


def _in_processes(
    cases: Sequence[AuthoredCase], workers: int, progress: Callable[[], None] | None, *, cached: bool
) -> dict[str, str]:
    texts: dict[str, str] = {}
    # The longest go first, so that no processor is left with one of them at the end.
    longest_first = sorted(cases, key=_effort, reverse=True)
    # A forked process would inherit the threads' locks without the threads.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(text_of, case, cached=cached): case.id for case in longest_first}
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
    """Return a number that grows with the time that a case takes: the product of its two largest inputs' sizes."""
    sizes = sorted(map(math.prod, shapes_of(case.inputs).values()), reverse=True)
    return math.prod(sizes[:2])


def _takes_long(case: AuthoredCase) -> bool:
    """Return whether a case takes seconds, so that a few of them are worth a process each."""
    return bool(generated_of(case.inputs))
