"""Which keys a query attended to, and which it should have, in words.

Weights show it, and so does the output of a key-set probe: a case whose scores are all 0 and whose values are rows of
the identity, so that the output holds the weights themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.diagnosis.choosing import one_for_each_case, spread
from attnspec.diagnosis.index_ranges import index_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.runner import Result

_CASES_EXAMINED = 60
_CASES_TOLD = 3
_QUERIES_TOLD = 2
_NO_WEIGHT = 1e-9
_NEARLY_ONE = 1.01
_LARGEST_SCORE = 10.0


def attended_sentences(failing: Sequence[Result]) -> tuple[str, ...]:
    """Return a sentence for each of the first few failing cases in which a query attended other keys than it should.

    Parameters
    ----------
    failing
        Results of one operation that failed on their values.
    """
    telling = [result for result in one_for_each_case(failing) if result.verdict.check == "values"]
    probes = [result for result in telling if is_probe(result.case)]
    others = [result for result in telling if not is_probe(result.case)]
    said: list[str] = []
    for result in [*probes, *spread(others, _CASES_EXAMINED)]:
        sentence = attended_in_words(result)
        if sentence:
            said.append(sentence)
        if len(said) == _CASES_TOLD:
            break
    return tuple(said)


def attended_in_words(result: Result) -> str | None:
    """Return which keys queries attended in one failing run and which they should have; None if that does not show."""
    sets = key_sets(result)
    if sets is None:
        return None
    attended, owed = sets
    rows = np.argwhere((attended != owed).any(axis=-1))
    if not len(rows):
        return None
    said: dict[str, list[tuple[int, int]]] = {}
    for batch, head, query in rows.tolist():
        words = (
            f"query {query} attended {_keys(attended[batch, head, query])}; "
            f"it should have attended {index_ranges(np.flatnonzero(owed[batch, head, query]).tolist())}"
        )
        said.setdefault(words, []).append((batch, head))
    places = attended.shape[:2]
    told = [words + _where(found, places) for words, found in list(said.items())[:_QUERIES_TOLD]]
    more = len(said) - len(told)
    if more:
        told.append(f"{more} more like {'this' if more == 1 else 'these'}")
    return f"In {result.case.id}, {'; '.join(told)}."


def key_sets(result: Result) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which keys were attended and which should have been (B, H, Sq, Sk), or None where that does not show."""
    case, got = result.case, result.got
    if got is None:
        return None
    golden = case.golden(result.dtype)
    if case.operation == "causal_mask":
        return _sets_of_mask(got["output"], golden["output"])
    name = "weights" if "weights" in got and "weights" in golden else "output"
    if not is_probe(case) and (name == "output" or not _has_moderate_scores(case)):
        return None
    given, owed = got[name].astype(np.float64), golden[name]
    # What is no share of anything shows no set of keys.
    if given.ndim != 4 or given.shape != owed.shape or not np.isfinite(owed).all():
        return None
    if not (np.isfinite(given) & (given >= 0) & (given <= _NEARLY_ONE)).all():
        return None
    # A key with a tiny share cannot be told from one that is excluded, so the right sets must be beyond doubt.
    attended: NDArray[np.bool_] = given > _NO_WEIGHT
    should: NDArray[np.bool_] = owed > _NO_WEIGHT
    if ((owed > 0) & ~should).any():
        return None
    if "query_lengths" in case.inputs:
        counted = _within(case.inputs["query_lengths"], owed.shape[2])
        attended, should = attended & counted, should & counted
    return attended, should


def is_probe(case: Case) -> bool:
    """Tell whether the output of a case holds the weights: scores of 0, and the identity as values."""
    inputs = case.inputs
    if case.operation != "scaled_dot_product_attention" or inputs["query"].any():
        return False
    value = np.concatenate([inputs[name] for name in ("past_value", "value") if name in inputs], axis=2)
    return value.shape[2] == value.shape[3] > 0 and bool((value == np.eye(value.shape[2])).all())


def _within(lengths: NDArray[np.int64], queries: int) -> NDArray[np.bool_]:
    """Return which queries count in each batch entry (B, 1, Sq, 1)."""
    return np.arange(queries)[:, np.newaxis] < lengths.reshape(-1, 1, 1, 1)


def _has_moderate_scores(case: Case) -> bool:
    """Tell whether no weight vanishes by itself, even where the scores are not scaled."""
    if case.operation != "scaled_dot_product_attention":
        return False
    query, *keys = (case.inputs[name] for name in ("query", "key", "past_key") if name in case.inputs)
    longest = max(np.linalg.norm(key, axis=-1).max(initial=0.0) for key in keys)
    score = float(np.linalg.norm(query, axis=-1).max(initial=0.0) * longest)
    return score * max(1.0, abs(case.attributes.get("scale") or 0.0)) < _LARGEST_SCORE


def _sets_of_mask(given: NDArray[Any], owed: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    if given.shape != owed.shape:
        return None
    # A mask to be added hides by minus infinity; any other holds truth values.
    hides = -np.inf if owed.dtype.kind == "f" else 0
    return (given != hides)[np.newaxis, np.newaxis], (owed != hides)[np.newaxis, np.newaxis]


def _keys(attended: NDArray[np.bool_]) -> str:
    indices = np.flatnonzero(attended).tolist()
    return f"key{'' if len(indices) == 1 else 's'} {index_ranges(indices)}" if indices else "no key"


def _where(found: Sequence[tuple[int, int]], places: tuple[int, int]) -> str:
    """Say in which batch entries and heads, unless it is so in all of them."""
    if len(found) == places[0] * places[1]:
        return ""
    batches, heads = {batch for batch, _ in found}, {head for _, head in found}
    said: list[str] = []
    if len(batches) < places[0]:
        said.append(f"batch {index_ranges(batches)}")
    if len(heads) < places[1]:
        said.append(f"head {index_ranges(heads)}")
    return f" ({', '.join(said) or 'in some heads'})"
