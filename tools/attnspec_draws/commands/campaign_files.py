"""Files that a campaign leaves behind: the small draws that fail, and the coverage of golden cases and draws."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from attnspec_draws.campaign import PartOutcome, Plan
    from attnspec_draws.campaign.executors import Executor


def check_files(recipes: Path | None, coverage: Path | None, resume: Path | None) -> None:
    """Refuse unwritable files, or two that are one, by `UsageError` before anything is drawn; none is touched."""
    from attnspec.base.files import check_replaceable

    named = {"--recipes": recipes, "--coverage": coverage, "--resume": resume}
    places: dict[Path, str] = {}
    for option, path in named.items():
        if path is None:
            continue
        other = places.setdefault(path.resolve(), option)
        if other != option:
            raise UsageError(f"{other} and {option} name one file, {path}: name another one.")
        if option != "--resume":
            check_replaceable(path, option)


def write_recipes(path: Path, recipes: Sequence[str]) -> None:
    """Write small draws: a text a line, or golden recipes where the file is Python; `UsageError` if refused."""
    if path.suffix != ".py":
        _write(path, "".join(f"{recipe}\n" for recipe in recipes))
        return
    from attnspec_draws import draw, recipe_from_text
    from attnspec_draws.commands.authored_cases import FoundCase, authored_cases

    found: list[FoundCase] = []
    for recipe in recipes:
        case = draw(recipe_from_text(recipe))
        counterpart = None if case.rejects is None else draw(recipe_from_text(case.rejects.counterpart))
        found.append(FoundCase(case, f"attnspec show --python {shlex.quote(recipe)}", counterpart))
    _write(path, authored_cases(found))


def write_coverage(path: Path, workers: Executor, plan: Plan, outcomes: Mapping[str, PartOutcome]) -> None:
    """Write the coverage of golden cases and draws, which the workers draw once more; `UsageError` if refused."""
    from attnspec.cases import load_suite
    from attnspec_draws.campaign.covering import coverage_page, covered, together

    found: list[Any] = []
    pending: list[Any] = []
    for part in plan.parts_done(outcomes):
        pending.append(workers.submit(covered, part))
        if len(pending) == workers.capacity:
            found += _taken(workers, pending)
    while pending:
        found += _taken(workers, pending)
    _write(path, coverage_page(tuple(load_suite().cases.values()), together(found)))


def _taken(workers: Executor, pending: list[Any]) -> list[Any]:
    """Wait until something is counted, and take it from what is pending."""
    done = workers.done(pending)
    for each in done:
        pending.remove(each)
    return [workers.result(each) for each in done]


def _write(path: Path, text: str) -> None:
    from attnspec.base.files import replace_file

    try:
        replace_file(path, text)
    except OSError as error:
        raise UsageError(f"{path} could not be written: {error.strerror}.") from None
