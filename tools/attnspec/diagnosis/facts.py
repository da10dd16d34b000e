"""Facts that failures have in common, in words, for mistakes that nobody knows.

Nothing here guesses at a cause. Every sentence states a count.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.diagnosis.choosing import one_for_each_case, spread
from attnspec.diagnosis.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.runner import Result, Run


_EXAMINED = 32
_PROFILES_TOLD = 6
_CLOSE = 1e-3
_NEARLY = 5e-3


def failing_facts(failing: Sequence[Result], passing: Sequence[Result]) -> tuple[str, ...]:
    """Return facts that value or shape failures of one operation share, a sentence each, the most telling first."""
    compared = [result for result in failing if result.got is not None]
    evidence = [Evidence(result) for result in spread(one_for_each_case(compared), _EXAMINED)]
    examined = {entry.result.case.id for entry in evidence}
    in_every_dtype = [Evidence(result) for result in compared if result.case.id in examined]
    said = [
        _first_step(failing),
        _features(failing, passing),
        _dtypes(failing, passing),
        *_places(evidence),
        _kind_of_numbers(in_every_dtype) or _size_of_errors(evidence),
        _profiles(failing, passing),
    ]
    return tuple(sentence for sentence in said if sentence)


def _first_step(failing: Sequence[Result]) -> str | None:
    """Return a sentence on the returned step that diverges first."""
    stepped = [result.verdict for result in failing if result.verdict.first_step]
    if not stepped:
        return None
    step, count = Counter(verdict.first_step for verdict in stepped).most_common(1)[0]
    right = [set(verdict.agreeing_steps) for verdict in stepped if verdict.first_step == step]
    always = [name for name in stepped[0].agreeing_steps if all(name in names for names in right)]
    agree = f"; {', '.join(always)} {'is' if len(always) == 1 else 'are'} right there" if always else ""
    if count == len(stepped):
        return f"The first step that diverges is {step!r}, in every failure{agree}."
    return f"The first step that diverges is {step!r} in {count} of {len(stepped)} failures{agree}."


def _features(failing: Sequence[Result], passing: Sequence[Result]) -> str | None:
    """Return a sentence on features that all failing cases have and few passing ones."""
    wrong = {result.case.id: result.run for result in failing}
    right = {result.case.id: result.run for result in passing if result.case.id not in wrong}
    found = common_features(
        [_features_of(run) for run in wrong.values()], [_features_of(run) for run in right.values()]
    )
    if found is None:
        return None
    phrases, count = found
    have = " and ".join(phrases)
    do = "does" if count == 1 else "do"
    passed = f"so {do} {count} of the {len(right)} that pass" if count else f"none of the {len(right)} that pass does"
    one = len(wrong) == 1
    return f"{'The failing case has' if one else f'All {len(wrong)} failing cases have'} {have}; {passed}."


def _features_of(run: Run) -> frozenset[str]:
    return frozenset(phrase for phrase, holds in run.family.features(run.case) if holds)


def _dtypes(failing: Sequence[Result], passing: Sequence[Result]) -> str | None:
    """Return a sentence on the affected dtypes, where others are not."""
    failed = {(result.case.id, result.dtype) for result in failing}
    wrong = {dtype for _, dtype in failed if dtype != ANY}
    cases = {case for case, _ in failed}
    right = {result.dtype for result in passing if result.case.id in cases} - wrong
    if not right:
        return None
    return (
        f"Only {_listed(wrong)} {'is' if len(wrong) == 1 else 'are'} affected: the same cases pass in {_listed(right)}."
    )


def _listed(dtypes: set[str]) -> str:
    return " and ".join(dtype for dtype in FLOAT_DTYPES if dtype in dtypes)


@dataclass(frozen=True)
class _AxisSeen:
    """Indices of an axis that were wrong in one run, and the size of the axis."""

    wrong: frozenset[int]
    length: int


def _places(evidence: Sequence[Evidence]) -> list[str]:
    """Return sentences on the batch entries, heads, queries or keys that are wrong, where not all are."""
    seen: dict[str, list[_AxisSeen]] = {}
    for entry in evidence:
        for output, wrong in entry.wrong.items():
            known = entry.result.run.operation.by_name[output]
            if known.intermediate or len(known.axes) != wrong.ndim or not wrong.any():
                continue
            for axis, name in enumerate(known.axes):
                others = tuple(other for other in range(wrong.ndim) if other != axis)
                indices = frozenset(np.flatnonzero(wrong.any(axis=others)).tolist())
                if wrong.shape[axis] > 1:
                    seen.setdefault(name, []).append(_AxisSeen(indices, wrong.shape[axis]))
    return [sentence for name, runs in seen.items() if (sentence := _axis_sentence(name, runs))]


def _axis_sentence(name: str, runs: Sequence[_AxisSeen]) -> str | None:
    indices = frozenset[int]().union(*(run.wrong for run in runs))
    if all(run.wrong == runs[0].wrong for run in runs) and all(len(run.wrong) < run.length for run in runs):
        many = len(indices) != 1
        return f"Only {_plural(name) if many else name} {index_ranges(indices)} {'are' if many else 'is'} wrong."
    if min(indices) > 0:
        return f"Only {_plural(name)} from {min(indices)} on are wrong."
    if all(run.wrong == frozenset(range(run.length - 1)) for run in runs):
        return f"Every {name} but the last is wrong."
    return None


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("ry") else f"{name}s"


def _kind_of_numbers(evidence: Sequence[Evidence]) -> str | None:
    """Return a sentence where the wrong numbers are NaN, infinite or zero."""
    numbers, _ = _wrong_numbers(evidence)
    if not numbers.size:
        return None
    for kind, holds in (("NaN", np.isnan(numbers)), ("infinite", np.isinf(numbers)), ("0", numbers == 0)):
        if holds.all():
            return f"Every wrong number is {kind}."
    share = f"{np.isnan(numbers).mean():.0%}"
    if share != "0%":
        return f"Of the wrong numbers looked at, {share} are NaN."
    return None


def _size_of_errors(evidence: Sequence[Evidence]) -> str | None:
    """Return a sentence where the wrong numbers are a constant times the expected ones, or close to them."""
    numbers, expected = _wrong_numbers(evidence)
    with np.errstate(all="ignore"):
        ratios = numbers / expected
    if ratios.size < 2 or not np.isfinite(ratios).all():
        return None
    farthest, spread_out = float(np.abs(ratios - 1).max()), float(np.ptp(ratios))
    if 0 < farthest <= _NEARLY and spread_out > _CLOSE * farthest:
        return (
            f"Every wrong number is right to {math.floor(-math.log10(farthest))} digits; "
            "bfloat16 holds 2, float16 3, float32 7, float64 15."
        )
    if spread_out <= _CLOSE * abs(ratios[0]):
        return f"Every wrong number is {ratios[0]:.4g} times what is expected."
    return None


def _wrong_numbers(evidence: Sequence[Evidence]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the wrong numbers of the expected outputs, and the expected numbers at their positions."""
    given: list[NDArray[Any]] = [np.zeros(0)]
    expected: list[NDArray[Any]] = [np.zeros(0)]
    for entry in evidence:
        golden = entry.result.case.golden(entry.result.dtype)
        for name in entry.required:
            wrong = entry.wrong.get(name)
            if name in golden and wrong is not None and wrong.any():
                given.append(entry.given[name][wrong])
                expected.append(golden[name][wrong])
    return np.concatenate(given), np.concatenate(expected).astype(np.float64)


def _profiles(failing: Sequence[Result], passing: Sequence[Result]) -> str:
    """Return a sentence on how many cases of each profile fail."""
    wrong = Counter(case.profile for case in {result.case.id: result.case for result in failing}.values())
    tried = Counter(case.profile for case in {result.case.id: result.case for result in (*failing, *passing)}.values())
    profiles = sorted(wrong, key=lambda profile: (-wrong[profile] / tried[profile], profile))
    reported = [f"{profile} {wrong[profile]} of {tried[profile]}" for profile in profiles[:_PROFILES_TOLD]]
    more = len(profiles) - len(reported)
    return f"Failing cases by profile: {', '.join(reported)}{f', and {more} more profiles' if more else ''}."


def common_features(
    failing: Sequence[frozenset[str]], passing: Sequence[frozenset[str]]
) -> tuple[tuple[str, ...], int] | None:
    """Return the one or two features that all failing cases have and the fewest passing ones, and how many of these.

    None where no feature distinguishes failing from passing cases.
    """
    if not failing or not passing:
        return None
    shared = sorted(failing[0].intersection(*failing))
    single: list[tuple[str, ...]] = [(phrase,) for phrase in shared]
    best = _rarest(single, passing)
    if best is None or 2 * best[1] >= len(passing):
        return None
    double: list[tuple[str, ...]] = list(combinations(shared, 2))
    best_two = _rarest(double, passing)
    # A second feature is worth its words only if it explains much.
    return best_two if best_two is not None and best[1] > 0 and 3 * best_two[1] <= best[1] else best


def _rarest(choices: Iterable[tuple[str, ...]], found: Sequence[frozenset[str]]) -> tuple[tuple[str, ...], int] | None:
    """Return the features that the fewest cases have together, and the number of these cases."""
    counted = [(phrases, sum(of_case.issuperset(phrases) for of_case in found)) for phrases in choices]
    return min(counted, key=lambda entry: entry[1], default=None)


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
