"""Facts that failures have in common, in words, for mistakes that nobody knows.

Nothing here guesses at a cause. Every sentence states a count.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.diagnosis.choosing import one_for_each_case, spread_results
from attnspec.diagnosis.evidence import Evidence
from attnspec.runner import Result, Run

_EXAMINED = 32
_CASES_EXAMINED = 60
_PROFILES_REPORTED, _CASES_REPORTED, _QUERIES_REPORTED = 6, 3, 2
_MOST_RANGES = 8
_CLOSE = 1e-3
_NEARLY = 5e-3


def failing_facts(failing: Sequence[Result], passing: Sequence[Result]) -> tuple[str, ...]:
    """Return facts that value or shape failures of one operation share, a sentence each, the most telling first."""
    compared = [result for result in failing if result.got is not None]
    evidence = [Evidence(result) for result in spread_results(one_for_each_case(compared), _EXAMINED)]
    examined = {entry.result.case.id for entry in evidence}
    in_every_dtype = [Evidence(result) for result in compared if result.case.id in examined]
    said = [
        _first_step(failing),
        _features_sentence(failing, passing),
        _dtypes_sentence(failing, passing),
        *_axis_sentences(evidence),
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


def _features_sentence(failing: Sequence[Result], passing: Sequence[Result]) -> str | None:
    """Return a sentence on the one or two features that all failing cases have and the fewest passing ones."""
    wrong = {result.case.id: result.run for result in failing}
    right = {result.case.id: result.run for result in passing if result.case.id not in wrong}
    of_wrong, of_right = (
        [{phrase for phrase, holds in run.family.features(run.case) if holds} for run in runs.values()]
        for runs in (wrong, right)
    )
    if not of_wrong or not of_right:
        return None
    shared = sorted(of_wrong[0].intersection(*of_wrong))

    def rarest(features: int) -> tuple[int, tuple[str, ...]]:
        found = combinations(shared, features)
        counted = ((sum(of_case.issuperset(some) for of_case in of_right), some) for some in found)
        return min(counted, key=lambda entry: entry[0], default=(len(right), ()))

    (count, phrases), two = rarest(1), rarest(2)
    if 2 * count >= len(right):
        return None
    # A second feature is worth its words only if it explains much.
    if count > 0 and 3 * two[0] <= count:
        count, phrases = two
    do = "does" if count == 1 else "do"
    passed = f"so {do} {count} of the {len(right)} that pass" if count else f"none of the {len(right)} that pass does"
    one = len(wrong) == 1
    have = "The failing case has" if one else f"All {len(wrong)} failing cases have"
    return f"{have} {' and '.join(phrases)}; {passed}."


def _dtypes_sentence(failing: Sequence[Result], passing: Sequence[Result]) -> str | None:
    """Return a sentence on the affected dtypes, where others are not."""
    failed = {result.key for result in failing}
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


class _AxisSeen(NamedTuple):
    """Indices of an axis that were wrong in one run, and the size of the axis."""

    wrong: frozenset[int]
    length: int


def _axis_sentences(evidence: Sequence[Evidence]) -> list[str]:
    """Return sentences on the batch entries, heads, queries or keys that are wrong, where not all are."""
    seen: dict[str, list[_AxisSeen]] = {}
    for entry in evidence:
        for output, wrong in entry.wrong.items():
            known = entry.result.run.operation.outputs_by_name[output]
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
    reported = [f"{profile} {wrong[profile]} of {tried[profile]}" for profile in profiles[:_PROFILES_REPORTED]]
    more = len(profiles) - len(reported)
    return f"Failing cases by profile: {', '.join(reported)}{f', and {more} more profiles' if more else ''}."


def attended_sentences(failing: Sequence[Result]) -> tuple[str, ...]:
    """Return a sentence for each of the first few value failures of one operation in which wrong keys were attended."""
    telling = [result for result in one_for_each_case(failing) if result.verdict.check == "values"]
    probes, others = (
        [result for result in telling if result.run.family.is_probe(result.case) is wanted] for wanted in (True, False)
    )
    said: list[str] = []
    for result in [*probes, *spread_results(others, _CASES_EXAMINED)]:
        sentence = attended_keys_in_words(result.run, result.got)
        if sentence:
            said.append(sentence)
        if len(said) == _CASES_REPORTED:
            break
    return tuple(said)


def attended_keys_in_words(run: Run, got: Mapping[str, NDArray[Any]] | None) -> str | None:
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
        seen, needed = (np.flatnonzero(keys[batch, head, query]).tolist() for keys in (attended, expected))
        keys = f"key{'' if len(seen) == 1 else 's'} {index_ranges(seen)}" if seen else "no key"
        words = f"query {query} attended {keys}; it should have attended {index_ranges(needed)}"
        said.setdefault(words, []).append((batch, head))
    reported = [words + _where(of, attended.shape[:2]) for words, of in list(said.items())[:_QUERIES_REPORTED]]
    more = len(said) - len(reported)
    if more:
        reported.append(f"{more} more like {'this' if more == 1 else 'these'}")
    return f"In {run.case.id}, {'; '.join(reported)}."


def _where(found: Sequence[tuple[int, int]], sizes: tuple[int, int]) -> str:
    """Return the batch entries and heads concerned, or nothing where all are."""
    if len(found) == sizes[0] * sizes[1]:
        return ""
    named = [
        f"{name} {index_ranges(indices)}"
        for name, indices, size in zip(("batch", "head"), map(set[int], zip(*found, strict=True)), sizes, strict=True)
        if len(indices) < size
    ]
    return f" ({', '.join(named) or 'in some heads'})"


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
