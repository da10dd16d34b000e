"""Part of a large case that trivial answers are given for: some heads of one batch entry, with all their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_draws.generators.trivial_answers import Part

if TYPE_CHECKING:
    from attnspec.cases import Case

_SHARED, _GROUP = 2, 2
"""Key heads, and query heads of each: fewer show nothing of whose keys are whose, more take longer."""

_MOST_SCORES = 2**22
"""Scores of one head, at most: every trivial answer computes them anew, in float64."""


def part_of(case: Case) -> Part | None:
    """Return the part of a large case that trivial answers are given for; None where even that would take too long."""
    if not {"query", "key", "value"} <= case.generated.keys() or "past_key" in case.inputs:
        return None
    query, key = case.generated["query"], case.generated["key"]
    batch, heads, queries, _ = query.shape
    _, shared, keys, _ = key.shape
    if queries * keys > _MOST_SCORES or not batch * shared:
        return None
    group = heads // shared
    sampled = np.unravel_index(case.sample["output"], case.thinned["output"])
    entry = int(sampled[0][0]) if sampled[0].size else 0
    of_keys = np.arange(min(shared, _SHARED))
    of_queries = (of_keys[:, np.newaxis] * group + np.arange(min(group, _GROUP))).reshape(-1)
    inputs = {name: case.inputs[name] for name in case.inputs if name not in case.generated}
    inputs = {
        name: array[[entry]] if name.endswith("_lengths") else array[of_queries] for name, array in inputs.items()
    }
    inputs |= {
        name: _heads_of(case, name, entry, of_queries if name == "query" else of_keys)
        for name in ("query", "key", "value")
    }
    head_of = {head: place for place, head in enumerate(of_queries.tolist())}
    places: dict[str, Any] = {}
    elements: dict[str, Any] = {}
    for name, flat in case.sample.items():
        shape = case.thinned[name]
        at = np.unravel_index(flat, shape)
        within = np.flatnonzero((at[0] == entry) & np.isin(at[1], of_queries))
        heads_there = np.array([head_of[head] for head in at[1][within].tolist()], dtype=np.int64)
        others = [axis[within] for axis in at[2:]]
        places[name] = within
        elements[name] = np.ravel_multi_index(
            (np.zeros_like(heads_there), heads_there, *others), (1, of_queries.size, *shape[2:])
        )
    return Part(inputs, dict(case.attributes), places, elements)


def _heads_of(case: Case, name: str, entry: int, heads: Any) -> Any:
    """Return some heads of an input (1, heads, tokens, features)."""
    made = case.generated[name]
    _, many, tokens, _ = made.shape
    first = [(entry * many + head) * tokens for head in heads.tolist()]
    return np.stack([made.rows(start, start + tokens) for start in first])[np.newaxis]
