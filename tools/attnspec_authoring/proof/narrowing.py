"""Part of the matrix in words: which mistakes were run, which cases notice them, and which miss their target."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from attnspec.base.errors import UsageError
from attnspec.cases import near
from attnspec_authoring.proof.findings import ENOUGH
from attnspec_authoring.proof.subjects import subjects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attnspec_authoring.proof.matrix import Matrix, Trial

_NAMED = 8


def chosen_subjects(patterns: Sequence[str], operations: Iterable[str]) -> list[str]:
    """Return the ids of mistakes and controls that match a shell pattern and have cases to meet.

    No patterns mean all; `UsageError`, which names ids that come near, for a pattern that matches nothing.
    """
    ids = [subject.id for subject in subjects()]
    for pattern in patterns:
        if not any(fnmatchcase(identifier, pattern) for identifier in ids):
            raise UsageError(f"--mistake {pattern}: there is no such mistake and no such control.{near(pattern, ids)}")
    with_cases = set(operations)
    return [
        subject.id
        for subject in subjects()
        if subject.operation in with_cases
        and (not patterns or any(fnmatchcase(subject.id, pattern) for pattern in patterns))
    ]


def narrowed_lines(matrix: Matrix, *, every_case: bool) -> tuple[list[str], bool]:
    """Return the lines of a part of the matrix, and whether nothing in it is amiss.

    Unless `every_case` was run, nothing can be said of survivors.
    """
    lines = [_noticed(trial, matrix) for trial in matrix.trials] if every_case else _by_case(matrix)
    amiss = [f"missed: {case} is there to catch {trial.id}, and does not" for trial, case in _missed(matrix)]
    amiss += [
        f"unjust: {case} fails the control {trial.id} in {dtype}"
        for trial in matrix.controls
        for dtype, cases in trial.wrong.items()
        for case in cases
    ]
    if every_case:
        amiss += [
            f"survives: {trial.id} in {dtype}; {len(trial.noticed_by(dtype))} of at least {ENOUGH} cases notice it"
            for trial in matrix.mistakes
            for dtype in trial.shows_in
            if dtype in matrix.dtypes and len(trial.noticed_by(dtype)) < ENOUGH
        ]
        untargeted = [trial.id for trial in matrix.mistakes if trial.id not in matrix.targets]
        amiss += [f"untargeted: no case is there to catch {mistake}" for mistake in untargeted]
    return [*lines, *amiss], not amiss


def _noticed(trial: Trial, matrix: Matrix) -> str:
    count = sum(operation == trial.operation for operation in matrix.cases.values())
    shown = [dtype for dtype in matrix.dtypes if dtype in trial.shows_in or trial.kind == "control"]
    found = list(dict.fromkeys(case for dtype in shown for case in trial.noticed_by(dtype)))
    targets = matrix.targets.get(trial.id, ())
    first = [case for case in targets if case in found] + [case for case in found if case not in targets]
    named = f": {_names(first)}" if first else ""
    return f"{trial.id} ({trial.kind}): {len(found)} of {count} cases notice it{named}"


def _by_case(matrix: Matrix) -> list[str]:
    lines: list[str] = []
    for case, operation in matrix.cases.items():
        tried = [trial for trial in matrix.mistakes if trial.operation == operation]
        found = [trial.id for trial in tried if any(case in trial.noticed_by(dtype) for dtype in matrix.dtypes)]
        targeted = [mistake for mistake, cases in matrix.targets.items() if case in cases]
        first = [mistake for mistake in targeted if mistake in found] + [one for one in found if one not in targeted]
        lines.append(f"{case}: notices {len(found)} of {len(tried)} mistakes{f': {_names(first)}' if first else ''}")
    return lines


def _names(found: Sequence[str]) -> str:
    rest = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _missed(matrix: Matrix) -> list[tuple[Trial, str]]:
    return [
        (trial, case)
        for trial in matrix.mistakes
        for case in matrix.targets.get(trial.id, ())
        if not any(case in trial.noticed_by(dtype) for dtype in trial.shows_in if dtype in matrix.dtypes)
    ]
