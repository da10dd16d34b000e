"""Attended keys in words: which keys a query attended to, and which it should have.

How results show it is for their family to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.diagnosis.choosing import one_for_each_case, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.runner import Result, Run

_CASES_EXAMINED = 60
_CASES_TOLD = 3
_QUERIES_TOLD = 2
_MOST_RANGES = 8


def attended_sentences(failing: Sequence[Result]) -> tuple[str, ...]:
    """Return a sentence for each of the first few value failures of one operation in which wrong keys were attended."""
    telling = [result for result in one_for_each_case(failing) if result.verdict.check == "values"]
    probes, others = (
        [result for result in telling if result.run.family.is_probe(result.case) is wanted] for wanted in (True, False)
    )
    said: list[str] = []
    for result in [*probes, *spread(others, _CASES_EXAMINED)]:
        sentence = attended_in_words(result.run, result.got)
        if sentence:
            said.append(sentence)
        if len(said) == _CASES_TOLD:
            break
    return tuple(said)


def attended_in_words(run: Run, got: Mapping[str, NDArray[Any]] | None) -> str | None:
    """Return the keys that queries attended in one failing run and should have; None if results do not show it."""
    sets = None if got is None else run.family.key_sets(run.case, run.dtype, got)
    if sets is None:
        return None
    attended, expected = sets
    rows = np.argwhere((attended != expected).any(axis=-1))
    if not len(rows):
        return None
    said: dict[str, list[tuple[int, int]]] = {}
    for batch, head, query in rows.tolist():
        words = (
            f"query {query} attended {_keys(attended[batch, head, query])}; "
            f"it should have attended {index_ranges(np.flatnonzero(expected[batch, head, query]).tolist())}"
        )
        said.setdefault(words, []).append((batch, head))
    places = attended.shape[:2]
    reported = [words + _where(found, places) for words, found in list(said.items())[:_QUERIES_TOLD]]
    more = len(said) - len(reported)
    if more:
        reported.append(f"{more} more like {'this' if more == 1 else 'these'}")
    return f"In {run.case.id}, {'; '.join(reported)}."


def _keys(attended: NDArray[np.bool_]) -> str:
    indices = np.flatnonzero(attended).tolist()
    return f"key{'' if len(indices) == 1 else 's'} {index_ranges(indices)}" if indices else "no key"


def _where(found: Sequence[tuple[int, int]], places: tuple[int, int]) -> str:
    """Return the batch entries and heads concerned, or nothing where all are."""
    if len(found) == places[0] * places[1]:
        return ""
    batches, heads = {batch for batch, _ in found}, {head for _, head in found}
    said: list[str] = []
    if len(batches) < places[0]:
        said.append(f"batch {index_ranges(batches)}")
    if len(heads) < places[1]:
        said.append(f"head {index_ranges(heads)}")
    return f" ({', '.join(said) or 'in some heads'})"


def index_ranges(indices: Iterable[int]) -> str:
    """Return a set of indices as ranges, such as ``0-2, 5``; ``none`` for an empty one."""
    ranges: list[list[int]] = []
    for index in sorted(indices):
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    if len(words) > _MOST_RANGES:
        words = [*words[:_MOST_RANGES], "…"]
    return ", ".join(words) or "none"
