"""Selecting cases: golden ones by profile and pattern, random ones by the text that names each."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from attnspec.base.errors import FixtureError, UsageError, did_you_mean
from attnspec.base.extensions import RANDOM_CASES, import_object
from attnspec.base.files import GOLDEN_FOLDER
from attnspec.cases.case import FORMAT, Case
from attnspec.cases.reading import (
    ORDER,
    SMOKE,
    canonical_json,
    check_against_schema,
    file_content,
    parse_json_object,
    read_case,
    read_index,
    suite_digest,
)
from attnspec.contract import ON_REQUEST

SMOKE_PROFILE = "smoke"


@dataclass(frozen=True)
class Suite:
    """The selected cases of a golden folder, by id in order, and their valid counterparts that are not selected.

    The digest is the SHA-256 over the ids, revisions and digests of all cases of the folder, selected or not.
    `called_first` are ids, of which some may not be selected, in the order in which they are called, before others.
    """

    folder: Path
    digest: str
    cases: Mapping[str, Case]
    counterparts: Mapping[str, Case]
    called_first: Sequence[str] = ()

    @property
    def core(self) -> tuple[str, ...]:
        """The selected ids that are called first, in that order."""
        return tuple(case_id for case_id in self.called_first if case_id in self.cases)

    @property
    def in_calling_order(self) -> tuple[Case, ...]:
        """The selected cases as they are called: the core, in which known mistakes are noticed soonest, then by id."""
        return tuple(self.cases[case_id] for case_id in dict.fromkeys((*self.core, *self.cases)))


def suite_of(cases: Iterable[Case]) -> Suite:
    """Return cases that come from no folder as a suite, without valid counterparts."""
    return Suite(Path(), "", {case.id: case for case in cases}, {})


def load_suite(
    folder: Path | None = None, *, profiles: Sequence[str] = (), select: Sequence[str] = (), whole: bool = False
) -> Suite:
    """Read the cases of a golden folder (None: the shipped one), by profile and shell pattern; all if these are empty.

    Those run on request alone are left out unless requested, or `whole`. Raises `FixtureError`, naming file and JSON
    pointer, for damage, and `UsageError` for an unknown profile or a pattern without a match.
    """
    folder = GOLDEN_FOLDER if folder is None else folder
    entries = read_index(folder)
    smoke = read_smoke_ids(folder, entries) if SMOKE_PROFILE in profiles else ()
    ids = select_ids(entries, profiles=profiles, select=select, smoke=smoke)
    # Some cases are run on request alone: where their profile is named, or a pattern begins with it.
    requested = {*profiles, *(pattern.partition("/")[0] for pattern in select)}
    absent = tuple(f"{profile}/" for profile in ON_REQUEST if profile not in requested)
    if absent and not whole:
        ids = tuple(case_id for case_id in ids if not case_id.startswith(absent))
    cases = {case_id: read_case(folder, case_id, entries[case_id]) for case_id in ids}
    counterparts: dict[str, Case] = {}
    for case in cases.values():
        if case.rejects is None or case.rejects.counterpart in cases:
            continue
        counterpart = case.rejects.counterpart
        if counterpart not in entries:
            raise FixtureError(
                f"{folder / case.id}.json names the valid counterpart {counterpart!r} at /rejects/twin, "
                "but there is no such case."
            )
        counterparts[counterpart] = read_case(folder, counterpart, entries[counterpart])
    return Suite(folder, suite_digest(entries), cases, counterparts, read_order(folder))


def load_selected(
    folder: Path | None = None, *, profiles: Sequence[str] = (), select: Sequence[str] = (), whole: bool = False
) -> Suite:
    """Read golden cases as `load_suite` does, and make the random ones that texts of `select` name; raises the same."""
    texts = [*filter(is_random, select)]
    if not texts:
        return load_suite(folder, profiles=profiles, select=select, whole=whole)
    patterns, random = [text for text in select if text not in texts], suite_of_random(map(random_case, texts))
    suite = load_suite(folder, profiles=profiles, select=patterns, whole=whole)
    if not patterns and not profiles:
        return replace(suite, cases=random.cases, counterparts=random.counterparts)
    return replace(
        suite, cases={**suite.cases, **random.cases}, counterparts={**suite.counterparts, **random.counterparts}
    )


def of_operations(suite: Suite, operations: Sequence[str]) -> Suite:
    """Return the cases of some operations, of all where none is named; `UsageError` where no case is left."""
    if not operations:
        return suite
    kept = {case.id: case for case in suite.cases.values() if case.operation in operations}
    if not kept:
        raise UsageError(f"No case that is selected is one of {', '.join(operations)}.")
    return replace(suite, cases=kept)


def is_random(text: str) -> bool:
    """Return whether a text names a random case, or tries to."""
    return text.startswith(tuple(RANDOM_CASES))


def random_case(text: str) -> Case:
    """Return the random case that a text names; raise `UsageError`, quoting the text, if it names none."""
    (path,) = (path for beginning, path in RANDOM_CASES.items() if text.startswith(beginning))
    return import_object(path)(text)


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


def select_ids(
    ids: Iterable[str], *, profiles: Sequence[str] = (), select: Sequence[str] = (), smoke: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the ids, sorted, that are in one of `profiles` and match one of the patterns; all where these are empty.

    `smoke` has the ids of that profile; empty for none. Raises `UsageError` for a profile or a pattern without any id.
    """
    ids = sorted(ids)
    known = sorted({case_id.split("/", 1)[0] for case_id in ids} | ({SMOKE_PROFILE} if smoke else set()))
    for profile in profiles:
        check_profile(profile, known)
    if profiles:
        ids = [case_id for case_id in ids if case_id.split("/", 1)[0] in profiles or case_id in smoke]
    # Hundreds of cases are named one by one: an id is looked up, not matched against all others.
    named = set(ids).intersection(select)
    patterns = [pattern for pattern in select if pattern not in named]
    for pattern in patterns:
        if not any(fnmatchcase(case_id, pattern) for case_id in ids):
            where = f" in {', '.join(profiles)}" if profiles else ""
            raise UsageError(f"No case{where} matches {pattern!r}.{near(pattern, ids)}")
    if select:
        ids = [case for case in ids if case in named or any(fnmatchcase(case, pattern) for pattern in patterns)]
    return tuple(ids)


def check_profile(profile: str, known: Collection[str]) -> None:
    """Raise `UsageError`, with all profiles and the one that comes near, if `profile` is not among them."""
    if profile not in known:
        hint = did_you_mean(profile, known)
        raise UsageError(f"There is no profile {profile!r}; the profiles are {', '.join(known)}.{hint}")


def near(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean ...?" with the names that come near, or where to find them all."""
    return did_you_mean(name, sorted(known), most=3) or " `attnspec list` shows the ids of the cases."


def read_smoke_ids(folder: Path, entries: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the profile ``smoke``; raise `UsageError` if there is none, `FixtureError` if it is damaged."""
    path = folder / SMOKE
    if not path.exists():
        raise UsageError(f"{folder} has no profile {SMOKE_PROFILE!r}: there is no file {SMOKE} in it.")
    named = _named_cases(path, "smoke")
    for case_id in named:
        if case_id not in entries:
            raise FixtureError(
                f"{path} names the case {case_id!r}, which does not exist. "
                "Compute it anew: attnspec mistakes --matrix --write-smoke"
            )
    return named


def read_order(folder: Path) -> tuple[str, ...]:
    """Return the ids of the cases that are called first, in order; none where the folder has no such file.

    Raises `FixtureError` if it is damaged.
    """
    path = folder / ORDER
    return _named_cases(path, "order") if path.exists() else ()


def _named_cases(path: Path, kind: str) -> tuple[str, ...]:
    document = parse_json_object(path, file_content(path))
    named = document.get("cases")
    # As for the index, the schema, which is slow to load, explains a file that is not sound at first sight.
    if set(document) != {"format", "cases"} or document["format"] != FORMAT or not isinstance(named, list):
        check_against_schema(path, document, kind)
    return tuple(document["cases"])


def smoke_text(ids: Sequence[str]) -> str:
    """Return the text of the file that names the cases of the profile ``smoke``."""
    return order_text(sorted(ids))


def order_text(ids: Sequence[str]) -> str:
    """Return the text of the file that names the cases that are called first, in order."""
    return canonical_json({"format": FORMAT, "cases": list(ids)})
