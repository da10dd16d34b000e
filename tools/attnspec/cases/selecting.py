"""Selecting cases: golden ones by profile and pattern, random ones by the text that names each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.base.extensions import RANDOM_CASES, loaded
from attnspec.cases.reading import load_suite, suite_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from attnspec.cases.case import Case
    from attnspec.cases.reading import Suite


def is_random(text: str) -> bool:
    """Return whether a text names a random case, or tries to."""
    return text.startswith(tuple(RANDOM_CASES))


def random_case(text: str) -> Case:
    """Return the random case that a text names; raise `UsageError`, quoting the text, if it names none."""
    (place,) = (place for beginning, place in RANDOM_CASES.items() if text.startswith(beginning))
    return loaded(place)(text)


def suite_of_random(cases: Iterable[Case]) -> Suite:
    """Return random cases as a suite, with the valid counterparts of those that must be refused."""
    suite = suite_of(cases)
    counterparts = dict.fromkeys(case.rejects.counterpart for case in suite.cases.values() if case.rejects is not None)
    return replace(
        suite,
        counterparts={
            counterpart: random_case(counterpart) for counterpart in counterparts if counterpart not in suite.cases
        },
    )


def load_selected(
    folder: Path | None = None, *, profiles: Sequence[str] = (), select: Sequence[str] = (), whole: bool = False
) -> Suite:
    """Read golden cases as `load_suite` does, and make the random ones that texts of `select` name; raises the same."""
    texts = [text for text in select if is_random(text)]
    if not texts:
        return load_suite(folder, profiles=profiles, select=select, whole=whole)
    patterns = [text for text in select if text not in texts]
    random = suite_of_random(map(random_case, texts))
    suite = load_suite(folder, profiles=profiles, select=patterns, whole=whole)
    if not patterns and not profiles:
        return replace(suite, cases=random.cases, counterparts=random.counterparts)
    return replace(
        suite, cases={**suite.cases, **random.cases}, counterparts={**suite.counterparts, **random.counterparts}
    )
