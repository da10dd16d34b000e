"""The smallest core: few cases that notice every mistake between them, and the order in which they are called."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attnspec_authoring.proof.findings import noticed
from attnspec_authoring.proof.running import run_matrix
from attnspec_authoring.proof.subjects import remembers, subjects
from attnspec_mistakes.kill_matrix import KEPT_IN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set
    from pathlib import Path

    from attnspec_authoring.proof.matrix import Matrix, Trial

Pair = tuple[str, str]


def smallest_core(matrix: Matrix, folder: Path | None = None) -> tuple[str, ...]:
    """Choose few cases, ids sorted, that notice every mistake in every dtype in which it shows.

    Greedily, the case that notices most of what is left; then superfluous ones are dropped. Mistakes that depend on
    earlier calls are noticed by cases together: for these, cases are added until the chosen ones notice them.
    """
    remembering = {subject.id for subject in subjects() if remembers(subject)}
    sets = {
        case: frozenset(pair for pair in pairs if pair[0] not in remembering) for case, pairs in noticed(matrix).items()
    }
    chosen = without_superfluous(cover(sets), sets)
    for trial in matrix.mistakes:
        if trial.id in remembering:
            chosen = _with_remembered(chosen, trial, folder)
    return tuple(sorted(chosen))


def calling_order(core: Iterable[str], matrix: Matrix) -> tuple[str, ...]:
    """Order the core by what a matrix that is whole in the kept dtypes says of it, as `in_turns` does."""
    sets: dict[str, set[Pair]] = {case: set() for case in matrix.cases}
    for trial in matrix.mistakes:
        for dtype in KEPT_IN:
            for case in trial.noticed_by(dtype):
                sets[case].add((trial.id, dtype))
    return in_turns(core, sets, matrix.cases)


def in_turns(core: Iterable[str], sets: Mapping[str, Set[Pair]], operations: Mapping[str, str]) -> tuple[str, ...]:
    """Order cases so that mistakes are noticed soon, from what each case notices and the operation that it is of.

    Within an operation, the case first that notices most of what is left; operations take turns.
    """
    left, turns = set[Pair]().union(*sets.values()), Counter[str]()
    ranked: list[tuple[int, str, str]] = []
    waiting = sorted(core)
    while waiting:
        best = max(waiting, key=lambda case: len(sets.get(case, set[Pair]()) & left))
        waiting.remove(best)
        left -= sets.get(best, set[Pair]())
        operation = operations[best]
        ranked.append((turns[operation], operation, best))
        turns[operation] += 1
    return tuple(case for *_, case in sorted(ranked))


def cover(sets: Mapping[str, frozenset[Pair]]) -> list[str]:
    """Choose cases until everything is noticed that any of them notices; ties go to the first id."""
    left = set[Pair]().union(*sets.values())
    chosen: list[str] = []
    while left:
        best = max(sorted(sets), key=lambda case: len(sets[case] & left))
        chosen.append(best)
        left -= sets[best]
    return chosen


def without_superfluous(chosen: list[str], sets: Mapping[str, frozenset[Pair]]) -> list[str]:
    """Drop, last chosen first, the cases without which everything is still noticed."""
    kept = list(chosen)
    everything = set[Pair]().union(*(sets[case] for case in chosen))
    for case in reversed(chosen):
        others = [other for other in kept if other != case]
        if set[Pair]().union(*(sets[other] for other in others)) == everything:
            kept = others
    return kept


def _with_remembered(chosen: list[str], mistake: Trial, folder: Path | None) -> list[str]:
    """Add cases that notice it, one by one, until the chosen ones notice a mistake that depends on earlier calls.

    Those that turn out not to be needed are left out again.
    """
    noticing = sorted({case for dtype in mistake.shows_in for case in mistake.noticed_by(dtype)})
    added: list[str] = []
    for candidate in (None, *noticing):
        if candidate is not None and candidate not in chosen:
            added.append(candidate)
        if _notice([*chosen, *added], mistake, folder):
            break
    for candidate in added[:-1]:
        fewer = [case for case in added if case != candidate]
        if _notice([*chosen, *fewer], mistake, folder):
            added = fewer
    return [*chosen, *added]


def _notice(cases: list[str], mistake: Trial, folder: Path | None) -> bool:
    """Whether the cases notice it in every dtype in which it shows: a difference may be open in one of them."""
    (trial,) = run_matrix(folder, dtypes=mistake.shows_in, select=cases, only=(mistake.id,), processes=1).trials
    return all(trial.noticed_by(dtype) for dtype in mistake.shows_in)
